//! Row formats of the protocol's types. Each type lists its members once, in the order of their bytes; writing and
//! reading both follow from that list.

use bincode::de::BorrowDecoder;
use bincode::enc::Encoder;
use bincode::error::{DecodeError, EncodeError};
use bincode::{BorrowDecode, Encode};
use kedge_protocol::checkpoint::{Checkpoint, SignedCheckpoint};
use kedge_protocol::event::{EventPosition, EventType};
use kedge_protocol::resource::ResourceTrace;
use kedge_protocol::signature::Signature;
use kedge_protocol::{Address, Hash, Id, Prefix};

use super::Table;
use crate::codec::{self, CodecError};

/// A value with a row format.
pub trait RowCodec: Sized {
    fn put<E: Encoder>(&self, encoder: &mut E) -> Result<(), EncodeError>;

    /// Reads the bytes of [`Self::put`].
    fn take<'a, D: BorrowDecoder<'a, Context = ()>>(decoder: &mut D) -> Result<Self, DecodeError>;
}

/// bincode adapter of a [`RowCodec`] value.
pub(crate) struct BincodeRow<T>(pub(crate) T);

impl<T: RowCodec> Encode for BincodeRow<&T> {
    fn encode<E: Encoder>(&self, encoder: &mut E) -> Result<(), EncodeError> {
        self.0.put(encoder)
    }
}

impl<'a, T: RowCodec> BorrowDecode<'a, ()> for BincodeRow<T> {
    fn borrow_decode<D: BorrowDecoder<'a, Context = ()>>(
        decoder: &mut D,
    ) -> Result<Self, DecodeError> {
        T::take(decoder).map(Self)
    }
}

/// A resource, stored under its id.
pub trait StoredResource: RowCodec {
    /// Table of its row.
    const TABLE: Table;
    /// Prefix of its id.
    const PREFIX: Prefix;
    /// First byte of the keys in [`Table::Lookup`] that list it under its owner; `None` if it is in no list.
    const LIST: Option<u8>;

    fn id(&self) -> Id;

    /// Mutable access to [`Self::id`].
    fn id_mut(&mut self) -> &mut Id;

    /// The list's owner, and its number there: a creation sequence or an index.
    fn list_place(&self) -> Option<(Id, u64)>;

    /// Appends the row.
    fn write(&self, out: &mut Vec<u8>) {
        codec::encode_into(out, &BincodeRow(self));
    }

    /// Reads the row under this key.
    fn read(key: [u8; 16], bytes: &[u8]) -> Result<Self, CodecError> {
        let BincodeRow(mut resource) = codec::decode::<BincodeRow<Self>>(bytes)?;
        resource.id_mut().bytes = key;
        Ok(resource)
    }
}

/// An identifier, or an optional one: the row holds its bytes, the member's meaning determines its prefix.
pub(crate) trait StoredId: Sized {
    type Bytes: Encode + for<'a> BorrowDecode<'a, ()>;

    fn bytes(&self) -> Self::Bytes;

    fn of(prefix: Prefix, bytes: Self::Bytes) -> Self;
}

impl StoredId for Id {
    type Bytes = [u8; 16];

    fn bytes(&self) -> [u8; 16] {
        self.bytes
    }

    fn of(prefix: Prefix, bytes: [u8; 16]) -> Self {
        super::id(prefix, bytes)
    }
}

impl StoredId for Option<Id> {
    type Bytes = Option<[u8; 16]>;

    fn bytes(&self) -> Self::Bytes {
        self.map(|id| id.bytes)
    }

    fn of(prefix: Prefix, bytes: Self::Bytes) -> Self {
        bytes.map(|bytes| super::id(prefix, bytes))
    }
}

/// The error for a row whose bytes have no meaning.
pub(crate) fn meaningless(error: &CodecError) -> DecodeError {
    DecodeError::OtherString(error.to_string())
}

/// The members of a type in the order of their bytes: `member`, or `member: Prefix` for an identifier. Members outside
/// the row (in its key or in another row) come first, with their initial values.
macro_rules! stored {
    ($type:ident $((not $($apart:ident = $until:expr),+))? {
        $($member:ident $(: $prefix:ident)?),+ $(,)?
    }) => {
        impl crate::tables::row::RowCodec for $type {
            fn put<E: bincode::enc::Encoder>(
                &self,
                encoder: &mut E,
            ) -> Result<(), bincode::error::EncodeError> {
                $(stored!(@put encoder, &self.$member $(, $prefix)?);)+
                Ok(())
            }

            fn take<'a, D: bincode::de::BorrowDecoder<'a, Context = ()>>(
                decoder: &mut D,
            ) -> Result<Self, bincode::error::DecodeError> {
                Ok(Self {
                    $($member: stored!(@take decoder $(, $prefix)?),)+
                    $($($apart: $until,)+)?
                })
            }
        }
    };
    (@put $encoder:ident, $value:expr) => {
        crate::tables::row::RowCodec::put($value, $encoder)?
    };
    (@put $encoder:ident, $value:expr, $prefix:ident) => {
        bincode::Encode::encode(&crate::tables::row::StoredId::bytes($value), $encoder)?
    };
    (@take $decoder:ident) => {
        crate::tables::row::RowCodec::take($decoder)?
    };
    (@take $decoder:ident, $prefix:ident) => {
        crate::tables::row::StoredId::of(
            kedge_protocol::Prefix::$prefix,
            bincode::BorrowDecode::borrow_decode($decoder)?,
        )
    };
}
pub(crate) use stored;

/// As [`stored!`], for a resource with its table and its id's prefix; and with its list: the owner, and its number
/// there.
macro_rules! resource {
    (
        $type:ident in $table:ident, $prefix:ident
        $(, listed in $list:ident by $of:ident, $($number:ident).+)?
        { $($members:tt)* }
    ) => {
        crate::tables::row::stored! {
            $type (not id = crate::tables::id(kedge_protocol::Prefix::$prefix, [0; 16])) {
                $($members)*
            }
        }
        crate::tables::row::resource! {
            @row $type in $table, $prefix $(, listed in $list by $of, $($number).+)?
        }
    };
    (
        @row $type:ident in $table:ident, $prefix:ident
        $(, listed in $list:ident by $of:ident, $($number:ident).+)?
    ) => {
        impl crate::tables::row::StoredResource for $type {
            const TABLE: crate::tables::Table = crate::tables::Table::$table;
            const PREFIX: kedge_protocol::Prefix = kedge_protocol::Prefix::$prefix;
            const LIST: Option<u8> = crate::tables::row::resource!(@some $(crate::tables::lookup::$list)?);

            fn id(&self) -> kedge_protocol::Id {
                self.id
            }

            fn id_mut(&mut self) -> &mut kedge_protocol::Id {
                &mut self.id
            }

            fn list_place(&self) -> Option<(kedge_protocol::Id, u64)> {
                crate::tables::row::resource!(@some $((self.$of, self.$($number).+))?)
            }
        }
    };
    (@some) => { None };
    (@some $some:expr) => { Some($some) };
}
pub(crate) use resource;

/// A type stored as another one: the conversions in both directions.
macro_rules! stored_as {
    ($type:ty as $form:ty, $to:expr, $of:expr $(,)?) => {
        impl crate::tables::row::RowCodec for $type {
            fn put<E: bincode::enc::Encoder>(
                &self,
                encoder: &mut E,
            ) -> Result<(), bincode::error::EncodeError> {
                let to: fn(&Self) -> $form = $to;
                crate::tables::row::RowCodec::put(&to(self), encoder)
            }

            fn take<'a, D: bincode::de::BorrowDecoder<'a, Context = ()>>(
                decoder: &mut D,
            ) -> Result<Self, bincode::error::DecodeError> {
                let of: fn($form) -> Result<Self, crate::codec::CodecError> = $of;
                let form = crate::tables::row::RowCodec::take(decoder)?;
                of(form).map_err(|error| crate::tables::row::meaningless(&error))
            }
        }
    };
}
pub(crate) use stored_as;

/// The permanent numbers of an enum's values; `what` names the enum.
macro_rules! numbered {
    ($type:ident, $what:literal { $($value:ident = $number:literal),+ $(,)? }) => {
        crate::tables::row::stored_as! {
            $type as u8,
            |value| match value { $($type::$value => $number),+ },
            |number| match number {
                $($number => Ok($type::$value),)+
                other => Err(crate::codec::CodecError::Number(other, $what)),
            },
        }
    };
}
pub(crate) use numbered;

/// Types that bincode supports directly.
macro_rules! as_they_are {
    ($($type:ty),+) => {$(
        impl RowCodec for $type {
            fn put<E: Encoder>(&self, encoder: &mut E) -> Result<(), EncodeError> {
                self.encode(encoder)
            }

            fn take<'a, D: BorrowDecoder<'a, Context = ()>>(
                decoder: &mut D,
            ) -> Result<Self, DecodeError> {
                BorrowDecode::borrow_decode(decoder)
            }
        }
    )+};
}

as_they_are!(
    bool, u8, u16, u32, u64, [u8; 16], [u8; 20], [u8; 32], [u8; 65]
);

impl RowCodec for String {
    fn put<E: Encoder>(&self, encoder: &mut E) -> Result<(), EncodeError> {
        self.encode(encoder)
    }

    fn take<'a, D: BorrowDecoder<'a, Context = ()>>(decoder: &mut D) -> Result<Self, DecodeError> {
        // Borrowed first, so that a damaged length is no allocation.
        <&str>::borrow_decode(decoder).map(str::to_owned)
    }
}

stored_as!(Hash as [u8; 32], |hash| hash.0, |bytes| Ok(Hash(bytes)));
stored_as!(Address as [u8; 20], |address| address.0, |bytes| Ok(
    Address(bytes)
));
stored_as!(Signature as [u8; 65], |signature| signature.0, |bytes| Ok(
    Signature(bytes)
));
stored_as!(EventType as u8, |of| of.number(), |number| {
    EventType::of_number(number).ok_or(CodecError::Number(number, "type of an event"))
});

impl<A: RowCodec, B: RowCodec> RowCodec for (A, B) {
    fn put<E: Encoder>(&self, encoder: &mut E) -> Result<(), EncodeError> {
        self.0.put(encoder)?;
        self.1.put(encoder)
    }

    fn take<'a, D: BorrowDecoder<'a, Context = ()>>(decoder: &mut D) -> Result<Self, DecodeError> {
        Ok((A::take(decoder)?, B::take(decoder)?))
    }
}

impl<T: RowCodec> RowCodec for Option<T> {
    fn put<E: Encoder>(&self, encoder: &mut E) -> Result<(), EncodeError> {
        self.as_ref().map(BincodeRow).encode(encoder)
    }

    fn take<'a, D: BorrowDecoder<'a, Context = ()>>(decoder: &mut D) -> Result<Self, DecodeError> {
        let row: Option<BincodeRow<T>> = BorrowDecode::borrow_decode(decoder)?;
        Ok(row.map(|BincodeRow(value)| value))
    }
}

impl<T: RowCodec> RowCodec for Vec<T> {
    fn put<E: Encoder>(&self, encoder: &mut E) -> Result<(), EncodeError> {
        (self.len() as u64).encode(encoder)?;
        self.iter().try_for_each(|value| value.put(encoder))
    }

    fn take<'a, D: BorrowDecoder<'a, Context = ()>>(decoder: &mut D) -> Result<Self, DecodeError> {
        let count: u64 = BorrowDecode::borrow_decode(decoder)?;
        // A damaged count ends with the bytes, and nothing is allocated for missing values.
        (0..count).map(|_| T::take(decoder)).collect()
    }
}

stored! { ResourceTrace { version, integrity, created_sequence, sequence, created_at_ms, updated_at_ms } }
stored! { EventPosition { sequence, index } }
stored! { Checkpoint { batches, sequence, head, history, state, issued_at_ms } }
stored! { SignedCheckpoint { checkpoint, signature } }

//! Resource identifiers: `obj_` and 26 Crockford base32 digits computed from the content of the action that made the
//! resource, so that a replay of the log computes the same ones.

use core::fmt;
use core::str::FromStr;

use crate::hash::{Hash, keccak_parts, text_serde};

mod map;

pub use crate::registry::Prefix;
pub use map::{IdHashing, IdMap, seed_maps};

/// An identifier: a prefix and 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id {
    /// The kind of thing.
    pub prefix: Prefix,
    /// The 128 bits of the identifier.
    pub bytes: [u8; 16],
}

impl Id {
    /// Identifier of the `index`-th resource or event with this prefix that the action with this content makes: the
    /// first 16 bytes of keccak(content ‖ u32 index).
    pub fn made_by(prefix: Prefix, content: &Hash, index: u32) -> Self {
        let hash = keccak_parts(&[&content.0, &index.to_be_bytes()]);
        Self {
            prefix,
            bytes: hash.first_16(),
        }
    }

    /// Identifier of a thing with a hash: an action by its content, a batch by its hash, an anchor by its checkpoint's
    /// hash.
    pub fn of_hash(prefix: Prefix, hash: &Hash) -> Self {
        Self {
            prefix,
            bytes: hash.first_16(),
        }
    }

    /// The identifier of the delivery of an event to a webhook: the same at every attempt.
    pub fn of_delivery(event: &Self, webhook: &Self) -> Self {
        let hash = keccak_parts(&[&event.bytes, &webhook.bytes]);
        Self::of_hash(Prefix::Delivery, &hash)
    }

    /// The text in ASCII: the key of the resource's entry in the state.
    pub fn text_bytes(&self) -> [u8; ID_TEXT_BYTES] {
        let number = u128::from_be_bytes(self.bytes);
        let mut text = [0; ID_TEXT_BYTES];
        text[..3].copy_from_slice(self.prefix.text().as_bytes());
        text[3] = b'_';
        for (i, digit) in text[4..].iter_mut().enumerate() {
            let shift = 5 * (DIGIT_COUNT - 1 - i);
            *digit = ALPHABET[(number >> shift & 31) as usize];
        }
        text
    }

    /// Reads an identifier that must have this prefix.
    pub fn parse_as(prefix: Prefix, text: &str) -> Result<Self, IdError> {
        let id: Self = text.parse()?;
        if id.prefix == prefix {
            Ok(id)
        } else {
            Err(IdError::OtherPrefix {
                expected: prefix.text(),
                found: id.prefix.text(),
            })
        }
    }
}

/// Why a text is not an identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// No known prefix and underscore at the start.
    #[error("an identifier begins with a known prefix and an underscore, such as obj_")]
    UnknownPrefix,
    /// A known prefix, but of another kind of resource.
    #[error("the identifier must begin with {expected}_, not {found}_")]
    OtherPrefix {
        /// The expected prefix.
        expected: &'static str,
        /// The prefix of the text.
        found: &'static str,
    },
    /// Not 26 lower-case Crockford base32 digits of at most 128 bits.
    #[error("an identifier has 26 lower-case Crockford base32 digits after its prefix")]
    Digits,
}

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const DIGIT_COUNT: usize = 26;
/// Bytes of an identifier's text: the prefix, an underscore and the digits.
pub const ID_TEXT_BYTES: usize = 4 + DIGIT_COUNT;

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(core::str::from_utf8(&self.text_bytes()).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The value of each ASCII digit; 255 for any other byte.
const DIGIT_VALUES: [u8; 256] = {
    let mut values = [255; 256];
    let mut value = 0;
    while value < ALPHABET.len() {
        values[ALPHABET[value] as usize] = value as u8;
        value += 1;
    }
    values
};

impl FromStr for Id {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        let (prefix, digits) = text.split_once('_').ok_or(IdError::UnknownPrefix)?;
        let prefix = Prefix::of_text(prefix).ok_or(IdError::UnknownPrefix)?;
        // 26 digits hold 130 bits, so the first uses only three of its five.
        if digits.len() != DIGIT_COUNT || digits.as_bytes()[0] > b'7' {
            return Err(IdError::Digits);
        }
        let mut number: u128 = 0;
        for digit in digits.bytes() {
            let value = DIGIT_VALUES[usize::from(digit)];
            if value == 255 {
                return Err(IdError::Digits);
            }
            number = number << 5 | u128::from(value);
        }
        Ok(Self {
            prefix,
            bytes: number.to_be_bytes(),
        })
    }
}

text_serde!(Id);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn text_and_bytes_are_one(bytes: [u8; 16], number in 0..Prefix::ALL.len()) {
            let id = Id { prefix: Prefix::ALL[number], bytes };
            let text = id.to_string();
            prop_assert_eq!(text.len(), 30);
            prop_assert_eq!(text.parse(), Ok(id));
            prop_assert_eq!(format!("{id:?}"), text.clone());
            prop_assert_eq!(Id::parse_as(id.prefix, &text), Ok(id));
        }
    }

    #[test]
    fn prefixes_have_the_numbers_that_are_stored() {
        for (number, prefix) in Prefix::ALL.iter().enumerate() {
            assert_eq!(*prefix as usize, number);
            assert_eq!(Prefix::of_number(number as u8), Some(*prefix));
        }
        assert_eq!(Prefix::of_number(Prefix::ALL.len() as u8), None);
    }

    #[test]
    fn bad_texts_are_refused() {
        let good = "obj_5yrzzxc7r7qyrbt578rhejqh4m";
        assert!(good.parse::<Id>().is_ok());
        for bad in [
            "",
            "obj",
            "obj_",
            "xyz_5yrzzxc7r7qyrbt578rhejqh4m",
            "obj_8yrzzxc7r7qyrbt578rhejqh4m",
            "obj_5yrzzxc7r7qyrbt578rhejqh4",
            "obj_5yrzzxc7r7qyrbt578rhejqh4mm",
            "obj_5YRZZXC7R7QYRBT578RHEJQH4M",
            "obj_5urzzxc7r7qyrbt578rhejqh4m",
        ] {
            assert!(bad.parse::<Id>().is_err(), "{bad}");
        }
        assert_eq!(
            Id::parse_as(Prefix::Template, good),
            Err(IdError::OtherPrefix {
                expected: "tpl",
                found: "obj"
            })
        );
    }
}

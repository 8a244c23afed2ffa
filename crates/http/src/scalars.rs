//! Scalar values in answers. Hashes and ids are written through a buffer on the stack: an answer to a batch holds
//! thousands of them.

use std::borrow::Cow;
use std::cell::RefCell;

use kedge_protocol::limits::NAME_CHARS_MAX;
use kedge_protocol::signature::Signature;
use kedge_protocol::time::rfc3339;
use kedge_protocol::{Address, Hash, Id, Prefix};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

macro_rules! text_schema {
    ($type:ty, $name:literal, $($schema:tt)+) => {
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", $($schema)+ })
            }
        }
    };
}

/// Schemas named like the protocol's types.
macro_rules! protocol_schemas {
    ($($type:ident = $of:ty,)*) => {$(
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                <$of>::schema_name()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                <$of>::json_schema(generator)
            }
        }
    )*};
}

protocol_schemas! {
    HashText = Hash,
    ResourceIdText = Id,
    AddressText = Address,
    SignatureText = Signature,
    DecimalText = kedge_protocol::schema::Decimal,
}

/// `0x` and 64 hex digits.
#[derive(Clone, Copy, Debug)]
pub struct HashText(pub Hash);

impl Serialize for HashText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut text = [b'0'; 66];
        text[1] = b'x';
        const_hex::encode_to_slice(self.0.0, &mut text[2..]).map_err(S::Error::custom)?;
        serializer.serialize_str(std::str::from_utf8(&text).map_err(S::Error::custom)?)
    }
}

/// A resource's identifier.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(transparent)]
pub struct ResourceIdText(pub Id);

/// An EIP-55 address.
#[derive(Clone, Copy, Debug)]
pub struct AddressText(pub Address);

thread_local! {
    /// The last address and its text: the checksum needs a hash, and the answer to a batch repeats one signer up to 500
    /// times.
    static LAST_ADDRESS: RefCell<(Address, String)> =
        RefCell::new((Address::ZERO, Address::ZERO.to_string()));
}

impl Serialize for AddressText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        LAST_ADDRESS.with_borrow_mut(|(address, text)| {
            if *address != self.0 {
                *address = self.0;
                *text = self.0.to_string();
            }
            serializer.serialize_str(text)
        })
    }
}

/// 65 bytes r ‖ s ‖ v.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(transparent)]
pub struct SignatureText(pub Signature);

/// The text of an identifier with this prefix, as a regular expression without anchors.
pub fn id_pattern(prefix: Prefix) -> String {
    format!("{}_[0-7][0-9a-hjkmnp-tv-z]{{25}}", prefix.text())
}

macro_rules! id_inputs {
    ($($(#[doc = $doc:literal] )+ $name:ident = $prefix:ident;)*) => {$(
        $(#[doc = $doc])+
        pub struct $name;

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let pattern = format!("^{}$", id_pattern(Prefix::$prefix));
                json_schema!({ "type": "string", "pattern": pattern })
            }
        }
    )*};
}

id_inputs! {
    /// A template's identifier in a request.
    TemplateId = Template;
    /// A variation's identifier in a request.
    VariationId = Variation;
    /// An object's identifier in a request.
    ObjectId = Object;
    /// A wallet's identifier in a request.
    WalletId = Wallet;
    /// An organization's identifier in a request.
    OrganizationId = Organization;
}

/// An address in a request: all in one case, or mixed case with EIP-55's checksum.
pub struct AddressInput;
text_schema!(
    AddressInput,
    "AddressInput",
    "format": "eip55-address",
    "pattern": "^0x[0-9a-fA-F]{40}$",
    "description": "One case throughout, or mixed as EIP-55's checksum requires."
);

/// A signature in a request: r ‖ s ‖ v, with v 0, 1, 27 or 28 and a low s.
pub struct SignatureInput;
text_schema!(
    SignatureInput,
    "SignatureInput",
    "pattern": "^0x[0-9a-fA-F]{130}$",
    "description": "65 bytes r ‖ s ‖ v. v may be 0, 1, 27 or 28; s must be low."
);

/// A name in a request: at least one visible character, and no control characters.
pub struct NameInput;
text_schema!(
    NameInput,
    "NameInput",
    "minLength": 1,
    "maxLength": NAME_CHARS_MAX,
    "pattern": NAME_PATTERN
);

/// A whole number in a request that can exceed 2^53, from 1 on: a number, or its decimal text.
pub struct WholeInput;

impl JsonSchema for WholeInput {
    fn schema_name() -> Cow<'static, str> {
        "WholeInput".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                { "type": "integer", "minimum": 1, "maximum": i64::MAX },
                { "type": "string", "pattern": "^[1-9][0-9]{0,18}$" },
            ],
        })
    }
}

/// No control characters, and at least one character that is not white space.
const NAME_PATTERN: &str = "^[^\\u0000-\\u001f\\u007f-\\u009f]*\
    [^\\s\\u0000-\\u001f\\u007f-\\u009f]\
    [^\\u0000-\\u001f\\u007f-\\u009f]*$";

/// RFC 3339 UTC with milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct TimeText(pub u64);
text_schema!(TimeText, "Time", "format": "date-time");

impl Serialize for TimeText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&rfc3339(self.0))
    }
}

/// A number that can exceed 2^53.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(transparent)]
pub struct DecimalText(#[serde(with = "kedge_protocol::proof::decimal")] pub u64);

/// JSON text, written unchanged. It came from an accepted body or the store.
#[derive(Clone, Debug)]
pub struct RawJson<'a>(pub Cow<'a, str>);

impl Serialize for RawJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_str(&self.0).map_err(S::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl JsonSchema for RawJson<'_> {
    fn schema_name() -> Cow<'static, str> {
        "AnyValue".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "Any JSON value, as it was sent." })
    }
}

/// JSON text of an object.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct RawJsonObject<'a>(pub RawJson<'a>);

impl<'a> From<&'a str> for RawJsonObject<'a> {
    fn from(text: &'a str) -> Self {
        Self(RawJson(text.into()))
    }
}

impl From<String> for RawJsonObject<'_> {
    fn from(text: String) -> Self {
        Self(RawJson(text.into()))
    }
}

impl JsonSchema for RawJsonObject<'_> {
    fn schema_name() -> Cow<'static, str> {
        "Properties".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "object" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_the_protocols_own() {
        let hash = Hash([0xa5; 32]);
        let id = Id {
            prefix: Prefix::Object,
            bytes: [0xff; 16],
        };
        let written =
            serde_json::to_string(&(HashText(hash), ResourceIdText(id), DecimalText(u64::MAX)));
        let expected = format!("[\"{hash}\",\"{id}\",\"18446744073709551615\"]");
        assert_eq!(written.unwrap(), expected);
        // One thread writes them alternately.
        let addresses = [1, 1, 2, 0, 1].map(|byte| Address([byte; 20]));
        for address in addresses {
            let written = serde_json::to_string(&AddressText(address)).unwrap();
            assert_eq!(written, format!("\"{address}\""));
        }
    }

    #[test]
    fn raw_json_is_written_as_it_is() {
        let raw = RawJson(r#"{"a": 1.00}"#.into());
        assert_eq!(serde_json::to_string(&raw).unwrap(), r#"{"a": 1.00}"#);
        assert!(serde_json::to_string(&RawJson("{".into())).is_err());
    }
}

//! JSON Schemas of values with a text form.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::signature::Signature;
use crate::{Address, Hash, Id};

/// A number that can exceed 2^53, written as [`crate::proof::decimal`].
pub struct Decimal;

macro_rules! patterns {
    ($($type:ident = $pattern:literal,)*) => {$(
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": $pattern })
            }
        }
    )*};
}

patterns! {
    Hash = "^0x[0-9a-f]{64}$",
    Id = "^[a-z]{3}_[0-7][0-9a-hjkmnp-tv-z]{25}$",
    Address = "^0x[0-9a-fA-F]{40}$",
    Signature = "^0x[0-9a-f]{130}$",
    Decimal = "^(0|[1-9][0-9]{0,19})$",
}

//! Rows of templates and variations.

use kedge_protocol::action::Kind;
use kedge_protocol::resource::{ActionRule, Who};

use super::row::{numbered, stored, stored_as};
use crate::codec::CodecError;

numbered! { Who, "party of a rule" { Owner = 1, Issuer = 2, Anyone = 3 } }

stored_as! {
    Kind as String,
    |kind| kind.text().to_owned(),
    |text| Kind::of_text(&text)
        .ok_or_else(|| CodecError::bytes("a rule does not name a kind of action")),
}
stored! { ActionRule { kind, who, schema } }

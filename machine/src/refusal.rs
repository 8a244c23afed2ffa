//! Why an action is not done. The words are for the caller: they say what to do.

use std::borrow::Cow;

/// One thing that is wrong with a payload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FieldError {
    /// RFC 6901 pointer to the place in the payload; empty for the whole.
    pub pointer: String,
    /// Machine-readable: `required`, `type`, `unknown`, `range`, `format`, `duplicate`, `syntax`,
    /// `schema` (what no other word fits).
    pub code: &'static str,
    /// What to do about it.
    pub message: String,
}

/// Why an action is not done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The payload is not what the kind takes.
    Invalid(Vec<FieldError>),
    /// A resource that the action names is not there, or not the caller's to see.
    NotFound {
        /// The kind of resource: `object`, `template`, `variation`, `wallet`.
        resource: &'static str,
        /// The identifier that was named.
        id: String,
    },
    /// The caller may not.
    Forbidden(Cow<'static, str>),
    /// The resource's state does not allow it.
    State(Cow<'static, str>),
    /// The object's properties would be too large.
    ObjectTooLarge {
        /// How many bytes of compact JSON they would be.
        bytes: usize,
    },
    /// The object is not in a state that the caller named.
    Precondition {
        /// The version that it is at.
        version: u64,
    },
    /// Another resource has the name already.
    Conflict(Cow<'static, str>),
    /// Another wallet has the e-mail address.
    EmailTaken,
    /// What the decision needs could not be read; nothing is known about the action.
    Unavailable,
}

impl Refusal {
    /// A refusal of one field.
    pub fn field(pointer: &str, code: &'static str, message: impl Into<String>) -> Self {
        Self::Invalid(vec![FieldError {
            pointer: pointer.to_owned(),
            code,
            message: message.into(),
        }])
    }

    /// A refusal for a resource that is not there.
    pub fn not_found(resource: &'static str, id: &(impl ToString + ?Sized)) -> Self {
        Self::NotFound {
            resource,
            id: id.to_string(),
        }
    }
}

impl From<crate::world::Unavailable> for Refusal {
    fn from(_: crate::world::Unavailable) -> Self {
        Self::Unavailable
    }
}

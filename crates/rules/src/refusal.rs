//! Refusals of actions, with messages that tell the caller what to do.

use std::borrow::Cow;

use kedge_protocol::action::Kind;
use kedge_protocol::limits::OBJECT_PROPERTIES_BYTES_MAX;
use serde::{Deserialize, Serialize};

pub use crate::field_error::FieldError;
use crate::json::JsonReadError;

/// Why an action is not done. Its JSON is stored: variants and members are never renamed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Refusal {
    /// The payload does not have the form of its kind.
    Invalid(Vec<FieldError>),
    /// A resource that the action names does not exist, or the caller may not see it.
    NotFound {
        /// Type of resource: `object`, `template`, `variation`, `wallet`.
        resource: Cow<'static, str>,
        /// The given identifier.
        id: String,
    },
    /// The caller is not allowed to.
    Forbidden(Cow<'static, str>),
    /// The resource's state does not allow it.
    State(Cow<'static, str>),
    /// The object's properties would be too large.
    ObjectTooLarge {
        /// Their size as compact JSON.
        bytes: usize,
    },
    /// The resource does not meet the caller's precondition.
    Precondition {
        /// Type of resource.
        #[serde(default = "object")]
        resource: Cow<'static, str>,
        /// Its current version.
        version: u64,
    },
    /// Another resource has the name already.
    Conflict(Cow<'static, str>),
    /// Another wallet has the e-mail address.
    EmailTaken,
    /// A read failed, so the action was not judged.
    Unavailable,
}

/// Default for stored refusals from before the member existed.
fn object() -> Cow<'static, str> {
    "object".into()
}

impl From<JsonReadError> for Refusal {
    fn from(error: JsonReadError) -> Self {
        match error {
            JsonReadError::Json(error) => Self::field("", "syntax", error.to_string()),
            JsonReadError::Member(field) | JsonReadError::Form(_, field) => {
                Self::Invalid(vec![field])
            }
        }
    }
}

impl Refusal {
    /// Code in the API.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Invalid(_) => "VALIDATION_ERROR",
            Self::NotFound { .. } => "RESOURCE_NOT_FOUND",
            Self::Forbidden(_) => "FORBIDDEN",
            Self::State(_) => "STATE_VIOLATION",
            Self::ObjectTooLarge { .. } => "OBJECT_TOO_LARGE",
            Self::Precondition { .. } => "PRECONDITION_FAILED",
            Self::Conflict(_) => "CONFLICT",
            Self::EmailTaken => "EMAIL_TAKEN",
            Self::Unavailable => "UNAVAILABLE",
        }
    }

    /// Instruction for the caller.
    pub fn message(&self) -> Cow<'static, str> {
        match self {
            Self::Invalid(fields) => FieldError::message_of(fields).into(),
            Self::NotFound { resource, id } => {
                format!("there is no {resource} {id:?}, or it is not yours to see").into()
            }
            Self::Forbidden(why) | Self::State(why) | Self::Conflict(why) => why.clone(),
            Self::ObjectTooLarge { bytes } => format!(
                "the properties would be {bytes} bytes of compact JSON; the limit is {OBJECT_PROPERTIES_BYTES_MAX}"
            )
            .into(),
            Self::Precondition { resource, version } => {
                format!("the {resource} is at version {version}; read it again before you retry")
                    .into()
            }
            Self::EmailTaken => {
                "another wallet has this e-mail address; log in, or use another one".into()
            }
            Self::Unavailable => "what the action needs could not be read now; try again".into(),
        }
    }

    /// A refusal of one field.
    pub fn field(pointer: &str, code: &'static str, message: impl Into<String>) -> Self {
        Self::Invalid(vec![FieldError::new(pointer, code, message)])
    }

    /// An action that came through the wrong endpoint.
    pub(crate) fn wrong_way(kind: &Kind) -> Self {
        Self::Forbidden(format!("{} cannot be done this way", kind.text()).into())
    }

    /// A refusal for a resource that does not exist.
    pub fn not_found(resource: &'static str, id: &(impl ToString + ?Sized)) -> Self {
        Self::NotFound {
            resource: resource.into(),
            id: id.to_string(),
        }
    }
}

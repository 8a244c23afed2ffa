//! Errors of a search.

use kedge_rules::FieldError;
use kedge_storage::StoreReadError;

/// Why a search has no result.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SearchError {
    /// The request is invalid at this place, or asks for too much.
    #[error("{} {}", .0.pointer, .0.message)]
    Field(FieldError),
    /// The cursor belongs to another list.
    #[error("the cursor does not belong to this list")]
    Place,
    /// The store could not be read.
    #[error(transparent)]
    Read(#[from] StoreReadError),
}

impl SearchError {
    pub(crate) fn field(pointer: &str, code: &'static str, message: impl Into<String>) -> Self {
        Self::Field(FieldError {
            pointer: pointer.to_owned(),
            code: code.into(),
            message: message.into(),
        })
    }
}

//! What stored rows have in common: a leading format byte, and the ways in which bytes fail to be a row.

/// The first byte of every row of today's layout.
pub const FORMAT: u8 = 1;

/// Why stored bytes are not what they should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// The first byte names no layout that this program knows.
    #[error("row layout {0:?} is not known")]
    Format(Option<u8>),
    /// The bytes end too early, continue too long, or hold an impossible value.
    #[error("{0}")]
    Bytes(String),
    /// A number stands for nothing.
    #[error("{0} is no {1}")]
    Number(u8, &'static str),
}

impl CodecError {
    /// An error of [`CodecError::Bytes`].
    pub fn bytes(what: &str) -> Self {
        Self::Bytes(what.to_owned())
    }
}

/// What follows the format byte.
///
/// # Errors
/// [`CodecError::Format`] where the first byte is missing or another.
pub fn body(bytes: &[u8]) -> Result<&[u8], CodecError> {
    match bytes.split_first() {
        Some((&FORMAT, body)) => Ok(body),
        other => Err(CodecError::Format(other.map(|(&format, _)| format))),
    }
}

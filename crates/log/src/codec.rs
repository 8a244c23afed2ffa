//! Shared parts of stored rows: the leading format byte, and the errors of reading a row.

/// The first byte of every row in the current layout.
pub const FORMAT: u8 = 1;

/// Why stored bytes are invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodecError {
    /// The first byte names a layout that this program does not know.
    #[error("row layout {0:?} is not known")]
    Format(Option<u8>),
    /// The bytes end too early, continue too long, or hold an impossible value.
    #[error("{0}")]
    Bytes(String),
    /// A number has no meaning here.
    #[error("{0} is not a valid {1}")]
    Number(u8, &'static str),
}

impl CodecError {
    pub fn bytes(what: &str) -> Self {
        Self::Bytes(what.to_owned())
    }
}

/// Strips the format byte.
///
/// # Errors
/// [`CodecError::Format`] if the first byte is missing or different.
pub fn body(bytes: &[u8]) -> Result<&[u8], CodecError> {
    match bytes.split_first() {
        Some((&FORMAT, body)) => Ok(body),
        other => Err(CodecError::Format(other.map(|(&format, _)| format))),
    }
}

//! Error type of the measurements.

/// Any error, reported once at the end.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

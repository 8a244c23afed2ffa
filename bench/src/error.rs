//! Error type of the benches.

/// Any error, reported once at the end.
pub(crate) type BenchResult<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

//! What a watchtower reports, and how it fails.

use std::fmt::Display;

/// Where a watchtower reports to.
#[derive(Clone, Copy)]
pub struct Report {
    /// Receives what was found and filed, a line at a time; an error ends the watchtower's round.
    pub line: fn(&str) -> Result<(), String>,
    /// Receives what went wrong and is retried or passed over.
    pub warning: fn(&str),
}

impl Report {
    pub(crate) fn line(&self, line: impl Display) -> Result<(), WatchError> {
        (self.line)(&line.to_string()).map_err(WatchError::Failed)
    }
}

/// Why a watchtower ends.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// Something is not reachable or not valid, or the operator was found at fault.
    #[error("{0}")]
    Failed(String),
    /// The options contradict what the chain holds.
    #[error("{0}")]
    Usage(String),
}

impl WatchError {
    pub(crate) fn failed(error: impl Display) -> Self {
        Self::Failed(error.to_string())
    }

    pub(crate) fn usage(error: impl Display) -> Self {
        Self::Usage(error.to_string())
    }

    /// A contract that could not be read.
    pub(crate) fn contract(error: impl Display) -> Self {
        Self::Failed(format!("the contract: {error}"))
    }
}

impl From<kedge_client::Error> for WatchError {
    fn from(error: kedge_client::Error) -> Self {
        Self::failed(error)
    }
}

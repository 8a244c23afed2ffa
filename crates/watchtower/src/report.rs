//! Reports and errors of a watchtower.

use std::fmt::Display;

/// Receivers of a watchtower's reports.
#[derive(Clone, Copy)]
pub struct WatchtowerReport {
    /// Receives each line about findings and filings; an error ends the round.
    pub line: fn(&str) -> Result<(), String>,
    /// Receives problems that are retried or skipped.
    pub warning: fn(&str),
}

impl WatchtowerReport {
    pub(crate) fn line(&self, line: impl Display) -> Result<(), WatchError> {
        (self.line)(&line.to_string()).map_err(WatchError::Failed)
    }
}

/// Why a watchtower ends.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// A source is unreachable or invalid, or the operator is at fault.
    #[error("{0}")]
    Failed(String),
    /// The options contradict the chain.
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

    /// The error of an unreadable contract.
    pub(crate) fn contract(error: impl Display) -> Self {
        Self::Failed(format!("the contract: {error}"))
    }
}

impl From<kedge_client::ClientError> for WatchError {
    fn from(error: kedge_client::ClientError) -> Self {
        Self::failed(error)
    }
}

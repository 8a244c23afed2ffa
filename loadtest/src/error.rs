//! Errors that abort a load run. Refusals by the server during a measurement are counted and reported instead.

use std::fmt::Display;

/// Result of a step.
pub type LoadtestResult<T> = Result<T, LoadtestError>;

/// Reason for aborting a run.
#[derive(Debug, thiserror::Error)]
pub enum LoadtestError {
    /// The options cannot be combined or met.
    #[error("{0}")]
    Usage(String),
    /// A call during setup or checks failed.
    #[error("{step}: {error}")]
    Client {
        /// Name of the step.
        step: &'static str,
        /// Error of the SDK.
        error: kedge_client::ClientError,
    },
    /// A connection could not be made or broke, or a file could not be written.
    #[error("{what}: {error}")]
    Io {
        /// The connection or file.
        what: String,
        /// Error of the system.
        error: std::io::Error,
    },
    /// HTTP failed on a connection.
    #[error("HTTP: {0}")]
    Http(#[from] hyper::Error),
    /// The server's answer does not match the API.
    #[error("{0}")]
    Answer(String),
    /// A thread or task of the harness ended too early.
    #[error("a part of the load harness failed: {0}")]
    Broken(String),
}

impl LoadtestError {
    pub fn usage(why: impl Display) -> Self {
        Self::Usage(why.to_string())
    }

    pub fn answer(why: impl Display) -> Self {
        Self::Answer(why.to_string())
    }

    pub fn broken(why: impl Display) -> Self {
        Self::Broken(why.to_string())
    }

    /// Adds the step of a failed call.
    pub fn at(step: &'static str) -> impl FnOnce(kedge_client::ClientError) -> Self {
        move |error| Self::Client { step, error }
    }

    /// Adds the connection or file of an I/O error.
    pub fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |error| Self::Io { what, error }
    }
}

//! Why a load run could not be completed. What the server refused during a measure is not here: that is counted and
//! reported.

/// The result of a step.
pub type Result<T> = std::result::Result<T, Error>;

/// Why the harness gave up.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The command line asks for something impossible.
    #[error("{0}")]
    Usage(String),
    /// A call of the setup or of the checks failed.
    #[error("{step}: {error}")]
    Client {
        /// The step.
        step: &'static str,
        /// What went wrong.
        error: kedge_client::Error,
    },
    /// A connection could not be made or broke, or a file could not be written.
    #[error("{what}: {error}")]
    Io {
        /// The connection or file.
        what: String,
        /// The error.
        error: std::io::Error,
    },
    /// HTTP failed below the answers.
    #[error("HTTP: {0}")]
    Http(#[from] hyper::Error),
    /// The server's answer does not match the API.
    #[error("{0}")]
    Answer(String),
    /// A thread or task of the harness ended too early.
    #[error("a part of the load harness failed: {0}")]
    Broken(String),
}

impl Error {
    /// Adds the step that a call belongs to.
    pub fn at(step: &'static str) -> impl FnOnce(kedge_client::Error) -> Self {
        move |error| Self::Client { step, error }
    }

    /// Adds what could not be read, written or reached.
    pub fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |error| Self::Io { what, error }
    }
}

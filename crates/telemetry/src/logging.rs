//! Logging to standard error: lines for people, or one JSON object a line. Standard output is for the results of
//! commands.

use std::io::IsTerminal as _;

use kedge_config::{Config, LogFormat};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;

#[derive(Debug, thiserror::Error)]
pub enum LoggingError {
    #[error("option log_filter: {0}")]
    Filter(#[from] tracing_subscriber::filter::ParseError),
    /// A log is already set up.
    #[error("the log: {0}")]
    Set(String),
}

/// Colours are for terminals without `NO_COLOR` (<https://no-color.org>).
fn is_coloured() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stderr().is_terminal() && !refused
}

pub fn init(config: &Config) -> Result<(), LoggingError> {
    let filter = EnvFilter::try_new(&config.log_filter)?;
    let builder = fmt()
        .with_env_filter(filter)
        .with_ansi(is_coloured())
        .with_writer(std::io::stderr)
        // A report about a failed log line would go to the log too, and panic.
        .log_internal_errors(false);
    let set = match config.log_format {
        LogFormat::Human => builder.try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    };
    set.map_err(|error| LoggingError::Set(error.to_string()))
}

//! Why a configuration is refused.

/// Why a configuration is refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file does not exist.
    #[error("the configuration file {0} does not exist")]
    NoFile(String),
    /// A name is unknown, or a value has another type.
    #[error("configuration: {0}")]
    Read(#[from] Box<figment::Error>),
    /// A value is out of range, or does not fit another.
    #[error("option {option}: {message}")]
    Option {
        /// The option's name.
        option: &'static str,
        /// What is wrong and what to do.
        message: String,
    },
}

/// A refusal of one option.
pub(crate) fn wrong(option: &'static str, message: impl Into<String>) -> ConfigError {
    ConfigError::Option {
        option,
        message: message.into(),
    }
}

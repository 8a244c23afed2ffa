//! Errors of the configuration.

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("the configuration file {0} does not exist")]
    NoFile(String),
    /// A name is unknown, or a value has the wrong type.
    #[error("configuration: {0}")]
    Read(#[from] Box<figment::Error>),
    /// There is no option of this name.
    #[error(
        "option {name}: there is no such option; the nearest are {near}. `kedge init -` writes all of them, each with its meaning"
    )]
    Unknown {
        /// The name, where it was found.
        name: String,
        /// Names of options that look like it.
        near: String,
    },
    /// A value is out of range, or conflicts with another one.
    #[error("option {option}: {message}")]
    Option {
        option: &'static str,
        /// What is wrong and what to do.
        message: String,
    },
}

pub(crate) fn wrong(option: &'static str, message: impl Into<String>) -> ConfigError {
    ConfigError::Option {
        option,
        message: message.into(),
    }
}

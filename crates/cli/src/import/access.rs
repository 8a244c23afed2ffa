//! Credentials of an import: a signing key with an API key or a login.

use std::path::PathBuf;

use kedge_client::{Account, Client, RetryPolicy};
use kedge_protocol::signature::SigningKey;

use crate::input::{API_KEY, PASSWORD, secret};
use crate::output::{CliResult, CommandFailure, refuse_usage};

/// Limit of attempts at a read-only request while the server asks to wait.
const ATTEMPTS_MAX: u32 = 8;

/// Where the API key or the login comes from. Never the command line, which others can read and shells remember.
#[derive(clap::Args)]
pub(super) struct ImportAccessArgs {
    /// File with an API key, readable only by its owner. It needs the rights to read templates and events, and to read
    /// and create actions.
    ///
    /// Without it the API key is read from the environment variable KEDGE_API_KEY.
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,
    /// Log in with this e-mail address, instead of an API key or in addition to it.
    #[arg(long, value_name = "ADDRESS")]
    email: Option<String>,
    /// File with the password, readable only by its owner.
    ///
    /// Without it the password is read from the environment variable KEDGE_PASSWORD.
    #[arg(long, value_name = "FILE", requires = "email")]
    password_file: Option<PathBuf>,
}

impl ImportAccessArgs {
    /// The importing account.
    pub(super) async fn account(&self, url: &str, key: SigningKey) -> CliResult<Account> {
        let api_key = secret(self.api_key_file.as_deref(), API_KEY)?;
        if api_key.is_none() && self.email.is_none() {
            let why = "option --api-key-file or --email: name the API key's file, or the login";
            return refuse_usage(why);
        }
        let policy = RetryPolicy {
            attempts_max: ATTEMPTS_MAX,
            on_unavailable: true,
            ..RetryPolicy::default()
        };
        let mut builder = Client::builder(url).retry(policy);
        if let Some(api_key) = api_key {
            builder = builder.api_key(api_key);
        }
        let account = builder.connect().await?.account(key);
        if let Some(email) = &self.email {
            let password = secret(self.password_file.as_deref(), PASSWORD)?;
            let password = password.ok_or_else(|| {
                let why =
                    "option --password-file: name a file, or put the password into the variable";
                CommandFailure::usage(format!("{why} {PASSWORD}"))
            })?;
            account.login(email, &password).await?;
        }
        Ok(account)
    }
}

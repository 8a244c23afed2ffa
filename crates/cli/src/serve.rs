//! `kedge serve`: the server.

use std::net::SocketAddr;
use std::path::PathBuf;

use kedge_config::{Config, ConfigError, ConfigSources, StartAllowances};

#[derive(clap::Args)]
pub(crate) struct ServeArgs {
    /// The configuration file; `kedge init` writes one with every option explained.
    #[arg(long, value_name = "FILE", env = "KEDGE_CONFIG")]
    config: Option<PathBuf>,
    /// Development mode: keys and the embedded chain are made in the data directory. Insecure.
    #[arg(long)]
    dev: bool,
    /// The data directory.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Address and port of the API; port 0 picks a free one.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Address and port of /metrics.
    #[arg(long, value_name = "ADDRESS")]
    metrics_listen: Option<SocketAddr>,
    /// Any option, as in the file: --set name=value.
    #[arg(long, value_name = "NAME=VALUE", value_parser = name_and_value)]
    set: Vec<(String, String)>,
    /// Treat the store as its newest copy although the high-water mark is missing or unreadable.
    ///
    /// For one start only. Use it only if it is certain that no batch header beyond this store was
    /// ever released: the contract punishes signing such a number again.
    #[arg(long)]
    accept_missing_high_water_mark: bool,
    /// Make new keys in place of lost ones, although that voids all API keys or invitations.
    #[arg(long)]
    replace_lost_keys: bool,
}

pub(crate) fn name_and_value(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("must be name=value")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

impl ServeArgs {
    /// Reads the server's configuration, and the faults that this start may overlook.
    pub(crate) fn read(self) -> Result<(Config, StartAllowances), ConfigError> {
        let mut overrides = self.set;
        let mut add = |name: &str, value: Option<String>| {
            overrides.extend(value.map(|value| (name.to_owned(), value)));
        };
        add("dev", self.dev.then(|| "true".to_owned()));
        add(
            "data_dir",
            self.data
                .map(|path| format!("{:?}", path.display().to_string())),
        );
        add(
            "listen",
            self.listen.map(|address| format!("\"{address}\"")),
        );
        add(
            "metrics_listen",
            self.metrics_listen.map(|address| format!("\"{address}\"")),
        );
        let config = kedge_config::load(&ConfigSources {
            file: self.config.as_deref(),
            overrides,
        })?;
        let allowances = StartAllowances {
            missing_high_water_mark: self.accept_missing_high_water_mark,
            replace_lost_keys: self.replace_lost_keys,
        };
        Ok((config, allowances))
    }
}

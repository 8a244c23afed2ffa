//! `kedge edge`: the edge as a separate process.

use std::net::SocketAddr;
use std::path::PathBuf;

use kedge_config::{Config, ConfigError, ConfigSources};

use super::serve::name_and_value;

#[derive(clap::Args)]
pub(crate) struct EdgeArgs {
    /// The configuration file, with the same options as a node's.
    ///
    /// An edge needs `listen` and, in the section `[edge]`, `nodes`: the URLs of all nodes. Keys, the data directory and the
    /// section `[cluster]` are not used.
    #[arg(long, value_name = "FILE", env = "KEDGE_CONFIG")]
    config: Option<PathBuf>,
    /// Address and port for callers; port 0 picks a free one.
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Address and port of /metrics.
    #[arg(long, value_name = "ADDRESS")]
    metrics_listen: Option<SocketAddr>,
    /// Any option, as in the file: --set name=value.
    #[arg(long, value_name = "NAME=VALUE", value_parser = name_and_value)]
    set: Vec<(String, String)>,
}

impl EdgeArgs {
    /// Reads the edge's configuration.
    pub(crate) fn read(self) -> Result<Config, ConfigError> {
        let mut overrides = self.set;
        let addresses = [
            ("listen", self.listen),
            ("metrics_listen", self.metrics_listen),
        ];
        for (name, address) in addresses {
            let text = address.map(|address| format!("\"{address}\""));
            overrides.extend(text.map(|text| (name.to_owned(), text)));
        }
        kedge_config::load_edge(&ConfigSources {
            file: self.config.as_deref(),
            overrides,
        })
    }
}

//! Trust anchors of a verification: a domain and sequencer keys from the caller, a server or the contract, but never
//! from the file itself.

use std::path::{Path, PathBuf};

use clap::Args;
use kedge_chain::contract::AnchorContract;
use kedge_chain::rpc::{RpcClient, RpcEndpoint, RpcOptions};
use kedge_client::Client;
use kedge_protocol::eip712::Domain;
use kedge_protocol::{Address, BatchKeys, KeyActivation, SequencerKeys};

use super::output::{CliResult, CommandFailure, refuse, refuse_usage};

#[derive(Args)]
pub(crate) struct TrustArgs {
    /// Trust the domain and the sequencer keys that this server states.
    #[arg(long, value_name = "URL", conflicts_with_all = ["domain", "sequencer", "keys"])]
    url: Option<String>,
    /// Trust this log: its chain id and its first anchor contract.
    #[arg(long, value_name = "CHAIN_ID:ADDRESS", value_parser = parse_domain)]
    domain: Option<Domain>,
    /// Trust this sequencer key: the only one of the log, or its first.
    #[arg(long, value_name = "ADDRESS", requires = "domain")]
    sequencer: Option<Address>,
    /// Trust the sequencer keys in this file: a list of `key` and `from_batch`, or an answer of GET
    /// /sequencer-keys.
    #[arg(
        long,
        value_name = "FILE",
        requires = "domain",
        conflicts_with = "sequencer"
    )]
    keys: Option<PathBuf>,
    /// Ask an Ethereum node: trust the contract's domain and keys, and check that it holds a
    /// proof's checkpoint.
    #[arg(long, value_name = "URL")]
    rpc: Option<RpcEndpoint>,
    /// The anchor contract; the domain's if absent and --url or --domain gives one.
    #[arg(long, value_name = "ADDRESS", requires = "rpc")]
    contract: Option<Address>,
}

/// Parses a list of keys, in the format of [`SequencerKeys`] or of `GET /sequencer-keys`; extra members of the latter
/// are ignored.
fn read_keys(path: &Path) -> CliResult<SequencerKeys> {
    #[derive(serde::Deserialize)]
    struct ListedKey {
        key: Address,
        from_batch: u64,
    }
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum KeyList {
        Bare(Vec<ListedKey>),
        Answer { items: Vec<ListedKey> },
    }
    let wrong = |error: &dyn std::fmt::Display| {
        CommandFailure::usage(format!("--keys {}: {error}", path.display()))
    };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
    let listed: KeyList = serde_json::from_str(&text).map_err(|error| wrong(&error))?;
    let (KeyList::Bare(items) | KeyList::Answer { items }) = listed;
    let entries = items.into_iter().map(|item| KeyActivation {
        key: item.key,
        from_batch: item.from_batch,
    });
    SequencerKeys::new(entries.collect()).map_err(|error| wrong(&error))
}

/// The log that a signature is for.
#[derive(Args)]
pub(crate) struct DomainArgs {
    /// The server to ask for its domain.
    #[arg(
        long,
        value_name = "URL",
        default_value = "http://127.0.0.1:8080",
        conflicts_with = "domain"
    )]
    url: String,
    /// The log's chain id and first anchor contract, instead of asking the server.
    #[arg(long, value_name = "CHAIN_ID:ADDRESS", value_parser = parse_domain)]
    domain: Option<Domain>,
}

impl DomainArgs {
    /// The given domain, or the server's.
    pub(crate) async fn domain(self) -> CliResult<Domain> {
        match self.domain {
            Some(domain) => Ok(domain),
            None => Ok(Client::builder(&self.url).connect().await?.domain()),
        }
    }
}

/// Parses `CHAIN_ID:ADDRESS`.
pub(crate) fn parse_domain(text: &str) -> Result<Domain, String> {
    let (chain_id, contract) = text
        .split_once(':')
        .ok_or("must be a chain id, a colon and an address, such as 1:0x…")?;
    Ok(Domain {
        chain_id: chain_id
            .parse()
            .map_err(|_| "the chain id must be a number")?,
        verifying_contract: contract.parse().map_err(|error| format!("{error}"))?,
    })
}

/// Trust anchors, fixed before a file is read.
pub(crate) struct CliTrust {
    known: Option<(Domain, SequencerKeys)>,
    contract: Option<AnchorContract>,
}

impl TrustArgs {
    /// Whether the caller gave any trust anchor.
    pub(crate) fn is_given(&self) -> bool {
        self.url.is_some() || self.domain.is_some() || self.rpc.is_some()
    }

    /// The server that the caller trusts.
    pub(crate) fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    pub(crate) async fn resolve(self) -> CliResult<CliTrust> {
        let keys = match (&self.keys, self.sequencer) {
            (Some(file), _) => Some(read_keys(file)?),
            (None, sequencer) => sequencer.map(SequencerKeys::from),
        };
        let known = match (self.url, self.domain, keys) {
            (Some(url), ..) => {
                let client = Client::builder(url).connect().await?;
                Some((client.domain(), client.sequencer_keys()))
            }
            (None, Some(domain), Some(keys)) => Some((domain, keys)),
            (None, Some(_), None) => {
                return refuse_usage("--domain needs --sequencer or --keys");
            }
            (None, None, _) => None,
        };
        let address = self
            .contract
            .or(known.as_ref().map(|(domain, _)| domain.verifying_contract));
        let contract = match (self.rpc, address) {
            (Some(endpoint), Some(address)) => {
                let rpc = RpcClient::new(endpoint, RpcOptions::default());
                Some(AnchorContract::new(rpc, address))
            }
            (Some(_), None) => {
                return refuse_usage(
                    "--rpc needs --contract, unless --url or --domain gives the contract",
                );
            }
            (None, _) => None,
        };
        if known.is_none() && contract.is_none() {
            return refuse_usage(
                "nothing to trust: name --rpc and --contract, or --url, or --domain and --sequencer",
            );
        }
        Ok(CliTrust { known, contract })
    }
}

impl CliTrust {
    #[cfg(test)]
    pub(crate) fn given(domain: Domain, keys: impl Into<SequencerKeys>) -> Self {
        Self {
            known: Some((domain, keys.into())),
            contract: None,
        }
    }

    /// The contract, if a node was given.
    pub(crate) fn contract(&self) -> Option<&AnchorContract> {
        self.contract.as_ref()
    }

    /// The domain and sequencer keys for a log without a claimed domain.
    pub(crate) async fn of_log(&self) -> CliResult<(Domain, SequencerKeys)> {
        let domain = match (&self.known, &self.contract) {
            (Some((domain, _)), _) => *domain,
            (None, Some(contract)) => Domain {
                chain_id: contract.rpc().chain_id().await?,
                verifying_contract: contract.address(),
            },
            (None, None) => {
                return refuse_usage("neither a domain nor a contract to trust");
            }
        };
        self.of(domain).await
    }

    /// The domain and sequencer keys for a file that claims this domain.
    pub(crate) async fn of(&self, claimed: Domain) -> CliResult<(Domain, SequencerKeys)> {
        if let Some((domain, _)) = &self.known
            && *domain != claimed
        {
            return refuse("the file belongs to a different log than the trusted one");
        }
        let Some(contract) = &self.contract else {
            return self
                .known
                .clone()
                .ok_or_else(|| CommandFailure::usage("neither a domain nor a contract to trust"));
        };
        let separator = contract.domain_separator().await.map_err(read_failure)?;
        if claimed.separator() != separator {
            return refuse("the file belongs to a different log than the one the contract anchors");
        }
        let keys = contract.sequencer_keys().await.map_err(read_failure)?;
        if let Some((_, known)) = &self.known
            && !keys.extends(known)
            && !known.extends(&keys)
        {
            let batch = keys.first_difference(known, u64::MAX).unwrap_or(0);
            return refuse(format!(
                "the contract names {} as the sequencer of batch {batch}, not {}",
                keys.key_of(batch),
                known.key_of(batch)
            ));
        }
        Ok((claimed, keys))
    }
}

/// The error of an unreadable contract.
pub(crate) fn read_failure(error: impl std::fmt::Display) -> CommandFailure {
    CommandFailure::refused(format!("the contract: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn domains() {
        let text = "31337:0x5FbDB2315678afecb367f032d93F642f64180aa3";
        let domain = parse_domain(text).unwrap();
        assert_eq!(domain.chain_id, 31337);
        assert_eq!(
            domain.separator().to_string(),
            "0x0a4d73c7924f24cffaf92adf4fe8a31aec225479d5d5924e985d751ef94306c9"
        );
        for bad in ["", "31337", "x:0x00", "1:0x00", "1:"] {
            assert!(parse_domain(bad).is_err(), "{bad}");
        }
    }
}

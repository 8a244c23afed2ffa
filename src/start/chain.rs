//! The log's chain: an external node, or the embedded one.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kedge_chain::contract::{AnchorContract, DeployOptions, TransactError, ensure_deployed};
use kedge_chain::rpc::{EndpointError, RpcClient, RpcEndpoint, RpcOptions};
use kedge_chain::transaction::FeePolicy;
use kedge_config::secrets::{self, SecretError};
use kedge_config::state_file;
use kedge_config::{ChainMode, Config};
use kedge_devchain as embedded;
use kedge_http::clock;
use kedge_protocol::Address;
use kedge_protocol::eip712::Domain;
use kedge_protocol::signature::SigningKey;

/// Time limit for the embedded chain to mine the contract, milliseconds.
const DEPLOY_PATIENCE_MS: u64 = 30_000;
/// Time for which the start of a new log waits for the contract's domain.
const DOMAIN_PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub enum ChainError {
    #[error(transparent)]
    Embedded(#[from] embedded::EmbeddedChainError),
    #[error("the contract on the embedded chain: {0}")]
    Deploy(#[from] TransactError),
    #[error("option chain_rpc_url: {0}")]
    Endpoint(#[from] EndpointError),
    #[error("option chain_second_rpc_url: {0}")]
    SecondEndpoint(EndpointError),
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The file that records the embedded chain's contract.
    #[error("{path}: {message}")]
    ContractFile { path: String, message: String },
    /// The contract anchors the log of another domain.
    #[error(
        "the contract {address} signs for chain {found_chain} and contract {found_contract}, but chain_id and chain_contract make a log for chain {chain} and contract {contract}, and nothing of it could be anchored. Correct chain_id, chain_contract, or domain_contract after a change of contracts; no log was made"
    )]
    OtherDomain {
        address: Address,
        /// The contract's chain.
        found_chain: u64,
        /// The contract's domain contract.
        found_contract: Address,
        /// The configured chain.
        chain: u64,
        /// The configured domain contract.
        contract: Address,
    },
    /// An option required by validation is missing.
    #[error("option {0} is required with chain = \"rpc\"")]
    Missing(&'static str),
}

/// The chain, its contract and the key that pays there.
pub struct ChainConnection {
    domain: Domain,
    contract: Address,
    rpc: RpcClient,
    second_rpc: Option<RpcClient>,
    anchor_key: SigningKey,
    embedded: Option<(embedded::EmbeddedChainHandle, String)>,
}

impl ChainConnection {
    /// Opens the configured chain. Sends nothing to the node yet, because the server can serve without it.
    pub async fn open(config: &Config, sequencer: Address) -> Result<Self, ChainError> {
        match config.chain {
            ChainMode::Embedded => Self::embedded(config, sequencer).await,
            ChainMode::Rpc => Self::node(config),
        }
    }

    fn node(config: &Config) -> Result<Self, ChainError> {
        let url = config.chain_rpc_url.as_deref();
        let endpoint: RpcEndpoint = url.ok_or(ChainError::Missing("chain_rpc_url"))?.parse()?;
        let second = config.chain_second_rpc_url.as_deref();
        let second: Option<RpcEndpoint> = second
            .map(str::parse)
            .transpose()
            .map_err(ChainError::SecondEndpoint)?;
        let contract = config
            .chain_contract
            .ok_or(ChainError::Missing("chain_contract"))?;
        let anchor_key = secrets::signing_key(
            config.anchor_key_file.as_deref(),
            "anchor_key_file",
            "KEDGE_ANCHOR_KEY",
        )?;
        Ok(Self {
            domain: Domain {
                chain_id: config.chain_id.ok_or(ChainError::Missing("chain_id"))?,
                verifying_contract: config.domain_contract.unwrap_or(contract),
            },
            contract,
            rpc: RpcClient::new(endpoint, RpcOptions::default()),
            second_rpc: second.map(|endpoint| RpcClient::new(endpoint, RpcOptions::default())),
            anchor_key,
            embedded: None,
        })
    }

    async fn embedded(config: &Config, sequencer: Address) -> Result<Self, ChainError> {
        let chain_id = config.chain_id.unwrap_or(embedded::DEFAULT_CHAIN_ID);
        let handle = embedded::start(embedded::EmbeddedOptions {
            chain_id,
            journal_path: config.data_dir.join("chain.journal"),
            listen: config.embedded_chain_listen,
            clock: Arc::new(clock::now_s),
        })
        .await?;
        let url = handle.url();
        let rpc = RpcClient::new(url.parse()?, RpcOptions::default());
        let mut keys = embedded::insecure_development_keys();
        let anchor_key = keys.swap_remove(0);
        let remembered = config.data_dir.join("contract");
        let options = DeployOptions {
            owner: anchor_key.address(),
            sequencer_key: sequencer,
            domain_contract: None,
            fee_policy: FeePolicy::default(),
            patience_ms: DEPLOY_PATIENCE_MS,
        };
        let stored = read_address(&remembered)?;
        let contract = ensure_deployed(&rpc, &anchor_key, stored, &options)
            .await?
            .address();
        if stored != Some(contract) {
            write_address(&remembered, contract)?;
        }
        Ok(Self {
            domain: Domain {
                chain_id,
                verifying_contract: contract,
            },
            contract,
            rpc,
            second_rpc: None,
            anchor_key,
            embedded: Some((handle, url)),
        })
    }

    /// Refuses to make a log whose signatures the contract would not accept. While the node does not answer, a log may
    /// be made, but nothing is signed for it.
    pub async fn check_new(&self, config: &Config) -> Result<(), ChainError> {
        let is_there = std::fs::read_dir(config.data_dir.join("log"))
            .is_ok_and(|mut files| files.next().is_some());
        if is_there {
            return Ok(());
        }
        let contract = AnchorContract::new(self.rpc.clone(), self.contract);
        let asked = tokio::time::timeout(DOMAIN_PATIENCE, contract.domain()).await;
        match asked {
            Ok(Ok(found)) if found.separator() != self.domain.separator() => {
                Err(ChainError::OtherDomain {
                    address: self.contract,
                    found_chain: found.chain_id,
                    found_contract: found.verifying_contract,
                    chain: self.domain.chain_id,
                    contract: self.domain.verifying_contract,
                })
            }
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => {
                tracing::warn!(%error, "the contract's domain cannot be read yet: nothing is signed before it was");
                Ok(())
            }
            Err(_) => {
                tracing::warn!(
                    "the contract's domain cannot be read yet: nothing is signed before it was"
                );
                Ok(())
            }
        }
    }

    pub fn domain(&self) -> Domain {
        self.domain
    }

    /// The contract that currently anchors it.
    pub fn contract(&self) -> Address {
        self.contract
    }

    pub fn rpc(&self) -> &RpcClient {
        &self.rpc
    }

    pub fn second_rpc(&self) -> Option<&RpcClient> {
        self.second_rpc.as_ref()
    }

    /// The node as a second source of time. Not for the embedded chain, whose blocks use this server's own clock.
    pub fn second_source(&self) -> Option<RpcClient> {
        self.embedded.is_none().then(|| self.rpc.clone())
    }

    pub fn anchor_key(&self) -> &SigningKey {
        &self.anchor_key
    }

    /// The embedded chain's URL; another node's may hold a secret and is not shown.
    pub fn url(&self) -> Option<&str> {
        self.embedded.as_ref().map(|(_, url)| url.as_str())
    }

    pub async fn shutdown(self) {
        if let Some((handle, _)) = self.embedded {
            handle.shutdown().await;
        }
    }
}

fn file_error(path: &Path, message: &impl ToString) -> ChainError {
    ChainError::ContractFile {
        path: path.display().to_string(),
        message: message.to_string(),
    }
}

fn read_address(path: &Path) -> Result<Option<Address>, ChainError> {
    match std::fs::read_to_string(path) {
        Ok(text) if text.trim().is_empty() => Err(file_error(
            path,
            &"it is empty, but should hold the address of the embedded chain's contract. Restore it from a backup; a start with another address names the one that the store belongs to",
        )),
        Ok(text) => match text.trim().parse() {
            Ok(address) => Ok(Some(address)),
            Err(error) => Err(file_error(path, &error)),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(file_error(path, &error)),
    }
}

fn write_address(path: &Path, address: Address) -> Result<(), ChainError> {
    state_file::put(path, format!("{address}\n").as_bytes())
        .map_err(|error| file_error(path, &error))
}

//! Deployment of the anchor contract.

use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash};

use super::deployment_data;
use super::operator_transaction::{TransactError, transact};
use crate::rpc::{BlockTag, RpcClient, RpcError};
use crate::transaction::{FeePolicy, deployed_address};

/// Parameters of a deployment.
#[derive(Debug, Clone)]
pub struct DeployOptions {
    /// The account that may rotate keys and pause.
    pub owner: Address,
    /// The key that signs from batch 0 on.
    pub sequencer_key: Address,
    /// The log's first anchor contract; `None` if this is it.
    pub domain_contract: Option<Address>,
    pub fee_policy: FeePolicy,
    /// Longest wait for the receipt.
    pub patience_ms: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deployment {
    pub address: Address,
    pub tx_hash: Hash,
    /// The block that holds it.
    pub block_number: u64,
}

/// Whether there is code at `address`.
pub async fn is_deployed(rpc: &RpcClient, address: Address) -> Result<bool, RpcError> {
    let code = rpc.code(address, BlockTag::Latest).await?;
    Ok(!code.is_empty())
}

/// The contract at `stored` if there is code, else a new one; for a server's start on a development chain. On a public
/// chain, a stored address without code means a wrong node and must not lead to a deployment.
pub async fn ensure_deployed(
    rpc: &RpcClient,
    key: &SigningKey,
    stored: Option<Address>,
    options: &DeployOptions,
) -> Result<DeploymentOutcome, TransactError> {
    match stored {
        Some(address) if is_deployed(rpc, address).await? => Ok(DeploymentOutcome::Found(address)),
        _ => deploy(rpc, key, options)
            .await
            .map(DeploymentOutcome::Deployed),
    }
}

/// A contract's address, and whether it existed before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeploymentOutcome {
    /// It existed before.
    Found(Address),
    /// This call deployed it.
    Deployed(Deployment),
}

impl DeploymentOutcome {
    pub fn address(&self) -> Address {
        match self {
            Self::Found(address) => *address,
            Self::Deployed(deployment) => deployment.address,
        }
    }
}

/// Deploys the contract, paid by `key`, and waits for the receipt.
pub async fn deploy(
    rpc: &RpcClient,
    key: &SigningKey,
    options: &DeployOptions,
) -> Result<Deployment, TransactError> {
    let data = deployment_data(
        options.owner,
        options.sequencer_key,
        options.domain_contract,
    );
    let mined = transact(
        rpc,
        key,
        None,
        data,
        &options.fee_policy,
        options.patience_ms,
    )
    .await?;
    Ok(Deployment {
        address: deployed_address(key.address(), mined.nonce),
        tx_hash: mined.tx_hash,
        block_number: mined.block_number,
    })
}

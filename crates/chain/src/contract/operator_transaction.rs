//! A single transaction of an operator, sent and awaited. Anchors use the sender instead; sharing its key while it runs
//! causes nonce conflicts.

use std::time::Duration;

use ethers_core::types::{Bytes, TransactionReceipt};
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash};
use thiserror::Error;

use super::decode_revert;
use crate::convert::{h160, h256};
use crate::rpc::{BlockTag, CallRequest, RpcClient, RpcError};
use crate::transaction::{FeePolicy, TransactionRequest};

/// A transaction in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MinedTransaction {
    pub tx_hash: Hash,
    pub block_number: u64,
    pub gas_used: u64,
    pub nonce: u64,
}

/// Why a transaction did not succeed.
#[derive(Debug, Error)]
pub enum TransactError {
    #[error(transparent)]
    Rpc(#[from] RpcError),
    /// The contract would reject it.
    #[error("the contract refused: {0}")]
    Reverted(String),
    /// The transaction was sent, but not seen in a block in time.
    #[error("the transaction {tx_hash} was not mined within {patience_ms} ms")]
    NotMined {
        tx_hash: Hash,
        /// How long the receipt was awaited.
        patience_ms: u64,
    },
}

/// Sends `data` to `to` (`None` deploys it), paid by `key`, and waits at most `patience_ms` for the receipt. A
/// simulated revert is returned instead of sending.
pub async fn transact(
    rpc: &RpcClient,
    key: &SigningKey,
    to: Option<Address>,
    data: Vec<u8>,
    fee_policy: &FeePolicy,
    patience_ms: u64,
) -> Result<MinedTransaction, TransactError> {
    transact_paying(rpc, key, to, data, 0, fee_policy, patience_ms).await
}

/// Like [`transact`], but also transfers `value_wei`.
pub async fn transact_paying(
    rpc: &RpcClient,
    key: &SigningKey,
    to: Option<Address>,
    data: Vec<u8>,
    value_wei: u128,
    fee_policy: &FeePolicy,
    patience_ms: u64,
) -> Result<MinedTransaction, TransactError> {
    let call = CallRequest {
        from: Some(h160(key.address())),
        to: to.map(h160),
        data: Some(Bytes::from(data.clone())),
        value: (value_wei > 0).then(|| value_wei.into()),
        gas: None,
    };
    let gas = rpc.estimate_gas(&call).await.map_err(refusal)?;
    let nonce = rpc
        .transaction_count(key.address(), BlockTag::Latest)
        .await?;
    let history = rpc.fee_history(5, &[50.0]).await?;
    let signed = TransactionRequest {
        chain_id: rpc.chain_id().await?,
        nonce,
        fees: fee_policy.first_offer(&history),
        gas_limit: gas + gas / 5,
        to,
        value_wei,
        data,
    }
    .sign(key);
    rpc.send_raw_transaction(&signed.raw).await?;
    let receipt = wait_for_receipt(rpc, signed.hash, patience_ms).await?;
    if receipt.status != Some(1.into()) {
        let reason = "in its block, although the node had predicted success";
        return Err(TransactError::Reverted(reason.to_owned()));
    }
    Ok(MinedTransaction {
        tx_hash: signed.hash,
        block_number: receipt.block_number.unwrap_or_default().as_u64(),
        gas_used: receipt.gas_used.unwrap_or_default().low_u64(),
        nonce,
    })
}

fn refusal(error: RpcError) -> TransactError {
    match error.node().and_then(crate::rpc::ErrorObject::revert_data) {
        Some(data) => TransactError::Reverted(decode_revert(&data)),
        None => TransactError::Rpc(error),
    }
}

async fn wait_for_receipt(
    rpc: &RpcClient,
    tx_hash: Hash,
    patience_ms: u64,
) -> Result<TransactionReceipt, TransactError> {
    let poll = async {
        let mut pause = Duration::from_millis(20);
        loop {
            if let Some(receipt) = rpc.transaction_receipt(h256(tx_hash)).await? {
                return Ok(receipt);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(2));
        }
    };
    tokio::time::timeout(Duration::from_millis(patience_ms), poll)
        .await
        .unwrap_or(Err(TransactError::NotMined {
            tx_hash,
            patience_ms,
        }))
}

//! Typed wrappers of the node's methods.

use std::sync::atomic::Ordering;

use ethers_core::types::{Bytes, H256, Log, Transaction, TransactionReceipt, U64, U256};
use kedge_protocol::Address;
use serde_json::json;

use super::{BlockHeader, BlockTag, CallRequest, FeeHistory, LogFilter, RpcClient, RpcError};
use crate::convert::h160;

/// Limit of blocks per request for logs, below the limits of public nodes.
const LOGS_BLOCKS_MAX: u64 = 2_000;

impl RpcClient {
    /// The chain's id (EIP-155).
    pub async fn chain_id(&self) -> Result<u64, RpcError> {
        let id: U64 = self.request("eth_chainId", json!([])).await?;
        Ok(id.as_u64())
    }

    /// The block at `at`, without transactions; `None` if it does not exist, or the tag does not yet.
    ///
    /// # Errors
    /// Also if the node answers with another block.
    pub async fn block(&self, at: BlockTag) -> Result<Option<BlockHeader>, RpcError> {
        let method = "eth_getBlockByNumber";
        let found: Option<BlockHeader> = self.request(method, json!([at, false])).await?;
        let is_asked = |block: &BlockHeader| match at {
            BlockTag::Block(number) => block.number == number.into(),
            BlockTag::Latest | BlockTag::Finalized => true,
        };
        require(method, found.iter().all(is_asked))?;
        Ok(found)
    }

    /// The number of transactions sent from `address`.
    pub async fn transaction_count(&self, address: Address, at: BlockTag) -> Result<u64, RpcError> {
        let params = json!([h160(address), at]);
        let count: U64 = self.request("eth_getTransactionCount", params).await?;
        Ok(count.as_u64())
    }

    pub async fn balance_wei(&self, address: Address, at: BlockTag) -> Result<u128, RpcError> {
        let params = json!([h160(address), at]);
        let balance: U256 = self.request("eth_getBalance", params).await?;
        Ok(u128::try_from(balance).unwrap_or(u128::MAX))
    }

    /// The code at `address`; may be empty.
    pub async fn code(&self, address: Address, at: BlockTag) -> Result<Vec<u8>, RpcError> {
        let params = json!([h160(address), at]);
        let code: Bytes = self.request("eth_getCode", params).await?;
        Ok(code.to_vec())
    }

    /// Runs a call without changing anything; a revert is a node error with its data.
    pub async fn call(&self, call: &CallRequest, at: BlockTag) -> Result<Bytes, RpcError> {
        self.request("eth_call", json!([call, at])).await
    }

    /// The gas that the call needs; a revert is a node error with its data.
    pub async fn estimate_gas(&self, call: &CallRequest) -> Result<u64, RpcError> {
        let gas: U64 = self.request("eth_estimateGas", json!([call])).await?;
        Ok(gas.as_u64())
    }

    /// Fees of the last `blocks` blocks, with tips at the given percentiles.
    pub async fn fee_history(
        &self,
        blocks: u64,
        percentiles: &[f64],
    ) -> Result<FeeHistory, RpcError> {
        let params = json!([U64::from(blocks), BlockTag::Latest, percentiles]);
        self.request("eth_feeHistory", params).await
    }

    /// Sends a signed transaction to the node; returns its hash.
    pub async fn send_raw_transaction(&self, raw: &Bytes) -> Result<H256, RpcError> {
        self.request("eth_sendRawTransaction", json!([raw])).await
    }

    /// The receipt, once the transaction is in a block of the canonical chain.
    ///
    /// # Errors
    /// Also if the node answers with another transaction's.
    pub async fn transaction_receipt(
        &self,
        hash: H256,
    ) -> Result<Option<TransactionReceipt>, RpcError> {
        let method = "eth_getTransactionReceipt";
        let found: Option<TransactionReceipt> = self.request(method, json!([hash])).await?;
        let is_asked = |receipt: &TransactionReceipt| receipt.transaction_hash == hash;
        require(method, found.iter().all(is_asked))?;
        Ok(found)
    }

    /// The transaction, mined or waiting in the node's pool.
    ///
    /// # Errors
    /// Also if the node answers with another transaction.
    pub async fn transaction(&self, hash: H256) -> Result<Option<Transaction>, RpcError> {
        let method = "eth_getTransactionByHash";
        let found: Option<Transaction> = self.request(method, json!([hash])).await?;
        require(method, found.iter().all(|found| found.hash == hash))?;
        Ok(found)
    }

    /// The logs that a filter selects.
    ///
    /// # Errors
    /// Also if the node answers with others.
    pub async fn logs(&self, filter: &LogFilter) -> Result<Vec<Log>, RpcError> {
        let method = "eth_getLogs";
        let found: Vec<Log> = self.request(method, json!([filter])).await?;
        require(method, found.iter().all(|log| filter.selects(log)))?;
        Ok(found)
    }

    /// The logs of a contract in blocks `from` to `to`, in order; the range is requested in chunks.
    pub async fn logs_between(
        &self,
        address: Address,
        topics: Vec<Option<H256>>,
        from: u64,
        to: u64,
    ) -> Result<Vec<Log>, RpcError> {
        let mut found = Vec::new();
        let mut next = from;
        while next <= to {
            let last = to.min(next + (LOGS_BLOCKS_MAX - 1));
            let filter = LogFilter {
                address: h160(address),
                topics: topics.clone(),
                from_block: BlockTag::Block(next),
                to_block: BlockTag::Block(last),
            };
            found.append(&mut self.logs(&filter).await?);
            next = last + 1;
        }
        Ok(found)
    }

    /// The number of the newest final block (the execution API's tag `finalized`); `None` if the node does not know the
    /// tag.
    ///
    /// # Errors
    /// Also if a node that named a final block before names none now, or refuses for a reason other than the tag: a
    /// stalled finality must not be replaced by a block depth.
    pub async fn final_block(&self) -> Result<Option<u64>, RpcError> {
        let knew = || self.has_finalized.load(Ordering::Relaxed);
        match self.block(BlockTag::Finalized).await {
            Ok(Some(block)) => {
                self.has_finalized.store(true, Ordering::Relaxed);
                Ok(Some(block.number.as_u64()))
            }
            Ok(None) if knew() => Err(RpcError::Malformed(
                "it names no final block, and did before".to_owned(),
            )),
            Err(RpcError::Node(error)) if !knew() && error.is_about_the_block() => Ok(None),
            Ok(None) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The newest final block; without the `finalized` tag, the block `fallback_depth` below the head.
    ///
    /// # Errors
    /// Those of [`RpcClient::final_block`].
    pub async fn final_number(&self, head: u64, fallback_depth: u64) -> Result<u64, RpcError> {
        let known = self.final_block().await?;
        Ok(known.unwrap_or(head.saturating_sub(fallback_depth)))
    }
}

/// Requires that an answer is about what was asked: what a node claims of one block, transaction or event proves nothing
/// about another.
fn require(method: &str, is_asked: bool) -> Result<(), RpcError> {
    if is_asked {
        Ok(())
    } else {
        let what = format!("its answer to {method} is about something else than was asked");
        Err(RpcError::Malformed(what))
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::sync::{Arc, Mutex};

    use serde_json::Value;

    use super::super::{InProcessNode, RpcOptions};
    use super::*;

    /// A node that replays these answers.
    struct Scripted(Mutex<Vec<&'static str>>);

    impl InProcessNode for Scripted {
        fn answer(
            &self,
            _: Value,
        ) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, RpcError>> + Send>> {
            let body = self.0.lock().unwrap().remove(0);
            let body = format!(r#"{{"jsonrpc":"2.0","id":1,{body}}}"#);
            Box::pin(async move { Ok(body.into_bytes()) })
        }
    }

    const BLOCK_7: &str = r#""result":{"number":"0x7","hash":"0x0000000000000000000000000000000000000000000000000000000000000007","parentHash":"0x0000000000000000000000000000000000000000000000000000000000000006","timestamp":"0x1"}"#;
    const NO_SUCH_TAG: &str = r#""error":{"code":-32000,"message":"finalized block not found"}"#;
    const BUSY: &str = r#""error":{"code":-32005,"message":"limit exceeded"}"#;
    const NULL: &str = r#""result":null"#;

    // Holds invariant 14.
    #[tokio::test]
    async fn finality_is_never_replaced_by_depth_where_the_node_has_it() {
        let script = [
            NO_SUCH_TAG,
            NULL,
            BUSY,
            BLOCK_7,
            BUSY,
            NO_SUCH_TAG,
            NULL,
            BLOCK_7,
        ];
        let rpc = scripted(&script);
        assert_eq!(rpc.final_number(100, 30).await, Ok(70), "no such tag");
        assert_eq!(rpc.final_number(100, 30).await, Ok(70), "no such block");
        assert!(rpc.final_number(100, 30).await.is_err(), "busy");
        assert_eq!(rpc.final_number(100, 30).await, Ok(7));
        for what in ["busy", "the tag is gone", "the block is gone"] {
            assert!(rpc.final_number(100, 30).await.is_err(), "{what}");
        }
        assert_eq!(rpc.final_block().await, Ok(Some(7)));
    }

    fn scripted(script: &[&'static str]) -> RpcClient {
        let node = Arc::new(Scripted(Mutex::new(script.to_vec())));
        let endpoint = "http://node.invalid".parse().unwrap();
        RpcClient::to_node(node, endpoint, RpcOptions::default())
    }

    const LOG: &str = r#""result":[{"address":"0x0000000000000000000000000000000000000005","topics":["0x0000000000000000000000000000000000000000000000000000000000000001","0x0000000000000000000000000000000000000000000000000000000000000002"],"data":"0x","blockNumber":"0x7"}]"#;
    const TRANSACTION: &str = r#""result":{"hash":"0x0000000000000000000000000000000000000000000000000000000000000009","nonce":"0x0","from":"0x0000000000000000000000000000000000000005","value":"0x0","gas":"0x0","input":"0x","v":"0x0","r":"0x1","s":"0x1"}"#;
    const RECEIPT: &str = r#""result":{"transactionHash":"0x0000000000000000000000000000000000000000000000000000000000000009","transactionIndex":"0x0","from":"0x0000000000000000000000000000000000000005","cumulativeGasUsed":"0x0","logs":[],"logsBloom":"0x"#;

    /// A receipt's text has 512 digits of its bloom filter.
    fn receipt() -> &'static str {
        format!(r#"{RECEIPT}{}"}}"#, "0".repeat(512)).leak()
    }

    fn word(number: u8) -> H256 {
        H256::from_low_u64_be(number.into())
    }

    // Holds invariant 110.
    #[tokio::test]
    async fn an_answer_about_something_else_is_refused() {
        let block =
            |number| async move { scripted(&[BLOCK_7]).block(BlockTag::Block(number)).await };
        assert!(block(7).await.is_ok_and(|found| found.is_some()));
        assert!(block(8).await.is_err());
        let sent = |hash| async move { scripted(&[TRANSACTION]).transaction(word(hash)).await };
        assert!(sent(9).await.is_ok_and(|found| found.is_some()));
        assert!(sent(8).await.is_err());
        let mined =
            |hash| async move { scripted(&[receipt()]).transaction_receipt(word(hash)).await };
        assert!(mined(9).await.is_ok_and(|found| found.is_some()));
        assert!(mined(8).await.is_err());

        let filter = |address: u8, topics: &[Option<u8>], from, to| LogFilter {
            address: ethers_core::types::Address::from_low_u64_be(address.into()),
            topics: topics.iter().map(|topic| topic.map(word)).collect(),
            from_block: BlockTag::Block(from),
            to_block: BlockTag::Block(to),
        };
        let logs = |filter: LogFilter| async move { scripted(&[LOG]).logs(&filter).await };
        for right in [
            filter(5, &[], 7, 7),
            filter(5, &[Some(1)], 6, 8),
            filter(5, &[Some(1), Some(2)], 7, 7),
            filter(5, &[None, Some(2)], 7, 7),
        ] {
            assert_eq!(logs(right).await.map(|found| found.len()), Ok(1));
        }
        for wrong in [
            filter(6, &[], 7, 7),
            filter(5, &[Some(2)], 7, 7),
            filter(5, &[Some(1), Some(3)], 7, 7),
            filter(5, &[Some(1), Some(2), Some(3)], 7, 7),
            filter(5, &[], 8, 9),
            filter(5, &[], 5, 6),
        ] {
            assert!(logs(wrong.clone()).await.is_err(), "{wrong:?}");
        }
    }
}

//! Reading of the chain for the sender's decisions.

use ethers_core::types::TransactionReceipt;
use kedge_protocol::Hash;

use super::decision::{AnchorReceipt, IntentObservation};
use super::intent::Inclusion;
use super::{AnchorSender, IntentStore, SenderStepError};
use crate::contract::decode_anchored;
use crate::convert::{h160, h256, hash};
use crate::rpc::BlockTag;

/// Chain state that all intents of a step share.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChainView {
    pub(super) head_number: u64,
    pub(super) finalized_number: Option<u64>,
    pub(super) next_nonce: u64,
}

impl<S: IntentStore> AnchorSender<S> {
    /// Checks, once per process, that the node is on the expected chain and the contract is the log's.
    pub(super) async fn check_chain(&mut self) -> Result<(), SenderStepError> {
        if self.chain_checked {
            return Ok(());
        }
        let expected = self.options.chain_id;
        let found = self.contract.rpc().chain_id().await?;
        if found != expected {
            return Err(SenderStepError::WrongChain { found, expected });
        }
        let expected = self.options.domain_separator;
        let found = self.contract.domain_separator().await?;
        if found != expected {
            return Err(SenderStepError::WrongDomain {
                address: self.options.contract,
                found,
                expected,
            });
        }
        self.chain_checked = true;
        Ok(())
    }

    /// Reads the nonce first: a receipt that explains it then exists when it is read.
    pub(super) async fn view_chain(&self) -> Result<ChainView, SenderStepError> {
        let rpc = self.contract.rpc();
        let next_nonce = rpc
            .transaction_count(self.key.address(), BlockTag::Latest)
            .await?;
        let head = rpc.block(BlockTag::Latest).await?;
        let head_number = head.map_or(0, |head| head.number.as_u64());
        let finalized_number = rpc.final_block().await?;
        Ok(ChainView {
            head_number,
            finalized_number,
            next_nonce,
        })
    }

    /// A receipt of any of the intent's transactions, preferably the one that anchored.
    pub(super) async fn look_for_receipt(
        &self,
        index: usize,
    ) -> Result<Option<AnchorReceipt>, SenderStepError> {
        let mut seen = None;
        for attempt in &self.open[index].stored.attempts {
            let rpc = self.contract.rpc();
            let receipt = rpc.transaction_receipt(h256(attempt.tx_hash)).await?;
            let Some(found) = receipt.and_then(|receipt| self.read_receipt(&receipt)) else {
                continue;
            };
            if matches!(found, AnchorReceipt::Anchored(_)) {
                return Ok(Some(found));
            }
            // Another sender's transaction counts only if it anchored.
            if attempt.own.is_some() {
                seen = Some(found);
            }
        }
        Ok(seen)
    }

    fn read_receipt(&self, receipt: &TransactionReceipt) -> Option<AnchorReceipt> {
        let mut inclusion = Inclusion {
            tx_hash: hash(receipt.transaction_hash),
            block_number: receipt.block_number?.as_u64(),
            block_hash: hash(receipt.block_hash?),
            gas_used: receipt.gas_used.unwrap_or_default().low_u64(),
            covers_batches: 0,
        };
        if receipt.status != Some(1.into()) {
            return Some(AnchorReceipt::Reverted(inclusion));
        }
        let contract = h160(self.options.contract);
        let mut logs = receipt.logs.iter().filter(|log| log.address == contract);
        match logs.find_map(decode_anchored) {
            Some(event) => {
                inclusion.covers_batches = event.checkpoint.batches;
                Some(AnchorReceipt::Anchored(inclusion))
            }
            None => Some(AnchorReceipt::Silent(inclusion)),
        }
    }

    /// Whether the node knows the intent's last transaction.
    async fn is_in_pool(&self, index: usize) -> Result<bool, SenderStepError> {
        let Some((attempt, _)) = self.open[index].stored.last_own() else {
            return Ok(false);
        };
        let rpc = self.contract.rpc();
        let transaction = rpc.transaction(h256(attempt.tx_hash)).await?;
        Ok(transaction.is_some())
    }

    /// Collects the rules' inputs for an intent. The contract is read last, immediately before anything is sent.
    pub(super) async fn observe(
        &self,
        index: usize,
        now_ms: u64,
        view: ChainView,
        blocked: bool,
    ) -> Result<IntentObservation, SenderStepError> {
        let seen = self.look_for_receipt(index).await?;
        let in_pool = match seen {
            Some(_) => true,
            None => self.is_in_pool(index).await?,
        };
        let contract_batches = self.latest().await?.batches;
        Ok(IntentObservation {
            now_ms,
            head_number: view.head_number,
            finalized_number: view.finalized_number,
            contract_batches,
            next_nonce: view.next_nonce,
            seen,
            in_pool,
            blocked,
        })
    }

    /// Whether the block at `number` still has this hash.
    pub(super) async fn is_canonical(
        &self,
        number: u64,
        expected: Hash,
    ) -> Result<bool, SenderStepError> {
        let block = self.contract.rpc().block(BlockTag::Block(number)).await?;
        Ok(block.is_some_and(|block| hash(block.hash) == expected))
    }
}

//! Blocks of at most one transaction, and their receipts.

use ethers_core::utils::rlp::RlpStream;
use revm::context::result::ExecutionResult;
use revm::primitives::alloy_primitives::Bloom;
use revm::primitives::{Address, B256, Log, TxKind};

use super::header::{EMPTY_ROOT, EmbeddedHeader, next_state_root, single_entry_root};
use super::transaction::DecodedTransaction;

/// A transaction in its block, with the results of its execution.
#[derive(Debug, Clone)]
pub(super) struct MinedResult {
    pub(super) transaction: DecodedTransaction,
    pub(super) success: bool,
    pub(super) gas_used: u64,
    pub(super) logs: Vec<Log>,
    /// Where a deployment created (or would have created) its contract.
    pub(super) contract_address: Option<Address>,
    pub(super) effective_gas_price_wei: u128,
}

impl MinedResult {
    /// Combines a transaction and its execution in a block with base fee `base_fee_wei`.
    pub(super) fn new(
        transaction: DecodedTransaction,
        result: ExecutionResult,
        base_fee_wei: u64,
    ) -> Self {
        let env = &transaction.env;
        let contract_address = (env.kind == TxKind::Create).then(|| env.caller.create(env.nonce));
        let success = result.is_success();
        Self {
            success,
            gas_used: result.tx_gas_used(),
            // A failed execution discards its logs.
            logs: if success {
                result.into_logs()
            } else {
                Vec::new()
            },
            contract_address,
            effective_gas_price_wei: transaction.effective_gas_price_wei(base_fee_wei),
            transaction,
        }
    }

    /// Bloom filter over the logs' addresses and topics.
    pub(super) fn logs_bloom(&self) -> Bloom {
        self.logs.iter().collect()
    }

    /// RLP of the receipt as in the receipts' trie (EIP-2718).
    fn receipt_rlp(&self) -> Vec<u8> {
        let mut stream = RlpStream::new_list(4);
        stream.append(&u8::from(self.success));
        stream.append(&self.gas_used);
        stream.append(&self.logs_bloom().as_slice());
        stream.begin_list(self.logs.len());
        for log in &self.logs {
            stream.begin_list(3);
            stream.append(&log.address.as_slice());
            stream.begin_list(log.topics().len());
            for topic in log.topics() {
                stream.append(&topic.as_slice());
            }
            stream.append(&log.data.data.as_ref());
        }
        let mut envelope = Vec::new();
        if self.transaction.env.tx_type != 0 {
            envelope.push(self.transaction.env.tx_type);
        }
        envelope.extend_from_slice(&stream.out());
        envelope
    }
}

#[derive(Debug, Clone)]
pub(super) struct EmbeddedBlock {
    pub(super) header: EmbeddedHeader,
    pub(super) hash: B256,
    pub(super) mined: Option<MinedResult>,
}

impl EmbeddedBlock {
    /// A block without transactions, or the genesis block.
    pub(super) fn empty(header: EmbeddedHeader) -> Self {
        let hash = header.hash();
        Self {
            header,
            hash,
            mined: None,
        }
    }

    /// Completes `header` with the roots, bloom and gas of its content, and closes the block.
    pub(super) fn seal(
        mut header: EmbeddedHeader,
        parent: &EmbeddedHeader,
        mined: Option<MinedResult>,
    ) -> Self {
        if let Some(mined) = &mined {
            header.gas_used = mined.gas_used;
            header.logs_bloom = mined.logs_bloom();
            header.transactions_root = single_entry_root(&mined.transaction.raw);
            header.receipts_root = single_entry_root(&mined.receipt_rlp());
        } else {
            header.transactions_root = EMPTY_ROOT;
            header.receipts_root = EMPTY_ROOT;
        }
        header.state_root = next_state_root(parent, header.transactions_root, header.receipts_root);
        let hash = header.hash();
        Self {
            header,
            hash,
            mined,
        }
    }

    /// The length of the block's RLP, in bytes.
    pub(super) fn size_bytes(&self) -> usize {
        let mut stream = RlpStream::new_list(4);
        stream.append_raw(&self.header.rlp(), 1);
        stream.begin_list(usize::from(self.mined.is_some()));
        if let Some(mined) = &self.mined {
            let transaction = &mined.transaction;
            if transaction.env.tx_type == 0 {
                stream.append_raw(&transaction.raw, 1);
            } else {
                stream.append(&transaction.raw.as_ref());
            }
        }
        stream.begin_list(0); // uncles
        stream.begin_list(0); // withdrawals
        stream.out().len()
    }
}

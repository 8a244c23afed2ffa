//! Requests and results of the node, with the fields that this crate uses.

use ethers_core::types::{Address, BlockNumber, Bytes, H256, Log, U64, U256};
use serde::{Deserialize, Serialize, Serializer};

/// A block at which state is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlockTag {
    /// The newest block.
    Latest,
    /// The newest block that the chain will not drop.
    Finalized,
    /// The block at a height.
    Block(u64),
}

impl Serialize for BlockTag {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let block = match *self {
            Self::Latest => BlockNumber::Latest,
            Self::Finalized => BlockNumber::Finalized,
            Self::Block(number) => BlockNumber::Number(number.into()),
        };
        block.serialize(serializer)
    }
}

/// A block, without its transactions.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BlockHeader {
    pub number: U64,
    /// keccak256 of its header.
    pub hash: H256,
    pub parent_hash: H256,
    /// Time of the block, Unix seconds.
    pub timestamp: U256,
    /// EIP-1559's base fee, in wei; `None` on a chain without it.
    #[serde(default)]
    pub base_fee_per_gas: Option<U256>,
}

/// Fees of recent blocks (`eth_feeHistory`).
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FeeHistory {
    /// Base fees in wei, oldest first; the last one is the next block's.
    #[serde(default)]
    pub base_fee_per_gas: Vec<U256>,
    /// For each block, the tips at the requested percentiles, in wei.
    #[serde(default)]
    pub reward: Option<Vec<Vec<U256>>>,
}

/// A simulated call (`eth_call`, `eth_estimateGas`).
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallRequest {
    /// The caller; the zero address if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Address>,
    /// The contract; absent for a deployment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Address>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Bytes>,
    /// Zero if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<U256>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gas: Option<U256>,
}

/// Filter of `eth_getLogs`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LogFilter {
    pub address: Address,
    /// One topic per position; `None` matches any.
    pub topics: Vec<Option<H256>>,
    pub from_block: BlockTag,
    pub to_block: BlockTag,
}

impl LogFilter {
    /// Whether the filter selects a log of the canonical chain.
    pub(super) fn selects(&self, log: &Log) -> bool {
        let topics = self.topics.iter().enumerate();
        let mut wanted = topics.filter_map(|(place, topic)| Some((place, (*topic)?)));
        let is_between = log.block_number.is_some_and(|number| {
            let from = matches!(self.from_block, BlockTag::Block(from) if number < from.into());
            let to = matches!(self.to_block, BlockTag::Block(to) if number > to.into());
            !from && !to
        });
        log.address == self.address
            && wanted.all(|(place, topic)| log.topics.get(place) == Some(&topic))
            && log.topics.len() >= self.topics.len()
            && is_between
            && log.removed != Some(true)
    }
}

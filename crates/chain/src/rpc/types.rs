//! The shapes of requests and results, as far as this crate needs them.

use ethers_core::types::{Address, BlockNumber, Bytes, H256, U64, U256};
use serde::{Deserialize, Serialize, Serializer};

/// The block at which something is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// The newest block.
    Latest,
    /// The newest block that the chain will not drop.
    Finalized,
    /// The block at a height.
    Block(u64),
}

impl Serialize for At {
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
    /// The block's height.
    pub number: U64,
    /// keccak256 of its header.
    pub hash: H256,
    /// The hash of the previous block.
    pub parent_hash: H256,
    /// When it was made, unix seconds.
    pub timestamp: U256,
    /// EIP-1559's base fee, in wei; `None` on a chain without it.
    #[serde(default)]
    pub base_fee_per_gas: Option<U256>,
}

/// The fees of the last blocks (`eth_feeHistory`).
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

/// A call that changes nothing (`eth_call`) or is only measured (`eth_estimateGas`).
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallRequest {
    /// The caller; the zero address if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Address>,
    /// The contract; absent for a deployment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Address>,
    /// The calldata.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Bytes>,
    /// The value sent, in wei; zero if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<U256>,
    /// The gas limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gas: Option<U256>,
}

/// The logs to return (`eth_getLogs`).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LogFilter {
    /// The emitting contract.
    pub address: Address,
    /// One topic per position; `None` matches any.
    pub topics: Vec<Option<H256>>,
    /// The first block.
    pub from_block: At,
    /// The last block.
    pub to_block: At,
}

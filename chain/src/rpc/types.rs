//! The shapes of requests and results, as far as this crate needs them.

use ethers_core::types::{Address, BlockNumber, Bytes, H256, U64, U256};
use serde::{Deserialize, Serialize, Serializer};

/// At which block something is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// The newest block.
    Latest,
    /// The newest block that the chain will not give up.
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
    /// The hash of the block before.
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
    /// For each block the tips at the percentiles that were asked for, in wei.
    #[serde(default)]
    pub reward: Option<Vec<Vec<U256>>>,
}

/// A call that changes nothing (`eth_call`) or is only measured (`eth_estimateGas`).
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallRequest {
    /// Who calls; the zero address if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Address>,
    /// The contract; absent for a deployment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Address>,
    /// The calldata.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Bytes>,
    /// What goes along, in wei; nothing if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<U256>,
    /// The gas limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gas: Option<U256>,
}

/// Which logs are wanted (`eth_getLogs`).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LogFilter {
    /// The emitting contract.
    pub address: Address,
    /// One topic a position; `None` takes any.
    pub topics: Vec<Option<H256>>,
    /// The first block.
    pub from_block: At,
    /// The last block.
    pub to_block: At,
}

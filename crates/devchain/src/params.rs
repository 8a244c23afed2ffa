//! Parameters of JSON-RPC requests.

use ethers_core::types::{Bytes as EthersBytes, U256 as EthersU256};
use revm::context::TxEnv;
use revm::primitives::{Address, B256, Bytes, TxKind, U256};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::failure::JsonRpcFailure;
use super::header::BLOCK_GAS_LIMIT;
use super::transaction::{address, word};

/// The positional parameters of one request.
pub(super) struct EthParams<'a>(pub(super) &'a [Value]);

impl EthParams<'_> {
    /// The parameter at `index`; an error if it is missing.
    pub(super) fn required<T: DeserializeOwned>(&self, index: usize) -> Result<T, JsonRpcFailure> {
        self.optional(index)?
            .ok_or_else(|| JsonRpcFailure::invalid_params(format!("parameter {index} is missing")))
    }

    /// The parameter at `index`; `None` if it is missing or null.
    pub(super) fn optional<T: DeserializeOwned>(
        &self,
        index: usize,
    ) -> Result<Option<T>, JsonRpcFailure> {
        match self.0.get(index) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => T::deserialize(value).map(Some).map_err(|error| {
                JsonRpcFailure::invalid_params(format!("parameter {index}: {error}"))
            }),
        }
    }

    pub(super) fn address(&self, index: usize) -> Result<Address, JsonRpcFailure> {
        self.required(index).map(address)
    }

    pub(super) fn hash(&self, index: usize) -> Result<B256, JsonRpcFailure> {
        let hash: ethers_core::types::H256 = self.required(index)?;
        Ok(B256::from(hash.0))
    }

    /// A number, as a hexadecimal quantity or a JSON number.
    pub(super) fn number(&self, index: usize) -> Result<Option<u64>, JsonRpcFailure> {
        match self.0.get(index) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Number(number)) if number.is_u64() => Ok(number.as_u64()),
            Some(value) => quantity(value)
                .ok_or_else(|| {
                    JsonRpcFailure::invalid_params(format!("parameter {index} is not a number"))
                })
                .map(Some),
        }
    }

    /// A block's tag, height or hash; `latest` if absent.
    pub(super) fn block(&self, index: usize) -> Result<BlockId, JsonRpcFailure> {
        match self.0.get(index) {
            None | Some(Value::Null) => Ok(BlockId::Head),
            Some(value) => block_id(value).ok_or_else(|| {
                JsonRpcFailure::invalid_params(format!("parameter {index} is not a block"))
            }),
        }
    }
}

/// A block selector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockId {
    /// `latest`, `safe` and `finalized`, which are the same here.
    Head,
    /// The next block.
    Pending,
    /// By height; `earliest` is 0.
    Number(u64),
    /// By hash.
    Hash(B256),
}

fn quantity(value: &Value) -> Option<u64> {
    let digits = value.as_str()?.strip_prefix("0x")?;
    u64::from_str_radix(digits, 16).ok()
}

fn block_id(value: &Value) -> Option<BlockId> {
    if let Value::Object(fields) = value {
        // EIP-1898's form.
        if let Some(hash) = fields.get("blockHash") {
            let hash = ethers_core::types::H256::deserialize(hash).ok()?;
            return Some(BlockId::Hash(B256::from(hash.0)));
        }
        return fields.get("blockNumber").and_then(block_id);
    }
    match value.as_str()? {
        "latest" | "safe" | "finalized" => Some(BlockId::Head),
        "pending" => Some(BlockId::Pending),
        "earliest" => Some(BlockId::Number(0)),
        _ => quantity(value).map(BlockId::Number),
    }
}

/// A call of `eth_call` or `eth_estimateGas`; fees are ignored, since calls are free.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EthCall {
    from: Option<ethers_core::types::Address>,
    to: Option<ethers_core::types::Address>,
    gas: Option<EthersU256>,
    value: Option<EthersU256>,
    input: Option<EthersBytes>,
    data: Option<EthersBytes>,
}

impl EthCall {
    pub(super) fn environment(self) -> TxEnv {
        let data = self.input.or(self.data).unwrap_or_default();
        TxEnv {
            caller: self.from.map(address).unwrap_or_default(),
            gas_limit: self.gas.map_or(BLOCK_GAS_LIMIT, |gas| {
                u64::try_from(gas).unwrap_or(u64::MAX)
            }),
            kind: match self.to {
                Some(to) => TxKind::Call(address(to)),
                None => TxKind::Create,
            },
            value: self.value.map_or(U256::ZERO, word),
            data: Bytes::from(data.0),
            ..TxEnv::default()
        }
    }
}

/// A value or a list, as in log filters.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

impl<T: PartialEq> OneOrMany<T> {
    fn takes(&self, value: &T) -> bool {
        match self {
            Self::One(one) => one == value,
            Self::Many(many) => many.is_empty() || many.contains(value),
        }
    }
}

/// The filter of `eth_getLogs`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EthLogFilter {
    from_block: Option<Value>,
    to_block: Option<Value>,
    block_hash: Option<ethers_core::types::H256>,
    address: Option<OneOrMany<ethers_core::types::Address>>,
    #[serde(default)]
    topics: Vec<Option<OneOrMany<ethers_core::types::H256>>>,
}

impl EthLogFilter {
    /// First and last block of the range.
    pub(super) fn range(&self) -> Result<(BlockId, BlockId), JsonRpcFailure> {
        if let Some(hash) = self.block_hash {
            if self.from_block.is_some() || self.to_block.is_some() {
                return Err(JsonRpcFailure::invalid_params(
                    "a filter has either blockHash or fromBlock and toBlock",
                ));
            }
            let id = BlockId::Hash(B256::from(hash.0));
            return Ok((id, id));
        }
        let side = |value: &Option<Value>| match value {
            None => Ok(BlockId::Head),
            Some(value) => block_id(value)
                .ok_or_else(|| JsonRpcFailure::invalid_params("the filter's block is not valid")),
        };
        Ok((side(&self.from_block)?, side(&self.to_block)?))
    }

    pub(super) fn takes(&self, log: &revm::primitives::Log) -> bool {
        let address = ethers_core::types::Address::from(log.address.into_array());
        let topics = log.topics();
        self.address
            .as_ref()
            .is_none_or(|wanted| wanted.takes(&address))
            && self.topics.len() <= topics.len()
            && self.topics.iter().zip(topics).all(|(wanted, topic)| {
                let topic = ethers_core::types::H256(topic.0);
                wanted.as_ref().is_none_or(|wanted| wanted.takes(&topic))
            })
    }
}

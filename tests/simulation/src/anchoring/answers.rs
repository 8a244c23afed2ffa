//! JSON-RPC answers of a simulated node, from its view of the chain.

use kedge_chain::contract::anchored_topic;
use kedge_protocol::hash::to_hex;
use kedge_protocol::{Address, Hash};
use serde_json::{Value, json};

use super::bond::BOND;
use super::chain::{
    BlockView, IncludedTransaction, SimulatedBlock, SimulatedTransaction, TransactionEffect,
};
use super::contract::{CONTRACT, SimulatedContract, word};
use crate::client::DOMAIN;

/// A JSON-RPC error: code, message, data.
pub(super) struct RpcRefusal(i64, String, Option<Vec<u8>>);

impl RpcRefusal {
    pub(super) fn new(message: &str) -> Self {
        Self(-32_000, message.to_owned(), None)
    }

    fn reverted(data: Vec<u8>) -> Self {
        Self(3, "execution reverted".to_owned(), Some(data))
    }

    pub(super) fn to_json(&self) -> Value {
        let Self(code, message, data) = self;
        match data {
            Some(data) => json!({"code": code, "message": message, "data": to_hex(data)}),
            None => json!({"code": code, "message": message}),
        }
    }
}

pub(super) fn quantity(number: impl Into<u128>) -> Value {
    json!(format!("{:#x}", number.into()))
}

fn read_quantity(value: &Value) -> Option<u64> {
    u64::from_str_radix(value.as_str()?.strip_prefix("0x")?, 16).ok()
}

pub(super) fn bytes(value: &Value) -> Option<Vec<u8>> {
    let digits = value.as_str()?.strip_prefix("0x")?;
    let pairs = (0..digits.len() / 2).map(|at| digits.get(2 * at..2 * at + 2));
    pairs
        .map(|pair| u8::from_str_radix(pair?, 16).ok())
        .collect()
}

pub(super) fn hash(value: &Value) -> Option<Hash> {
    value.as_str()?.parse().ok()
}

/// The block of a parameter.
fn at<'a>(
    view: &'a BlockView,
    tag: &Value,
    has_finalized: bool,
) -> Result<Option<&'a SimulatedBlock>, RpcRefusal> {
    match tag.as_str() {
        Some("latest") => Ok(Some(view.head())),
        Some("finalized") if has_finalized => Ok(view.block(view.finalized)),
        Some("finalized") => Err(RpcRefusal::new("finalized block not found")),
        _ => Ok(read_quantity(tag).and_then(|number| view.block(number))),
    }
}

fn block(block: &SimulatedBlock) -> Value {
    json!({
        "number": quantity(block.number),
        "hash": to_hex(&block.hash.0),
        "parentHash": to_hex(&block.parent.0),
        "timestamp": quantity(block.timestamp_s),
        "baseFeePerGas": quantity(block.base_fee_wei),
    })
}

fn logs(block: &SimulatedBlock, mined: &IncludedTransaction, index: usize) -> Vec<Value> {
    let (topics, data) = match &mined.did {
        TransactionEffect::Anchored(checkpoint) => {
            let data = [
                word(checkpoint.sequence),
                checkpoint.head.0,
                checkpoint.history.0,
                checkpoint.state.0,
                word(checkpoint.issued_at_ms),
            ];
            let topics = vec![anchored_topic(), Hash(word(checkpoint.batches))];
            (topics, data.concat())
        }
        TransactionEffect::Bond(event) => event.log(),
        TransactionEffect::Nothing => return Vec::new(),
    };
    let topics: Vec<String> = topics.iter().map(|topic| to_hex(&topic.0)).collect();
    vec![json!({
        "address": to_hex(&mined.sent.to.0),
        "topics": topics,
        "data": to_hex(&data),
        "blockHash": to_hex(&block.hash.0),
        "blockNumber": quantity(block.number),
        "transactionHash": to_hex(&mined.sent.hash.0),
        "transactionIndex": quantity(index as u64),
        "logIndex": quantity(index as u64),
        "removed": false,
    })]
}

fn transaction(sent: &SimulatedTransaction, block: Option<&SimulatedBlock>) -> Value {
    json!({
        "hash": to_hex(&sent.hash.0),
        "type": "0x2",
        "nonce": quantity(sent.nonce),
        "from": to_hex(&sent.from.0),
        "to": to_hex(&sent.to.0),
        "value": quantity(sent.value_wei),
        "gas": quantity(sent.gas),
        "input": to_hex(&sent.data),
        "v": "0x0",
        "r": "0x1",
        "s": "0x1",
        "blockHash": block.map(|block| to_hex(&block.hash.0)),
        "blockNumber": block.map(|block| quantity(block.number)),
        "transactionIndex": block.map(|_| "0x0"),
        "chainId": quantity(DOMAIN.chain_id),
    })
}

fn receipt(block: &SimulatedBlock, mined: &IncludedTransaction) -> Value {
    let index = block.mined.iter();
    let index = index.take_while(|other| other.sent.hash != mined.sent.hash);
    let index = index.count();
    json!({
        "transactionHash": to_hex(&mined.sent.hash.0),
        "transactionIndex": quantity(index as u64),
        "blockHash": to_hex(&block.hash.0),
        "blockNumber": quantity(block.number),
        "from": to_hex(&mined.sent.from.0),
        "to": to_hex(&mined.sent.to.0),
        "type": "0x2",
        "status": quantity(u8::from(!matches!(mined.did, TransactionEffect::Nothing))),
        "gasUsed": quantity(90_000_u64),
        "cumulativeGasUsed": quantity(90_000_u64),
        "effectiveGasPrice": quantity(block.base_fee_wei),
        "logsBloom": to_hex(&[0; 256]),
        "logs": logs(block, mined, index),
    })
}

/// Answers requests that depend only on the blocks and the pool.
pub(super) fn answer(
    view: &BlockView,
    pool: &[std::sync::Arc<SimulatedTransaction>],
    has_finalized: bool,
    (method, params): (&str, &Value),
) -> Result<Value, RpcRefusal> {
    let invalid = || RpcRefusal::new("invalid params");
    match method {
        "eth_chainId" => Ok(quantity(DOMAIN.chain_id)),
        "eth_getBlockByNumber" => {
            let found = at(view, &params[0], has_finalized)?;
            Ok(found.map_or(Value::Null, block))
        }
        "eth_getTransactionCount" => {
            let of = bytes(&params[0]).and_then(|bytes| bytes.try_into().ok());
            let of = Address(of.ok_or_else(invalid)?);
            Ok(quantity(view.head().nonce(of)))
        }
        "eth_feeHistory" => {
            let fee = quantity(view.head().base_fee_wei);
            Ok(json!({"baseFeePerGas": [fee], "reward": [[quantity(1_u8)]]}))
        }
        "eth_getTransactionReceipt" => {
            let found = hash(&params[0]).and_then(|hash| view.find(hash));
            Ok(found.map_or(Value::Null, |(block, mined)| receipt(block, mined)))
        }
        "eth_getTransactionByHash" => {
            let hash = hash(&params[0]).ok_or_else(invalid)?;
            if let Some((block, mined)) = view.find(hash) {
                return Ok(transaction(&mined.sent, Some(block)));
            }
            let waiting = pool.iter().find(|waiting| waiting.hash == hash);
            Ok(waiting.map_or(Value::Null, |sent| transaction(sent, None)))
        }
        "eth_getLogs" => Ok(found_logs(view, &params[0])),
        "eth_call" => call(view, &params[0], at(view, &params[1], has_finalized)?),
        "eth_estimateGas" => {
            call(view, &params[0], Some(view.head()))?;
            Ok(quantity(100_000_u64))
        }
        _ => Err(RpcRefusal::new("the method does not exist")),
    }
}

fn found_logs(view: &BlockView, filter: &Value) -> Value {
    let number = |name: &str| read_quantity(&filter[name]);
    let (from, to) = (number("fromBlock"), number("toBlock"));
    let mut found = Vec::new();
    for block in &view.blocks {
        if from.is_some_and(|from| block.number < from) || to.is_some_and(|to| block.number > to) {
            continue;
        }
        for (index, mined) in block.mined.iter().enumerate() {
            found.extend(logs(block, mined, index));
        }
    }
    let wanted = filter["topics"][1].as_str().unwrap_or_default().to_owned();
    found.retain(|log| {
        log["address"] == filter["address"]
            && (wanted.is_empty() || log["topics"][1] == json!(wanted))
    });
    json!(found)
}

/// Calls a contract, in the state after a block. A call with a sender runs as the next block would run it.
fn call(
    view: &BlockView,
    call: &Value,
    block: Option<&SimulatedBlock>,
) -> Result<Value, RpcRefusal> {
    let block = block.ok_or_else(|| RpcRefusal::new("header not found"))?;
    let data = bytes(&call["data"]).unwrap_or_default();
    let address = |name: &str| bytes(&call[name])?.try_into().ok().map(Address);
    let to = address("to").unwrap_or_default();
    if call.get("from").is_none() {
        let output = match &block.bond {
            Some(bond) if to == BOND => bond.view(&data, CONTRACT),
            _ => block.contract.view(&data),
        };
        return output
            .map(|output| json!(to_hex(&output)))
            .map_err(RpcRefusal::reverted);
    }
    let sent = SimulatedTransaction::call(address("from").unwrap_or_default(), to, data);
    let mut contract = SimulatedContract::clone(&block.contract);
    let mut bond = block.bond.as_deref().cloned();
    let at = (block.number + 1, view.head().timestamp_s);
    let done = SimulatedBlock::carry_out((&mut contract, bond.as_mut()), &sent, at);
    done.map(|_| json!("0x")).map_err(RpcRefusal::reverted)
}

//! JSON forms of blocks, transactions, receipts and logs.

use revm::primitives::{TxKind, U256};
use serde_json::{Value, json};

use super::block::{EmbeddedBlock, MinedResult};
use super::header::{EMPTY_REQUESTS, EMPTY_ROOT, EMPTY_UNCLES, EmbeddedHeader};
use super::transaction::word;

pub(super) fn hex(bytes: &[u8]) -> String {
    kedge_protocol::hash::to_hex(bytes)
}

/// A number as a JSON-RPC quantity: hexadecimal without leading zeros.
pub(super) fn quantity(number: impl Into<u128>) -> String {
    format!("{:#x}", number.into())
}

fn quantity_256(number: U256) -> String {
    format!("{number:#x}")
}

/// A block, with its transactions in full or as hashes.
pub(super) fn block(block: &EmbeddedBlock, whole_transactions: bool) -> Value {
    let transactions: Vec<Value> = block
        .mined
        .iter()
        .map(|mined| {
            if whole_transactions {
                transaction(block, mined)
            } else {
                json!(hex(mined.transaction.hash.as_slice()))
            }
        })
        .collect();
    let mut value = header(&block.header);
    value["hash"] = json!(hex(block.hash.as_slice()));
    value["nonce"] = json!("0x0000000000000000");
    value["size"] = json!(quantity(block.size_bytes() as u64));
    value["transactions"] = json!(transactions);
    value
}

/// The next block, which has no hash yet.
pub(super) fn pending_block(next: &EmbeddedHeader) -> Value {
    let mut value = header(next);
    value["hash"] = Value::Null;
    value["nonce"] = Value::Null;
    value["size"] = json!("0x0");
    value["transactions"] = json!([]);
    value
}

fn header(header: &EmbeddedHeader) -> Value {
    json!({
        "parentHash": hex(header.parent_hash.as_slice()),
        "sha3Uncles": hex(EMPTY_UNCLES.as_slice()),
        "miner": hex(header.beneficiary.as_slice()),
        "stateRoot": hex(header.state_root.as_slice()),
        "transactionsRoot": hex(header.transactions_root.as_slice()),
        "receiptsRoot": hex(header.receipts_root.as_slice()),
        "logsBloom": hex(header.logs_bloom.as_slice()),
        "difficulty": "0x0",
        "totalDifficulty": "0x0",
        "number": quantity(header.number),
        "gasLimit": quantity(header.gas_limit),
        "gasUsed": quantity(header.gas_used),
        "timestamp": quantity(header.timestamp_s),
        "extraData": "0x",
        "mixHash": hex(header.mix_hash.as_slice()),
        "baseFeePerGas": quantity(header.base_fee_wei),
        "withdrawalsRoot": hex(EMPTY_ROOT.as_slice()),
        "blobGasUsed": "0x0",
        "excessBlobGas": "0x0",
        "parentBeaconBlockRoot": hex(&[0; 32]),
        "requestsHash": hex(EMPTY_REQUESTS.as_slice()),
        "uncles": [],
        "withdrawals": [],
    })
}

fn recipient(kind: TxKind) -> Value {
    match kind {
        TxKind::Call(to) => json!(hex(to.as_slice())),
        TxKind::Create => Value::Null,
    }
}

pub(super) fn transaction(block: &EmbeddedBlock, mined: &MinedResult) -> Value {
    let transaction = &mined.transaction;
    let env = &transaction.env;
    let signature = &transaction.signature;
    let mut value = json!({
        "hash": hex(transaction.hash.as_slice()),
        "type": quantity(env.tx_type),
        "nonce": quantity(env.nonce),
        "from": hex(env.caller.as_slice()),
        "to": recipient(env.kind),
        "value": quantity_256(env.value),
        "gas": quantity(env.gas_limit),
        "gasPrice": quantity(mined.effective_gas_price_wei),
        "input": hex(&env.data),
        "v": quantity(signature.v),
        "r": quantity_256(word(signature.r)),
        "s": quantity_256(word(signature.s)),
        "blockHash": hex(block.hash.as_slice()),
        "blockNumber": quantity(block.header.number),
        "transactionIndex": "0x0",
    });
    if let Some(chain_id) = env.chain_id {
        value["chainId"] = json!(quantity(chain_id));
    }
    if env.tx_type != 0 {
        let access_list: Vec<Value> = env
            .access_list
            .iter()
            .map(|item| {
                let keys: Vec<String> = item.storage_keys.iter().map(|k| hex(&k[..])).collect();
                json!({"address": hex(item.address.as_slice()), "storageKeys": keys})
            })
            .collect();
        value["accessList"] = json!(access_list);
        value["yParity"] = json!(quantity(signature.v));
    }
    if let Some(tip) = env.gas_priority_fee {
        value["maxFeePerGas"] = json!(quantity(env.gas_price));
        value["maxPriorityFeePerGas"] = json!(quantity(tip));
    }
    value
}

pub(super) fn receipt(block: &EmbeddedBlock, mined: &MinedResult) -> Value {
    let env = &mined.transaction.env;
    let contract = mined
        .contract_address
        .map(|address| hex(address.as_slice()));
    json!({
        "transactionHash": hex(mined.transaction.hash.as_slice()),
        "transactionIndex": "0x0",
        "blockHash": hex(block.hash.as_slice()),
        "blockNumber": quantity(block.header.number),
        "type": quantity(env.tx_type),
        "status": quantity(u8::from(mined.success)),
        "from": hex(env.caller.as_slice()),
        "to": recipient(env.kind),
        "contractAddress": contract,
        "gasUsed": quantity(mined.gas_used),
        "cumulativeGasUsed": quantity(mined.gas_used),
        "effectiveGasPrice": quantity(mined.effective_gas_price_wei),
        "logsBloom": hex(mined.logs_bloom().as_slice()),
        "logs": logs(block),
    })
}

/// All logs of a block, in order.
pub(super) fn logs(block: &EmbeddedBlock) -> Vec<Value> {
    let Some(mined) = &block.mined else {
        return Vec::new();
    };
    let log = |(index, log): (usize, &revm::primitives::Log)| {
        let topics: Vec<String> = log.topics().iter().map(|topic| hex(&topic[..])).collect();
        json!({
            "address": hex(log.address.as_slice()),
            "topics": topics,
            "data": hex(&log.data.data),
            "blockHash": hex(block.hash.as_slice()),
            "blockNumber": quantity(block.header.number),
            "blockTimestamp": quantity(block.header.timestamp_s),
            "transactionHash": hex(mined.transaction.hash.as_slice()),
            "transactionIndex": "0x0",
            "logIndex": quantity(index as u64),
            "removed": false,
        })
    };
    mined.logs.iter().enumerate().map(log).collect()
}

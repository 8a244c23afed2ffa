//! Comparison of Anvil and the embedded chain: equal transactions must give equal replies, up to the clock and the
//! state root.

use std::time::Duration;

use ethers_core::types::transaction::eip2718::TypedTransaction;
use ethers_core::types::transaction::eip2930::{AccessList, AccessListItem};
use ethers_core::types::{
    Bytes, Eip2930TransactionRequest, H160, H256, Signature, TransactionRequest as LegacyRequest,
    U256,
};
use kedge_chain::contract::{
    accept_ownership_calldata, anchor_calldata, deployment_data, pause_calldata, rotate_calldata,
    transfer_ownership_calldata,
};
use kedge_chain::rpc::RpcClient;
use kedge_chain::transaction::{Fees, TransactionRequest, deployed_address};
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{
    Anvil, CHAIN_ID, TestLog, client, owner, payer, raw, sequencer_key, start_embedded,
    system_clock,
};

const GWEI: u128 = 1_000_000_000;

/// The two nodes.
struct Pair {
    anvil: RpcClient,
    embedded: RpcClient,
}

impl Pair {
    /// Requests both, and returns the answer if both are equal after `trim`.
    async fn same_after(&self, method: &str, params: Value, trim: fn(&mut Value)) -> Value {
        let mut from_anvil = raw(&self.anvil, method, params.clone()).await.unwrap();
        let mut from_embedded = raw(&self.embedded, method, params.clone()).await.unwrap();
        trim(&mut from_anvil);
        trim(&mut from_embedded);
        assert_eq!(from_embedded, from_anvil, "{method} {params}");
        from_embedded
    }

    async fn same(&self, method: &str, params: Value) -> Value {
        self.same_after(method, params, |_| ()).await
    }

    /// Requests both; both must fail with the same code and data. Returns the embedded chain's message.
    async fn same_error(&self, method: &str, params: Value) -> String {
        let anvil = raw(&self.anvil, method, params.clone()).await.unwrap_err();
        let embedded = raw(&self.embedded, method, params).await.unwrap_err();
        let (anvil, embedded) = (anvil.node().unwrap(), embedded.node().unwrap());
        assert_eq!(embedded.code, anvil.code, "{anvil:?} {embedded:?}");
        assert_eq!(embedded.data, anvil.data, "{anvil:?} {embedded:?}");
        embedded.message.clone()
    }

    /// Anvil mines with a delay, and shows the transaction in its pool a little longer.
    async fn wait_for_anvil(&self, hash: &Value) {
        for method in ["eth_getTransactionReceipt", "eth_getTransactionByHash"] {
            while raw(&self.anvil, method, json!([hash])).await.unwrap()["blockNumber"].is_null() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }

    /// Sends to both and compares receipt, transaction and block; returns the receipt.
    async fn send(&self, raw_transaction: &Bytes) -> Value {
        let hash = self
            .same("eth_sendRawTransaction", json!([raw_transaction]))
            .await;
        self.wait_for_anvil(&hash).await;
        let receipt = self
            .same_after("eth_getTransactionReceipt", json!([hash]), trim_receipt)
            .await;
        self.same_after("eth_getTransactionByHash", json!([hash]), trim_transaction)
            .await;
        let number = receipt["blockNumber"].clone();
        self.same_after("eth_getBlockByNumber", json!([number, false]), trim_block)
            .await;
        receipt
    }
}

fn remove(value: &mut Value, names: &[&str]) {
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|name, _| !names.contains(&name.as_str()));
    }
}

/// Removes fields that depend on the clock or the state root.
fn trim_receipt(receipt: &mut Value) {
    remove(receipt, &["blockHash", "blockTimestamp", "blobGasPrice"]);
    for log in receipt["logs"].as_array_mut().unwrap() {
        remove(log, &["blockHash", "blockTimestamp"]);
    }
}

fn trim_transaction(transaction: &mut Value) {
    remove(transaction, &["blockHash", "blockTimestamp"]);
}

fn trim_block(block: &mut Value) {
    let from_clock_or_state = [
        "hash",
        "parentHash",
        "timestamp",
        "stateRoot",
        // Anvil mixes in randomness, and counts the size over another header.
        "mixHash",
        "size",
    ];
    remove(block, &from_clock_or_state);
}

async fn pair(directory: &TempDir) -> (Anvil, kedge_devchain::EmbeddedChainHandle, Pair) {
    let anvil = Anvil::start(&[]).await;
    // Anvil gives block 1 the base fee of block 0; from then on it follows EIP-1559.
    let base_fee = json!(["0x342770c0"]);
    anvil.raw("anvil_setNextBlockBaseFeePerGas", base_fee).await;
    let handle = start_embedded(directory.path(), system_clock()).await;
    let pair = Pair {
        anvil: anvil.rpc(),
        embedded: client(&handle.url()),
    };
    (anvil, handle, pair)
}

fn request(nonce: u64, to: Option<Address>, data: Vec<u8>) -> TransactionRequest {
    TransactionRequest {
        chain_id: CHAIN_ID,
        nonce,
        fees: Fees {
            max_fee_per_gas_wei: 5 * GWEI,
            max_priority_fee_per_gas_wei: GWEI,
        },
        gas_limit: 8_000_000,
        to,
        value_wei: 0,
        data,
    }
}

fn deployment() -> TransactionRequest {
    let data = deployment_data(owner().address(), sequencer_key().address(), None);
    request(0, None, data)
}

fn status(receipt: &Value) -> &str {
    receipt["status"].as_str().unwrap()
}

#[tokio::test]
async fn the_contracts_life_is_the_same() {
    let directory = TempDir::new().unwrap();
    let (_anvil, handle, pair) = pair(&directory).await;
    let contract = deployed_address(owner().address(), 0);
    let receipt = pair.send(&deployment().sign(&owner()).raw).await;
    assert_eq!(status(&receipt), "0x1");
    let text = contract.to_string().to_lowercase();
    assert_eq!(receipt["contractAddress"], json!(text));

    let log = TestLog::new(3, 400);
    let mut last = 0;
    for (nonce, batches) in [1, 2, 7, 64, 399].into_iter().enumerate() {
        let intent = log.intent(contract, last, batches);
        let data = anchor_calldata(&intent.signed, &intent.proof);
        let signed = request(nonce as u64, Some(contract), data).sign(&payer());
        let receipt = pair.send(&signed.raw).await;
        assert_eq!(status(&receipt), "0x1", "{batches}");
        assert_eq!(receipt["logs"].as_array().unwrap().len(), 1);
        last = batches;
    }
    let new_key = Address([0x77; 20]);
    let calls = [
        (rotate_calldata(new_key, 1_000), "0x1"),
        (rotate_calldata(new_key, 999), "0x0"),
        (transfer_ownership_calldata(payer().address()), "0x1"),
        (accept_ownership_calldata(), "0x0"),
        (pause_calldata(), "0x1"),
        (pause_calldata(), "0x0"),
    ];
    for (index, (data, expected)) in calls.into_iter().enumerate() {
        let signed = request(1 + index as u64, Some(contract), data).sign(&owner());
        let receipt = pair.send(&signed.raw).await;
        assert_eq!(status(&receipt), expected, "call {index}");
    }
    reads_are_the_same(&pair, contract).await;
    handle.shutdown().await;
}

async fn reads_are_the_same(pair: &Pair, contract: Address) {
    let call = |name: &str| {
        let selector = kedge_protocol::hash::keccak(name.as_bytes()).0;
        json!({"to": contract, "data": kedge_protocol::hash::to_hex(&selector[..4])})
    };
    for name in [
        "latest()",
        "domainSeparator()",
        "owner()",
        "pendingOwner()",
        "paused()",
    ] {
        pair.same("eth_call", json!([call(name), "latest"])).await;
    }
    let from_payer = |name: &str| {
        let mut call = call(name);
        call["from"] = json!(payer().address());
        json!([call, "latest"])
    };
    let message = pair.same_error("eth_call", from_payer("pause()")).await;
    assert!(message.starts_with("execution reverted"), "{message}");
    pair.same_error("eth_estimateGas", from_payer("pause()"))
        .await;

    for (method, params) in [
        ("eth_chainId", json!([])),
        ("net_version", json!([])),
        ("eth_blockNumber", json!([])),
        ("eth_gasPrice", json!([])),
        ("eth_maxPriorityFeePerGas", json!([])),
        ("eth_syncing", json!([])),
        ("eth_getCode", json!([contract, "latest"])),
        ("eth_getCode", json!([Address([9; 20]), "latest"])),
        ("eth_getStorageAt", json!([contract, "0x0", "latest"])),
        ("eth_getStorageAt", json!([contract, "0x2", "latest"])),
        ("eth_getBalance", json!([payer().address(), "latest"])),
        ("eth_getBalance", json!([Address([9; 20]), "latest"])),
        (
            "eth_getTransactionCount",
            json!([payer().address(), "latest"]),
        ),
        (
            "eth_getTransactionCount",
            json!([payer().address(), "pending"]),
        ),
        ("eth_getTransactionReceipt", json!([Hash([1; 32])])),
        ("eth_getTransactionByHash", json!([Hash([1; 32])])),
        ("eth_getBlockByHash", json!([Hash([1; 32]), false])),
        ("eth_getBlockByNumber", json!(["0x999", false])),
    ] {
        pair.same(method, params).await;
    }
    let history = |value: &mut Value| remove(value, &["baseFeePerBlobGas", "blobGasUsedRatio"]);
    let params = json!(["0x4", "latest", [50.0]]);
    pair.same_after("eth_feeHistory", params, history).await;
    let trim_logs = |logs: &mut Value| {
        for log in logs.as_array_mut().unwrap() {
            remove(log, &["blockHash", "blockTimestamp"]);
        }
    };
    let filter = json!([{"address": contract, "fromBlock": "0x0", "toBlock": "latest"}]);
    let logs = pair.same_after("eth_getLogs", filter, trim_logs).await;
    assert!(logs.as_array().unwrap().len() >= 8, "{logs}");
}

fn ethers_signature(key: &SigningKey, transaction: &TypedTransaction) -> Bytes {
    let bytes = key.sign(&Hash(transaction.sighash().0)).0;
    let signature = Signature {
        r: U256::from_big_endian(&bytes[..32]),
        s: U256::from_big_endian(&bytes[32..64]),
        v: match transaction {
            TypedTransaction::Legacy(_) => u64::from(bytes[64]) - 27 + CHAIN_ID * 2 + 35,
            _ => u64::from(bytes[64]) - 27,
        },
    };
    transaction.rlp_signed(&signature)
}

#[tokio::test]
async fn legacy_and_access_list_transactions_are_the_same() {
    let directory = TempDir::new().unwrap();
    let (_anvil, handle, pair) = pair(&directory).await;
    let to = H160([0x42; 20]);
    let legacy = LegacyRequest::new()
        .chain_id(CHAIN_ID)
        .nonce(0)
        .gas(50_000)
        .gas_price(3_000_000_000u64)
        .to(to)
        .value(12_345)
        .data(vec![1, 0, 2]);
    let raw_legacy = ethers_signature(&owner(), &TypedTransaction::Legacy(legacy.clone()));
    assert_eq!(status(&pair.send(&raw_legacy).await), "0x1");

    let access_list = AccessList(vec![AccessListItem {
        address: to,
        storage_keys: vec![H256([7; 32])],
    }]);
    let listed = Eip2930TransactionRequest::new(legacy.nonce(1), access_list);
    let raw_listed = ethers_signature(&owner(), &TypedTransaction::Eip2930(listed));
    assert_eq!(status(&pair.send(&raw_listed).await), "0x1");
    pair.same("eth_getBalance", json!([to, "latest"])).await;
    handle.shutdown().await;
}

#[tokio::test]
async fn refusals_are_the_same() {
    let directory = TempDir::new().unwrap();
    let (_anvil, handle, pair) = pair(&directory).await;
    let receipt = pair.send(&deployment().sign(&owner()).raw).await;
    assert_eq!(status(&receipt), "0x1");

    let plain = || request(1, Some(payer().address()), Vec::new());
    let poor = SigningKey::from_bytes(&[0x99; 32]).unwrap();
    let send = |request: TransactionRequest, key: &SigningKey| json!([request.sign(key).raw]);
    let mut wrong_chain = plain();
    wrong_chain.chain_id = 1;
    let mut little_gas = plain();
    little_gas.gas_limit = 20_000;
    let mut tip_above_cap = plain();
    tip_above_cap.fees.max_priority_fee_per_gas_wei = 6 * GWEI;
    let mut from_nobody = plain();
    from_nobody.nonce = 0;
    for (what, params) in [
        ("nonce too low", send(deployment(), &owner())),
        ("Insufficient funds", send(from_nobody, &poor)),
        ("invalid chain id", send(wrong_chain, &owner())),
        ("intrinsic gas too low", send(little_gas, &owner())),
        ("max priority fee", send(tip_above_cap, &owner())),
        ("Failed to decode", json!(["0x02"])),
    ] {
        let message = pair.same_error("eth_sendRawTransaction", params).await;
        assert!(message.starts_with(what), "{what}: {message}");
    }
    for (method, params) in [
        ("eth_nothing", json!([])),
        ("eth_getBalance", json!([])),
        ("eth_getBalance", json!(["0x12", "latest"])),
        ("eth_getBlockByNumber", json!(["newest", false])),
    ] {
        pair.same_error(method, params).await;
    }
    handle.shutdown().await;
}

#[tokio::test]
async fn gas_estimates_are_close_and_enough() {
    let directory = TempDir::new().unwrap();
    let (_anvil, handle, pair) = pair(&directory).await;
    let contract = deployed_address(owner().address(), 0);
    let estimate = async |call: Value| {
        let mut found = Vec::new();
        for rpc in [&pair.anvil, &pair.embedded] {
            let gas = raw(rpc, "eth_estimateGas", json!([call])).await.unwrap();
            found.push(u64::from_str_radix(&gas.as_str().unwrap()[2..], 16).unwrap());
        }
        let (anvil, embedded) = (found[0], found[1]);
        assert!(
            embedded.abs_diff(anvil) * 100 <= anvil,
            "Anvil says {anvil}, the embedded chain {embedded}"
        );
        embedded
    };
    let plain = json!({"from": owner().address(), "to": payer().address()});
    assert_eq!(estimate(plain).await, 21_000);

    let data = kedge_protocol::hash::to_hex(&deployment().data);
    let gas = estimate(json!({"from": owner().address(), "data": data})).await;
    let mut exact = deployment();
    exact.gas_limit = gas;
    assert_eq!(status(&pair.send(&exact.sign(&owner()).raw).await), "0x1");

    let intent = TestLog::new(1, 4).intent(contract, 0, 4);
    let data = anchor_calldata(&intent.signed, &intent.proof);
    let text = kedge_protocol::hash::to_hex(&data);
    let call = json!({"from": payer().address(), "to": contract, "data": text});
    let mut exact = request(0, Some(contract), data);
    exact.gas_limit = estimate(call).await;
    assert_eq!(status(&pair.send(&exact.sign(&payer()).raw).await), "0x1");
    handle.shutdown().await;
}

//! Behaviour of the embedded chain, tested without another node.

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use kedge_chain::contract::{
    AnchorContract, accept_ownership_calldata, pause_calldata, rotate_calldata, transact,
    transfer_ownership_calldata, unpause_calldata,
};
use kedge_chain::rpc::{BlockTag, RpcClient};
use kedge_chain::transaction::{FeePolicy, Fees, TransactionRequest};
use kedge_devchain::{self as embedded, EmbeddedChainError};
use kedge_protocol::Address;
use kedge_protocol::signature::SigningKey;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{
    CHAIN_ID, ManualClock, client, deploy_anchor, embedded_options, owner, payer, raw, separator,
    sequencer_key, start_embedded, system_clock,
};

async fn post(url: &str, content_type: &str, body: &str) -> (u16, Value) {
    let http: Client<_, Full<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    let request = Request::post(url)
        .header("content-type", content_type)
        .body(Full::from(body.to_owned()))
        .unwrap();
    let response = http.request(request).await.unwrap();
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
}

async fn quantity(rpc: &RpcClient, method: &str, params: Value) -> u64 {
    let value = raw(rpc, method, params).await.unwrap();
    u64::from_str_radix(&value.as_str().unwrap()[2..], 16).unwrap()
}

async fn code_of(rpc: &RpcClient, method: &str, params: Value) -> i64 {
    let error = raw(rpc, method, params).await.unwrap_err();
    error.node().unwrap().code
}

fn transfer(nonce: u64) -> TransactionRequest {
    TransactionRequest {
        chain_id: CHAIN_ID,
        nonce,
        fees: Fees {
            max_fee_per_gas_wei: 3_000_000_000,
            max_priority_fee_per_gas_wei: 1,
        },
        gas_limit: 21_000,
        to: Some(owner().address()),
        value_wei: 0,
        data: Vec::new(),
    }
}

#[tokio::test]
async fn batches_notifications_and_malformed_requests() {
    let directory = TempDir::new().unwrap();
    let handle = start_embedded(directory.path(), ManualClock::at(1_000).clock()).await;
    let url = handle.url();
    let batch = r#"[{"jsonrpc":"2.0","id":"a","method":"eth_chainId"},
        {"jsonrpc":"2.0","method":"eth_chainId"},
        {"jsonrpc":"2.0","id":2,"method":"eth_nothing"}, 5]"#;
    let (status, answers) = post(&url, "application/json", batch).await;
    assert_eq!(status, 200);
    assert_eq!(
        answers[0],
        json!({"jsonrpc": "2.0", "id": "a", "result": "0x7a69"})
    );
    assert_eq!(answers[1]["error"]["code"], -32601);
    assert_eq!(answers[2]["error"]["code"], -32600);
    assert_eq!(answers.as_array().unwrap().len(), 3);

    let notification = r#"{"jsonrpc":"2.0","method":"eth_chainId"}"#;
    assert_eq!(post(&url, "application/json", notification).await.0, 204);
    for (body, code) in [("{", -32700), ("[]", -32600), ("{}", -32600)] {
        let (_, answer) = post(&url, "application/json", body).await;
        assert_eq!(answer["error"]["code"], code, "{body}");
    }
    // Web pages can send this without permission, so the chain rejects it.
    assert_eq!(post(&url, "text/plain", notification).await.0, 415);
    handle.shutdown().await;
}

#[tokio::test]
async fn time_grows_and_can_be_moved() {
    let directory = TempDir::new().unwrap();
    let clock = ManualClock::at(1_000);
    let handle = start_embedded(directory.path(), clock.clock()).await;
    let rpc = client(&handle.url());
    let timestamp = async || {
        let block = rpc.block(BlockTag::Latest).await;
        block.unwrap().unwrap().timestamp.as_u64()
    };
    assert_eq!(timestamp().await, 1_000);
    raw(&rpc, "evm_mine", json!([])).await.unwrap();
    assert_eq!(timestamp().await, 1_001);
    clock.0.store(2_000, std::sync::atomic::Ordering::SeqCst);
    raw(&rpc, "evm_mine", json!([])).await.unwrap();
    assert_eq!(timestamp().await, 2_000);
    assert_eq!(
        raw(&rpc, "evm_increaseTime", json!([50])).await,
        Ok(json!(50))
    );
    raw(&rpc, "evm_mine", json!([])).await.unwrap();
    assert_eq!(timestamp().await, 2_050);
    raw(&rpc, "evm_mine", json!([9_000])).await.unwrap();
    assert_eq!(timestamp().await, 9_000);
    handle.shutdown().await;
}

#[tokio::test]
async fn a_snapshot_takes_blocks_state_and_journal_back() {
    let directory = TempDir::new().unwrap();
    let clock = ManualClock::at(1_000);
    let handle = start_embedded(directory.path(), clock.clock()).await;
    let rpc = client(&handle.url());
    let journal_length = || {
        std::fs::metadata(directory.path().join("chain.journal"))
            .unwrap()
            .len()
    };
    let before = journal_length();
    let id = raw(&rpc, "evm_snapshot", json!([])).await.unwrap();
    let signed = transfer(0).sign(&payer());
    let hash = rpc.send_raw_transaction(&signed.raw).await.unwrap();
    assert!(rpc.transaction_receipt(hash).await.unwrap().is_some());
    assert!(journal_length() > before);

    assert_eq!(raw(&rpc, "evm_revert", json!([id])).await, Ok(json!(true)));
    assert_eq!(journal_length(), before);
    assert_eq!(quantity(&rpc, "eth_blockNumber", json!([])).await, 0);
    assert!(rpc.transaction_receipt(hash).await.unwrap().is_none());
    let count = json!([payer().address(), "latest"]);
    assert_eq!(quantity(&rpc, "eth_getTransactionCount", count).await, 0);
    assert_eq!(raw(&rpc, "evm_revert", json!([id])).await, Ok(json!(false)));
    // Sending the same transaction again succeeds.
    assert_eq!(rpc.send_raw_transaction(&signed.raw).await, Ok(hash));
    handle.shutdown().await;
}

#[tokio::test]
async fn what_the_chain_does_not_keep_or_take_is_an_error() {
    let directory = TempDir::new().unwrap();
    let handle = start_embedded(directory.path(), ManualClock::at(1_000).clock()).await;
    let rpc = client(&handle.url());
    let raw_transfer = |request: TransactionRequest| json!([request.sign(&payer()).raw]);
    let send = "eth_sendRawTransaction";
    assert_eq!(code_of(&rpc, send, raw_transfer(transfer(3))).await, -32003);
    let mut cheap = transfer(0);
    cheap.fees.max_fee_per_gas_wei = 5;
    assert_eq!(code_of(&rpc, send, raw_transfer(cheap)).await, -32003);
    assert_eq!(quantity(&rpc, "eth_blockNumber", json!([])).await, 0);

    rpc.send_raw_transaction(&transfer(0).sign(&payer()).raw)
        .await
        .unwrap();
    let call = json!([{"to": owner().address()}, "0x0"]);
    assert_eq!(code_of(&rpc, "eth_call", call).await, -32000);
    let balance = json!([owner().address(), "0x0"]);
    assert_eq!(code_of(&rpc, "eth_getBalance", balance).await, -32000);
    let overrides = json!([{"to": owner().address()}, "latest", {}]);
    assert_eq!(code_of(&rpc, "eth_call", overrides).await, -32602);
    handle.shutdown().await;
}

#[tokio::test]
async fn logs_are_filtered_by_address_topic_and_range() {
    let directory = TempDir::new().unwrap();
    let handle = start_embedded(directory.path(), ManualClock::at(1_000).clock()).await;
    let rpc = client(&handle.url());
    let contract = deploy_anchor(&rpc).await.address;
    let count = async |filter: Value| {
        let logs = raw(&rpc, "eth_getLogs", json!([filter])).await.unwrap();
        logs.as_array().unwrap().len()
    };
    let all = raw(&rpc, "eth_getLogs", json!([{"fromBlock": "0x0"}]))
        .await
        .unwrap();
    // The constructor emits OwnershipTransferred and SequencerKeyRotated.
    let topic = |index: usize| all[index]["topics"][0].clone();
    assert_eq!(all[0]["logIndex"], "0x0");
    assert_eq!(all[1]["logIndex"], "0x1");
    assert_eq!(
        all[0]["address"],
        json!(contract.to_string().to_lowercase())
    );
    assert_eq!(
        count(json!({"fromBlock": "0x0", "address": contract})).await,
        2
    );
    assert_eq!(
        count(json!({"fromBlock": "0x0", "address": owner().address()})).await,
        0
    );
    assert_eq!(count(json!({"topics": [topic(1)]})).await, 1);
    assert_eq!(count(json!({"topics": [[topic(0), topic(1)]]})).await, 2);
    assert_eq!(count(json!({"topics": [null, null, null, null]})).await, 0);
    assert_eq!(count(json!({"blockHash": all[0]["blockHash"]})).await, 2);
    raw(&rpc, "evm_mine", json!([])).await.unwrap();
    assert_eq!(count(json!({"topics": [topic(1)]})).await, 0);
    assert_eq!(
        count(json!({"fromBlock": "0x1", "toBlock": "0x1"})).await,
        2
    );
    handle.shutdown().await;
}

#[tokio::test]
async fn only_this_machine_may_listen() {
    let directory = TempDir::new().unwrap();
    let mut options = embedded_options(directory.path(), ManualClock::at(1).clock());
    options.listen = "0.0.0.0:0".parse().unwrap();
    assert!(matches!(
        embedded::start(options).await.unwrap_err(),
        EmbeddedChainError::NotLoopback(_)
    ));
}

#[tokio::test]
async fn no_damaged_transaction_stops_the_chain() {
    let directory = TempDir::new().unwrap();
    let handle = start_embedded(directory.path(), ManualClock::at(1_000).clock()).await;
    let rpc = client(&handle.url());
    let good = transfer(0).sign(&payer()).raw;
    for index in 0..good.len() {
        for bit in [0x01, 0x80] {
            let mut damaged = good.to_vec();
            damaged[index] ^= bit;
            // Rejected, or decoded as a transaction of an account without funds.
            let damaged = ethers_core::types::Bytes::from(damaged);
            let error = rpc.send_raw_transaction(&damaged).await.unwrap_err();
            let code = error.node().unwrap().code;
            assert!(
                [-32602, -32003, -32000].contains(&code),
                "byte {index}: {error}"
            );
        }
        let cut = ethers_core::types::Bytes::from(good[..index].to_vec());
        assert!(
            rpc.send_raw_transaction(&cut)
                .await
                .unwrap_err()
                .node()
                .is_some()
        );
    }
    rpc.send_raw_transaction(&good).await.unwrap();
    assert_eq!(quantity(&rpc, "eth_blockNumber", json!([])).await, 1);
    handle.shutdown().await;
}

#[tokio::test]
async fn an_operator_rotates_the_key_and_hands_the_contract_over() {
    let directory = TempDir::new().unwrap();
    let handle = start_embedded(directory.path(), system_clock()).await;
    let rpc = client(&handle.url());
    let address = deploy_anchor(&rpc).await.address;
    let contract = AnchorContract::new(rpc.clone(), address);
    let policy = FeePolicy::default();
    let send = async |key: &SigningKey, data: Vec<u8>| {
        transact(&rpc, key, Some(address), data, &policy, 5_000).await
    };
    let new_key = Address([0x77; 20]);
    send(&owner(), rotate_calldata(new_key, 10)).await.unwrap();
    assert_eq!(
        contract.sequencer_key_at(9).await,
        Ok(sequencer_key().address())
    );
    assert_eq!(contract.sequencer_key_at(10).await, Ok(new_key));
    let error = send(&owner(), rotate_calldata(new_key, 9))
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("RotationTooEarly(fromBatch: 9"),
        "{error}"
    );
    let error = send(&payer(), pause_calldata()).await.unwrap_err();
    assert!(
        error.to_string().contains("OwnableUnauthorizedAccount"),
        "{error}"
    );

    let handover = transfer_ownership_calldata(payer().address());
    send(&owner(), handover).await.unwrap();
    assert_eq!(contract.owner().await, Ok(owner().address()));
    assert_eq!(contract.pending_owner().await, Ok(payer().address()));
    send(&payer(), accept_ownership_calldata()).await.unwrap();
    assert_eq!(contract.owner().await, Ok(payer().address()));
    send(&payer(), pause_calldata()).await.unwrap();
    assert_eq!(contract.paused().await, Ok(true));
    send(&payer(), unpause_calldata()).await.unwrap();
    assert_eq!(contract.paused().await, Ok(false));
    assert_eq!(contract.domain_separator().await, Ok(separator(address)));
    handle.shutdown().await;
}

//! Journal of the embedded chain: restarts, a torn end, a damaged middle.

use std::fs;
use std::path::PathBuf;

use kedge_chain::rpc::BlockTag;
use kedge_devchain::{self as embedded, EmbeddedChainError, JournalError};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{
    TestLog, client, deploy_anchor, embedded_options, payer, raw, start_embedded, system_clock,
};
use kedge_chain::contract::{AnchorContract, anchor_calldata};
use kedge_chain::transaction::{Fees, TransactionRequest};

/// Builds and stops a chain with a contract and two checkpoints; returns its blocks and last checkpoint.
async fn chain_with_history(directory: &TempDir) -> (Vec<Value>, u64) {
    let handle = start_embedded(directory.path(), system_clock()).await;
    let rpc = client(&handle.url());
    let contract = deploy_anchor(&rpc).await.address;
    let log = TestLog::new(1, 5);
    for (nonce, (from, to)) in [(0, 2), (2, 5)].into_iter().enumerate() {
        let intent = log.intent(contract, from, to);
        let signed = TransactionRequest {
            chain_id: crate::support::CHAIN_ID,
            nonce: nonce as u64,
            fees: Fees {
                max_fee_per_gas_wei: 3_000_000_000,
                max_priority_fee_per_gas_wei: 1_000_000_000,
            },
            gas_limit: 300_000,
            to: Some(contract),
            value_wei: 0,
            data: anchor_calldata(&intent.signed, &intent.proof),
        }
        .sign(&payer());
        rpc.send_raw_transaction(&signed.raw).await.unwrap();
    }
    raw(&rpc, "evm_increaseTime", json!([100])).await.unwrap();
    raw(&rpc, "evm_mine", json!([])).await.unwrap();
    let blocks = all_blocks(&handle.url()).await;
    let anchor = AnchorContract::new(rpc, contract);
    let latest = anchor.latest(BlockTag::Latest).await;
    handle.shutdown().await;
    (blocks, latest.unwrap().batches)
}

async fn all_blocks(url: &str) -> Vec<Value> {
    let rpc = client(url);
    let mut blocks = Vec::new();
    loop {
        let at = format!("{:#x}", blocks.len());
        match raw(&rpc, "eth_getBlockByNumber", json!([at, true]))
            .await
            .unwrap()
        {
            Value::Null => return blocks,
            block => blocks.push(block),
        }
    }
}

fn journal_path(directory: &TempDir) -> PathBuf {
    directory.path().join("chain.journal")
}

async fn reopened_blocks(directory: &TempDir) -> Vec<Value> {
    let handle = start_embedded(directory.path(), system_clock()).await;
    let blocks = all_blocks(&handle.url()).await;
    handle.shutdown().await;
    blocks
}

async fn refusal(directory: &TempDir) -> EmbeddedChainError {
    embedded::start(embedded_options(directory.path(), system_clock()))
        .await
        .unwrap_err()
}

#[tokio::test]
async fn a_restart_keeps_every_block_and_the_state() {
    let directory = TempDir::new().unwrap();
    let (blocks, batches) = chain_with_history(&directory).await;
    assert_eq!((blocks.len(), batches), (5, 5));
    for pair in blocks.windows(2) {
        assert_eq!(pair[1]["parentHash"], pair[0]["hash"]);
    }
    assert_eq!(reopened_blocks(&directory).await, blocks);

    let handle = start_embedded(directory.path(), system_clock()).await;
    let rpc = client(&handle.url());
    let address: String = serde_json::from_value(
        raw(
            &rpc,
            "eth_getTransactionReceipt",
            json!([blocks[1]["transactions"][0]["hash"]]),
        )
        .await
        .unwrap()["contractAddress"]
            .clone(),
    )
    .unwrap();
    let anchor = AnchorContract::new(rpc.clone(), address.parse().unwrap());
    let latest = anchor.latest(BlockTag::Latest).await;
    assert_eq!(latest.unwrap().batches, 5);
    // A moved clock survives the restart.
    let now_s = crate::support::now_ms() / 1_000;
    raw(&rpc, "evm_mine", json!([])).await.unwrap();
    let head = all_blocks(&handle.url()).await.pop().unwrap();
    let time = u64::from_str_radix(&head["timestamp"].as_str().unwrap()[2..], 16).unwrap();
    assert!(time >= now_s + 100, "{time} {now_s}");
    handle.shutdown().await;
}

#[tokio::test]
async fn a_torn_last_record_is_cut_off_wherever_it_is_torn() {
    let directory = TempDir::new().unwrap();
    let (blocks, _) = chain_with_history(&directory).await;
    let whole = fs::read(journal_path(&directory)).unwrap();
    // The last record is an empty block's: 8 bytes of length, 41 of body, 8 of checksum.
    for missing in [1, 8, 20, 49, 50, 56] {
        fs::write(journal_path(&directory), &whole[..whole.len() - missing]).unwrap();
        assert_eq!(reopened_blocks(&directory).await, blocks[..4], "{missing}");
        let rest = fs::read(journal_path(&directory)).unwrap();
        assert_eq!(rest, whole[..whole.len() - 57]);
    }
    let mut zeros = whole.clone();
    zeros.extend([0; 100]);
    fs::write(journal_path(&directory), &zeros).unwrap();
    assert_eq!(reopened_blocks(&directory).await, blocks);
    assert_eq!(fs::read(journal_path(&directory)).unwrap(), whole);
}

#[tokio::test]
async fn a_damaged_middle_is_refused_and_named() {
    let directory = TempDir::new().unwrap();
    chain_with_history(&directory).await;
    let whole = fs::read(journal_path(&directory)).unwrap();
    // Within the first record: its length, its complement, its body.
    for at in [32, 36, 60, 200] {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x40;
        fs::write(journal_path(&directory), &bytes).unwrap();
        let error = refusal(&directory).await;
        let EmbeddedChainError::Journal(JournalError::Corrupt { record, offset, .. }) = &error
        else {
            panic!("byte {at}: {error}");
        };
        assert_eq!((*record, *offset), (0, 32), "byte {at}");
        assert_eq!(fs::read(journal_path(&directory)).unwrap(), bytes);
    }
}

#[tokio::test]
async fn another_chain_another_file_and_a_second_process_are_refused() {
    let directory = TempDir::new().unwrap();
    let handle = start_embedded(directory.path(), system_clock()).await;
    assert!(matches!(
        refusal(&directory).await,
        EmbeddedChainError::Journal(JournalError::Locked { .. })
    ));
    handle.shutdown().await;

    let mut options = embedded_options(directory.path(), system_clock());
    options.chain_id = 5;
    assert!(matches!(
        embedded::start(options).await.unwrap_err(),
        EmbeddedChainError::Journal(JournalError::ChainId {
            found: 31_337,
            expected: 5,
            ..
        })
    ));

    fs::write(journal_path(&directory), "a letter").unwrap();
    assert!(matches!(
        refusal(&directory).await,
        EmbeddedChainError::Journal(JournalError::Foreign { .. })
    ));
    assert_eq!(fs::read(journal_path(&directory)).unwrap(), b"a letter");
}

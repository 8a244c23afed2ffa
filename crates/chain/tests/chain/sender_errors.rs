//! Disturbed anchors: an unreachable node, reorganisations, fees, foreign transactions, refusals.

use std::time::Duration;

use kedge_chain::contract::{anchor_calldata, pause_calldata};
use kedge_chain::rpc::RpcClient;
use kedge_chain::sender::{AnchorIntent, AnchorIntentStatus, SenderOptions};
use kedge_chain::transaction::{FeePolicy, Fees, TransactionRequest};
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash};
use serde_json::json;
use tempfile::TempDir;

use crate::sender_life::{Rig, payer_nonce};
use crate::support::{
    Anvil, CHAIN_ID, FileStore, TestLog, client, deploy_anchor, free_port, now_ms, open_sender,
    owner, payer, sender_options,
};

const GWEI: u128 = 1_000_000_000;

/// Anvil with the contract, and a sender; automine is on.
async fn rig_with(change: fn(&mut SenderOptions)) -> (Anvil, Address, Rig, TempDir) {
    let anvil = Anvil::start(&[]).await;
    let contract = deploy_anchor(&anvil.rpc()).await.address;
    let directory = TempDir::new().unwrap();
    let store = FileStore(directory.path().to_owned());
    let mut options = sender_options(contract);
    change(&mut options);
    let sender = open_sender(options, anvil.rpc(), &store).await;
    (anvil, contract, Rig::new(sender, store), directory)
}

async fn rig() -> (Anvil, Address, Rig, TempDir) {
    rig_with(|_| ()).await
}

async fn automine(anvil: &Anvil, on: bool) {
    anvil.raw("evm_setAutomine", json!([on])).await;
}

async fn set_base_fee(anvil: &Anvil, wei: u128) {
    let wei = format!("{wei:#x}");
    anvil
        .raw("anvil_setNextBlockBaseFeePerGas", json!([wei]))
        .await;
}

/// Sends a transaction with a high tip, signed by `key`.
pub(crate) async fn send(
    rpc: &RpcClient,
    key: &SigningKey,
    nonce: u64,
    to: Address,
    data: Vec<u8>,
) -> Hash {
    let signed = TransactionRequest {
        chain_id: CHAIN_ID,
        nonce,
        fees: Fees {
            max_fee_per_gas_wei: 300 * GWEI,
            max_priority_fee_per_gas_wei: 50 * GWEI,
        },
        gas_limit: 400_000,
        to: Some(to),
        value_wei: 0,
        data,
    }
    .sign(key);
    rpc.send_raw_transaction(&signed.raw).await.unwrap();
    signed.hash
}

async fn send_intent(
    rpc: &RpcClient,
    nonce: u64,
    contract: Address,
    intent: &AnchorIntent,
) -> Hash {
    let data = anchor_calldata(&intent.signed, &intent.proof);
    let hash = send(rpc, &owner(), nonce, contract, data).await;
    let at = ethers_core::types::H256(hash.0);
    while rpc.transaction_receipt(at).await.unwrap().is_none() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    hash
}

#[tokio::test]
async fn a_node_that_is_away_costs_time_alone_and_one_transaction_covers_the_backlog() {
    let (mut anvil, contract, mut rig, _directory) = rig().await;
    let log = TestLog::new(1, 9);
    let state = anvil.raw("anvil_dumpState", json!([])).await;
    anvil.kill();

    rig.sender.submit(log.intent(contract, 0, 3)).await.unwrap();
    rig.until(AnchorIntentStatus::Pending, 1).await;
    let health = rig.sender.health();
    assert_eq!(health.consecutive_failures, 1);
    assert!(health.last_error.unwrap().contains("cannot be reached"));
    // Further steps wait: first one second, then two, then four.
    for expected in [2, 2, 3, 3, 3, 3] {
        assert_eq!(rig.step().await, []);
        assert_eq!(rig.sender.health().consecutive_failures, expected);
    }
    rig.sender.submit(log.intent(contract, 0, 9)).await.unwrap();
    assert!(rig.store.read(3).is_none() && rig.store.read(9).is_some());

    let anvil = Anvil::start_on(anvil.port(), &[]).await;
    anvil.raw("anvil_loadState", json!([state])).await;
    let submitted = rig.until(AnchorIntentStatus::Submitted, 10).await;
    assert_eq!(submitted.batches, 9);
    assert_eq!(rig.sender.health().consecutive_failures, 0);
    anvil.mine(3).await;
    let end = rig.until(AnchorIntentStatus::Finalized, 3).await;
    assert_eq!((end.batches, end.attempts), (9, 1));
    assert_eq!(payer_nonce(&anvil.rpc()).await, 1);
}

#[tokio::test]
async fn a_transaction_that_was_out_when_the_node_died_is_found_or_sent_again() {
    let (mut anvil, contract, mut rig, _directory) = rig().await;
    automine(&anvil, false).await;
    let log = TestLog::new(1, 9);
    rig.sender.submit(log.intent(contract, 0, 3)).await.unwrap();
    let submitted = rig.until(AnchorIntentStatus::Submitted, 1).await;
    let state = anvil.raw("anvil_dumpState", json!([])).await;
    anvil.kill();
    rig.step().await;
    assert_eq!(rig.sender.health().consecutive_failures, 1);

    // The pool was lost with the process.
    let anvil = Anvil::start_on(anvil.port(), &[]).await;
    anvil.raw("anvil_loadState", json!([state])).await;
    rig.step().await;
    rig.step().await;
    anvil.mine(3).await;
    let end = rig.until(AnchorIntentStatus::Finalized, 4).await;
    assert_eq!(end.tx_hash, submitted.tx_hash);
    assert_eq!((end.attempts, payer_nonce(&anvil.rpc()).await), (1, 1));
}

#[tokio::test]
async fn a_reorganisation_that_drops_the_transaction_sends_it_again() {
    let (anvil, contract, mut rig, _directory) = rig().await;
    // Two blocks between contract and anchor, so only the anchor is dropped.
    anvil.mine(2).await;
    let log = TestLog::new(1, 9);
    rig.sender.submit(log.intent(contract, 0, 3)).await.unwrap();
    rig.until_mined(3).await;
    anvil.mine(1).await;
    let confirmed = rig.until(AnchorIntentStatus::Confirmed, 1).await;

    anvil.raw("anvil_reorg", json!([2, []])).await;
    assert_eq!(rig.sender.latest().await.unwrap().batches, 0);
    let updates = rig.step().await;
    assert_eq!(updates[0].status, AnchorIntentStatus::Submitted);
    assert_eq!(updates[0].block_hash, None);
    assert!(updates[0].note.as_ref().unwrap().contains("reorganisation"));
    rig.until_mined(3).await;
    anvil.mine(3).await;
    let end = rig.until(AnchorIntentStatus::Finalized, 3).await;
    assert_eq!(end.tx_hash, confirmed.tx_hash);
    assert_ne!(end.block_hash, confirmed.block_hash);
    assert_eq!((end.attempts, payer_nonce(&anvil.rpc()).await), (1, 1));
    assert_eq!(rig.sender.latest().await.unwrap().batches, 3);
}

#[tokio::test]
async fn a_reorganisation_drops_two_anchors_and_both_return_in_order() {
    let (anvil, contract, mut rig, _directory) = rig().await;
    anvil.mine(2).await;
    let log = TestLog::new(1, 9);
    for (from, to) in [(0, 3), (3, 9)] {
        rig.sender
            .submit(log.intent(contract, from, to))
            .await
            .unwrap();
        rig.until_mined(to).await;
    }
    assert_eq!(rig.sender.latest().await.unwrap().batches, 9);
    anvil.raw("anvil_reorg", json!([2, []])).await;
    assert_eq!(rig.sender.latest().await.unwrap().batches, 0);
    rig.until_mined(9).await;
    anvil.mine(3).await;
    rig.step().await;
    let finals = rig.statuses();
    let finals = finals
        .iter()
        .filter(|s| **s == AnchorIntentStatus::Finalized);
    assert_eq!((finals.count(), payer_nonce(&anvil.rpc()).await), (2, 2));
}

#[tokio::test]
async fn a_stuck_transaction_is_bumped_on_its_nonce() {
    let (anvil, contract, mut rig, _directory) = rig().await;
    automine(&anvil, false).await;
    let log = TestLog::new(1, 9);
    rig.sender.submit(log.intent(contract, 0, 3)).await.unwrap();
    rig.until(AnchorIntentStatus::Submitted, 1).await;
    set_base_fee(&anvil, 30 * GWEI).await;
    anvil.mine(1).await;
    assert_eq!(payer_nonce(&anvil.rpc()).await, 0);

    rig.now_ms += 10_000;
    let bumped = rig.until(AnchorIntentStatus::Submitted, 1).await;
    assert_eq!(bumped.attempts, 2);
    let offers: Vec<(u64, Fees)> = rig
        .store
        .read(3)
        .unwrap()
        .attempts
        .iter()
        .map(|attempt| attempt.own.map(|own| (own.nonce, own.fees)).unwrap())
        .collect();
    assert_eq!(offers[0].0, offers[1].0);
    let (old, new) = (offers[0].1, offers[1].1);
    assert!(new.max_fee_per_gas_wei * 10 >= old.max_fee_per_gas_wei * 11);
    assert!(new.max_priority_fee_per_gas_wei * 10 >= old.max_priority_fee_per_gas_wei * 11);
    assert!(new.max_fee_per_gas_wei > 30 * GWEI);

    anvil.mine(4).await;
    let end = rig.until(AnchorIntentStatus::Finalized, 3).await;
    assert_eq!(end.tx_hash, bumped.tx_hash);
    assert_eq!((end.attempts, payer_nonce(&anvil.rpc()).await), (2, 1));
}

#[tokio::test]
async fn at_the_fee_ceiling_it_holds_says_so_and_goes_on_when_fees_fall() {
    let (anvil, contract, mut rig, _directory) = rig_with(|options| {
        options.fee_policy = FeePolicy {
            max_fee_ceiling_wei: 10 * GWEI,
            ..FeePolicy::default()
        };
    })
    .await;
    automine(&anvil, false).await;
    let log = TestLog::new(1, 9);
    rig.sender.submit(log.intent(contract, 0, 3)).await.unwrap();
    rig.until(AnchorIntentStatus::Submitted, 1).await;
    set_base_fee(&anvil, 90 * GWEI).await;
    anvil.mine(1).await;
    for _ in 0..6 {
        rig.now_ms += 10_000;
        rig.step().await;
    }
    let last = rig.updates.last().unwrap();
    assert_eq!(last.status, AnchorIntentStatus::Submitted);
    assert_eq!(
        last.note.as_deref(),
        Some("held: the fee ceiling is reached")
    );
    let attempts = rig.store.read(3).unwrap().attempts;
    let highest = attempts.last().unwrap().own.unwrap().fees;
    assert_eq!(highest.max_fee_per_gas_wei, 10 * GWEI);
    assert_eq!(payer_nonce(&anvil.rpc()).await, 0);

    // Anvil dropped it from its pool as underpriced; it is offered again.
    set_base_fee(&anvil, GWEI).await;
    anvil.mine(1).await;
    rig.step().await;
    anvil.mine(4).await;
    let end = rig.until(AnchorIntentStatus::Finalized, 3).await;
    assert_eq!(end.note, None);
    assert_eq!(payer_nonce(&anvil.rpc()).await, 1);
}

#[tokio::test]
async fn what_the_contract_has_already_is_success() {
    let (anvil, contract, mut rig, _directory) = rig().await;
    let log = TestLog::new(1, 9);
    let same = log.intent(contract, 0, 3);
    let foreign = send_intent(&anvil.rpc(), 1, contract, &same).await;
    rig.sender.submit(same).await.unwrap();
    anvil.mine(2).await;
    let end = rig.until(AnchorIntentStatus::Finalized, 2).await;
    assert_eq!((end.tx_hash, end.attempts), (Some(foreign), 0));
    assert_eq!(end.covered_by_batches, Some(3));

    let foreign = send_intent(&anvil.rpc(), 2, contract, &log.intent(contract, 3, 9)).await;
    rig.step().await;
    rig.sender.submit(log.intent(contract, 3, 5)).await.unwrap();
    anvil.mine(2).await;
    let end = rig.until(AnchorIntentStatus::Finalized, 2).await;
    assert_eq!((end.batches, end.covered_by_batches), (5, Some(9)));
    assert_eq!(end.tx_hash, Some(foreign));
    assert_eq!(payer_nonce(&anvil.rpc()).await, 0);
}

#[tokio::test]
async fn a_foreign_transaction_on_its_nonce_is_reconciled() {
    let (anvil, contract, mut rig, _directory) = rig().await;
    automine(&anvil, false).await;
    let log = TestLog::new(1, 9);
    rig.sender.submit(log.intent(contract, 0, 3)).await.unwrap();
    let first = rig.until(AnchorIntentStatus::Submitted, 1).await;
    anvil
        .raw("anvil_dropTransaction", json!([first.tx_hash]))
        .await;
    send(&anvil.rpc(), &payer(), 0, owner().address(), Vec::new()).await;
    automine(&anvil, true).await;
    anvil.mine(1).await;
    assert_eq!(payer_nonce(&anvil.rpc()).await, 1);

    rig.step().await;
    rig.step().await;
    assert_eq!(payer_nonce(&anvil.rpc()).await, 1, "three strikes, not two");
    rig.until_mined(3).await;
    assert_eq!(payer_nonce(&anvil.rpc()).await, 2);
    anvil.mine(3).await;
    let end = rig.until(AnchorIntentStatus::Finalized, 3).await;
    assert_ne!(end.tx_hash, first.tx_hash);
    assert_eq!(end.attempts, 2);
}

#[tokio::test]
async fn a_forged_history_is_refused_by_the_contract_and_the_reason_read() {
    let (anvil, contract, mut rig, _directory) = rig().await;
    let log = TestLog::new(1, 9);
    let forged = TestLog::new(2, 9);
    rig.sender.submit(log.intent(contract, 0, 3)).await.unwrap();
    rig.until_mined(3).await;
    anvil.mine(3).await;
    rig.until(AnchorIntentStatus::Finalized, 2).await;

    rig.step().await;
    rig.sender
        .submit(forged.intent(contract, 3, 7))
        .await
        .unwrap();
    let end = rig.until(AnchorIntentStatus::Failed, 1).await;
    let note = end.note.unwrap();
    assert!(
        note.contains("HistoryNotExtended(lastBatches: 3, batches: 7)"),
        "{note}"
    );
    assert_eq!(end.attempts, 0);

    // Sent anyway with enough gas, it reverts.
    let hash = send_intent(&anvil.rpc(), 1, contract, &forged.intent(contract, 3, 7)).await;
    let receipt = anvil.raw("eth_getTransactionReceipt", json!([hash])).await;
    assert_eq!(receipt["status"], "0x0");
    assert_eq!(rig.sender.latest().await.unwrap().batches, 3);

    // The same batch count with another history is not mistaken for ours.
    send_intent(&anvil.rpc(), 2, contract, &log.intent(contract, 3, 7)).await;
    rig.step().await;
    rig.sender
        .submit(forged.intent(contract, 3, 7))
        .await
        .unwrap();
    let note = rig.until(AnchorIntentStatus::Failed, 1).await.note.unwrap();
    assert!(note.contains("another checkpoint"), "{note}");

    // The proof extends a checkpoint that is no longer the last one.
    rig.step().await;
    rig.sender.submit(log.intent(contract, 3, 9)).await.unwrap();
    let note = rig.until(AnchorIntentStatus::Failed, 1).await.note.unwrap();
    assert!(
        note.contains("7 batches, the proof starts from 3"),
        "{note}"
    );

    // Another key's signature.
    let mut stolen = log.intent(contract, 7, 9);
    stolen.signed = stolen.signed.checkpoint.sign(&Hash::ZERO, &payer());
    rig.step().await;
    rig.sender.submit(stolen).await.unwrap();
    let note = rig.until(AnchorIntentStatus::Failed, 1).await.note.unwrap();
    assert!(note.contains("WrongSigner(recovered: 0x"), "{note}");
}

#[tokio::test]
async fn a_transaction_that_reverts_in_its_block_is_explained() {
    let (anvil, contract, mut rig, _directory) = rig().await;
    automine(&anvil, false).await;
    let log = TestLog::new(1, 9);
    rig.sender.submit(log.intent(contract, 0, 3)).await.unwrap();
    rig.until(AnchorIntentStatus::Submitted, 1).await;
    // The owner pays more, and is mined first in the block.
    send(&anvil.rpc(), &owner(), 1, contract, pause_calldata()).await;
    anvil.mine(1).await;
    let end = rig.until(AnchorIntentStatus::Failed, 2).await;
    let note = end.note.unwrap();
    assert!(note.contains("EnforcedPause()"), "{note}");
    assert_eq!(payer_nonce(&anvil.rpc()).await, 1);
}

#[tokio::test]
async fn nothing_is_sent_to_another_chain_or_another_logs_contract() {
    let (anvil, contract, _rig, directory) = rig().await;
    let store = FileStore(directory.path().to_owned());
    let log = TestLog::new(1, 9);
    let mut other_chain = sender_options(contract);
    other_chain.chain_id = 1;
    let mut other_log = sender_options(contract);
    other_log.domain_separator = Hash([1; 32]);
    let no_contract = sender_options(Address([0x33; 20]));
    for (options, expected) in [
        (other_chain, "on chain 31337, not 1"),
        (other_log, "domain separator"),
        (no_contract, "did not answer `domainSeparator`"),
    ] {
        let mut sender = open_sender(options, anvil.rpc(), &store).await;
        sender.submit(log.intent(contract, 0, 3)).await.unwrap();
        let updates = sender.step(now_ms()).await.unwrap();
        assert_eq!(updates[0].status, AnchorIntentStatus::Pending);
        let error = sender.health().last_error.unwrap();
        assert!(error.contains(expected), "{error}");
        std::fs::remove_file(directory.path().join("3.json")).unwrap();
    }
    assert_eq!(payer_nonce(&anvil.rpc()).await, 0);
}

#[tokio::test]
async fn an_account_without_funds_waits_for_them() {
    let (anvil, contract, _rig, directory) = rig().await;
    let store = FileStore(directory.path().to_owned());
    let poor = SigningKey::from_bytes(&[0x42; 32]).unwrap();
    let options = sender_options(contract);
    let sender =
        kedge_chain::sender::AnchorSender::open(options, poor.clone(), anvil.rpc(), store.clone())
            .await;
    let mut rig = Rig::new(sender.unwrap(), store);
    let log = TestLog::new(1, 9);
    rig.sender.submit(log.intent(contract, 0, 3)).await.unwrap();
    rig.step().await;
    rig.step().await;
    let last = rig.updates.last().unwrap();
    assert!(
        last.note
            .as_ref()
            .unwrap()
            .contains("not have enough funds"),
        "{last:?}"
    );
    let balance = json!([poor.address(), "0xde0b6b3a7640000"]);
    anvil.raw("anvil_setBalance", balance).await;
    rig.until_mined(3).await;
    anvil.mine(3).await;
    let end = rig.until(AnchorIntentStatus::Finalized, 3).await;
    assert_eq!(end.attempts, 1);
}

#[tokio::test]
async fn a_sender_opens_without_a_node() {
    let directory = TempDir::new().unwrap();
    let store = FileStore(directory.path().to_owned());
    let contract = Address([5; 20]);
    let rpc = client(&format!("http://127.0.0.1:{}", free_port()));
    let sender = open_sender(sender_options(contract), rpc, &store).await;
    let mut rig = Rig::new(sender, store);
    // Nothing to do: the node gets no request.
    assert_eq!(rig.step().await, []);
    assert_eq!(rig.sender.health().consecutive_failures, 0);
    assert!(rig.sender.latest().await.is_err());
}

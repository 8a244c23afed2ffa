//! Undisturbed anchors and restarts, on Anvil and on the embedded chain.

use std::time::Duration;

use kedge_chain::contract::{DeploymentOutcome, ensure_deployed};
use kedge_chain::rpc::{BlockTag, RpcClient};
use kedge_chain::sender::{AnchorIntentStatus, AnchorSender, AnchorSubmitError, IntentUpdate};
use kedge_protocol::Hash;
use serde_json::json;
use tempfile::TempDir;

use crate::support::{
    Anvil, FileStore, TestLog, client, deploy_anchor, deploy_options, now_ms, open_sender, owner,
    payer, sender_options, start_embedded, system_clock,
};

/// A sender, its store and its clock.
pub(crate) struct Rig {
    pub(crate) sender: AnchorSender<FileStore>,
    pub(crate) store: FileStore,
    pub(crate) now_ms: u64,
    pub(crate) updates: Vec<IntentUpdate>,
}

impl Rig {
    pub(crate) fn new(sender: AnchorSender<FileStore>, store: FileStore) -> Self {
        Self {
            sender,
            store,
            now_ms: now_ms(),
            updates: Vec::new(),
        }
    }

    /// One step, a second later.
    pub(crate) async fn step(&mut self) -> Vec<IntentUpdate> {
        self.now_ms += 1_000;
        let updates = self.sender.step(self.now_ms).await.unwrap();
        self.updates.extend(updates.clone());
        for update in &updates {
            self.sender.reported(update.clone());
        }
        updates
    }

    /// Steps until an update has this status; at most `steps` of them.
    pub(crate) async fn until(&mut self, status: AnchorIntentStatus, steps: usize) -> IntentUpdate {
        for _ in 0..steps {
            let updates = self.step().await;
            if let Some(update) = updates.into_iter().find(|update| update.status == status) {
                return update;
            }
        }
        let health = self.sender.health();
        panic!(
            "no {status:?} in {steps} steps: {health:?} {:?}",
            self.updates
        );
    }

    /// Steps until the intent is in a block: Anvil mines with a delay.
    pub(crate) async fn until_mined(&mut self, batches: u64) -> IntentUpdate {
        for _ in 0..50 {
            self.step().await;
            let open = self.sender.health().open;
            let mut found = open.into_iter().filter(|update| update.batches == batches);
            if let Some(update) = found.find(|update| update.block_number.is_some()) {
                return update;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{batches} not mined: {:?}", self.updates);
    }

    pub(crate) fn statuses(&self) -> Vec<AnchorIntentStatus> {
        self.updates.iter().map(|update| update.status).collect()
    }
}

/// The number of the payer's transactions in the chain.
pub(crate) async fn payer_nonce(rpc: &RpcClient) -> u64 {
    rpc.transaction_count(payer().address(), BlockTag::Latest)
        .await
        .unwrap()
}

#[tokio::test]
async fn from_intent_to_finality_on_anvil() {
    let anvil = Anvil::start(&[]).await;
    let contract = deploy_anchor(&anvil.rpc()).await.address;
    let directory = TempDir::new().unwrap();
    let store = FileStore(directory.path().to_owned());
    let sender = open_sender(sender_options(contract), anvil.rpc(), &store).await;
    let mut rig = Rig::new(sender, store);
    let log = TestLog::new(1, 20);
    assert_eq!(rig.sender.latest().await.unwrap().batches, 0);

    rig.sender.submit(log.intent(contract, 0, 3)).await.unwrap();
    let submitted = rig.until(AnchorIntentStatus::Submitted, 1).await;
    assert_eq!((submitted.attempts, submitted.block_number), (1, None));
    let error = rig.sender.submit(log.intent(contract, 0, 5)).await;
    assert!(matches!(error, Err(AnchorSubmitError::Busy { batches: 3 })));
    let mined = rig.until_mined(3).await;
    assert_eq!(mined.block_number, Some(2));
    assert_eq!(rig.step().await, []);
    anvil.mine(1).await;
    let confirmed = rig.until(AnchorIntentStatus::Confirmed, 1).await;
    assert_eq!(confirmed.tx_hash, submitted.tx_hash);

    // The next one does not wait for the first one's finality.
    rig.sender
        .submit(log.intent(contract, 3, 20))
        .await
        .unwrap();
    rig.until_mined(20).await;
    anvil.mine(3).await;
    rig.step().await;
    let ends: Vec<&IntentUpdate> = rig
        .updates
        .iter()
        .filter(|update| update.status == AnchorIntentStatus::Finalized)
        .collect();
    let batches: Vec<u64> = ends.iter().map(|update| update.batches).collect();
    assert_eq!(batches, [3, 20]);
    assert!(
        ends.iter().all(|end| end.gas_used.unwrap() <= 120_000),
        "{ends:?}"
    );

    let block = ends[1].block_number.unwrap();
    let block = anvil.rpc().block(BlockTag::Block(block)).await;
    let hash = block.unwrap().unwrap().hash;
    assert_eq!(ends[1].block_hash, Some(Hash(hash.0)));
    let event = rig.sender.contract().anchored_event(20).await.unwrap();
    let event = event.unwrap();
    assert_eq!(Some(event.tx_hash), ends[1].tx_hash);
    assert_eq!(event.checkpoint.history, log.checkpoint(20).history);
    // The next step removes the reported intent.
    assert!(rig.store.read(20).is_some());
    assert_eq!(rig.step().await, []);
    assert!(rig.store.read(20).is_none() && rig.store.read(3).is_none());
    assert_eq!(payer_nonce(&anvil.rpc()).await, 2);
}

// Holds invariant 110.
#[tokio::test]
async fn an_end_that_is_not_stored_is_reported_again() {
    let (directory, intents) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let handle = start_embedded(directory.path(), system_clock()).await;
    let rpc = client(&handle.url());
    let deployed = ensure_deployed(&rpc, &owner(), None, &deploy_options()).await;
    let contract = deployed.unwrap().address();
    let store = FileStore(intents.path().to_owned());
    let mut sender = open_sender(sender_options(contract), rpc, &store).await;
    let intent = TestLog::new(1, 2).intent(contract, 0, 1);
    sender.submit(intent).await.unwrap();
    let mut now_ms = now_ms();
    let mut ended = Vec::new();
    for _ in 0..12 {
        now_ms += 1_000;
        let updates = sender.step(now_ms).await.unwrap();
        ended.extend(
            updates
                .into_iter()
                .filter(|of| of.status == AnchorIntentStatus::Finalized),
        );
    }
    assert!(ended.len() > 1, "{ended:?}");
    assert!(ended.iter().all(|update| *update == ended[0]));
    assert!(store.read(1).is_some());
    sender.reported(ended[0].clone());
    assert_eq!(sender.step(now_ms + 1_000).await.unwrap(), []);
    assert!(store.read(1).is_none());
}

#[tokio::test]
async fn from_intent_to_finality_on_the_embedded_chain() {
    let directory = TempDir::new().unwrap();
    let intents = TempDir::new().unwrap();
    let handle = start_embedded(directory.path(), system_clock()).await;
    let rpc = client(&handle.url());
    let options = deploy_options();
    let first = ensure_deployed(&rpc, &owner(), None, &options)
        .await
        .unwrap();
    let contract = first.address();
    let again = ensure_deployed(&rpc, &owner(), Some(contract), &options).await;
    assert_eq!(again.unwrap(), DeploymentOutcome::Found(contract));

    let store = FileStore(intents.path().to_owned());
    let sender = open_sender(sender_options(contract), rpc.clone(), &store).await;
    let mut rig = Rig::new(sender, store);
    let log = TestLog::new(1, 9);
    for (from, to) in [(0, 1), (1, 2), (2, 9)] {
        rig.sender
            .submit(log.intent(contract, from, to))
            .await
            .unwrap();
        let end = rig.until(AnchorIntentStatus::Finalized, 4).await;
        assert_eq!((end.batches, end.covered_by_batches), (to, Some(to)));
        rig.step().await;
    }
    assert_eq!(rig.sender.latest().await.unwrap().batches, 9);
    let checkpoint = log.checkpoint(9);
    let record = rig.sender.contract().checkpoint(9, BlockTag::Latest).await;
    assert_eq!(record.unwrap().history, checkpoint.history);
    assert_eq!(payer_nonce(&rpc).await, 3);
    handle.shutdown().await;
}

#[tokio::test]
async fn a_restart_between_intent_and_transaction_sends_once() {
    let anvil = Anvil::start(&[]).await;
    let contract = deploy_anchor(&anvil.rpc()).await.address;
    let directory = TempDir::new().unwrap();
    let store = FileStore(directory.path().to_owned());
    let options = sender_options(contract);
    let log = TestLog::new(1, 4);

    let mut sender = open_sender(options.clone(), anvil.rpc(), &store).await;
    sender.submit(log.intent(contract, 0, 4)).await.unwrap();
    drop(sender);
    assert_eq!(payer_nonce(&anvil.rpc()).await, 0);

    let sender = open_sender(options.clone(), anvil.rpc(), &store).await;
    let mut rig = Rig::new(sender, store.clone());
    rig.until(AnchorIntentStatus::Submitted, 1).await;
    drop(rig);
    let stored = store.read(4).unwrap();
    assert_eq!(stored.attempts.len(), 1);

    let mut rig = Rig::new(open_sender(options, anvil.rpc(), &store).await, store);
    anvil.mine(2).await;
    let end = rig.until(AnchorIntentStatus::Finalized, 3).await;
    assert_eq!(end.tx_hash, Some(stored.attempts[0].tx_hash));
    assert_eq!(payer_nonce(&anvil.rpc()).await, 1);
}

#[tokio::test]
async fn a_restart_after_storing_and_before_sending_sends_the_same_transaction() {
    let anvil = Anvil::start(&["--no-mining"]).await;
    anvil.raw("evm_setAutomine", json!([true])).await;
    let contract = deploy_anchor(&anvil.rpc()).await.address;
    anvil.raw("evm_setAutomine", json!([false])).await;
    let directory = TempDir::new().unwrap();
    let store = FileStore(directory.path().to_owned());
    let options = sender_options(contract);
    let sender = open_sender(options.clone(), anvil.rpc(), &store).await;
    let mut rig = Rig::new(sender, store.clone());
    let log = TestLog::new(1, 4);
    rig.sender.submit(log.intent(contract, 0, 4)).await.unwrap();
    let submitted = rig.until(AnchorIntentStatus::Submitted, 1).await;
    // Simulates a crash between storing and sending.
    let hash = submitted.tx_hash.unwrap();
    anvil.raw("anvil_dropTransaction", json!([hash])).await;
    drop(rig);

    let mut rig = Rig::new(open_sender(options, anvil.rpc(), &store).await, store);
    let again = rig.until(AnchorIntentStatus::Submitted, 1).await;
    assert_eq!((again.tx_hash, again.attempts), (Some(hash), 1));
    anvil.mine(3).await;
    let end = rig.until(AnchorIntentStatus::Finalized, 2).await;
    assert_eq!(end.tx_hash, Some(hash));
    assert_eq!(payer_nonce(&anvil.rpc()).await, 1);
}

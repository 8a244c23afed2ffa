//! Signed roots of the state against folds of the log, and proofs that are made from a stopped node's files.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kedge_actors::{Engine, EngineOptions, Principal, RootOptions};
use kedge_config::secrets;
use kedge_protocol::checkpoint::{Checkpoint, SignedCheckpoint};
use kedge_protocol::state::{StateAnswer, StateStatement};
use kedge_protocol::{Hash, Id, Prefix, SequencerKeys};
use kedge_runtime::env::{Env, RealEnv};
use kedge_storage::{SideKeys, SideWrite};
use kedge_upkeep::bounds::MemoryBounds;
use kedge_upkeep::fold::{LogFold, RootDifference};
use kedge_upkeep::prove::StateSource;
use kedge_upkeep::side_keys;
use kedge_upkeep::verify::{StoreCheckLevel, StoreVerifier, VerifyError};
use tempfile::TempDir;

#[path = "../../../actors/tests/engine/support.rs"]
#[allow(dead_code, reason = "the engine's tests use all of it")]
mod engine;

use engine::*;

/// A stopped node's data directory with several signed roots.
struct Stopped {
    data: TempDir,
    object: Id,
    variation: Id,
    checkpoints: Vec<SignedCheckpoint>,
}

/// Options of an engine that makes roots all the time.
fn rooted(path: &Path) -> EngineOptions {
    EngineOptions {
        roots: Some(RootOptions {
            interval: Duration::from_millis(20),
            kept: Duration::from_hours(1),
            kept_bytes: u64::MAX,
        }),
        ..options(Arc::new(|| RealEnv.unix_ms()), path)
    }
}

async fn root(engine: &Engine) {
    let sequence = engine.published().head.sequence;
    assert!(
        engine
            .wait_for_root(sequence, Duration::from_secs(20))
            .await
    );
}

impl Stopped {
    async fn new(forged: Option<&dyn Fn(Checkpoint) -> SignedCheckpoint>) -> Self {
        let data = tempfile::tempdir().unwrap();
        let path = data.path();
        let store = open(path);
        let engine = Engine::start(rooted(path), Arc::clone(&store))
            .await
            .unwrap();
        let alice = register(&engine, 1).await;
        let bob = register(&engine, 2).await;
        let ticket = template(&engine, &alice, r#"{"name":"ticket","properties":{"n":0}}"#).await;
        root(&engine).await;
        let variations = r#"{"variations":[{"name":"red"},{"name":"blue"}]}"#;
        let made = alice
            .send_one(&engine, "template.variations", &ticket, variations)
            .await;
        let variation = made
            .images(0)
            .iter()
            .map(kedge_rules::resource_state::ResourceState::id)
            .find(|id| id.prefix == Prefix::Variation)
            .unwrap();
        let mints: Vec<_> = (0..40).map(|_| ("mint", ticket.as_str(), "{}")).collect();
        let object = minted(&alice.send(&engine, &mints).await.unwrap())[7];
        root(&engine).await;
        let Principal::Wallet { wallet_id, .. } = bob.asker else {
            panic!()
        };
        let text = object.to_string();
        let patch = r#"{"properties":{"n":12.50}}"#;
        alice.send_one(&engine, "update", &text, patch).await;
        let to_bob = format!(r#"{{"to":"{wallet_id}"}}"#);
        alice.send_one(&engine, "transfer", &text, &to_bob).await;
        root(&engine).await;
        bob.send_one(&engine, "burn", &text, "{}").await;
        root(&engine).await;
        // What no root covers yet.
        alice.send(&engine, &mints).await.unwrap();
        if let Some(forged) = forged {
            let snapshot = engine.state_snapshot();
            let true_one = snapshot.checkpoints_from(0).next().unwrap().unwrap();
            let forged = SideWrite::Checkpoint(forged(true_one.checkpoint));
            engine.side_writes(vec![forged]).await.unwrap();
        }
        assert!(engine.shutdown(Duration::from_secs(20)).await);
        let snapshot = store.snapshot();
        let kept: Result<Vec<_>, _> = snapshot.checkpoints_from(0).collect();
        drop(snapshot);
        drop(engine);
        store.flush().unwrap();
        let keys = path.join("keys");
        std::fs::create_dir(&keys).unwrap();
        secrets::write_32(&keys.join(side_keys::name(1)), &[1; 32]).unwrap();
        Self {
            object,
            variation,
            checkpoints: kept.unwrap(),
            data,
        }
    }

    fn verifier(&self) -> StoreVerifier {
        let store = self.data.path().join("store");
        let key = sequencer_key().address();
        StoreVerifier::open(&store, DOMAIN, key, MemoryBounds::default()).unwrap()
    }

    fn fold(&self) -> LogFold {
        fold(&self.data.path().join("log"), None).unwrap()
    }

    fn prove(&self, key: Id, at_sequence: Option<u64>) -> (StateAnswer, bool) {
        let verifier = self.verifier();
        let checkpoint = verifier.checkpoint_at(at_sequence).unwrap().unwrap();
        let source = StateSource {
            data: self.data.path(),
            archive: None,
            bounds: MemoryBounds::default(),
        };
        let mut is_folded = false;
        let proven = verifier.prove(key, checkpoint, &source, |_| is_folded = true);
        let proven = proven.unwrap();
        let root = (proven.checkpoint, proven.anchor);
        let answer = StateAnswer::new(proven.proof, proven.texts, root).unwrap();
        (answer, is_folded)
    }
}

fn fold(log: &Path, archive: Option<&Path>) -> Result<LogFold, VerifyError> {
    LogFold::open(
        log,
        archive,
        SideKeys::one(1, [1; 32]),
        MemoryBounds::default(),
    )
}

fn keys() -> SequencerKeys {
    SequencerKeys::from(sequencer_key().address())
}

fn shown(answer: &StateAnswer) -> StateStatement {
    answer.verify(&DOMAIN, &keys()).unwrap()
}

// Holds invariants 256, 258.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_signed_root_is_the_one_that_a_fold_of_the_log_gives() {
    let stopped = Stopped::new(None).await;
    let count = stopped.checkpoints.len() as u64;
    assert!(count >= 4, "{count}");
    let check = stopped.verifier().check(StoreCheckLevel::State, |_| ());
    assert_eq!(check.unwrap().checkpoints, count);
    let fold = stopped.fold();
    let found = fold.checkpoints().unwrap();
    assert_eq!(found, stopped.checkpoints);
    assert_eq!(fold.verify_roots(&found, &keys(), |_| ()).unwrap(), count);
    assert_eq!(fold.verify_roots(&[], &keys(), |_| ()).unwrap(), 0);
    let changed = |change: &dyn Fn(&mut Checkpoint)| {
        let mut checkpoint = found[1].checkpoint;
        change(&mut checkpoint);
        let signed = checkpoint.sign(&DOMAIN.separator(), &sequencer_key());
        fold.verify_roots(&[signed], &keys(), |_| ()).unwrap_err()
    };
    let own = found[1].checkpoint;
    let expected = RootDifference {
        batches: own.batches,
        signed: Hash([9; 32]),
        made: own.state,
    };
    let error = changed(&|checkpoint| checkpoint.state = Hash([9; 32]));
    assert!(matches!(&error, VerifyError::Root(found) if *found == expected));
    let text = error.to_string();
    for part in [
        own.batches.to_string(),
        own.state.to_string(),
        Hash([9; 32]).to_string(),
    ] {
        assert!(text.contains(&part), "{text}");
    }
    let head = changed(&|checkpoint| checkpoint.head = Hash::ZERO);
    assert!(matches!(head, VerifyError::Checkpoint { .. }));
    let short = changed(&|checkpoint| checkpoint.batches = 1 << 20);
    assert!(matches!(short, VerifyError::Short { .. }));
    let other = SequencerKeys::from(next_key().address());
    let other = fold.verify_roots(&found, &other, |_| ()).unwrap_err();
    assert!(matches!(other, VerifyError::Checkpoint { .. }));
}

// Holds invariant 260.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_node_whose_root_differs_from_the_signed_one_stops() {
    let sign = |mut checkpoint: Checkpoint| {
        checkpoint.state = Hash([9; 32]);
        checkpoint.sign(&DOMAIN.separator(), &sequencer_key())
    };
    let stopped = Stopped::new(Some(&sign)).await;
    let path = stopped.data.path();
    let engine = Engine::start(rooted(path), open(path)).await.unwrap();
    let mut failure = engine.failure();
    let why = tokio::time::timeout(Duration::from_secs(20), failure.wait());
    let why = why.await.unwrap().unwrap();
    let batches = stopped.checkpoints[0].checkpoint.batches;
    for part in [
        format!("after {batches} batches"),
        Hash([9; 32]).to_string(),
    ] {
        assert!(why.contains(&part), "{why}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_store_with_a_root_that_its_log_does_not_give_is_not_valid() {
    let sign = |mut checkpoint: Checkpoint| {
        checkpoint.state = Hash([9; 32]);
        checkpoint.sign(&DOMAIN.separator(), &sequencer_key())
    };
    let stopped = Stopped::new(Some(&sign)).await;
    let batches = stopped.checkpoints[0].checkpoint.batches;
    let verifier = stopped.verifier();
    assert!(verifier.check(StoreCheckLevel::Signatures, |_| ()).is_ok());
    let error = verifier.check(StoreCheckLevel::State, |_| ()).unwrap_err();
    assert!(matches!(&error, VerifyError::Root(found) if found.batches == batches));
    let sign = |mut checkpoint: Checkpoint| {
        checkpoint.head = Hash([9; 32]);
        checkpoint.sign(&DOMAIN.separator(), &sequencer_key())
    };
    let stopped = Stopped::new(Some(&sign)).await;
    let error = stopped.verifier().check(StoreCheckLevel::Hashes, |_| ());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("does not match the log"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn proofs_at_every_kept_checkpoint_are_made_from_a_stopped_nodes_files() {
    let stopped = Stopped::new(None).await;
    let mut versions = Vec::new();
    for signed in &stopped.checkpoints {
        let sequence = signed.checkpoint.sequence;
        let (answer, _) = stopped.prove(stopped.object, Some(sequence));
        assert_eq!(answer.checkpoint, *signed);
        let entry = shown(&answer).entry;
        assert_eq!(answer.texts.properties.is_some(), entry.is_some());
        versions.push(entry.map(|entry| entry.version));
    }
    assert_eq!((versions[0], versions.last()), (None, Some(&Some(4))));
    assert!(versions.is_sorted());
    let (newest, is_folded) = stopped.prove(stopped.object, None);
    assert_eq!(newest.checkpoint, *stopped.checkpoints.last().unwrap());
    assert!(!is_folded, "the store has the newest proofs itself");
    let (variation, _) = stopped.prove(stopped.variation, None);
    assert!(shown(&variation).entry.is_some());
    assert!(variation.texts.name.is_some());
    let absent = Id::of_hash(Prefix::Wallet, &Hash([3; 32]));
    let (absent, _) = stopped.prove(absent, None);
    assert!(!absent.present);
    shown(&absent);
    let last = stopped.checkpoints.last().unwrap().checkpoint.sequence;
    assert!(
        stopped
            .verifier()
            .checkpoint_at(Some(last + 1))
            .unwrap()
            .is_none()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_fold_gives_the_proofs_that_the_store_no_longer_has() {
    let stopped = Stopped::new(None).await;
    let whole = stopped.fold();
    for signed in &stopped.checkpoints {
        let batches = signed.checkpoint.batches;
        let rows = whole.state_at(signed, |_| ()).unwrap();
        let keys = [stopped.object, stopped.variation];
        let proofs = rows.state_proofs(batches, &keys).unwrap().unwrap();
        let stored = stopped.prove(stopped.object, Some(signed.checkpoint.sequence));
        assert_eq!(proofs[0].entry, stored.0.entry);
        assert_eq!(proofs[0].nodes, stored.0.nodes);
        for proof in proofs {
            proof.read(&signed.checkpoint).unwrap();
        }
    }
    // The object's text at an earlier checkpoint is not in the rows any more.
    let minted = stopped.checkpoints.iter().find(|signed| {
        let (answer, _) = stopped.prove(stopped.object, Some(signed.checkpoint.sequence));
        shown(&answer).entry.is_some_and(|entry| entry.version == 1)
    });
    let sequence = minted.unwrap().checkpoint.sequence;
    let (answer, is_folded) = stopped.prove(stopped.object, Some(sequence));
    assert!(is_folded);
    assert_eq!(answer.texts.properties.as_deref(), Some(r#"{"n":0}"#));
    let elsewhere = tempfile::tempdir().unwrap();
    let opened = fold(elsewhere.path(), Some(&stopped.data.path().join("log")));
    let found = opened.unwrap().checkpoints().unwrap();
    assert_eq!(found, stopped.checkpoints, "the archive has all segments");
}

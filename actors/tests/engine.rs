//! The engine on a real store: requests in, durable outcomes out, and the fold of the log equal to
//! the stored state.

#![allow(clippy::unwrap_used, reason = "a test file: a panic is the failure")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use kedge_actors::{
    ActionOutcome, Asker, Done, Engine, Options, Outcome, Submission, SubmitError, SubmittedAction,
    system_clock,
};
use kedge_machine::Refusal;
use kedge_machine::fold::State;
use kedge_protocol::action::{ActionWords, Kind, RequestHead, salt};
use kedge_protocol::chain;
use kedge_protocol::eip712::Domain;
use kedge_protocol::hash::keccak;
use kedge_protocol::nonce::NonceError;
use kedge_protocol::receipt::{BatchReceipt, RECEIPT_VERSION, ReceiptAction};
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash, Id};
use kedge_storage::Store;

const DOMAIN: Domain = Domain {
    chain_id: 31_337,
    verifying_contract: Address([7; 20]),
};

fn sequencer_key() -> Arc<SigningKey> {
    Arc::new(SigningKey::from_bytes(&[0x5e; 32]).unwrap())
}

fn open(path: &Path) -> Arc<Store> {
    let options = kedge_storage::Options {
        path: path.join("store"),
        domain: DOMAIN,
        sequencer: sequencer_key().address(),
        high_water_path: Some(path.join("high-water")),
        block_cache_bytes: 16 << 20,
        memtable_bytes: 16 << 20,
        wal_bytes_max: 64 << 20,
        read_only: false,
    };
    Arc::new(Store::open(options).unwrap())
}

async fn start(path: &Path) -> Engine {
    let options = Options {
        domain: DOMAIN,
        key: sequencer_key(),
        clock: system_clock(),
        shards: 3,
        objects_live_max: 64,
        organizations_live_max: 4,
        requests_max: 1_000,
        actions_max: 100_000,
        recent_keys_max: 10_000,
        catalog_entries_max: 100,
        data_path: path.to_owned(),
        disk_reserve_bytes: 1 << 20,
    };
    Engine::start(options, open(path)).await.unwrap()
}

struct Client {
    key: SigningKey,
    asker: Asker,
    nonce: AtomicU64,
}

struct Sent {
    submission: Submission,
    contents: Vec<Hash>,
}

impl Client {
    fn new(byte: u8) -> Self {
        Self {
            key: SigningKey::from_bytes(&[byte; 32]).unwrap(),
            asker: Asker::Registration,
            nonce: AtomicU64::new(1),
        }
    }

    fn next_nonce(&self) -> u64 {
        self.nonce.fetch_add(1, Ordering::Relaxed)
    }

    fn sign(&self, nonce: u64, atomic: bool, actions: &[(&str, &str, &str)]) -> Sent {
        let seed = keccak(&[&self.key.address().0[..], &nonce.to_be_bytes()].concat());
        let head = RequestHead {
            signer: self.key.address(),
            nonce,
            deadline_s: system_clock()() / 1_000 + 300,
            atomic,
        };
        let mut text = String::new();
        let mut push = |part: &str| {
            let start = text.len();
            text.push_str(part);
            start..text.len()
        };
        let mut submitted = Vec::new();
        let mut words = Vec::new();
        for (i, (kind, target, payload)) in actions.iter().enumerate() {
            let kind = Kind::of_text(kind).unwrap();
            let signed = ActionWords::of(&kind, target, payload.as_bytes());
            let salt = salt(&seed, i as u16);
            words.push((signed, salt));
            submitted.push(SubmittedAction {
                kind,
                target: push(target),
                payload: push(payload),
                disclosed: None,
                action_hash: signed.action_hash(&salt),
                content: Hash::ZERO,
            });
        }
        let hashes: Vec<Hash> = submitted.iter().map(|action| action.action_hash).collect();
        let digest = head.digest(&DOMAIN.separator(), &hashes);
        let signature = self.key.sign(&digest);
        let mut contents = Vec::new();
        for (action, (words, salt)) in submitted.iter_mut().zip(&words) {
            let authority = chain::authority(&signature, salt);
            action.content = chain::content(words, &head.signer, &authority);
            contents.push(action.content);
        }
        let submission = Submission {
            asker: self.asker,
            head,
            signature,
            digest,
            salt_seed: seed,
            text,
            actions: submitted,
            password_hash: None,
            expires_at: Instant::now() + Duration::from_secs(20),
        };
        Sent {
            submission,
            contents,
        }
    }

    async fn send(
        &self,
        engine: &Engine,
        actions: &[(&str, &str, &str)],
    ) -> Result<Outcome, SubmitError> {
        let sent = self.sign(self.next_nonce(), false, actions);
        let outcome = engine.submit(sent.submission).await?;
        check_receipt(&outcome, &sent.contents);
        Ok(outcome)
    }

    async fn send_one(&self, engine: &Engine, kind: &str, target: &str, payload: &str) -> Done {
        let outcome = self.send(engine, &[(kind, target, payload)]).await.unwrap();
        match outcome.actions.into_iter().next().unwrap() {
            ActionOutcome::Done(done) => done,
            ActionOutcome::Refused(refusal) => panic!("{kind}: {refusal:?}"),
        }
    }
}

/// Builds the receipt that a client would get, and checks it as a client would.
fn check_receipt(outcome: &Outcome, contents: &[Hash]) {
    let Some(placement) = &outcome.placement else {
        return;
    };
    let mut done_contents = Vec::new();
    let mut actions = Vec::new();
    for (index, outcome) in outcome.actions.iter().enumerate() {
        if let ActionOutcome::Done(done) = outcome {
            done_contents.push(contents[index]);
            actions.push(ReceiptAction {
                index: index as u32,
                sequence: done.sequence,
                timestamp_ms: placement.timestamp_ms,
                leaf_index: (done.sequence - placement.batch.signed.header.first_sequence) as u32,
                previous_integrity: done.previous_integrity,
            });
        }
    }
    let receipt = BatchReceipt {
        version: RECEIPT_VERSION,
        domain: DOMAIN,
        batch: placement.batch.signed,
        actions,
        proof: placement.proof(),
    };
    receipt
        .verify(&DOMAIN, &sequencer_key().address(), &done_contents)
        .unwrap();
}

async fn register(engine: &Engine, byte: u8) -> Client {
    let mut client = Client::new(byte);
    let address = client.key.address();
    let payload = format!(r#"{{"email":"user{byte}@example.com","address":"{address}"}}"#);
    let done = client
        .send_one(engine, "wallet.register", "", &payload)
        .await;
    let (wallet, organization) = done.registered(0).unwrap();
    client.asker = Asker::Wallet {
        wallet_id: wallet.id,
        organization_id: organization.id,
    };
    client
}

async fn template(engine: &Engine, client: &Client, payload: &str) -> String {
    let done = client
        .send_one(engine, "template.create", "", payload)
        .await;
    done.resource.to_string()
}

fn minted(outcome: &Outcome) -> Vec<Id> {
    let done = outcome.actions.iter().filter_map(|action| match action {
        ActionOutcome::Done(done) => Some(done.resource),
        ActionOutcome::Refused(_) => None,
    });
    done.collect()
}

/// Replays the whole log and compares it with the store.
fn check_fold(engine: &Engine) {
    let published = engine.published();
    let mut state = State::default();
    for record in published.snapshot.requests_from(1) {
        let record = record.unwrap();
        // Registrations here disclose what they sign.
        record.verify_signature(&DOMAIN).unwrap();
        state.apply(&record).unwrap();
    }
    for (id, object) in &state.objects {
        assert_eq!(
            published.snapshot.object(*id).unwrap().as_ref(),
            Some(object)
        );
    }
    for (id, template) in &state.templates {
        assert_eq!(
            published.snapshot.template(*id).unwrap().as_ref(),
            Some(&**template)
        );
        let minted = state.minted.get(id).copied().unwrap_or(0);
        assert_eq!(published.snapshot.minted(*id).unwrap(), minted);
    }
    for (signer, window) in &state.nonces {
        assert_eq!(published.snapshot.nonces(*signer).unwrap(), *window);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_main_job() {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(folder.path()).await;
    let alice = register(&engine, 1).await;
    let bob = register(&engine, 2).await;
    let ticket = template(&engine, &alice, r#"{"name":"ticket","properties":{"n":0}}"#).await;
    let variations = r#"{"variations":[{"name":"red"},{"name":"blue"}]}"#;
    let done = alice
        .send_one(&engine, "template.variations", &ticket, variations)
        .await;
    assert_eq!(done.version, 2);
    let (template, variations) = done.template(0).unwrap();
    assert_eq!((template.variation_count, variations.len()), (2, 2));

    let mints: Vec<_> = (0..500).map(|_| ("mint", ticket.as_str(), "{}")).collect();
    let outcome = alice.send(&engine, &mints).await.unwrap();
    let objects = minted(&outcome);
    assert_eq!(objects.len(), 500);
    assert!(
        outcome.placement.unwrap().proof().is_empty(),
        "the request fills its batch"
    );

    let object = objects[0].to_string();
    let Asker::Wallet { wallet_id, .. } = bob.asker else {
        panic!()
    };
    let to_bob = format!(r#"{{"to":"{wallet_id}"}}"#);
    alice.send_one(&engine, "transfer", &object, &to_bob).await;
    let refused = alice
        .send(&engine, &[("lock", &object, "{}")])
        .await
        .unwrap();
    assert!(matches!(
        refused.first_refusal(),
        Some((0, Refusal::Forbidden(_)))
    ));
    bob.send_one(&engine, "lock", &object, "{}").await;
    let patch = r#"{"properties":{"n":1}}"#;
    let refused = bob
        .send(&engine, &[("update", &object, patch)])
        .await
        .unwrap();
    assert!(matches!(
        refused.first_refusal(),
        Some((0, Refusal::State(_)))
    ));
    check_fold(&engine);

    engine.shutdown(Duration::from_secs(5)).await;
    let head = engine.published().head;
    drop(engine);
    let engine = start(folder.path()).await;
    assert_eq!(engine.published().head, head);
    bob.send_one(&engine, "unlock", &object, "{}").await;
    bob.send_one(&engine, "update", &object, patch).await;
    let id: Id = object.parse().unwrap();
    let stored = engine.published().snapshot.object(id).unwrap().unwrap();
    assert_eq!(
        (stored.properties.as_str(), stored.trace.version),
        (r#"{"n":1}"#, 5)
    );
    check_fold(&engine);
    engine.shutdown(Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_hundred_clients_on_one_object_and_one_signer() {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(folder.path()).await;
    let alice = Arc::new(register(&engine, 1).await);
    let counter = template(&engine, &alice, r#"{"name":"counter"}"#).await;
    let object = alice
        .send_one(&engine, "mint", &counter, "{}")
        .await
        .resource
        .to_string();
    let tasks = (0..100).map(|i| {
        let (engine, alice, object) = (engine.clone(), Arc::clone(&alice), object.clone());
        tokio::spawn(async move {
            let mut versions = Vec::new();
            for j in 0..10 {
                let payload = format!(r#"{{"properties":{{"k{i}":{j}}}}}"#);
                versions.push(
                    alice
                        .send_one(&engine, "update", &object, &payload)
                        .await
                        .version,
                );
            }
            versions
        })
    });
    let mut versions = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        versions.extend(task.await.unwrap());
    }
    versions.sort_unstable();
    assert_eq!(versions, (2..=1_001).collect::<Vec<_>>());
    check_fold(&engine);
    engine.shutdown(Duration::from_secs(5)).await;
}

/// Batches over the same objects, some atomic and failing, so that decisions rest on what is
/// refused afterwards.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn refused_atomic_batches_take_nothing_with_them() {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(folder.path()).await;
    let alice = Arc::new(register(&engine, 1).await);
    let kind = template(&engine, &alice, r#"{"name":"t"}"#).await;
    let mints: Vec<_> = (0..40).map(|_| ("mint", kind.as_str(), "{}")).collect();
    let objects: Vec<String> = minted(&alice.send(&engine, &mints).await.unwrap())
        .iter()
        .map(ToString::to_string)
        .collect();
    let objects = Arc::new(objects);
    let tasks = (0..240).map(|i: usize| {
        let (engine, alice, objects) = (engine.clone(), Arc::clone(&alice), Arc::clone(&objects));
        tokio::spawn(async move {
            let payload = format!(r#"{{"properties":{{"by":{i}}}}}"#);
            let fails = !i.is_multiple_of(4);
            let mut actions: Vec<_> = (0..40)
                .map(|j| {
                    (
                        "update",
                        objects[(i * 7 + j) % 40].as_str(),
                        payload.as_str(),
                    )
                })
                .collect();
            if fails {
                actions.push(("unlock", objects[0].as_str(), "{}"));
            }
            let sent = alice.sign(alice.next_nonce(), i.is_multiple_of(2) || fails, &actions);
            let outcome = engine.submit(sent.submission).await.unwrap();
            check_receipt(&outcome, &sent.contents);
            assert_eq!(outcome.placement.is_none(), fails);
            if fails {
                assert_eq!(outcome.first_refusal().unwrap().0, 40);
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    for object in objects.iter() {
        let stored = engine
            .published()
            .snapshot
            .object(object.parse().unwrap())
            .unwrap()
            .unwrap();
        assert_eq!(stored.trace.version, 61);
    }
    check_fold(&engine);
    engine.shutdown(Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn supply_is_exact_and_waits_for_what_is_reserved() {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(folder.path()).await;
    let alice = Arc::new(register(&engine, 1).await);
    let kind = template(&engine, &alice, r#"{"name":"few","max_supply":100}"#).await;
    let tasks = (0..30).map(|i: usize| {
        let (engine, alice, kind) = (engine.clone(), Arc::clone(&alice), kind.clone());
        tokio::spawn(async move {
            // Every other mint is refused for its payload: its reservation must come back.
            let payload = if i.is_multiple_of(2) {
                "{}"
            } else {
                r#"{"nonsense":1}"#
            };
            let actions = vec![("mint", kind.as_str(), payload); 8];
            let sent = alice.sign(alice.next_nonce(), false, &actions);
            minted(&engine.submit(sent.submission).await.unwrap()).len()
        })
    });
    let mut made = 0;
    for task in tasks.collect::<Vec<_>>() {
        made += task.await.unwrap();
    }
    assert_eq!(made, 100);
    check_fold(&engine);
    engine.shutdown(Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_many_registrations_of_an_address_wins() {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(folder.path()).await;
    let tasks = (0..20u8).map(|i| {
        let engine = engine.clone();
        tokio::spawn(async move {
            let client = Client::new(10 + i);
            let address = client.key.address();
            let payload = format!(r#"{{"email":"same@example.com","address":"{address}"}}"#);
            let sent = client.sign(1, false, &[("wallet.register", "", &payload)]);
            let outcome = engine.submit(sent.submission).await.unwrap();
            match outcome.first_refusal() {
                None => true,
                Some((_, refusal)) => {
                    assert_eq!(*refusal, Refusal::EmailTaken);
                    false
                }
            }
        })
    });
    let mut won = 0;
    for task in tasks.collect::<Vec<_>>() {
        won += usize::from(task.await.unwrap());
    }
    assert_eq!(won, 1);
    check_fold(&engine);
    engine.shutdown(Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_signed_request_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(folder.path()).await;
    let alice = register(&engine, 1).await;
    let bob = register(&engine, 2).await;
    let kind = template(&engine, &alice, r#"{"name":"t"}"#).await;
    let sent = alice.sign(7, false, &[("mint", &kind, "{}")]);
    let both = tokio::join!(
        engine.submit(sent.submission.clone()),
        engine.submit(sent.submission.clone())
    );
    let done = [&both.0, &both.1]
        .into_iter()
        .filter(|result| result.is_ok())
        .count();
    assert_eq!(done, 1);
    let again = engine.submit(sent.submission).await.err().unwrap();
    let used = NonceError::Used {
        nonce: 7,
        highest: 7,
    };
    assert_eq!(
        again,
        SubmitError::Nonce {
            error: used,
            highest: 7
        }
    );

    // What failed as a whole cannot come again, even where it would succeed by now.
    let object = alice
        .send_one(&engine, "mint", &kind, "{}")
        .await
        .resource
        .to_string();
    let unlock = alice.sign(20, false, &[("unlock", &object, "{}")]);
    let refused = engine.submit(unlock.submission.clone()).await.unwrap();
    assert!(refused.placement.is_none());
    alice.send_one(&engine, "lock", &object, "{}").await;
    let replayed = engine
        .submit(unlock.submission.clone())
        .await
        .err()
        .unwrap();
    assert_eq!(replayed, SubmitError::Replayed);
    // Its nonce was not spent.
    let fresh = alice.sign(20, false, &[("unlock", &object, "{ }")]);
    assert!(
        engine
            .submit(fresh.submission)
            .await
            .unwrap()
            .placement
            .is_some()
    );

    // Another wallet's signature does not act for Alice.
    let mut forged = bob.sign(50, false, &[("lock", &object, "{}")]);
    forged.submission.asker = alice.asker;
    let refused = engine.submit(forged.submission).await.err().unwrap();
    assert_eq!(refused, SubmitError::SignerNotOfWallet);
    let mut late = alice.sign(60, false, &[("lock", &object, "{}")]);
    late.submission.head.deadline_s = system_clock()() / 1_000 - 1;
    let expired = engine.submit(late.submission).await.err().unwrap();
    assert_eq!(expired, SubmitError::DeadlineExpired);
    engine.shutdown(Duration::from_secs(5)).await;
}

//! Signing clients, an engine on a temporary store, and the replay that the store is compared with.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use kedge_actors::timekeeper::{Clock, Timekeeper};
use kedge_actors::{
    ActionOutcome, CommittedAction, Engine, EngineOptions, HeldKeys, Principal, Submission,
    SubmissionError, SubmissionOutcome, SubmittedAction,
};
use kedge_protocol::action::{ActionWords, Kind, RequestHead, salt};
use kedge_protocol::chain;
use kedge_protocol::eip712::Domain;
use kedge_protocol::hash::keccak;
use kedge_protocol::possession;
use kedge_protocol::receipt::{BatchReceipt, RECEIPT_VERSION, ReceiptAction};
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash, Id};
use kedge_replay::resource_rows::read_image;
use kedge_rules::fold::FoldState;
use kedge_rules::resource_state::ResourceState;
use kedge_runtime::env::{Env, RealEnv};
use kedge_runtime::executor::EngineRuntime;
use kedge_storage::{SideWrite, Store};

pub(crate) const DOMAIN: Domain = Domain {
    chain_id: 31_337,
    verifying_contract: Address([7; 20]),
};

pub(crate) fn sequencer_key() -> Arc<SigningKey> {
    Arc::new(SigningKey::from_bytes(&[0x5e; 32]).unwrap())
}

/// A second key of the engine, which signs once the log names it.
pub(crate) fn next_key() -> SigningKey {
    SigningKey::from_bytes(&[0x5f; 32]).unwrap()
}

pub(crate) fn open(path: &Path) -> Arc<Store> {
    let options = kedge_storage::StoreOptions {
        high_water_path: Some(path.join("high-water")),
        side_keys: kedge_storage::SideKeys::one(1, [1; 32]),
        ..kedge_storage::StoreOptions::of_store(
            &path.join("store"),
            DOMAIN,
            sequencer_key().address(),
        )
    };
    Arc::new(kedge_replay::catch_up::open_store(options).unwrap())
}

pub(crate) async fn start(path: &Path) -> Engine {
    start_on(path, open(path)).await
}

/// An engine on a store that the test keeps a handle to.
pub(crate) async fn start_on(path: &Path, store: Arc<Store>) -> Engine {
    start_by(Arc::new(|| RealEnv.unix_ms()), path, store).await
}

/// An engine with this wall clock.
pub(crate) async fn start_by(clock: Clock, path: &Path, store: Arc<Store>) -> Engine {
    Engine::start(options(clock, path), store).await.unwrap()
}

/// Options of an engine with this wall clock.
pub(crate) fn options(clock: Clock, path: &Path) -> EngineOptions {
    EngineOptions {
        domain: DOMAIN,
        keys: HeldKeys::new(SigningKey::from_bytes(&[0x5e; 32]).unwrap(), [next_key()]),
        contract: None,
        time: Arc::new(Timekeeper::unbounded(clock)),
        env: Arc::new(RealEnv),
        running: EngineRuntime::Threads { actors: 2 },
        shards: 3,
        objects_live_max: 64,
        organizations_live_max: 4,
        requests_max: 1_000,
        requests_min: 1_000,
        wait_target: Duration::from_secs(1),
        actions_max: 100_000,
        decided_bytes_max: 16 << 20,
        compare_groups_every: 16,
        organization_share_percent: 100,
        recent_keys_max: 10_000,
        catalog_bytes_max: 1 << 20,
        recipients_max: 100,
        data_path: path.to_owned(),
        disk_reserve_bytes: 1 << 20,
        replicated: false,
        group_bytes_max: 32 << 20,
        roots: None,
    }
}

pub(crate) struct Client {
    pub(crate) key: SigningKey,
    pub(crate) asker: Principal,
    pub(crate) nonce: AtomicU64,
}

pub(crate) struct Sent {
    pub(crate) submission: Submission,
    pub(crate) contents: Vec<Hash>,
}

impl Client {
    pub(crate) fn new(byte: u8) -> Self {
        Self {
            key: SigningKey::from_bytes(&[byte; 32]).unwrap(),
            asker: Principal::Registration,
            nonce: AtomicU64::new(1),
        }
    }

    /// The payload that adds this key to a wallet, with its consent.
    pub(crate) fn joining(&self, wallet: Id) -> String {
        let consent = possession::consent(&self.key, &DOMAIN.separator(), &wallet.to_string());
        let address = self.key.address();
        format!(r#"{{"address":"{address}","possession":"{consent}"}}"#)
    }

    pub(crate) fn next_nonce(&self) -> u64 {
        self.nonce.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn sign(&self, nonce: u64, atomic: bool, actions: &[(&str, &str, &str)]) -> Sent {
        let seed = keccak(&[&self.key.address().0[..], &nonce.to_be_bytes()].concat());
        let head = RequestHead {
            signer: self.key.address(),
            nonce,
            deadline_s: RealEnv.unix_ms() / 1_000 + 300,
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
            secret: None,
            expected: None,
            keep: None,
            expires_at: Instant::now() + Duration::from_secs(20),
            timing: None,
        };
        Sent {
            submission,
            contents,
        }
    }

    pub(crate) async fn send(
        &self,
        engine: &Engine,
        actions: &[(&str, &str, &str)],
    ) -> Result<SubmissionOutcome, SubmissionError> {
        let sent = self.sign(self.next_nonce(), false, actions);
        let outcome = engine.submit(sent.submission).await?;
        check_receipt(&outcome, &sent.contents);
        Ok(outcome)
    }

    pub(crate) async fn send_one(
        &self,
        engine: &Engine,
        kind: &str,
        target: &str,
        payload: &str,
    ) -> CommittedAction {
        let outcome = self.send(engine, &[(kind, target, payload)]).await.unwrap();
        match outcome.actions.into_iter().next().unwrap() {
            ActionOutcome::Done(done) => done,
            ActionOutcome::Refused(refusal) => panic!("{kind}: {refusal:?}"),
        }
    }
}

/// Builds a client's receipt, and checks it as a client would.
pub(crate) fn check_receipt(outcome: &SubmissionOutcome, contents: &[Hash]) {
    check_receipt_by(outcome, contents, &sequencer_key().address());
}

/// Checks a receipt whose batch this key must have signed.
pub(crate) fn check_receipt_by(
    outcome: &SubmissionOutcome,
    contents: &[Hash],
    sequencer: &Address,
) {
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
    receipt.verify(&DOMAIN, sequencer, &done_contents).unwrap();
}

pub(crate) async fn register(engine: &Engine, byte: u8) -> Client {
    join(engine, byte, "").await
}

/// The operator as a client, acting on an organization.
pub(crate) async fn operator(engine: &Engine, organization_id: Id) -> Client {
    let operator = Client {
        asker: Principal::Operator { organization_id },
        ..Client::new(9)
    };
    let known = SideWrite::Operators(vec![operator.key.address()]);
    engine.side_write(known).await.unwrap();
    operator
}

/// Registers with additional members in the registration, such as an invitation.
pub(crate) async fn join(engine: &Engine, byte: u8, more: &str) -> Client {
    let mut client = Client::new(byte);
    let address = client.key.address();
    let payload = format!(r#"{{"email":"user{byte}@example.com","address":"{address}"{more}}}"#);
    let done = client
        .send_one(engine, "wallet.register", "", &payload)
        .await;
    let images = done.images(0);
    let Some(ResourceState::Wallet(wallet)) = images.first() else {
        panic!("{images:?}")
    };
    client.asker = Principal::Wallet {
        wallet_id: wallet.id,
        organization_id: wallet.organization_id,
    };
    client
}

pub(crate) async fn template(engine: &Engine, client: &Client, payload: &str) -> String {
    let done = client
        .send_one(engine, "template.create", "", payload)
        .await;
    done.resource.to_string()
}

pub(crate) fn minted(outcome: &SubmissionOutcome) -> Vec<Id> {
    let done = outcome.actions.iter().filter_map(|action| match action {
        ActionOutcome::Done(done) => Some(done.resource),
        ActionOutcome::Refused(_) => None,
    });
    done.collect()
}

/// Replays the whole log and compares it with the store.
pub(crate) fn check_fold(engine: &Engine) {
    let published = engine.published();
    let snapshot = &published.snapshot;
    let mut state = FoldState::new(snapshot.operators().unwrap());
    for record in published.snapshot.requests_from(1) {
        let record = record.unwrap();
        // Registrations here disclose the signed payload.
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
            Some(&***template)
        );
        let minted = state.minted.get(id).copied().unwrap_or(0);
        assert_eq!(published.snapshot.minted(*id).unwrap(), minted);
    }
    for (id, wallet) in &state.wallets {
        assert_eq!(snapshot.wallet(*id).unwrap().as_ref(), Some(wallet));
        let by_email = snapshot.wallet_by_email(&wallet.email).unwrap();
        assert_eq!(by_email.as_ref(), Some(wallet));
    }
    for (id, image) in &state.others {
        if let ResourceState::FileRecord(file) = image {
            assert_eq!(snapshot.resource(*id).unwrap().as_ref(), Some(file));
        } else {
            assert_eq!(read_image(snapshot, *id).unwrap().as_ref(), Some(image));
        }
    }
    for (signer, window) in &state.nonces {
        assert_eq!(published.snapshot.nonces(*signer).unwrap(), *window);
    }
}

//! Exactly-once batches: stored attempts, sent requests, and new signatures.

use std::sync::Mutex;
use std::time::Duration;

use crate::support::{Fault, Log, Seen, id};
use kedge_client::{
    Account, AttemptStore, Client, ClientError, ClientResult, NewAction, OnceBatch, OnceResult,
    SigningAttempt,
};
use kedge_protocol::action::Kind;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Hash, Prefix};
use serde_json::json;

const KEY: &str = "batch-7";

/// Keeps attempts in memory; fails on demand.
#[derive(Default)]
struct Memory {
    kept: Mutex<Vec<SigningAttempt>>,
    waits: Mutex<Vec<Duration>>,
    is_full: bool,
}

impl AttemptStore for Memory {
    fn keep(&self, attempt: &SigningAttempt) -> std::io::Result<()> {
        if self.is_full {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        self.kept.lock().unwrap().push(*attempt);
        Ok(())
    }

    fn waits(&self, wait: Duration, _: &str) {
        self.waits.lock().unwrap().push(wait);
    }
}

impl Memory {
    fn kept(&self) -> Vec<SigningAttempt> {
        self.kept.lock().unwrap().clone()
    }
}

async fn logged_in(url: &str) -> Account {
    let client = Client::builder(url).connect().await.unwrap();
    let account = client.account(SigningKey::from_bytes(&[1; 32]).unwrap());
    account
        .login("ann@example.com", "long enough password")
        .await
        .unwrap();
    account
}

/// Submits a batch of two actions; the fake log refuses the second.
async fn once(
    account: &Account,
    earlier: &[SigningAttempt],
    keeper: &Memory,
) -> ClientResult<Vec<OnceResult>> {
    let action = |kind| NewAction::new(kind, id(Prefix::Object), &json!({})).unwrap();
    let actions = [action(Kind::Emit), action(Kind::Lock)];
    let batch = OnceBatch {
        actions: &actions,
        idempotency_key: KEY,
        earlier,
        deadline_ahead: Duration::from_mins(5),
        patience: Duration::from_secs(20),
    };
    account.batch_once(&batch, keeper).await
}

fn is_done(results: &[OnceResult]) {
    assert!(matches!(results[0], OnceResult::Done { .. }), "{results:?}");
    assert!(matches!(results[1], OnceResult::Refused(_)), "{results:?}");
}

/// The requests that change something.
fn sent(log: &Log) -> Vec<Seen> {
    let seen = log.seen().into_iter();
    seen.filter(|seen| seen.path == "/ebus/actions/batch")
        .collect()
}

#[tokio::test]
async fn the_kept_attempt_is_sent_until_its_end_is_known() {
    let (log, url) = Log::start().await;
    let account = logged_in(&url).await;
    let keeper = Memory::default();
    account.me().await.unwrap();
    log.fail([
        Fault::Refuse(429, "RATE_LIMITED", vec![("retry-after", "0".to_owned())]),
        Fault::Say(503, "UNAVAILABLE", json!({"outcome": "unknown"})),
        Fault::Refuse(409, "IDEMPOTENCY_IN_PROGRESS", Vec::new()),
        Fault::Lose,
    ]);
    is_done(&once(&account, &[], &keeper).await.unwrap());
    let (kept, sent) = (keeper.kept(), sent(&log));
    assert_eq!((kept.len(), sent.len()), (1, 5));
    for seen in &sent {
        assert_eq!(
            (seen.nonce, &seen.signature),
            (kept[0].nonce, &sent[0].signature)
        );
    }
    assert_eq!(keeper.waits.lock().unwrap().len(), 4);
}

#[tokio::test]
async fn what_failed_as_a_whole_or_has_expired_is_signed_again_with_its_nonce() {
    let (log, url) = Log::start().await;
    let account = logged_in(&url).await;
    account.me().await.unwrap();
    for (status, code, members) in [
        (409, "NONCE_REUSED", json!({"reason": "refused"})),
        (401, "DEADLINE_EXPIRED", json!({})),
    ] {
        let keeper = Memory::default();
        log.fail([Fault::Say(status, code, members)]);
        is_done(&once(&account, &[], &keeper).await.unwrap());
        let (kept, sent) = (keeper.kept(), sent(&log));
        assert_eq!((kept.len(), sent.len()), (2, 2));
        assert_eq!(kept[0].nonce, kept[1].nonce);
        assert_ne!(sent[0].signature, sent[1].signature);
    }
    // The local clock shows it.
    let expired = SigningAttempt {
        nonce: 77,
        deadline_s: 1,
        seed: Hash([3; 32]),
    };
    let keeper = Memory::default();
    is_done(&once(&account, &[expired], &keeper).await.unwrap());
    assert_eq!(keeper.kept()[0].nonce, 77);
    assert_eq!(sent(&log).len(), 1);
}

#[tokio::test]
async fn a_new_batch_whose_nonce_others_spent_gets_another_one() {
    let (log, url) = Log::start().await;
    let account = logged_in(&url).await;
    account.me().await.unwrap();
    log.0.lock().unwrap().highest = 40;
    log.fail([Fault::Say(
        409,
        "NONCE_REUSED",
        json!({"reason": "done", "sequence": 3}),
    )]);
    let keeper = Memory::default();
    is_done(&once(&account, &[], &keeper).await.unwrap());
    let nonces: Vec<u64> = keeper.kept().iter().map(|attempt| attempt.nonce).collect();
    assert_eq!(nonces, [1, 41]);
}

#[tokio::test]
async fn nothing_is_sent_that_is_not_kept_and_patience_ends() {
    let (log, url) = Log::start().await;
    let account = logged_in(&url).await;
    account.me().await.unwrap();
    let full = Memory {
        is_full: true,
        ..Memory::default()
    };
    let failed = once(&account, &[], &full).await;
    assert!(matches!(failed, Err(ClientError::Usage(_))), "{failed:?}");
    assert!(sent(&log).is_empty());

    let keeper = Memory::default();
    let hours = vec![("retry-after", "7200".to_owned())];
    log.fail([Fault::Refuse(429, "RATE_LIMITED", hours)]);
    let failed = once(&account, &[], &keeper).await;
    assert_eq!(failed.unwrap_err().code(), Some("RATE_LIMITED"));
    assert_eq!(sent(&log).len(), 1);
}

#[tokio::test]
async fn without_verified_receipts_nothing_is_promised() {
    let (log, url) = Log::start().await;
    let client = Client::builder(&url)
        .verify_receipts(false)
        .connect()
        .await
        .unwrap();
    let account = client.account(SigningKey::from_bytes(&[1; 32]).unwrap());
    account
        .login("ann@example.com", "long enough password")
        .await
        .unwrap();
    let failed = once(&account, &[], &Memory::default()).await;
    assert!(matches!(failed, Err(ClientError::Usage(_))), "{failed:?}");
    assert!(sent(&log).is_empty());
}

//! An account's reactions to refusals, and its local checks.

use std::collections::HashSet;
use std::time::Duration;

use crate::support::{DOMAIN, Fault, Log, id, sequencer};
use kedge_client::error::VerificationError;
use kedge_client::{
    Account, BatchActionResult, BatchMode, Client, ClientError, NewAction, NewObject, Registration,
    RetryPolicy,
};
use kedge_protocol::action::Kind;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Prefix};
use serde_json::json;

async fn logged_in(url: &str) -> Account {
    let client = Client::builder(url).connect().await.unwrap();
    let account = client.account(SigningKey::from_bytes(&[1; 32]).unwrap());
    account
        .login("ann@example.com", "a passphrase")
        .await
        .unwrap();
    account
}

fn emit() -> NewAction {
    NewAction::new(Kind::Emit, id(Prefix::Object), &json!({"n": 1})).unwrap()
}

fn lock() -> NewAction {
    NewAction::new(Kind::Lock, id(Prefix::Object), &json!({})).unwrap()
}

fn busy() -> Fault {
    Fault::Refuse(429, "RATE_LIMITED", vec![("retry-after", "0".into())])
}

fn verification<T: std::fmt::Debug>(outcome: Result<T, ClientError>) -> VerificationError {
    match outcome {
        Err(ClientError::Verification(error)) => *error,
        other => panic!("expected a failed verification, not {other:?}"),
    }
}

#[tokio::test]
async fn registering_and_acting_bring_verified_receipts() {
    let (log, url) = Log::start().await;
    let client = Client::builder(&url)
        .pin(DOMAIN, sequencer().address())
        .connect()
        .await
        .unwrap();
    let account = client.account(SigningKey::from_bytes(&[2; 32]).unwrap());
    let registration = Registration {
        email: "ann@example.com".into(),
        password: "a long enough passphrase".into(),
        nickname: None,
        organization_name: None,
    };
    account.register(&registration).await.unwrap();
    let done = account.act(&emit()).await.unwrap();
    assert_eq!((done.sequence, done.nonce), (2, 2));
    assert_eq!(client.highest_header().unwrap().header.number, 1);
    assert_eq!(
        log.seen().iter().map(|s| s.nonce).collect::<Vec<_>>(),
        [1, 2]
    );
}

#[tokio::test]
async fn a_batch_tells_what_was_done_and_what_was_not() {
    let (_log, url) = Log::start().await;
    let account = logged_in(&url).await;
    let mint = NewAction::mint(id(Prefix::Template), &NewObject::default()).unwrap();
    let actions = [emit(), lock(), mint];
    let outcome = account
        .batch(&actions, BatchMode::Independent)
        .await
        .unwrap();
    let sequences: Vec<u64> = outcome.done().map(|done| done.sequence).collect();
    assert_eq!(sequences, [1, 2]);
    assert!(
        matches!(&outcome.results[1], BatchActionResult::Refused(e) if e.code == "STATE_VIOLATION")
    );
    let BatchActionResult::Done(minted) = &outcome.results[2] else {
        panic!("not minted")
    };
    assert_eq!(minted.object_id.prefix, Prefix::Object);
    assert_ne!(minted.object_id, id(Prefix::Object));
    let none = account
        .batch(&[lock()], BatchMode::Independent)
        .await
        .unwrap();
    assert!(none.receipt.is_none() && none.done().next().is_none());
}

#[tokio::test]
async fn after_429_the_same_signature_goes_out_again_five_times_at_most() {
    let (log, url) = Log::start().await;
    let account = logged_in(&url).await;
    log.fail([Fault::Receipt(|_| {})]); // for the request to /wallets/me
    log.fail([busy(), busy()]);
    account.act(&emit()).await.unwrap();
    let seen: Vec<_> = log
        .seen()
        .into_iter()
        .filter(|s| s.path == "/ebus/actions")
        .collect();
    assert_eq!(seen.len(), 3);
    assert!(seen.iter().all(|s| s.signature == seen[0].signature));

    log.fail((0..9).map(|_| busy()));
    let refusal = account.act(&emit()).await.unwrap_err();
    assert_eq!(refusal.code(), Some("RATE_LIMITED"));
    assert_eq!(log.seen().len(), 5);
}

#[tokio::test]
async fn retry_after_is_waited_for() {
    let (log, url) = Log::start().await;
    let account = logged_in(&url).await;
    account.me().await.unwrap();
    log.seen();
    log.fail([Fault::Refuse(
        429,
        "RATE_LIMITED",
        vec![("retry-after", "1".into())],
    )]);
    account.act(&emit()).await.unwrap();
    let seen = log.seen();
    assert!(seen[1].at - seen[0].at >= Duration::from_secs(1));
}

#[tokio::test]
async fn other_refusals_are_not_repeated() {
    let (log, url) = Log::start().await;
    let account = logged_in(&url).await;
    account.me().await.unwrap();
    for (status, code) in [
        (503, "UNAVAILABLE"),
        (500, "INTERNAL"),
        (422, "STATE_VIOLATION"),
        (401, "SIGNATURE_INVALID"),
    ] {
        log.seen();
        log.fail([Fault::Refuse(
            status,
            code,
            vec![("retry-after", "0".into())],
        )]);
        let refusal = account.act(&emit()).await.unwrap_err();
        assert_eq!((refusal.code(), log.seen().len()), (Some(code), 1));
    }
}

#[tokio::test]
async fn with_503_asked_for_the_same_signature_is_sent_and_never_another() {
    let (log, url) = Log::start().await;
    let retry = RetryPolicy {
        on_unavailable: true,
        ..RetryPolicy::default()
    };
    let client = Client::builder(&url).retry(retry).connect().await.unwrap();
    let account = client.account(SigningKey::from_bytes(&[1; 32]).unwrap());
    account
        .login("ann@example.com", "a passphrase")
        .await
        .unwrap();
    account.me().await.unwrap();
    log.seen();
    // A proxy answered 503 although the request was done: its nonce is now spent.
    log.fail([
        Fault::Refuse(503, "UNAVAILABLE", vec![("retry-after", "0".into())]),
        Fault::Refuse(409, "NONCE_REUSED", vec![("x-nonce-highest", "9".into())]),
    ]);
    let refusal = account.act(&emit()).await.unwrap_err();
    assert_eq!(refusal.code(), Some("NONCE_REUSED"));
    let seen = log.seen();
    assert_eq!((seen.len(), &seen[0].signature), (2, &seen[1].signature));
}

// Holds invariant 95.
/// After an unknown outcome, or none, the client sends the same bytes again and learns what was done. It signs no
/// second time.
#[tokio::test]
async fn an_unknown_outcome_is_asked_about_with_the_same_signature() {
    let (log, url) = Log::start().await;
    let account = logged_in(&url).await;
    account.me().await.unwrap();
    log.seen();
    let unknown = || {
        Fault::Say(
            503,
            "UNAVAILABLE",
            json!({"outcome": "unknown", "nonce": "1"}),
        )
    };
    let spent = |reason| {
        Fault::Say(
            409,
            "NONCE_REUSED",
            json!({"reason": reason, "sequence": "7"}),
        )
    };

    // The first attempt did nothing; the second does it.
    log.fail([unknown()]);
    account.act(&emit()).await.unwrap();
    let seen = log.seen();
    assert_eq!((seen.len(), &seen[0].signature), (2, &seen[1].signature));

    // The first attempt does it. The second comes too early, the third learns of it, and the log holds it.
    let stands = || Fault::Say(200, "OK", json!({}));
    log.fail([Fault::Lose, spent("in_flight"), spent("done"), stands()]);
    let done = account.act(&emit()).await.unwrap_err();
    let ClientError::AlreadyDone { sequence, actions } = &done else {
        panic!("{done}");
    };
    assert_eq!((*sequence, actions.len()), (Some(7), 1));
    let seen = log.seen();
    assert_eq!(seen.len(), 4);
    assert!(seen[..3].iter().all(|s| s.signature == seen[0].signature));
    assert_eq!(seen[3].path, format!("/ebus/actions/{}", actions[0]));

    // Another request of the key spent the nonce: this one is done with a new signature.
    let absent = Fault::Say(404, "RESOURCE_NOT_FOUND", json!({}));
    log.fail([unknown(), spent("done"), absent]);
    account.act(&emit()).await.unwrap();
    let seen = log.seen();
    // Twice the same, one read of the log, one of the nonces, and the new request.
    assert_eq!(seen.len(), 5);
    assert_eq!(seen[0].signature, seen[1].signature);
    assert_ne!(seen[0].signature, seen[4].signature);

    // A refusal at the first or second attempt is the answer.
    log.fail([unknown(), spent("refused")]);
    let refused = account.act(&emit()).await.unwrap_err();
    assert_eq!(
        (refused.code(), log.seen().len()),
        (Some("NONCE_REUSED"), 2)
    );

    // A statement that nothing was done is trusted: another nonce may follow.
    let nothing = json!({"outcome": "nothing_done"});
    log.fail([Fault::Say(503, "UNAVAILABLE", nothing)]);
    let refused = account.act(&emit()).await.unwrap_err();
    assert_eq!((refused.code(), log.seen().len()), (Some("UNAVAILABLE"), 1));
}

#[tokio::test]
async fn a_spent_nonce_is_replaced_by_one_above_the_highest() {
    let (log, url) = Log::start().await;
    let account = logged_in(&url).await;
    account.me().await.unwrap();
    log.seen();
    log.fail([Fault::Refuse(
        409,
        "NONCE_REUSED",
        vec![("x-nonce-highest", "41".into())],
    )]);
    account.act(&emit()).await.unwrap();
    let nonces: Vec<u64> = log.seen().iter().map(|s| s.nonce).collect();
    assert_eq!(nonces, [1, 42]);

    // Without the header, the account reads its wallet.
    log.0.lock().unwrap().highest = 77;
    log.fail([Fault::Refuse(409, "NONCE_REUSED", vec![])]);
    account.act(&emit()).await.unwrap();
    let nonces: Vec<u64> = log.seen().iter().map(|s| s.nonce).collect();
    assert_eq!(nonces, [43, 0, 78]);
}

#[tokio::test]
async fn parallel_requests_share_one_refresh_and_no_nonce() {
    let (log, url) = Log::start().await;
    let account = logged_in(&url).await;
    log.0.lock().unwrap().token += 1;
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let account = account.clone();
            tokio::spawn(async move { account.act(&emit()).await.map(|action| action.nonce) })
        })
        .collect();
    let mut nonces = HashSet::new();
    for task in tasks {
        assert!(nonces.insert(task.await.unwrap().unwrap()));
    }
    let refreshes = log
        .seen()
        .iter()
        .filter(|s| s.path == "/wallets/token/refresh")
        .count();
    assert_eq!(refreshes, 1);
}

#[tokio::test]
async fn receipts_that_do_not_hold_are_refused() {
    let (log, url) = Log::start().await;
    let account = logged_in(&url).await;
    account.me().await.unwrap();
    let changes: [fn(&mut serde_json::Value); 4] = [
        |receipt| receipt["leaf"]["content"] = receipt["leaf"]["integrity"].clone(),
        |receipt| receipt["leaf"]["timestamp_ms"] = json!(1),
        |receipt| receipt["batch"]["header"]["number"] = json!(77),
        |receipt| receipt["leaf_index"] = json!(1),
    ];
    for change in changes {
        log.fail([Fault::Receipt(change)]);
        let error = verification(account.act(&emit()).await);
        assert!(matches!(error, VerificationError::Receipt(_)), "{error}");
    }
    log.fail([Fault::Receipt(|receipt| {
        receipt["domain"]["chain_id"] = json!(1);
    })]);
    let error = verification(account.act(&emit()).await);
    assert!(matches!(error, VerificationError::OtherLog(_)), "{error}");
    log.fail([Fault::Receipt(|receipt| *receipt = json!(null))]);
    let error = verification(account.act(&emit()).await);
    assert_eq!(error, VerificationError::NoReceipt { index: 0 });

    log.fail([Fault::Receipt(|receipt| {
        receipt["actions"][0]["previous_integrity"] = receipt["batch"]["header"]["root"].clone();
    })]);
    let error = verification(account.batch(&[emit(), emit()], BatchMode::Atomic).await);
    assert!(matches!(error, VerificationError::Receipt(_)), "{error}");
    log.fail([Fault::Receipt(|receipt| {
        receipt["actions"][1]["index"] = json!(1);
    })]);
    let error = verification(
        account
            .batch(&[emit(), lock(), emit()], BatchMode::Independent)
            .await,
    );
    assert_eq!(error, VerificationError::OtherActions);
}

/// A valid receipt of another action.
static KEPT: std::sync::Mutex<serde_json::Value> = std::sync::Mutex::new(serde_json::Value::Null);

#[tokio::test]
async fn another_actions_receipt_is_refused() {
    let (log, url) = Log::start().await;
    let account = logged_in(&url).await;
    let first = account.act(&emit()).await.unwrap();
    *KEPT.lock().unwrap() = json!(first.receipt.unwrap());
    log.fail([Fault::Receipt(|receipt| {
        *receipt = KEPT.lock().unwrap().clone();
    })]);
    let error = verification(account.act(&emit()).await);
    assert!(
        matches!(error, VerificationError::OtherAction { found, .. } if found == first.content)
    );
}

#[tokio::test]
async fn two_headers_with_one_number_are_kept_as_evidence() {
    let (log, url) = Log::start().await;
    let account = logged_in(&url).await;
    account.act(&emit()).await.unwrap();
    // The sequencer signs number 0 again, over a different header.
    log.fail([Fault::Receipt(|receipt| {
        let mut signed: kedge_protocol::receipt::Receipt =
            serde_json::from_value(receipt.clone()).unwrap();
        signed.batch.header.number = 0;
        signed.batch = signed.batch.header.sign(&DOMAIN.separator(), &sequencer());
        *receipt = json!(signed);
    })]);
    let error = verification(account.act(&emit()).await);
    let VerificationError::Equivocation(evidence) = error else {
        panic!("{error}")
    };
    assert_eq!(evidence.map(|batch| batch.header.number), [0, 0]);
}

#[tokio::test]
async fn a_pin_that_does_not_fit_is_refused() {
    let (_log, url) = Log::start().await;
    let connect = Client::builder(&url)
        .pin(DOMAIN, Address([1; 20]))
        .connect()
        .await;
    assert!(matches!(
        verification(connect),
        VerificationError::OtherLog(_)
    ));
}

#[tokio::test]
async fn nothing_is_sent_without_a_login_and_nothing_secret_is_shown() {
    let (log, url) = Log::start().await;
    let client = Client::builder(&url).connect().await.unwrap();
    let account = client.account(SigningKey::from_bytes(&[3; 32]).unwrap());
    assert!(matches!(
        account.act(&emit()).await,
        Err(ClientError::Usage(_))
    ));
    assert!(log.seen().is_empty());
    account
        .login("ann@example.com", "a passphrase")
        .await
        .unwrap();
    assert!(!format!("{account:?}").contains("access"));
}

#[tokio::test]
async fn a_server_that_is_gone_is_a_transport_error() {
    let connect = Client::builder("http://127.0.0.1:1").connect().await;
    assert!(matches!(connect, Err(ClientError::Transport(_))));
}

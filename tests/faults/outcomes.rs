//! Servers that fail, stall and are killed under load: the answers to callers, compared with the log.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kedge_client::{Account, Client, ClientError, ListQuery, NewObject, RetryPolicy};
use kedge_protocol::Id;
use serde_json::json;
use tokio::task::JoinSet;

use crate::support::faults::{OnCall, With};
use crate::support::server::Setup;
use crate::support::{Rng, connect, register, template};

/// Callers of each kind.
const CALLERS: usize = 6;
/// Number of failures of each kind.
const ROUNDS: u64 = 2;

/// The outcomes that answers reported, by the names of the mints.
#[derive(Default)]
struct Reported {
    done: Mutex<HashSet<String>>,
    nothing_done: Mutex<HashSet<String>>,
    unknown: Mutex<HashSet<String>>,
    exactly_once: Mutex<HashSet<String>>,
}

fn note(names: &Mutex<HashSet<String>>, name: &str) {
    names.lock().unwrap().insert(name.to_owned());
}

fn named(name: &str) -> NewObject {
    NewObject {
        properties: json!({ "name": name }).as_object().unwrap().clone(),
        ..NewObject::default()
    }
}

/// Mints repeatedly, and records the answers.
async fn listen(
    account: Account,
    of: Id,
    who: usize,
    reported: Arc<Reported>,
    ended: Arc<AtomicBool>,
) {
    for number in 0.. {
        if ended.load(Ordering::SeqCst) {
            return;
        }
        let name = format!("listener {who}, {number}");
        match account.mint(of, &named(&name)).await {
            Ok(_) => note(&reported.done, &name),
            Err(ClientError::Refused(envelope)) => {
                assert_eq!(envelope.status, 503, "{envelope}");
                match envelope.body["outcome"].as_str() {
                    Some("nothing_done") => note(&reported.nothing_done, &name),
                    Some("unknown") => {
                        assert_eq!(envelope.body["signer"], json!(account.address()));
                        assert!(envelope.body["nonce"].is_string(), "{envelope}");
                        note(&reported.unknown, &name);
                    }
                    other => panic!("{other:?}: {envelope}"),
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(ClientError::Transport(_) | ClientError::Timeout { .. }) => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Mints repeatedly with retries: every mint must be done.
async fn insist(
    account: Account,
    of: Id,
    who: usize,
    reported: Arc<Reported>,
    ended: Arc<AtomicBool>,
) {
    for number in 0.. {
        if ended.load(Ordering::SeqCst) {
            return;
        }
        let name = format!("client {who}, {number}");
        match account.mint(of, &named(&name)).await {
            Ok(_) | Err(ClientError::AlreadyDone { .. }) => {}
            // The client itself spent the nonce.
            Err(error) if error.code() == Some("NONCE_REUSED") => {}
            // Nothing was done, so the next one may follow.
            Err(ClientError::Refused(envelope)) if envelope.body["outcome"] == "nothing_done" => {
                continue;
            }
            Err(error) => panic!("{error}"),
        }
        note(&reported.exactly_once, &name);
    }
}

async fn caller(url: &str, retry: RetryPolicy) -> Client {
    let builder = Client::builder(url).retry(retry).timeout_ms(10_000);
    builder.connect().await.unwrap()
}

/// For each caller, one account that never retries and one that retries until done.
async fn accounts(setup: &Setup, issuer: &Account, rng: &mut Rng) -> Vec<(usize, Account)> {
    let insistent = RetryPolicy {
        attempts_max: 20,
        wait_ms_max: 1_000,
        ..RetryPolicy::default()
    };
    let mut accounts = Vec::new();
    // One wallet mints; each caller has a separate key and nonces.
    for who in 0..CALLERS {
        for retry in [RetryPolicy::never(), insistent.clone()] {
            let key = rng.key();
            issuer.add_signer(&key).await.unwrap();
            let account = caller(&setup.url(), retry).await.account(key);
            account
                .login(&email(issuer), crate::support::PASSWORD)
                .await
                .unwrap();
            account.me().await.unwrap();
            accounts.push((who, account));
        }
    }
    accounts
}

// Holds invariants 94, 95.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_answer_denies_what_the_log_holds() {
    let mut rng = Rng::seeded("outcomes");
    let directory = tempfile::tempdir().unwrap();
    let (setup, faults) = crate::setup(directory.path());
    let server = setup.start();
    let issuer = register(&connect(&setup.url()).await, rng.key()).await;
    let of = template(&issuer, "outcomes").await;
    let accounts = accounts(&setup, &issuer, &mut rng).await;
    server.stop();
    // From here on callers soon get the answer that the outcome is unknown.
    let setup = setup.set("request_timeout_s", 1);
    let mut server = setup.start();
    let (reported, ended) = (
        Arc::new(Reported::default()),
        Arc::new(AtomicBool::new(false)),
    );
    let mut callers = JoinSet::new();
    for (position, (who, account)) in accounts.into_iter().enumerate() {
        let (reported, ended) = (Arc::clone(&reported), Arc::clone(&ended));
        if position % 2 == 0 {
            callers.spawn(listen(account, of, who, reported, ended));
        } else {
            callers.spawn(insist(account, of, who, reported, ended));
        }
    }
    for round in 0..ROUNDS * 3 {
        tokio::time::sleep(Duration::from_millis(300 + rng.below(500))).await;
        match round % 3 {
            // Longer than callers wait; after that, every placed request is committed.
            0 => {
                faults.stall(OnCall::Fdatasync, ".log");
                tokio::time::sleep(Duration::from_millis(2_500)).await;
                faults.lift();
                continue;
            }
            1 => {
                faults.fail_with(With::Error, rng.below(30), OnCall::Fdatasync, ".log");
                let status = server.ended(Duration::from_secs(20)).expect("it ends");
                assert_eq!(status.code(), Some(1));
                faults.lift();
            }
            _ => server.kill(),
        }
        server = setup.start();
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    ended.store(true, Ordering::SeqCst);
    while let Some(ended) = callers.join_next().await {
        ended.unwrap();
    }
    check(&issuer, &reported).await;
    server.stop();
    crate::verify(&setup, issuer.client());
}

fn email(account: &Account) -> String {
    format!("{}@example.com", account.address()).to_lowercase()
}

/// Compares the reported outcomes with the log.
async fn check(issuer: &Account, reported: &Reported) {
    let begun = Instant::now();
    let mut there: HashMap<String, usize> = HashMap::new();
    for object in issuer
        .objects(&ListQuery::default())
        .collect(1_000_000)
        .await
        .unwrap()
    {
        let name = object.properties["name"].as_str().unwrap().to_owned();
        *there.entry(name).or_default() += 1;
    }
    let count = |name: &String| there.get(name).copied().unwrap_or(0);
    for name in reported.done.lock().unwrap().iter() {
        assert_eq!(count(name), 1, "{name} was acknowledged");
    }
    for name in reported.nothing_done.lock().unwrap().iter() {
        assert_eq!(count(name), 0, "{name}: nothing was done, it was said");
    }
    for name in reported.exactly_once.lock().unwrap().iter() {
        assert_eq!(count(name), 1, "{name} was to be done exactly once");
    }
    for (name, times) in &there {
        assert_eq!(*times, 1, "{name}");
    }
    let unknown = reported.unknown.lock().unwrap();
    let stand = unknown.iter().filter(|name| count(name) == 1).count();
    assert!(
        stand > 0,
        "nothing with an unknown outcome is in the log: the test shows nothing"
    );
    eprintln!(
        "{} acknowledged, {} not done, {} unknown of which {stand} stand in the log, {} done exactly once; read in {:?}",
        reported.done.lock().unwrap().len(),
        reported.nothing_done.lock().unwrap().len(),
        unknown.len(),
        reported.exactly_once.lock().unwrap().len(),
        begun.elapsed()
    );
}

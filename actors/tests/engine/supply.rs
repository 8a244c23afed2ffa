//! Supply wanted by several organizations: requests wait in one order, and not forever.

use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use kedge_actors::timekeeper::Clock;
use kedge_actors::{Engine, Principal, Submission, SubmissionError, SubmissionOutcome};
use kedge_rules::resource_state::ResourceState;
use kedge_runtime::env::{Env as _, RealEnv};

use crate::support::*;

/// Time by which a request must end; a longer one is deadlocked.
const PATIENCE: Duration = Duration::from_secs(5);
const ROUNDS: u64 = 40;
const SUPPLY: usize = 6;

async fn public_template(engine: &Engine, client: &Client, round: u64) -> String {
    let payload = format!(
        r#"{{"name":"round {round}","max_supply":{SUPPLY},"public_access":true,"actions":[{{"kind":"mint","who":"anyone"}}]}}"#
    );
    template(engine, client, &payload).await
}

/// Sends mints of both templates, the first one first; returns how many were done.
async fn mint_both(
    engine: Engine,
    client: Arc<Client>,
    first: String,
    second: String,
) -> Result<usize, SubmissionError> {
    let mut actions = vec![("mint", first.as_str(), "{}"); SUPPLY];
    actions.extend(vec![("mint", second.as_str(), "{}"); SUPPLY]);
    let mut sent = client.sign(client.next_nonce(), false, &actions);
    sent.submission.expires_at = Instant::now() + PATIENCE;
    Ok(minted(&engine.submit(sent.submission).await?).len())
}

// Holds invariant 124.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn batches_that_mint_each_others_templates_never_wait_for_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(folder.path()).await;
    let ann = Arc::new(register(&engine, 1).await);
    let bob = Arc::new(register(&engine, 2).await);
    for round in 0..ROUNDS {
        let of_ann = public_template(&engine, &ann, round).await;
        let of_bob = public_template(&engine, &bob, round).await;
        let begun = Instant::now();
        let tasks = [
            (&ann, &of_ann, &of_bob),
            (&bob, &of_bob, &of_ann),
            (&ann, &of_bob, &of_ann),
            (&bob, &of_ann, &of_bob),
        ]
        .map(|(client, first, second)| {
            tokio::spawn(mint_both(
                engine.clone(),
                Arc::clone(client),
                first.clone(),
                second.clone(),
            ))
        });
        let mut made = 0;
        for task in tasks {
            // Once everything is used up, the request is refused action by action.
            made += task.await.unwrap().unwrap();
        }
        assert_eq!(made, 2 * SUPPLY, "round {round}");
        assert!(begun.elapsed() < PATIENCE, "round {round}");
    }
    assert_eq!(engine.requests_under_way(), 0);
    check_fold(&engine);
    engine.shutdown(Duration::from_secs(5)).await;
}

/// A clock that stops the committer while it is closed, like a disk that hangs.
#[derive(Default)]
struct Gate {
    closed: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn open(&self) {
        *self.closed.lock().unwrap() = false;
        self.opened.notify_all();
    }

    fn clock(self: &Arc<Self>) -> Clock {
        let gate = Arc::clone(self);
        Arc::new(move || {
            if std::thread::current().name() == Some("committer") {
                let closed = gate.closed.lock().unwrap();
                drop(gate.opened.wait_while(closed, |closed| *closed).unwrap());
            }
            RealEnv.unix_ms()
        })
    }
}

/// Waits until this many requests stay in flight.
async fn settles_at(engine: &Engine, count: usize) {
    let begun = Instant::now();
    while engine.requests_under_way() != count {
        let now = engine.requests_under_way();
        assert!(begun.elapsed() < PATIENCE, "{now} in flight, not {count}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn patient(sent: Sent, patience: Duration) -> Submission {
    Submission {
        expires_at: Instant::now() + patience,
        ..sent.submission
    }
}

/// Sends a request at which the committer stops until the gate opens.
async fn stop_with(
    engine: &Engine,
    client: &Client,
    gate: &Arc<Gate>,
    actions: &[(&str, &str, &str)],
) -> tokio::task::JoinHandle<Result<SubmissionOutcome, SubmissionError>> {
    *gate.closed.lock().unwrap() = true;
    let sent = client.sign(client.next_nonce(), false, actions);
    let engine_of_task = engine.clone();
    let stopped = tokio::spawn(async move { engine_of_task.submit(sent.submission).await });
    settles_at(engine, 1).await;
    // The committer has it by then.
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(!stopped.is_finished());
    stopped
}

// Holds invariant 125.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn who_waits_for_supply_ends_with_its_caller_and_gives_everything_back() {
    let folder = tempfile::tempdir().unwrap();
    let gate = Arc::new(Gate::default());
    let engine = start_by(gate.clock(), folder.path(), open(folder.path())).await;
    let mut owners = [register(&engine, 1).await, register(&engine, 2).await];
    owners.sort_by_key(|owner| match owner.asker {
        Principal::Wallet {
            organization_id, ..
        } => organization_id,
        _ => unreachable!("registered wallets"),
    });
    let (bob, eve) = (register(&engine, 3).await, register(&engine, 4).await);
    let first = public_template(&engine, &owners[0], 1).await;
    let last = public_template(&engine, &owners[1], 1).await;
    let all_of_last = vec![("mint", last.as_str(), "{}"); SUPPLY];
    let stopped = stop_with(&engine, &bob, &gate, &all_of_last).await;

    // Eve holds all of the first template's supply while she waits for the last one's.
    let mut both = vec![("mint", first.as_str(), "{}"); SUPPLY];
    both.push(("mint", last.as_str(), "{}"));
    let nonce = eve.next_nonce();
    let waits = patient(eve.sign(nonce, false, &both), Duration::from_millis(300));
    let begun = Instant::now();
    assert_eq!(
        engine.submit(waits).await.err(),
        Some(SubmissionError::Waited)
    );
    assert!(begun.elapsed() < Duration::from_secs(2));
    settles_at(&engine, 1).await;

    // The same if the caller goes away.
    let waits = patient(eve.sign(nonce, false, &both), PATIENCE);
    let engine_of_task = engine.clone();
    let gone = tokio::spawn(async move { engine_of_task.submit(waits).await });
    settles_at(&engine, 2).await;
    gone.abort();
    settles_at(&engine, 1).await;

    // Neither her nonce nor the supply is used.
    gate.open();
    assert_eq!(minted(&stopped.await.unwrap().unwrap()).len(), SUPPLY);
    let again = eve.sign(nonce, false, &both[..SUPPLY]);
    let done = engine.submit(again.submission).await.unwrap();
    assert_eq!(minted(&done).len(), SUPPLY);
    check_fold(&engine);
    engine.shutdown(Duration::from_secs(5)).await;
}

// Holds invariant 125.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn who_waits_for_rights_ends_with_its_caller_and_holds_nobody_back() {
    let folder = tempfile::tempdir().unwrap();
    let gate = Arc::new(Gate::default());
    let engine = start_by(gate.clock(), folder.path(), open(folder.path())).await;
    let ann = register(&engine, 1).await;
    let Principal::Wallet {
        organization_id, ..
    } = ann.asker
    else {
        unreachable!("a registered wallet")
    };
    let organization = organization_id.to_string();
    let invited = ann
        .send_one(&engine, "org.invite", &organization, r#"{"role":"admin"}"#)
        .await;
    let Some(ResourceState::Invitation(invitation)) = invited.images(0).into_iter().nth(1) else {
        panic!("an invitation")
    };
    let more = format!(r#","invitation":"{}""#, invitation.id);
    let bea = join(&engine, 2, &more).await;
    let Principal::Wallet { wallet_id, .. } = bea.asker else {
        unreachable!("a registered wallet")
    };
    let kind = template(&engine, &ann, r#"{"name":"plain"}"#).await;
    let mint = [("mint", kind.as_str(), "{}")];
    let stopped = stop_with(&engine, &bea, &gate, &mint).await;

    // Bea has a request in flight, so her role waits for it.
    let role = format!(r#"{{"wallet_id":"{wallet_id}","role":"owner"}}"#);
    let change = [("org.role", organization.as_str(), role.as_str())];
    let waits = ann.sign(ann.next_nonce(), false, &change);
    let waits = patient(waits, Duration::from_millis(300));
    assert_eq!(
        engine.submit(waits).await.err(),
        Some(SubmissionError::Waited)
    );
    settles_at(&engine, 1).await;

    // Her next request waits only for the commit.
    let next = bea.sign(bea.next_nonce(), false, &mint).submission;
    let engine_of_task = engine.clone();
    let next = tokio::spawn(async move { engine_of_task.submit(next).await });
    settles_at(&engine, 2).await;
    gate.open();
    assert_eq!(minted(&stopped.await.unwrap().unwrap()).len(), 1);
    assert_eq!(minted(&next.await.unwrap().unwrap()).len(), 1);
    check_fold(&engine);
    engine.shutdown(Duration::from_secs(5)).await;
}

//! Objects under load: order, speculation, refusals, supply, nonces.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kedge_actors::api::NonceOutcome;
use kedge_actors::{Principal, SubmissionError};
use kedge_protocol::Id;
use kedge_protocol::event::{EventPosition, EventType};
use kedge_protocol::nonce::NonceError;
use kedge_rules::Refusal;
use kedge_rules::resource_state::ResourceState;
use kedge_runtime::env::{Env, RealEnv};

use crate::resources::ids;
use crate::support::*;

// Holds invariant 214.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_decisions_leave_in_memory_is_bounded_and_who_is_refused_has_done_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(folder.path()).await;
    let alice = register(&engine, 1).await;
    let filler = "x".repeat(1_000_000);
    let payload = format!(r#"{{"name":"large","properties":{{"filler":"{filler}"}}}}"#);
    let large = template(&engine, &alice, &payload).await;
    let mints = vec![("mint", large.as_str(), "{}"); 12];
    let before = engine.published().head.sequence;
    let refused = alice.send(&engine, &mints).await;
    assert!(matches!(refused, Err(SubmissionError::Overloaded)));
    assert_eq!(engine.published().head.sequence, before);
    // The memory is free again, after a refusal and after an answer.
    for _ in 0..3 {
        let outcome = alice.send(&engine, &mints[..7]).await.unwrap();
        assert_eq!(minted(&outcome).len(), 7);
    }
    check_fold(&engine);
}

// Holds invariant 3.
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
    let images = done.images(0);
    let Some(ResourceState::Template(template)) = images.first() else {
        panic!("{images:?}")
    };
    assert_eq!((template.variation_count, images.len()), (2, 3));

    let mints: Vec<_> = (0..500).map(|_| ("mint", ticket.as_str(), "{}")).collect();
    let outcome = alice.send(&engine, &mints).await.unwrap();
    let objects = minted(&outcome);
    assert_eq!(objects.len(), 500);
    assert!(
        outcome.placement.unwrap().proof().is_empty(),
        "the request fills its batch"
    );

    let object = objects[0].to_string();
    let Principal::Wallet { wallet_id, .. } = bob.asker else {
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

// Holds invariant 4.
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

// Holds invariant 5.
/// Batches over the same objects, some atomic and failing, so that decisions depend on decisions refused later.
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

// Holds invariant 56.
/// Atomic requests that lock an object and fail with another one. The object was never locked, so no other request may
/// be refused because of that, and each reports its real failure.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nobody_is_refused_for_what_never_happened() {
    const OTHERS: usize = 8;
    let folder = tempfile::tempdir().unwrap();
    let engine = start(folder.path()).await;
    let alice = Arc::new(register(&engine, 1).await);
    let kind = template(&engine, &alice, r#"{"name":"t"}"#).await;
    let mints = vec![("mint", kind.as_str(), "{}"); 1 + OTHERS];
    let minted = minted(&alice.send(&engine, &mints).await.unwrap());
    let objects: Vec<String> = minted.iter().map(ToString::to_string).collect();
    let objects = Arc::new(objects);
    let tasks = (0..200).map(|i: usize| {
        let (engine, alice, objects) = (engine.clone(), Arc::clone(&alice), Arc::clone(&objects));
        tokio::spawn(async move {
            let object = objects[0].as_str();
            if i.is_multiple_of(2) {
                alice.send_one(&engine, "update", object, "{}").await;
                return;
            }
            let other = objects[1 + i % OTHERS].as_str();
            let actions = [("lock", object, "{}"), ("unlock", other, "{}")];
            let sent = alice.sign(alice.next_nonce(), true, &actions);
            let outcome = engine.submit(sent.submission).await.unwrap();
            assert!(outcome.placement.is_none());
            let (index, refusal) = outcome.first_refusal().unwrap();
            assert_eq!(
                (index, refusal),
                (1, &Refusal::State("the object is not locked".into()))
            );
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    let stored = engine.published().snapshot.object(minted[0]).unwrap();
    assert_eq!(stored.unwrap().trace.version, 101);
    check_fold(&engine);
    engine.shutdown(Duration::from_secs(5)).await;
}

// Holds invariant 8.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn supply_is_exact_and_waits_for_what_is_reserved() {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(folder.path()).await;
    let alice = Arc::new(register(&engine, 1).await);
    let kind = template(&engine, &alice, r#"{"name":"few","max_supply":100}"#).await;
    let tasks = (0..30).map(|i: usize| {
        let (engine, alice, kind) = (engine.clone(), Arc::clone(&alice), kind.clone());
        tokio::spawn(async move {
            // Every other mint is refused for its payload: its reservation must be released.
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

// Holds invariant 7.
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

// Holds invariant 6.
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
        SubmissionError::Nonce {
            error: used,
            highest: 7,
            past: Some(NonceOutcome::Done { sequence: Some(4) }),
        }
    );

    // A request that failed as a whole cannot be repeated, even if it would succeed by now.
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
    assert_eq!(replayed, SubmissionError::Replayed);
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
    assert_eq!(refused, SubmissionError::SignerNotOfWallet);
    let mut late = alice.sign(60, false, &[("lock", &object, "{}")]);
    late.submission.head.deadline_s = RealEnv.unix_ms() / 1_000 - 1;
    let expired = engine.submit(late.submission).await.err().unwrap();
    assert_eq!(expired, SubmissionError::DeadlineExpired);
    engine.shutdown(Duration::from_secs(5)).await;
}

// Holds invariant 6.
/// The store forgets a refused request some time after its deadline.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_refused_request_that_is_forgotten_is_not_decided_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let begun_ms = RealEnv.unix_ms();
    let time = Arc::new(AtomicU64::new(begun_ms));
    let shown = Arc::clone(&time);
    let clock = Arc::new(move || shown.load(Ordering::Relaxed));
    let engine = start_by(clock, folder.path(), Arc::clone(&store)).await;
    let alice = register(&engine, 1).await;
    let kind = template(&engine, &alice, r#"{"name":"t"}"#).await;
    let minted = alice.send_one(&engine, "mint", &kind, "{}").await;
    let object = minted.resource.to_string();
    let unlock = alice.sign(alice.next_nonce(), false, &[("unlock", &object, "{}")]);
    let mut unlock = unlock.submission;
    unlock.head.deadline_s = begun_ms / 1_000 + 10;
    let refused = engine.submit(unlock.clone()).await.unwrap();
    assert!(refused.placement.is_none());
    let again = engine.submit(unlock.clone()).await.err();
    assert_eq!(again, Some(SubmissionError::Replayed));

    time.fetch_add(20_000, Ordering::Relaxed);
    alice.send_one(&engine, "lock", &object, "{}").await;
    // Whether the store has forgotten it makes no difference.
    let again = engine.submit(unlock.clone()).await.err();
    assert_eq!(again, Some(SubmissionError::DeadlineExpired));
    store.drop_expired().unwrap();
    assert_eq!(store.snapshot().refused(unlock.digest).unwrap(), None);
    let again = engine.submit(unlock).await.err();
    assert_eq!(again, Some(SubmissionError::DeadlineExpired));
    engine.shutdown(Duration::from_secs(5)).await;
}

/// Refused actions become events, whether the rest of the request was done or not.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_refused_action_is_an_event_of_its_organization() {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(folder.path()).await;
    let alice = register(&engine, 1).await;
    let kind = template(&engine, &alice, r#"{"name":"t"}"#).await;
    let (mint, burn) = (("mint", kind.as_str(), "{}"), ("burn", "nothing", "{}"));
    let partly = alice.send(&engine, &[mint, burn]).await.unwrap();
    let not_at_all = alice.send(&engine, &[burn]).await.unwrap();
    assert!(partly.placement.is_some() && not_at_all.placement.is_none());
    let (_, organization) = ids(&alice);
    let snapshot = &engine.published().snapshot;
    let events = snapshot.stored_events(Some(organization), EventPosition::start_of(0), false);
    let types = events.map(|event| event.unwrap().1.event_type);
    assert_eq!(types.collect::<Vec<_>>(), [EventType::ActionFailed; 2]);
    engine.shutdown(Duration::from_secs(5)).await;
}

//! Everything but objects: wallets and their keys, members, API keys, webhooks, files, changing templates, the
//! operator's tiers.

use std::sync::Arc;
use std::time::Duration;

use kedge_actors::{
    ActionOutcome, CommittedAction, Engine, NewSecret, Principal, SubmissionError,
    SubmissionOutcome,
};
use kedge_protocol::Id;
use kedge_protocol::hash::sha256;
use kedge_protocol::payload::digest_text;
use kedge_protocol::resource::{Role, Tier};
use kedge_replay::resource_rows::read_image;
use kedge_rules::Refusal;
use kedge_rules::resource_state::ResourceState;

use crate::support::{
    Client, check_fold, check_receipt, join, minted, operator, register, start, template,
};

pub(crate) fn ids(client: &Client) -> (Id, Id) {
    let Principal::Wallet {
        wallet_id,
        organization_id,
    } = client.asker
    else {
        panic!("{:?}", client.asker)
    };
    (wallet_id, organization_id)
}

/// The same wallet with another key.
fn with_key(client: &Client, byte: u8) -> Client {
    Client {
        asker: client.asker,
        ..Client::new(byte)
    }
}

async fn with_secret(
    engine: &Engine,
    client: &Client,
    (kind, target, payload): (&str, &str, &str),
    secret: NewSecret,
) -> CommittedAction {
    let mut sent = client.sign(client.next_nonce(), false, &[(kind, target, payload)]);
    sent.submission.secret = Some(secret);
    done(engine.submit(sent.submission).await.unwrap())
}

#[track_caller]
fn done(outcome: SubmissionOutcome) -> CommittedAction {
    match outcome.actions.into_iter().next().unwrap() {
        ActionOutcome::Done(done) => done,
        ActionOutcome::Refused(refusal) => panic!("{refusal:?}"),
    }
}

async fn refused(
    engine: &Engine,
    client: &Client,
    kind: &str,
    target: &str,
    payload: &str,
) -> Refusal {
    let outcome = client
        .send(engine, &[(kind, target, payload)])
        .await
        .unwrap();
    let (_, refusal) = outcome.first_refusal().unwrap();
    refusal.clone()
}

/// An invited person joins with the invitation, which works once.
async fn invite(engine: &Engine, admin: &Client, organization: &str) -> Client {
    let invite = r#"{"role":"admin","email":"user4@example.com"}"#;
    let invited = admin
        .send_one(engine, "org.invite", organization, invite)
        .await;
    let Some(ResourceState::Invitation(invitation)) = invited.images(0).into_iter().nth(1) else {
        panic!("an invitation is made")
    };
    let member = format!(r#","invitation":"{}""#, invitation.id);
    let carol = join(engine, 4, &member).await;
    let again = Client::new(5);
    let address = again.key.address();
    let body = format!(r#"{{"email":"user4@example.com","address":"{address}"{member}}}"#);
    let refusal = refused(engine, &again, "wallet.register", "", &body).await;
    assert!(
        matches!(refusal, Refusal::EmailTaken | Refusal::Forbidden(_)),
        "{refusal:?}"
    );
    carol
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn accounts_change_and_replay() {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(folder.path()).await;
    let alice = register(&engine, 1).await;
    let (wallet_id, organization_id) = ids(&alice);
    let (wallet, organization) = (wallet_id.to_string(), organization_id.to_string());

    let change = r#"{"email":"Alice@Example.com","nickname":"al"}"#;
    let renamed = alice
        .send_one(&engine, "wallet.update", &wallet, change)
        .await;
    assert_eq!(renamed.version, 2);
    // Her released address is free, and her new one is not.
    let bob = register(&engine, 2).await;
    let (bob_id, _) = ids(&bob);
    let taken = r#"{"email":"alice@example.com"}"#;
    let refusal = refused(&engine, &bob, "wallet.update", &bob_id.to_string(), taken).await;
    assert_eq!(refusal, Refusal::EmailTaken);
    let freed = r#"{"email":"user1@example.com"}"#;
    bob.send_one(&engine, "wallet.update", &bob_id.to_string(), freed)
        .await;

    let second = with_key(&alice, 3);
    let add = second.joining(wallet_id);
    alice
        .send_one(&engine, "wallet.key_add", &wallet, &add)
        .await;
    second
        .send_one(&engine, "wallet.update", &wallet, r#"{"nickname":null}"#)
        .await;
    let stranger = format!(r#"{{"address":"{}"}}"#, Client::new(9).key.address());
    let refusal = refused(&engine, &alice, "wallet.key_add", &wallet, &stranger).await;
    assert!(matches!(refusal, Refusal::Invalid(_)), "{refusal:?}");
    let foreign = bob.joining(wallet_id);
    let refusal = refused(&engine, &alice, "wallet.key_add", &wallet, &foreign).await;
    assert!(matches!(refusal, Refusal::Conflict(_)), "{refusal:?}");

    let carol = invite(&engine, &second, &organization).await;
    let (carol_id, carols) = ids(&carol);
    assert_eq!(carols, organization_id);
    let demote = format!(r#"{{"wallet_id":"{wallet}","role":"member"}}"#);
    let refusal = refused(&engine, &carol, "org.role", &organization, &demote).await;
    assert!(matches!(refusal, Refusal::Forbidden(_)), "{refusal:?}");
    let promote = format!(r#"{{"wallet_id":"{carol_id}","role":"owner"}}"#);
    alice
        .send_one(&engine, "org.role", &organization, &promote)
        .await;
    carol
        .send_one(&engine, "org.role", &organization, &demote)
        .await;
    let refusal = refused(&engine, &alice, "org.invite", &organization, "{}").await;
    assert!(matches!(refusal, Refusal::Forbidden(_)), "{refusal:?}");
    let stored = engine
        .published()
        .snapshot
        .wallet(wallet_id)
        .unwrap()
        .unwrap();
    assert_eq!((stored.role, stored.nickname), (Role::Member, None));
    check_fold(&engine);
    engine.shutdown(Duration::from_secs(5)).await;
}

// Holds invariant 16.
/// A key is removed while it signs: its later actions are not placed. The replay, which checks every signer against the
/// keys of that moment, agrees.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_removed_key_signs_nothing_that_is_placed_later() {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(folder.path()).await;
    let alice = register(&engine, 1).await;
    let (wallet_id, _) = ids(&alice);
    let wallet = wallet_id.to_string();
    let ticket = template(&engine, &alice, r#"{"name":"t"}"#).await;
    let outcome = alice
        .send(&engine, &[("mint", &ticket, "{}")])
        .await
        .unwrap();
    let object = minted(&outcome)[0].to_string();
    let second = Arc::new(with_key(&alice, 3));
    alice
        .send_one(
            &engine,
            "wallet.key_add",
            &wallet,
            &second.joining(wallet_id),
        )
        .await;
    let body = format!(r#"{{"address":"{}"}}"#, second.key.address());

    let mut tasks = tokio::task::JoinSet::new();
    for i in 0..60 {
        let (engine, second, object) = (engine.clone(), Arc::clone(&second), object.clone());
        let alice =
            (i == 20).then(|| alice.sign(900, false, &[("wallet.key_remove", &wallet, &body)]));
        tasks.spawn(async move {
            if let Some(sent) = alice {
                let outcome = engine.submit(sent.submission).await.unwrap();
                assert!(outcome.placement.is_some());
                return false;
            }
            match second.send(&engine, &[("emit", &object, "{}")]).await {
                Ok(outcome) => outcome.placement.is_some(),
                Err(error) => {
                    assert_eq!(error, SubmissionError::SignerNotOfWallet);
                    false
                }
            }
        });
    }
    let placed = tasks
        .join_all()
        .await
        .into_iter()
        .filter(|placed| *placed)
        .count();
    assert!(placed > 0, "some were placed before the key went");
    let late = second.send(&engine, &[("emit", &object, "{}")]).await;
    assert_eq!(late.err(), Some(SubmissionError::SignerNotOfWallet));
    check_fold(&engine);
    engine.shutdown(Duration::from_secs(5)).await;
}

/// The last replaced secret still counts, for this long after its replacement.
#[track_caller]
fn assert_overlap(engine: &Engine, of: Id, [current, previous]: [u8; 2], overlap_ms: u64) {
    let snapshot = &engine.published().snapshot;
    let image = read_image(snapshot, of).unwrap().unwrap();
    let until_ms = image.trace().unwrap().updated_at_ms + overlap_ms;
    let stored = snapshot.secret(of).unwrap().unwrap();
    assert_eq!(stored.current, [current; 4]);
    assert_eq!(stored.previous, Some((vec![previous; 4], until_ms)));
}

// Holds invariant 18.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn secrets_stand_beside_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(folder.path()).await;
    let alice = register(&engine, 1).await;
    let body = r#"{"name":"robot","permissions":[{"resource":"objects","crud":{"read":true}}]}"#;
    let secret = |byte| NewSecret::Token(vec![byte; 4]);
    let made = with_secret(&engine, &alice, ("key.create", "", body), secret(1)).await;
    let key = made.resource.to_string();
    let overlap = r#"{"overlap_s":60}"#;
    with_secret(&engine, &alice, ("key.rotate", &key, overlap), secret(2)).await;
    assert_overlap(&engine, made.resource, [2, 1], 60_000);
    let at_once = r#"{"overlap_s":0}"#;
    with_secret(&engine, &alice, ("key.rotate", &key, at_once), secret(3)).await;
    let stored = engine
        .published()
        .snapshot
        .secret(made.resource)
        .unwrap()
        .unwrap();
    assert_eq!((stored.current, stored.previous), (vec![3; 4], None));
    alice.send_one(&engine, "key.delete", &key, "").await;
    let refusal = refused(&engine, &alice, "key.rotate", &key, "").await;
    assert!(matches!(refusal, Refusal::NotFound { .. }), "{refusal:?}");

    let hook = r#"{"url":"https://example.com/h","events":["object.created"]}"#;
    let hook = with_secret(&engine, &alice, ("webhook.create", "", hook), secret(4)).await;
    let target = hook.resource.to_string();
    let overlap = r#"{"overlap_s":90}"#;
    with_secret(
        &engine,
        &alice,
        ("webhook.rotate", &target, overlap),
        secret(5),
    )
    .await;
    assert_overlap(&engine, hook.resource, [5, 4], 90_000);
    alice
        .send_one(&engine, "webhook.update", &target, r#"{"active":false}"#)
        .await;
    alice.send_one(&engine, "webhook.delete", &target, "").await;
    let bad = r#"{"url":"ftp://x","events":["nothing"]}"#;
    let refusal = refused(&engine, &alice, "webhook.create", "", bad).await;
    let Refusal::Invalid(fields) = refusal else {
        panic!("{refusal:?}")
    };
    let pointers: Vec<_> = fields.iter().map(|field| field.pointer.as_str()).collect();
    assert_eq!(pointers, ["/url", "/events/0"]);
    check_fold(&engine);
    engine.shutdown(Duration::from_secs(5)).await;
}

/// Two rotations of one key, mostly in one commit group: the previous secret is then the one of the first rotation,
/// never the one before it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_secret_that_was_replaced_twice_at_once_does_not_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(folder.path()).await;
    let alice = register(&engine, 1).await;
    let body = r#"{"name":"robot","permissions":[{"resource":"objects","crud":{"read":true}}]}"#;
    let secret = |byte| NewSecret::Token(vec![byte; 4]);
    let made = with_secret(&engine, &alice, ("key.create", "", body), secret(0)).await;
    let key = made.resource.to_string();
    let overlap = r#"{"overlap_s":60}"#;
    for round in 0..20 {
        let (one, two) = (2 * round + 1, 2 * round + 2);
        let rotate = |byte| {
            let action = ("key.rotate", key.as_str(), overlap);
            with_secret(&engine, &alice, action, secret(byte))
        };
        let (first, second) = tokio::join!(rotate(one), rotate(two));
        let (earlier, later) = if first.sequence < second.sequence {
            (one, two)
        } else {
            (two, one)
        };
        let stored = engine.published().snapshot.secret(made.resource);
        let stored = stored.unwrap().unwrap();
        assert_eq!(stored.current, [later; 4]);
        assert_eq!(stored.previous.unwrap().0, [earlier; 4]);
    }
    check_fold(&engine);
    engine.shutdown(Duration::from_secs(5)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_file_is_what_was_signed() {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(folder.path()).await;
    let alice = register(&engine, 1).await;
    let digest = sha256(b"bytes");
    let signed = digest_text(&digest);
    for (reported, fits) in [(digest, true), (sha256(b"other"), false)] {
        let action = [("file.create", "a.txt", signed.as_str())];
        let mut sent = alice.sign(alice.next_nonce(), false, &action);
        let start = sent.submission.text.len();
        let disclosed =
            format!(r#"{{"sha256":"{reported}","size_bytes":5,"media_type":"text/plain"}}"#);
        sent.submission.text.push_str(&disclosed);
        sent.submission.actions[0].disclosed = Some(start..sent.submission.text.len());
        let outcome = engine.submit(sent.submission).await.unwrap();
        check_receipt(&outcome, &sent.contents);
        assert_eq!(outcome.placement.is_some(), fits);
    }
    check_fold(&engine);
    engine.shutdown(Duration::from_secs(5)).await;
}

// Holds invariant 16.
/// Concurrent mints and a change of their template: whatever their order, the replay gives the same objects, so none
/// was minted by outdated rules.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_template_changes_between_mints_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(folder.path()).await;
    let alice = Arc::new(register(&engine, 1).await);
    for round in 0..20 {
        let name = format!(r#"{{"name":"t{round}","properties":{{"n":0}}}}"#);
        let ticket = template(&engine, &alice, &name).await;
        let mut tasks = tokio::task::JoinSet::new();
        for i in 0..6 {
            let (engine, alice, ticket) = (engine.clone(), Arc::clone(&alice), ticket.clone());
            tasks.spawn(async move {
                let change = r#"{"properties":{"n":1}}"#;
                let action = match i {
                    _ if i == round % 6 => ("template.update", ticket.as_str(), change),
                    _ => ("mint", ticket.as_str(), "{}"),
                };
                // Started at slightly different moments, so that every order occurs.
                for _ in 0..(i * round) % 7 {
                    tokio::task::yield_now().await;
                }
                alice.send(&engine, &[action]).await.unwrap();
            });
        }
        tasks.join_all().await;
        // The released name can be claimed again.
        if round == 0 {
            let fresh = template(&engine, &alice, r#"{"name":"fresh"}"#).await;
            let rename = r#"{"name":"renamed"}"#;
            alice
                .send_one(&engine, "template.update", &fresh, rename)
                .await;
            template(&engine, &alice, r#"{"name":"fresh"}"#).await;
        }
    }
    let ticket = template(&engine, &alice, r#"{"name":"minted"}"#).await;
    alice
        .send(&engine, &[("mint", &ticket, "{}")])
        .await
        .unwrap();
    let refusal = refused(&engine, &alice, "template.update", &ticket, "{}").await;
    assert!(matches!(refusal, Refusal::State(_)), "{refusal:?}");
    check_fold(&engine);
    engine.shutdown(Duration::from_secs(5)).await;
}

// Holds invariant 17.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_operator_sets_tiers_and_nobody_else_does() {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(folder.path()).await;
    let alice = register(&engine, 1).await;
    let (_, organization_id) = ids(&alice);
    let target = organization_id.to_string();
    let free = r#"{"tier":"enterprise"}"#;
    let refusal = refused(&engine, &alice, "system.tier", &target, free).await;
    assert!(matches!(refusal, Refusal::Forbidden(_)), "{refusal:?}");

    let operator = operator(&engine, organization_id).await;
    let custom = r#"{"tier":"custom","requests_per_minute":7}"#;
    operator
        .send_one(&engine, "system.tier", &target, custom)
        .await;
    let stored = engine.published().snapshot.organization(organization_id);
    let Tier::Custom(limits) = stored.unwrap().unwrap().tier else {
        panic!("the tier is custom")
    };
    assert_eq!(
        (limits.requests_per_minute, limits.requests_per_day),
        (Some(7), None)
    );
    for bad in [
        r#"{"tier":"gold"}"#,
        r#"{"tier":"free","requests_per_day":1}"#,
        "{}",
    ] {
        let refusal = refused(&engine, &operator, "system.tier", &target, bad).await;
        assert!(matches!(refusal, Refusal::Invalid(_)), "{bad}: {refusal:?}");
    }
    check_fold(&engine);
    engine.shutdown(Duration::from_secs(5)).await;
}

/// Caches of credentials are dropped only when one may have ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn it_is_known_when_credentials_may_have_ended() {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(folder.path()).await;
    let alice = register(&engine, 1).await;
    let (_, organization) = ids(&alice);
    let organization = organization.to_string();
    let changed_at = || engine.published().keys_changed_at;
    let body = r#"{"name":"robot","permissions":[{"resource":"objects","crud":{"read":true}}]}"#;
    let made = alice.send_one(&engine, "key.create", "", body).await;
    assert_eq!(changed_at(), made.sequence);
    template(&engine, &alice, r#"{"name":"t"}"#).await;
    let carol = invite(&engine, &alice, &organization).await;
    assert_eq!(changed_at(), made.sequence, "nothing has ended");
    let (member, _) = ids(&carol);
    let member = format!(r#"{{"wallet_id":"{member}"}}"#);
    let removed = alice
        .send_one(&engine, "org.member_remove", &organization, &member)
        .await;
    assert_eq!(changed_at(), removed.sequence);
    let key = made.resource.to_string();
    let deleted = alice.send_one(&engine, "key.delete", &key, "").await;
    assert_eq!(changed_at(), deleted.sequence);
    engine.shutdown(Duration::from_secs(5)).await;
}

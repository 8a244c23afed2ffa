//! One `LogApplier` for all: the live engine's rows are the ones that its log gives, in one piece and cut anywhere.

use std::time::Duration;

use kedge_actors::Engine;
use kedge_protocol::Id;
use kedge_protocol::hash::sha256;
use kedge_protocol::payload::digest_text;
use kedge_protocol::signature::SigningKey;
use kedge_replay::apply::{ApplyError, LogApplier};
use kedge_rules::resource_state::ResourceState;
use kedge_storage::{RawRow, Table, WriteGroup, rewritten};

use crate::cuts::{Log, explained};
use crate::resources::ids;
use crate::support::*;

/// Objects with indexed properties, returning owners, milestones, burned objects, and actions of other wallets.
async fn objects(engine: &Engine, alice: &Client, bob: &Client) {
    let schema = r#"{"type":"object","properties":{"seat":{"type":"integer","x-index":true},
        "row":{"type":"string","x-index":true}}}"#
        .replace('\n', "");
    let payload = format!(
        r#"{{"name":"ticket","public_access":true,"max_supply":40,"properties":{{"n":0}},"schema":{schema},
            "actions":[{{"kind":"x.scan","who":"anyone"}}]}}"#
    );
    let ticket = template(engine, alice, &payload).await;
    let variations = r#"{"variations":[{"name":"red","properties":{"row":"r"}},{"name":"blue"}]}"#;
    let made = alice
        .send_one(engine, "template.variations", &ticket, variations)
        .await;
    let red = made.images(0)[1].id();
    let of_red = format!(r#"{{"variation_id":"{red}","properties":{{"seat":3}}}}"#);
    let mints = [
        ("mint", ticket.as_str(), of_red.as_str()),
        ("mint", &ticket, r#"{"properties":{"seat":9,"row":"x"}}"#),
        ("mint", &ticket, "{}"),
        ("mint", &ticket, "{}"),
    ];
    let objects = minted(&alice.send(engine, &mints).await.unwrap());
    let [one, two, three, four] = objects.as_slice() else {
        panic!("{objects:?}")
    };
    let (one, two, three) = (one.to_string(), two.to_string(), three.to_string());
    let four = four.to_string();
    let to = |client: &Client| format!(r#"{{"to":"{}"}}"#, ids(client).0);
    let (to_alice, to_bob) = (to(alice), to(bob));
    // Its indexed values and its owner change several times in one request, and return.
    let there = [
        ("update", one.as_str(), r#"{"properties":{"seat":4}}"#),
        ("set_attributes", &one, r#"{"attributes":{"row":"q"}}"#),
        ("update", &one, r#"{"properties":{"seat":3}}"#),
        ("transfer", &one, &to_bob),
        ("transfer", &four, &to_bob),
        ("mint", &ticket, r#"{"properties":{"seat":1}}"#),
    ];
    alice.send(engine, &there).await.unwrap();
    // Objects of others: one of bob's, and one that anyone may scan.
    let back = [
        (
            "delete_attributes",
            one.as_str(),
            r#"{"attributes":["row"]}"#,
        ),
        ("transfer", &one, &to_alice),
        ("x.scan", &two, r#"{"gate":1}"#),
    ];
    bob.send(engine, &back).await.unwrap();
    for _ in 0..2 {
        let many: Vec<_> = (0..500).map(|_| ("emit", two.as_str(), "{}")).collect();
        alice.send(engine, &many).await.unwrap();
    }
    // An action refused alone, and one that burns its object.
    let some = [
        ("update", two.as_str(), r#"{"properties":{"seat":"no"}}"#),
        ("burn", &three, "{}"),
        ("update", &two, r#"{"properties":{"seat":7}}"#),
    ];
    alice.send(engine, &some).await.unwrap();
    alice.send_one(engine, "burn", &one, "{}").await;
    let two: Id = two.parse().unwrap();
    let published = engine.published();
    assert!(published.snapshot.milestone(two, 1_002).unwrap().is_some());
}

/// Names and rights that are released, claimed by others, ended.
async fn accounts(engine: &Engine, alice: &Client, bob: &Client) {
    let (wallet, organization) = ids(alice);
    let (wallet, organization) = (wallet.to_string(), organization.to_string());
    let moved = r#"{"email":"alice@example.com","nickname":"al"}"#;
    alice
        .send_one(engine, "wallet.update", &wallet, moved)
        .await;
    let freed = r#"{"email":"user1@example.com"}"#;
    let of_bob = ids(bob).0.to_string();
    bob.send_one(engine, "wallet.update", &of_bob, freed).await;
    let added = Client::new(0x33);
    let joining = added.joining(ids(alice).0);
    let address = format!(r#"{{"address":"{}"}}"#, added.key.address());
    for (kind, payload) in [
        ("wallet.key_add", &joining),
        ("wallet.key_remove", &address),
        ("wallet.key_add", &joining),
    ] {
        alice.send_one(engine, kind, &wallet, payload).await;
    }
    let renamed = template(engine, alice, r#"{"name":"fresh"}"#).await;
    let rename = r#"{"name":"stale"}"#;
    alice
        .send_one(engine, "template.update", &renamed, rename)
        .await;
    template(engine, alice, r#"{"name":"fresh"}"#).await;

    let mut codes = Vec::new();
    for payload in ["{}", r#"{"role":"member"}"#] {
        let invited = alice
            .send_one(engine, "org.invite", &organization, payload)
            .await;
        let Some(ResourceState::Invitation(invitation)) = invited.images(0).into_iter().nth(1)
        else {
            panic!("an invitation is made")
        };
        codes.push(invitation.id);
    }
    let carol = join(engine, 4, &format!(r#","invitation":"{}""#, codes[0])).await;
    let member = ids(&carol).0;
    for (kind, payload) in [
        (
            "org.invitation_revoke",
            format!(r#"{{"invitation_id":"{}"}}"#, codes[1]),
        ),
        (
            "org.role",
            format!(r#"{{"wallet_id":"{member}","role":"admin"}}"#),
        ),
        (
            "org.member_remove",
            format!(r#"{{"wallet_id":"{member}"}}"#),
        ),
    ] {
        alice.send_one(engine, kind, &organization, &payload).await;
    }
    // Her address is free again.
    let rest = r#"{"email":"user4@example.com"}"#;
    bob.send_one(engine, "wallet.update", &of_bob, rest).await;
}

async fn records(engine: &Engine, alice: &Client) {
    let key = r#"{"name":"k","permissions":[{"resource":"objects","crud":{"read":true}}]}"#;
    let hook = r#"{"url":"https://example.com/","events":["*"]}"#;
    for (create, ends, payload) in [
        ("key.create", ["key.rotate", "key.delete"], key),
        ("webhook.create", ["webhook.rotate", "webhook.delete"], hook),
    ] {
        for ended in [true, false] {
            let made = alice.send_one(engine, create, "", payload).await;
            let target = made.resource.to_string();
            for kind in ends.into_iter().filter(|_| ended) {
                let payload = if kind.ends_with("rotate") { "{}" } else { "" };
                alice.send_one(engine, kind, &target, payload).await;
            }
        }
    }
    let digest = sha256(b"a file");
    let stored = format!(r#"{{"sha256":"{digest}","size_bytes":6,"media_type":"text/plain"}}"#);
    let signed = digest_text(&digest);
    let mut sent = alice.sign(
        alice.next_nonce(),
        false,
        &[("file.create", "a.txt", &signed)],
    );
    let start = sent.submission.text.len();
    sent.submission.text.push_str(&stored);
    sent.submission.actions[0].disclosed = Some(start..start + stored.len());
    engine.submit(sent.submission).await.unwrap();
}

/// The operator's actions: tiers, and the keys that sign later batches.
async fn operator(engine: &Engine, of: &Client) {
    let (_, organization_id) = ids(of);
    let operator = crate::support::operator(engine, organization_id).await;
    let tier = r#"{"tier":"custom","requests_per_minute":7}"#;
    let target = organization_id.to_string();
    operator
        .send_one(engine, "system.tier", &target, tier)
        .await;
    for (byte, from_batch) in [(0x61, 1_000_000), (0x62, 1_000_001), (0x63, 1_000_007)] {
        let key = SigningKey::from_bytes(&[byte; 32]).unwrap().address();
        let payload = format!(r#"{{"from_batch":{from_batch}}}"#);
        operator
            .send_one(engine, "system.sequencer_key", &key.to_string(), &payload)
            .await;
    }
}

// Holds invariants 3, 149.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_log_makes_the_same_rows_wherever_it_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(folder.path()).await;
    let alice = register(&engine, 1).await;
    let bob = register(&engine, 2).await;
    objects(&engine, &alice, &bob).await;
    accounts(&engine, &alice, &bob).await;
    records(&engine, &alice).await;
    operator(&engine, &alice).await;

    let snapshot = engine.published().snapshot.clone();
    for table in explained() {
        // Verdicts need a log that breaks the rules.
        let is_missing = table == Table::Disputes;
        let rows: Vec<RawRow> = snapshot.raw_rows(table).map(Result::unwrap).collect();
        assert_eq!(rows.is_empty(), is_missing, "{}", table.name());
        for (key, value) in rows {
            let forms = rewritten(table, &value);
            let read = forms
                .iter()
                .any(|form| form.as_ref() == Ok(&value.to_vec()));
            assert!(
                read || forms.is_empty(),
                "{} {key:?} {forms:?}",
                table.name()
            );
        }
    }
    let log = Log::read(&snapshot, DOMAIN);
    assert!(log.remembered() > 0);
    let middle = log.requests() / 2;
    let cuts = [log.every_cut(), vec![middle], vec![1, log.requests() - 1]];
    log.check(&snapshot, &cuts);
    // Requests came one at a time: each made a small group.
    assert_eq!(engine.groups_compared(), log.requests() as u64);
    engine.shutdown(Duration::from_secs(5)).await;
}

// Holds invariant 150.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_not_next_in_the_log_is_not_applied_and_nothing_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let engine = start(folder.path()).await;
    let alice = register(&engine, 1).await;
    template(&engine, &alice, r#"{"name":"one"}"#).await;
    template(&engine, &alice, r#"{"name":"two"}"#).await;
    let snapshot = engine.published().snapshot.clone();
    let records: Vec<_> = snapshot.requests_from(1).map(Result::unwrap).collect();
    let leaves: Vec<_> = records
        .iter()
        .map(|record| record.placed(&record.hashes()))
        .collect();
    let batch = snapshot.batch(0).unwrap().unwrap();
    let hashes: Vec<_> = leaves[0]
        .iter()
        .map(kedge_protocol::chain::LogLeaf::hash)
        .collect();

    let mut apply = LogApplier::from_nothing(Vec::new());
    apply.request(&records[0], &leaves[0]).unwrap();
    apply.batch(&batch, &hashes).unwrap();
    let skipped = apply.request(&records[2], &leaves[2]);
    let expected = matches!(
        skipped,
        Err(ApplyError::Order {
            expected: 2,
            found: 3
        })
    );
    assert!(expected, "{skipped:?}");
    let next = apply.request(&records[1], &leaves[1]);
    assert!(matches!(next, Err(ApplyError::Broken)), "{next:?}");
    assert!(matches!(apply.take_rows(), Err(ApplyError::Broken)));

    // A batch with requests missing, and a repeated one.
    let mut apply = LogApplier::from_nothing(Vec::new());
    assert!(matches!(
        apply.batch(&batch, &hashes),
        Err(ApplyError::Order { .. })
    ));
    let mut apply = LogApplier::from_nothing(Vec::new());
    apply.request(&records[0], &leaves[0]).unwrap();
    apply.batch(&batch, &hashes).unwrap();
    assert!(matches!(
        apply.batch(&batch, &hashes),
        Err(ApplyError::Order { .. })
    ));

    // Frames that the store already has are not applied again.
    let mut apply = LogApplier::over(snapshot).unwrap();
    let again = apply.request(&records[2], &leaves[2]);
    assert!(matches!(again, Err(ApplyError::Order { .. })), "{again:?}");
    engine.shutdown(Duration::from_secs(5)).await;
}

// Holds invariant 151.
/// The engine counts mints in memory. A store with another count gives serials and counts that the log does not give.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_group_that_is_not_what_its_records_make_is_never_written() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let engine = start_on(folder.path(), std::sync::Arc::clone(&store)).await;
    let alice = register(&engine, 1).await;
    let ticket = template(&engine, &alice, r#"{"name":"ticket"}"#).await;
    alice.send_one(&engine, "mint", &ticket, "{}").await;
    let head = engine.published().head;

    let mut out_of_turn = WriteGroup::new();
    out_of_turn.put_minted(ticket.parse().unwrap(), 77);
    store.commit(out_of_turn).unwrap();
    let refused = alice.send(&engine, &[("mint", &ticket, "{}")]).await;
    assert!(refused.is_err());
    let why = engine.failure().wait().await.unwrap();
    assert!(
        why.contains("sequence 4") && why.contains("table object_index") && !why.contains('\n'),
        "{why}"
    );
    assert_eq!(store.snapshot().head().unwrap(), head);
    assert_eq!(engine.published().head, head);
    engine.shutdown(Duration::from_secs(5)).await;
}

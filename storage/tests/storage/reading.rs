//! Committed rows read back, by every path that leads to them, before and after a restart.

use crate::support::{Log, Step, domain, id, open, sequencer};
use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::log_tree;
use kedge_protocol::nonce::NonceWindow;
use kedge_protocol::resource::{
    ActionRule, Organization, ResourceTrace, Role, Template, Tier, Variation, Wallet, Who,
};
use kedge_protocol::{Address, Hash, Prefix, action::Kind};
use kedge_storage::{
    AnchorProgress, AnchorRow, ObjectIndex, RowPage, SessionRow, SideWrite, StoreSnapshot,
    WriteGroup,
};

const ALL: RowPage = RowPage {
    after: None,
    descending: false,
    limit: 1_000,
};

fn trace(sequence: u64) -> ResourceTrace {
    ResourceTrace {
        version: 1,
        integrity: Hash([7; 32]),
        created_sequence: sequence,
        sequence,
        created_at_ms: 5,
        updated_at_ms: 6,
    }
}

#[test]
fn the_log_reads_back_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = Log::default();
    let store = open(directory.path()).unwrap();
    assert_eq!(store.snapshot().head().unwrap(), log.head);
    log.commit_many(&store, 5);
    let seen = check_log(&store.snapshot(), &log);
    store.close().unwrap();
    let store = open(directory.path()).unwrap();
    assert_eq!(check_log(&store.snapshot(), &log), seen);
}

/// Checks every path into the log; returns the first object's history.
fn check_log(snapshot: &StoreSnapshot, log: &Log) -> Vec<u64> {
    assert_eq!(snapshot.head().unwrap(), log.head);
    let requests: Vec<_> = snapshot.requests_from(1).map(Result::unwrap).collect();
    assert_eq!(requests.len(), 10);
    let mut sequence = 0;
    for request in &requests {
        request.verify_signature(&domain()).unwrap();
        for action in &request.actions {
            sequence += 1;
            let placed = snapshot.action_at(sequence).unwrap().unwrap();
            assert_eq!(&placed.action, action);
            assert_eq!(placed.sequence, sequence);
            assert_eq!(placed.content(), request.content(action));
            assert_eq!(placed.request_failed_count, 1);
            assert_eq!(
                snapshot.action_sequence(placed.id()).unwrap(),
                Some(sequence)
            );
            assert_eq!(&snapshot.request_at(sequence).unwrap().unwrap(), request);
            let leaves = snapshot.leaves(placed.batch_number).unwrap().unwrap();
            assert_eq!(leaves[placed.leaf_index as usize], placed.leaf().hash());
        }
    }
    assert_eq!(sequence, log.head.sequence);
    assert!(snapshot.action_at(0).unwrap().is_none());
    assert!(snapshot.action_at(sequence + 1).unwrap().is_none());
    let between = snapshot.actions_between(2, 5).unwrap();
    assert_eq!(
        between.iter().map(|a| a.sequence).collect::<Vec<_>>(),
        [2, 3, 4, 5]
    );
    check_batches(snapshot, log);
    check_history(snapshot, log)
}

fn check_batches(snapshot: &StoreSnapshot, log: &Log) {
    let batches: Vec<_> = snapshot.batches_from(0).map(Result::unwrap).collect();
    assert_eq!(batches.len() as u64, log.head.batches);
    for batch in &batches {
        let number = batch.header.number;
        assert_eq!(snapshot.batch(number).unwrap().as_ref(), Some(batch));
        assert_eq!(snapshot.batch_number(batch.id()).unwrap(), Some(number));
        assert_eq!(
            log_tree::root(snapshot, number).unwrap(),
            batch.header.history
        );
    }
    let page = RowPage {
        after: Some(3),
        descending: true,
        limit: 2,
    };
    assert_eq!(snapshot.batches(page).unwrap(), [batches[2], batches[1]]);
}

fn check_history(snapshot: &StoreSnapshot, log: &Log) -> Vec<u64> {
    let object = snapshot.object(log.objects[0].id).unwrap().unwrap();
    assert_eq!(object, log.objects[0]);
    let history = snapshot.history(&object, None, 100).unwrap();
    assert_eq!(history.len() as u64, object.trace.version);
    assert!(
        history
            .windows(2)
            .all(|pair| pair[0].sequence > pair[1].sequence)
    );
    let newest = snapshot.history(&object, None, 4).unwrap();
    let rest = snapshot
        .history(&object, Some(newest[3].sequence), 100)
        .unwrap();
    assert_eq!([newest, rest].concat(), history);
    history.iter().map(|placed| placed.sequence).collect()
}

#[test]
fn pages_of_an_organizations_actions_join() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = Log::default();
    let store = open(directory.path()).unwrap();
    log.commit_many(&store, 3);
    let ours = log.organization;
    log.organization = id(Prefix::Organization, 2);
    log.commit_many(&store, 2);
    let theirs = log.organization;
    log.organization = ours;
    log.commit_many(&store, 3);
    let snapshot = store.snapshot();
    let expected: Vec<u64> = (1..=12).chain(21..=32).collect();
    for limit in [1, 3, 7, 100] {
        for descending in [false, true] {
            let mut page = RowPage {
                after: None,
                descending,
                limit,
            };
            let mut seen = Vec::new();
            loop {
                let actions = snapshot.actions_of_organization(ours, page).unwrap();
                assert!(actions.iter().all(|action| action.organization_id == ours));
                let Some(last) = actions.last() else { break };
                page.after = Some(last.sequence);
                seen.extend(actions.iter().map(|action| action.sequence));
            }
            if descending {
                seen.reverse();
            }
            assert_eq!(seen, expected, "limit {limit}, descending {descending}");
        }
    }
    assert_eq!(
        snapshot.actions_of_organization(theirs, ALL).unwrap().len(),
        8
    );
}

#[test]
fn lists_of_objects_follow_their_owners() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = Log::default();
    let store = open(directory.path()).unwrap();
    let mint = |owner| Step::Mint { owner };
    log.commit(&store, &[vec![mint(1), mint(1), mint(2)]]);
    // Minted and transferred within one batch.
    let object = log.objects.len();
    let transfer = Step::Transfer { object, owner: 2 };
    log.commit(&store, &[vec![mint(1)], vec![transfer]]);
    log.commit(
        &store,
        &[vec![Step::Transfer {
            object: 0,
            owner: 2,
        }]],
    );
    let snapshot = store.snapshot();
    let of_owner = |owner| {
        let list = ObjectIndex::Owner(id(Prefix::Wallet, owner));
        snapshot.objects(list, ALL).unwrap()
    };
    assert_eq!(of_owner(1), [log.objects[1].clone()]);
    let (a, b, c) = (&log.objects[0], &log.objects[2], &log.objects[3]);
    assert_eq!(of_owner(2), [a.clone(), b.clone(), c.clone()]);
    for list in [
        ObjectIndex::Organization(log.organization),
        ObjectIndex::Template(log.template),
    ] {
        assert_eq!(snapshot.objects(list, ALL).unwrap(), log.objects);
        let page = RowPage {
            after: Some(log.objects[2].trace.created_sequence),
            descending: true,
            limit: 1,
        };
        assert_eq!(
            snapshot.objects(list, page).unwrap(),
            [log.objects[1].clone()]
        );
    }
    let ids = [c.id, id(Prefix::Object, 99), a.id, log.template];
    let found = snapshot.multi_objects(&ids).unwrap();
    assert_eq!(found, [Some(c.clone()), None, Some(a.clone()), None]);
}

fn organization() -> Organization {
    Organization {
        id: id(Prefix::Organization, 1),
        name: "Ünïcode & Söhne".to_owned(),
        tier: Tier::Developer,
        trace: trace(1),
    }
}

fn wallet() -> Wallet {
    Wallet {
        id: id(Prefix::Wallet, 1),
        organization_id: id(Prefix::Organization, 1),
        role: Role::Admin,
        nickname: Some("nick".to_owned()),
        email: "a@example.com".to_owned(),
        address: Address([1; 20]),
        keys: vec![Address([1; 20]), Address([2; 20])],
        trace: trace(1),
    }
}

fn template() -> Template {
    Template {
        id: id(Prefix::Template, 1),
        organization_id: id(Prefix::Organization, 1),
        name: "ticket".to_owned(),
        description: "a ticket".to_owned(),
        properties: "{\"a\":1}".to_owned(),
        schema: Some("true".to_owned()),
        max_supply: Some(10),
        actions: vec![ActionRule {
            kind: Kind::of_text("x.redeem").unwrap(),
            who: Who::Issuer,
            schema: Some("{\"type\":\"object\"}".to_owned()),
        }],
        public_access: true,
        variation_count: 2,
        trace: trace(2),
    }
}

fn variation(index: u64) -> Variation {
    Variation {
        id: id(Prefix::Variation, index),
        template_id: id(Prefix::Template, 1),
        organization_id: id(Prefix::Organization, 1),
        name: format!("variation {index}"),
        properties: "{}".to_owned(),
        index,
        created_sequence: 3,
        created_at_ms: 9,
    }
}

#[test]
fn accounts_and_templates_read_back() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).unwrap();
    let (organization, wallet, template) = (organization(), wallet(), template());
    let mut nonces = NonceWindow::default();
    nonces.spend(77).unwrap();
    let mut group = WriteGroup::new();
    group.put_resource(&organization);
    group.put_wallet(&wallet, None);
    group.put_template(&template, None);
    group.put_variation(&variation(0));
    group.put_variation(&variation(1));
    group.put_minted(template.id, 42);
    group.put_nonces(wallet.address, &nonces);
    assert!(group.len_bytes() > 500);
    let snapshot = store.commit(&group).unwrap();
    assert_eq!(
        snapshot.organization(organization.id).unwrap(),
        Some(organization.clone())
    );
    assert_eq!(snapshot.wallet(wallet.id).unwrap(), Some(wallet.clone()));
    assert_eq!(
        snapshot.wallet_by_email("a@example.com").unwrap(),
        Some(wallet.clone())
    );
    assert_eq!(snapshot.wallet_by_email("b@example.com").unwrap(), None);
    assert_eq!(
        snapshot.wallet_by_address(Address([2; 20])).unwrap(),
        Some(wallet.clone())
    );
    assert_eq!(
        snapshot.wallets(organization.id, ALL).unwrap(),
        std::slice::from_ref(&wallet)
    );
    assert_eq!(
        snapshot.template(template.id).unwrap(),
        Some(template.clone())
    );
    let by_name = snapshot
        .template_by_name(organization.id, "ticket")
        .unwrap();
    assert_eq!(by_name, Some(template.clone()));
    assert_eq!(
        snapshot.templates(organization.id, ALL).unwrap(),
        std::slice::from_ref(&template)
    );
    let page = RowPage {
        descending: true,
        ..ALL
    };
    assert_eq!(
        snapshot.variations(template.id, page).unwrap(),
        [variation(1), variation(0)]
    );
    let named = snapshot
        .variation_id_by_name(template.id, "variation 1")
        .unwrap();
    assert_eq!(named, Some(variation(1).id));
    assert_eq!(snapshot.minted(template.id).unwrap(), 42);
    assert_eq!(snapshot.nonces(wallet.address).unwrap(), nonces);
    assert_eq!(
        snapshot.nonces(Address::ZERO).unwrap(),
        NonceWindow::default()
    );
}

#[test]
fn side_writes_read_back() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).unwrap();
    let wallet = id(Prefix::Wallet, 1);
    let row = SessionRow {
        wallet_id: wallet,
        family: [3; 16],
        expires_at_s: 99,
        used: true,
    };
    let before = store.snapshot();
    let mut group = WriteGroup::new();
    group.put_side(SideWrite::Password {
        wallet,
        phc: "$argon2id$x".to_owned(),
    });
    group.put_side(SideWrite::Session {
        token_hash: [4; 32],
        row,
    });
    group.put_side(SideWrite::RevokeFamily {
        family: [3; 16],
        until_s: 99,
    });
    group.put_side(SideWrite::Refused {
        digest: Hash([5; 32]),
        deadline_s: 1234,
    });
    let after = store.commit(group).unwrap();
    assert_eq!(
        after.password_hash(wallet).unwrap().as_deref(),
        Some("$argon2id$x")
    );
    assert_eq!(after.session([4; 32]).unwrap(), Some(row));
    assert!(after.family_revoked([3; 16]).unwrap());
    assert!(!after.family_revoked([4; 16]).unwrap());
    assert_eq!(after.refused(Hash([5; 32])).unwrap(), Some(1234));
    // A snapshot does not change, and outlives the handle that it came from.
    drop(store);
    assert_eq!(before.password_hash(wallet).unwrap(), None);
    assert_eq!(before.session([4; 32]).unwrap(), None);
    assert_eq!(after.refused(Hash([5; 32])).unwrap(), Some(1234));
}

fn anchor(number: u64, batches: u64, status: AnchorProgress) -> AnchorRow {
    let checkpoint = Checkpoint {
        batches,
        sequence: batches * 4,
        head: Hash([number as u8; 32]),
        history: Hash([2; 32]),
        state: Hash::ZERO,
        issued_at_ms: number,
    };
    AnchorRow {
        number,
        id: checkpoint.anchor_id(),
        checkpoint: checkpoint.sign(&domain().separator(), &sequencer()),
        first_batch: 0,
        proof: vec![Hash([3; 32]), Hash([4; 32])],
        status,
        contract: Address([9; 20]),
        tx_hashes: vec![Hash([5; 32])],
        tx: vec![1, 2, 3],
        block_number: Some(12),
        block_hash: None,
        attempts: 2,
        issued_at_ms: number,
    }
}

#[test]
fn anchors_are_found_by_what_they_cover() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).unwrap();
    let rows = [
        anchor(0, 3, AnchorProgress::Finalized),
        anchor(1, 5, AnchorProgress::Failed),
        anchor(2, 5, AnchorProgress::Confirmed),
        anchor(3, 300, AnchorProgress::Pending),
    ];
    let mut group = WriteGroup::new();
    for row in &rows {
        group.put_side(SideWrite::Anchor(row.clone()));
    }
    let snapshot = store.commit(group).unwrap();
    assert_eq!(snapshot.anchors(ALL).unwrap(), rows);
    assert_eq!(snapshot.last_anchor().unwrap(), Some(rows[3].clone()));
    assert_eq!(snapshot.anchor(1).unwrap(), Some(rows[1].clone()));
    assert_eq!(snapshot.anchor_number(rows[2].id).unwrap(), Some(2));
    let covering = |batch| {
        snapshot
            .anchor_covering(batch)
            .unwrap()
            .map(|row| row.number)
    };
    let found: Vec<_> = [0, 2, 3, 4, 5, 299, 300, u64::MAX].map(covering).to_vec();
    assert_eq!(
        found,
        [
            Some(0),
            Some(0),
            Some(2),
            Some(2),
            Some(3),
            Some(3),
            None,
            None
        ]
    );
}

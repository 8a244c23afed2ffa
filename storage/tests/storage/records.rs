//! API keys, webhooks, files, invitations, custom tiers and secrets read back as written, and released names lead
//! nowhere.

use kedge_protocol::resource::{
    ApiKey, Area, Crud, CustomLimits, FileRecord, Invitation, Organization, Permission,
    ResourceTrace, Role, Tier, Wallet, Webhook,
};
use kedge_protocol::{Address, Hash, Id, Prefix};
use kedge_storage::{RowPage, SecretRow, SideWrite, Table, UsageRow, WriteGroup};

use crate::support::{kill, open};

fn id(prefix: Prefix, number: u32) -> Id {
    Id::made_by(prefix, &Hash::ZERO, number)
}

fn trace(sequence: u64) -> ResourceTrace {
    let mut trace = ResourceTrace::NEW.next(&Hash([1; 32]));
    trace.place(sequence, sequence * 10);
    trace
}

const ALL: RowPage = RowPage {
    after: None,
    descending: false,
    limit: 10,
};

fn organization_id() -> Id {
    id(Prefix::Organization, 1)
}

fn wallet_id() -> Id {
    id(Prefix::Wallet, 1)
}

fn api_key() -> ApiKey {
    let objects = Crud {
        create: true,
        update: true,
        ..Crud::default()
    };
    let batches = Crud {
        read: true,
        delete: true,
        ..Crud::default()
    };
    let permission = |resource, crud| Permission { resource, crud };
    ApiKey {
        id: id(Prefix::Key, 1),
        organization_id: organization_id(),
        wallet_id: wallet_id(),
        name: "robot".to_owned(),
        permissions: vec![
            permission(Area::Objects, objects),
            permission(Area::Batches, batches),
        ],
        expires_at_ms: Some(9),
        rotations: 2,
        overlap_s: 3,
        deleted: false,
        trace: trace(1),
    }
}

fn webhook() -> Webhook {
    Webhook {
        id: id(Prefix::Webhook, 1),
        organization_id: organization_id(),
        url: "https://example.com/hook".to_owned(),
        events: vec!["object.created".to_owned(), "*".to_owned()],
        active: true,
        description: "all".to_owned(),
        rotations: 0,
        overlap_s: 0,
        deleted: false,
        trace: trace(2),
    }
}

fn file() -> FileRecord {
    FileRecord {
        id: id(Prefix::File, 1),
        organization_id: organization_id(),
        wallet_id: wallet_id(),
        name: "a.png".to_owned(),
        sha256: Hash([7; 32]),
        size_bytes: 5,
        media_type: "image/png".to_owned(),
        trace: trace(3),
    }
}

fn invitation() -> Invitation {
    Invitation {
        id: id(Prefix::Action, 1),
        organization_id: organization_id(),
        invited_by: wallet_id(),
        revoked: true,
        role: Role::Admin,
        email: Some("ann@example.com".to_owned()),
        lifetime_s: 60,
        used_by: Some(wallet_id()),
        created_sequence: 4,
        created_at_ms: 40,
    }
}

#[test]
fn records_come_back_as_they_were_put() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).unwrap();
    let organization_id = organization_id();
    let (key, webhook) = (api_key(), webhook());
    let (file, invitation) = (file(), invitation());
    let limits = CustomLimits {
        requests_per_minute: Some(7),
        list_reads_per_minute: Some(8),
        ..CustomLimits::default()
    };
    let organization = Organization {
        id: organization_id,
        name: "custom".to_owned(),
        tier: Tier::Custom(limits),
        trace: trace(5),
    };
    let secret = SecretRow {
        current: vec![1, 2],
        previous: Some((vec![3], 99)),
    };
    let operators = vec![Address([4; 20]), Address([5; 20])];
    let mut group = WriteGroup::new();
    group.put_resource(&key);
    group.put_resource(&webhook);
    group.put_resource(&file);
    group.put_resource(&invitation);
    group.put_resource(&organization);
    group.put_side(SideWrite::Secret {
        of: key.id,
        row: secret.clone(),
    });
    group.put_side(SideWrite::KeyUsed {
        key: key.id,
        at_ms: 77,
    });
    group.put_side(SideWrite::Operators(operators.clone()));
    let snapshot = store.commit(&group).unwrap();

    assert_eq!(snapshot.resource(key.id).unwrap(), Some(key.clone()));
    assert_eq!(
        snapshot.listed::<ApiKey>(organization_id, ALL).unwrap(),
        std::slice::from_ref(&key)
    );
    assert_eq!(
        snapshot.resource(webhook.id).unwrap(),
        Some(webhook.clone())
    );
    assert_eq!(
        snapshot.listed::<Webhook>(organization_id, ALL).unwrap(),
        [webhook]
    );
    assert_eq!(snapshot.resource(file.id).unwrap(), Some(file.clone()));
    assert_eq!(
        snapshot.listed::<FileRecord>(organization_id, ALL).unwrap(),
        [file]
    );
    let found = snapshot.resource(invitation.id).unwrap();
    assert_eq!(found, Some(invitation.clone()));
    let listed = snapshot.listed::<Invitation>(organization_id, ALL).unwrap();
    assert_eq!(listed, [invitation]);
    let found = snapshot.organization(organization_id).unwrap();
    assert_eq!(found, Some(organization));
    assert_eq!(snapshot.secret(key.id).unwrap(), Some(secret));
    assert_eq!(snapshot.secret(id(Prefix::Webhook, 1)).unwrap(), None);
    assert_eq!(snapshot.key_used(key.id).unwrap(), Some(77));
    assert_eq!(snapshot.operators().unwrap(), operators);
}

#[test]
fn an_email_that_is_given_up_leads_nowhere() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).unwrap();
    let before = Wallet {
        id: id(Prefix::Wallet, 1),
        organization_id: id(Prefix::Organization, 1),
        role: Role::Owner,
        nickname: None,
        email: "old@example.com".to_owned(),
        address: Address([1; 20]),
        keys: vec![Address([1; 20])],
        trace: trace(1),
    };
    let after = Wallet {
        email: "new@example.com".to_owned(),
        keys: vec![Address([2; 20])],
        ..before.clone()
    };
    let mut group = WriteGroup::new();
    group.put_wallet(&before, None);
    group.put_wallet(&after, Some(&before));
    let snapshot = store.commit(&group).unwrap();
    assert_eq!(snapshot.wallet_by_email("old@example.com").unwrap(), None);
    let by_email = snapshot.wallet_by_email("new@example.com").unwrap();
    assert_eq!(by_email.as_ref(), Some(&after));
    // An address stays the wallet's, even once its key signs no more.
    let by_address = snapshot.wallet_by_address(Address([1; 20])).unwrap();
    assert_eq!(by_address, Some(after));
}

#[test]
fn a_new_days_use_takes_the_place_of_the_day_before() {
    let dir = tempfile::tempdir().unwrap();
    let (one, other) = (id(Prefix::Organization, 1), id(Prefix::Organization, 2));
    let use_of = |organization, day, requests| SideWrite::Usage {
        organization,
        usage: UsageRow { day, requests },
    };
    let store = open(dir.path()).unwrap();
    for write in [use_of(one, 5, 900), use_of(other, 5, 7), use_of(one, 6, 1)] {
        let mut group = WriteGroup::new();
        group.put_side(write);
        store.commit(group).unwrap();
    }
    kill(store, dir.path());
    let snapshot = open(dir.path()).unwrap().snapshot();
    let today = UsageRow {
        day: 6,
        requests: 1,
    };
    assert_eq!(snapshot.usage(one), Ok(Some(today)));
    assert_eq!(snapshot.usage(other).unwrap().unwrap().requests, 7);
    assert_eq!(snapshot.usage(id(Prefix::Organization, 3)), Ok(None));
    assert_eq!(snapshot.usage(id(Prefix::Wallet, 1)), Ok(None));
    assert_eq!(
        snapshot.raw_rows(Table::Usage).count(),
        2,
        "old days are gone"
    );
}

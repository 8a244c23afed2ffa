//! Entries and leaves for tests of single faults: one of each type, to be bent.

use kedge_protocol::chain::{LogLeaf, first_integrity, next_integrity};
use kedge_protocol::hash::keccak;
use kedge_protocol::resource::{ObjectStatus, Role};
use kedge_protocol::state::StateEntry;
use kedge_protocol::state::entry::{
    ApiKeyEntry, DisputeEntry, EntryFields, FileEntry, NamedKeyEntry, ObjectEntry, TemplateEntry,
    VariationEntry, WalletEntry, WebhookEntry,
};
use kedge_protocol::state::faults::{HeldEntry, LeafWords, ShownEntry, ShownLeaf, StatePoint};
use kedge_protocol::{Address, Hash, Id, Prefix};

pub(crate) fn address(number: u8) -> Address {
    Address([number; 20])
}

pub(crate) fn id(prefix: Prefix, number: u8) -> Id {
    Id::of_hash(prefix, &keccak(&[number]))
}

pub(crate) fn point(batches: u64, sequence: u64) -> StatePoint {
    StatePoint {
        batches,
        sequence,
        is_rooted: true,
    }
}

pub(crate) fn at(point: StatePoint, id: Id, entry: &StateEntry) -> ShownEntry {
    ShownEntry {
        point,
        id,
        held: HeldEntry::Entry(entry.clone()),
    }
}

/// The first resource of each type, at version 2 and sequence 5.
pub(crate) fn entry(prefix: Prefix) -> StateEntry {
    StateEntry {
        version: 2,
        sequence: 5,
        integrity: keccak(prefix.text().as_bytes()),
        fields: fields(prefix),
    }
}

fn fields(prefix: Prefix) -> EntryFields {
    let organization_id = id(Prefix::Organization, 1);
    let hash = keccak(b"text");
    match prefix {
        Prefix::Object => EntryFields::Object(ObjectEntry {
            organization_id,
            template_id: id(Prefix::Template, 1),
            variation_id: None,
            serial: 3,
            owner_id: id(Prefix::Wallet, 1),
            owner_address: address(1),
            status: ObjectStatus::Active,
            properties_hash: hash,
        }),
        Prefix::Wallet => EntryFields::Wallet(WalletEntry {
            organization_id,
            address: address(1),
            role: Role::Member,
            keys: vec![address(1)],
        }),
        Prefix::Organization => EntryFields::Organization {},
        Prefix::Template => EntryFields::Template(TemplateEntry {
            organization_id,
            public_access: false,
            max_supply: Some(9),
            minted_count: 4,
            burned_count: 2,
            variation_count: 3,
            properties_hash: hash,
            schema_hash: hash,
            rules: Vec::new(),
        }),
        Prefix::Variation => EntryFields::Variation(VariationEntry {
            organization_id,
            template_id: id(Prefix::Template, 1),
            index: 0,
            name_hash: hash,
            properties_hash: hash,
        }),
        Prefix::Key => EntryFields::ApiKey(ApiKeyEntry {
            organization_id,
            deleted: false,
        }),
        Prefix::Webhook => EntryFields::Webhook(WebhookEntry {
            organization_id,
            active: true,
            deleted: false,
        }),
        Prefix::File => EntryFields::File(FileEntry {
            organization_id,
            wallet_id: id(Prefix::Wallet, 1),
            sha256: hash,
            size_bytes: 7,
        }),
        Prefix::Dispute => EntryFields::Dispute(DisputeEntry {
            organization_id,
            subject_id: id(Prefix::Batch, 1),
        }),
        Prefix::Action => EntryFields::SequencerKey(NamedKeyEntry {
            address: address(0xab),
            from_batch: 4,
        }),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn object(change: impl FnOnce(&mut ObjectEntry)) -> StateEntry {
    let mut entry = entry(Prefix::Object);
    if let EntryFields::Object(object) = &mut entry.fields {
        change(object);
    }
    entry
}

pub(crate) fn wallet(change: impl FnOnce(&mut WalletEntry)) -> StateEntry {
    let mut entry = entry(Prefix::Wallet);
    if let EntryFields::Wallet(wallet) = &mut entry.fields {
        change(wallet);
    }
    entry
}

pub(crate) fn template(change: impl FnOnce(&mut TemplateEntry)) -> StateEntry {
    let mut entry = entry(Prefix::Template);
    if let EntryFields::Template(template) = &mut entry.fields {
        change(template);
    }
    entry
}

/// The entry after one more action, which leads to this integrity.
pub(crate) fn stepped(mut entry: StateEntry, leaf: &ShownLeaf) -> StateEntry {
    entry.version += 1;
    entry.sequence = leaf.leaf.sequence;
    entry.integrity = leaf.leaf.integrity;
    entry
}

/// An opened leaf, by the kind's text, the target, the payload and the signer.
pub(crate) fn leaf(
    sequence: u64,
    (kind, target, payload): (&str, &str, &str),
    signer: Address,
    previous: &Hash,
) -> ShownLeaf {
    let words = LeafWords {
        kind: keccak(kind.as_bytes()),
        target: keccak(target.as_bytes()),
        payload: keccak(payload.as_bytes()),
        signer,
        authority: keccak(&sequence.to_be_bytes()),
    };
    let content = words.content();
    let leaf = LogLeaf {
        sequence,
        timestamp_ms: sequence,
        content,
        integrity: next_integrity(previous, &content),
    };
    ShownLeaf {
        leaf,
        words: Some(words),
    }
}

/// A leaf that makes a resource, its id and its entry at version 1.
pub(crate) fn made(
    sequence: u64,
    texts: (&str, &str, &str),
    signer: Address,
    fields: EntryFields,
) -> (ShownLeaf, Id, StateEntry) {
    let leaf = leaf(sequence, texts, signer, &Hash::ZERO);
    let content = &leaf.leaf.content;
    let id = match fields.prefix() {
        Prefix::Action => Id::of_hash(Prefix::Action, content),
        prefix => Id::made_by(prefix, content, 0),
    };
    let entry = StateEntry {
        version: 1,
        sequence,
        integrity: first_integrity(content, 0),
        fields,
    };
    (leaf, id, entry)
}

pub(crate) fn closed(mut leaf: ShownLeaf) -> ShownLeaf {
    leaf.words = None;
    leaf
}

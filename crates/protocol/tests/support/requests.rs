//! Records of signed requests, all placed at the last moment of their deadline.

use kedge_protocol::action::{Kind, RequestHead};
use kedge_protocol::eip712::Domain;
use kedge_protocol::hash::keccak;
use kedge_protocol::record::{ActionRecord, FailedAction, RequestRecord};
use kedge_protocol::signature::{Signature, SigningKey};
use kedge_protocol::{Address, Id, Prefix};

const DEADLINE_S: u64 = 1_790_000_000;
/// Time of all events.
pub(crate) const SEALED_AT_MS: u64 = DEADLINE_S * 1_000;

pub(crate) fn key(number: u8) -> SigningKey {
    SigningKey::from_bytes(&[number; 32]).unwrap()
}

pub(crate) fn domain() -> Domain {
    Domain {
        chain_id: 31_337,
        verifying_contract: Address([0x0c; 20]),
    }
}

fn id(prefix: Prefix, text: &str) -> Id {
    Id::of_hash(prefix, &keccak(text.as_bytes()))
}

pub(crate) fn organization_id() -> Id {
    id(Prefix::Organization, "organization")
}

/// A request at this sequence, whose actions have these indices; those in between were refused.
pub(crate) fn request(
    batch_number: u64,
    first_sequence: u64,
    first_leaf_index: u32,
    indices: &[u16],
) -> RequestRecord<'static> {
    let user = key(7);
    let action = |index: &u16| ActionRecord {
        index: *index,
        kind: Kind::Update,
        target: "obj_5yrzzxc7r7qyrbt578rhejqh4m".into(),
        payload: format!(r#"{{"sequence":{first_sequence}}}"#).into(),
        disclosed: (*index == 0).then(|| r#"{"shown":1}"#.into()),
        resource: id(Prefix::Object, "object"),
        version: first_sequence,
        previous_integrity: keccak(&first_sequence.to_be_bytes()),
        previous_sequence: first_sequence - 1,
    };
    let last = indices[indices.len() - 1];
    let refused = (0..last).filter(|index| !indices.contains(index));
    let mut record = RequestRecord {
        batch_number,
        first_sequence,
        first_leaf_index,
        timestamp_ms: SEALED_AT_MS,
        organization_id: organization_id(),
        wallet_id: id(Prefix::Wallet, "wallet"),
        head: RequestHead {
            signer: user.address(),
            nonce: u64::MAX - first_sequence,
            deadline_s: DEADLINE_S,
            atomic: false,
        },
        signature: Signature([0; 65]),
        salt_seed: keccak(b"seed"),
        actions: indices.iter().map(action).collect(),
        failed: refused
            .map(|index| FailedAction {
                index,
                action_hash: keccak(&index.to_be_bytes()),
            })
            .collect(),
    };
    let action_hashes = record.action_hashes().unwrap();
    record.signature = user.sign(&record.head.digest(&domain().separator(), &action_hashes));
    record
}

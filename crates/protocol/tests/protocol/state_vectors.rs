//! The state against its vectors: `vectors/state.json`, made with another implementation's trie. Every case is counted,
//! so none can be skipped unnoticed.

use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::hash::keccak;
use kedge_protocol::state::trie::breaks_trie;
use kedge_protocol::state::{EMPTY_STATE_ROOT, EntryFields, StateEntry, state_path};
use kedge_protocol::state::{StateProof, StateProofError};
use kedge_protocol::{Hash, Id, Prefix};
use serde_json::Value;

fn vectors() -> Value {
    serde_json::from_str(include_str!("../../vectors/state.json")).unwrap()
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().unwrap()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap()
}

fn bytes(value: &Value) -> Vec<u8> {
    const_hex::decode(value.as_str().unwrap()).unwrap()
}

fn hash(value: &Value) -> Hash {
    value.as_str().unwrap().parse().unwrap()
}

fn key(value: &Value) -> Id {
    text(value, "key").parse().unwrap()
}

#[test]
fn entries_read_and_write_to_the_same_bytes() {
    let vectors = vectors();
    let (mut read, mut prefixes) = (0, std::collections::BTreeSet::new());
    let mut buffer = Vec::new();
    for case in list(&vectors, "cases") {
        for present in list(case, "present") {
            let entry = bytes(&present["entry"]);
            assert_eq!(keccak(&entry), hash(&present["value"]));
            let key = key(present);
            let decoded = StateEntry::decode(&key, &entry, u64::MAX).unwrap();
            assert_eq!(decoded.fields.prefix(), key.prefix);
            decoded.encode(&mut buffer);
            assert_eq!(buffer, entry, "{key}");
            assert_eq!(
                StateEntry::decode(&key, &entry, decoded.sequence),
                Ok(decoded.clone())
            );
            assert!(StateEntry::decode(&key, &entry, decoded.sequence - 1).is_err());
            prefixes.insert(key.prefix);
            read += 1;
        }
    }
    assert_eq!((read, prefixes.len()), (22, 10));
}

// Holds invariant 253.
#[test]
fn malformed_entries_are_refused() {
    let vectors = vectors();
    let mut refused = 0;
    for case in list(&vectors, "malformed") {
        let sequence = case["checkpoint_sequence"].as_u64().unwrap();
        let result = StateEntry::decode(&key(case), &bytes(&case["entry"]), sequence);
        assert!(result.is_err(), "{}", case["why"]);
        refused += 1;
    }
    assert_eq!(refused, 25);
}

#[test]
fn entries_name_their_fields_for_people() {
    let vectors = vectors();
    let shown = |prefix: Prefix| {
        let present = list(&list(&vectors, "cases")[2], "present");
        let one = present
            .iter()
            .find(|one| key(one).prefix == prefix)
            .unwrap();
        let entry = StateEntry::decode(&key(one), &bytes(&one["entry"]), u64::MAX).unwrap();
        serde_json::to_value(entry).unwrap()
    };
    let object = shown(Prefix::Object);
    assert_eq!(object["version"], 1);
    assert!(text(&object, "owner_id").starts_with("wal_"));
    assert!(["active", "locked", "burned"].contains(&text(&object, "status")));
    let template = shown(Prefix::Template);
    assert!(template["max_supply"].is_string() || template["max_supply"].is_null());
    let organization = shown(Prefix::Organization);
    assert_eq!(organization.as_object().unwrap().len(), 3);
}

#[test]
fn an_organization_has_no_fields() {
    assert_eq!(EntryFields::Organization {}.prefix(), Prefix::Organization);
}

fn proof(case: &Value) -> StateProof {
    let entry = case.get("entry").map(bytes).unwrap_or_default();
    let nodes = list(case, "nodes").iter().map(bytes).collect();
    StateProof {
        key: key(case),
        entry,
        nodes,
    }
}

fn checkpoint(root: Hash, sequence: u64) -> Checkpoint {
    Checkpoint {
        batches: 1,
        sequence,
        head: Hash::ZERO,
        history: Hash::ZERO,
        state: root,
        issued_at_ms: 0,
    }
}

// Holds invariant 253.
#[test]
fn proofs_show_presence_and_absence() {
    let vectors = vectors();
    assert_eq!(hash(&vectors["empty_root"]), EMPTY_STATE_ROOT);
    let (mut present, mut absent) = (0, 0);
    for case in list(&vectors, "cases") {
        let root = hash(&case["root"]);
        for one in list(case, "present") {
            let proof = proof(one);
            assert_eq!(state_path(&proof.key), hash(&one["path"]));
            assert_eq!(proof.verify(&root), Ok(()), "{}", proof.key);
            let entry = proof.read(&checkpoint(root, u64::MAX)).unwrap().unwrap();
            assert_eq!(entry.to_bytes(), proof.entry);
            let text = serde_json::to_string(&proof).unwrap();
            assert_eq!(serde_json::from_str::<StateProof>(&text).unwrap(), proof);
            let stated_absent = StateProof {
                entry: Vec::new(),
                ..proof.clone()
            };
            assert_eq!(stated_absent.verify(&root), Err(StateProofError::Present));
            assert!(!breaks_trie(&root, &state_path(&proof.key), &proof.nodes));
            present += 1;
        }
        for one in list(case, "absent") {
            let proof = proof(one);
            assert_eq!(proof.verify(&root), Ok(()), "{}", proof.key);
            assert_eq!(proof.read(&checkpoint(root, 9)), Ok(None));
            assert_eq!(proof.verify(&Hash::ZERO), Err(StateProofError::NoRoot));
            absent += 1;
        }
    }
    assert_eq!((present, absent), (22, 9));
}

// Holds invariant 253.
#[test]
fn what_must_be_refused_is_refused() {
    let vectors = vectors();
    let (mut refused, mut broken) = (0, Vec::new());
    for case in list(&vectors, "must_refuse") {
        let (root, proof) = (hash(&case["root"]), proof(case));
        assert!(proof.verify(&root).is_err(), "{}", case["why"]);
        let path = state_path(&proof.key);
        let mut cuts = (0..=proof.nodes.len()).map(|end| &proof.nodes[..end]);
        if cuts.any(|nodes| breaks_trie(&root, &path, nodes)) {
            broken.push(text(case, "why"));
        }
        refused += 1;
    }
    assert_eq!(refused, 18);
    let expected = [
        "a leaf whose even path has a pad that is not zero (0x25)",
        "a path flag above 3 (0x60)",
        "a path of 66 nibbles",
        "a leaf that holds the entry itself instead of its hash",
        "a byte after the node's list",
        "a length in a longer form than it needs",
        "an extension with an empty path",
        "a branch with one child",
        "a branch with a value",
    ];
    assert_eq!(broken, expected);
}

// Holds invariant 253.
#[test]
fn a_malformed_entry_is_proven_and_refused() {
    let vectors = vectors();
    let mut refused = 0;
    for case in list(&vectors, "malformed") {
        let (root, proof) = (hash(&case["root"]), proof(case));
        assert_eq!(proof.verify(&root), Ok(()), "{}", case["why"]);
        let sequence = case["checkpoint_sequence"].as_u64().unwrap();
        let read = proof.read(&checkpoint(root, sequence));
        assert!(
            matches!(read, Err(StateProofError::Entry(_))),
            "{}",
            case["why"]
        );
        refused += 1;
    }
    assert_eq!(refused, 25);
}

#[test]
fn keys_without_entries_are_refused() {
    let id = |prefix| Id::of_hash(prefix, &keccak(b"any"));
    let absent = |prefix| StateProof {
        key: id(prefix),
        entry: Vec::new(),
        nodes: Vec::new(),
    };
    for prefix in [
        Prefix::Batch,
        Prefix::Anchor,
        Prefix::Event,
        Prefix::Delivery,
    ] {
        let refused = absent(prefix).verify(&EMPTY_STATE_ROOT);
        assert_eq!(refused, Err(StateProofError::Key(prefix.text())));
    }
    // As evidence, an action's absence counts; as an answer, it says nothing.
    let action = absent(Prefix::Action);
    assert_eq!(action.verify(&EMPTY_STATE_ROOT), Ok(()));
    let read = action.read(&checkpoint(EMPTY_STATE_ROOT, 1));
    assert_eq!(read, Err(StateProofError::AbsentAction));
    // The empty state has no nodes, not even the one that its root is the hash of.
    let padded = StateProof {
        nodes: vec![vec![0x80]],
        ..absent(Prefix::Object)
    };
    assert_eq!(
        padded.verify(&EMPTY_STATE_ROOT),
        Err(StateProofError::TooLong)
    );
    assert!(!breaks_trie(&EMPTY_STATE_ROOT, &Hash::ZERO, &padded.nodes));
}

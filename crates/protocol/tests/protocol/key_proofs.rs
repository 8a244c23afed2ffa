//! Follows the sequencer's keys by the proof files of the actions that name them.

use kedge_protocol::batch::BatchHeader;
use kedge_protocol::chain::{self, LogLeaf};
use kedge_protocol::eip712::Domain;
use kedge_protocol::hash::keccak;
use kedge_protocol::key_proof::KeyProofError;
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::proof::{BatchPath, OpenedAction, PROOF_VERSION, ProofFile};
use kedge_protocol::receipt::ReceiptLeaf;
use kedge_protocol::sequencer_keys::KeyListError;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash, KeyActivation, SequencerKeys};

const DOMAIN: Domain = Domain {
    chain_id: 31_337,
    verifying_contract: Address([7; 20]),
};

fn key(byte: u8) -> SigningKey {
    SigningKey::from_bytes(&[byte; 32]).unwrap()
}

/// The proof of an action alone in batch `number`, signed with `signer`.
fn proof(kind: &str, target: &str, payload: &str, number: u64, signer: &SigningKey) -> ProofFile {
    let action = OpenedAction {
        kind: kind.to_owned(),
        target: target.to_owned(),
        payload: payload.to_owned(),
        signer: Address([0x0b; 20]),
        authority: Hash([3; 32]),
    };
    let words = kedge_protocol::action::ActionWords {
        kind: keccak(kind.as_bytes()),
        target: keccak(target.as_bytes()),
        payload: keccak(payload.as_bytes()),
    };
    let content = chain::content(&words, &action.signer, &action.authority);
    let integrity = chain::next_integrity(&Hash::ZERO, &content);
    let leaf = LogLeaf {
        sequence: number + 1,
        timestamp_ms: 5,
        content,
        integrity,
    };
    let header = BatchHeader {
        number,
        first_sequence: number + 1,
        count: 1,
        previous_head: Hash([1; 32]),
        head: chain::next_head(&Hash([1; 32]), &leaf.hash()),
        root: BatchTree::new(&[leaf.hash()]).root(),
        history: Hash([2; 32]),
        state: Hash::ZERO,
        sealed_at_ms: 5,
    };
    ProofFile {
        version: PROOF_VERSION,
        domain: DOMAIN,
        sequencer: signer.address(),
        action,
        leaf: ReceiptLeaf {
            sequence: leaf.sequence,
            timestamp_ms: leaf.timestamp_ms,
            content,
            previous_integrity: Hash::ZERO,
            integrity,
        },
        inclusion: BatchPath {
            leaf_index: 0,
            path: Vec::new(),
        },
        batch: header.sign(&DOMAIN.separator(), signer),
        anchor: None,
        authorship: None,
    }
}

fn naming(next: &SigningKey, from_batch: u64, number: u64, signer: &SigningKey) -> ProofFile {
    let payload = format!(r#"{{"from_batch":{from_batch}}}"#);
    let target = next.address().to_string();
    proof("system.sequencer_key", &target, &payload, number, signer)
}

// Holds invariant 105.
#[test]
fn a_next_key_is_believed_by_its_proof_alone() {
    let [first, second, third] = [1, 2, 3].map(key);
    let mut keys = SequencerKeys::from(first.address());
    // Signed with the new key itself, with another key, or changed afterwards.
    for signer in [&second, &third] {
        let refused = keys.follow(&naming(&second, 9, 4, signer), &DOMAIN);
        assert!(
            matches!(refused, Err(KeyProofError::File(_))),
            "{refused:?}"
        );
    }
    let mut changed = naming(&second, 9, 4, &first);
    changed.action.target = third.address().to_string();
    let refused = keys.follow(&changed, &DOMAIN);
    assert!(
        matches!(refused, Err(KeyProofError::File(_))),
        "{refused:?}"
    );
    let other_log = Domain {
        chain_id: 1,
        ..DOMAIN
    };
    assert!(
        keys.follow(&naming(&second, 9, 4, &first), &other_log)
            .is_err()
    );
    // Another action, an unreadable name, and one that comes too late.
    let target = second.address().to_string();
    for (kind, payload) in [
        ("system.tier", r#"{"from_batch":9}"#),
        ("system.sequencer_key", r#"{"from_batch":"9"}"#),
    ] {
        let refused = keys.follow(&proof(kind, &target, payload, 4, &first), &DOMAIN);
        assert_eq!(refused, Err(KeyProofError::OtherAction));
    }
    let late = KeyProofError::TooLate {
        batch: 9,
        from_batch: 9,
    };
    let refused = keys.follow(&naming(&second, 9, 9, &first), &DOMAIN);
    assert_eq!(refused, Err(late));
    assert_eq!(keys, SequencerKeys::from(first.address()));

    let entry = KeyActivation {
        key: second.address(),
        from_batch: 9,
    };
    assert_eq!(
        keys.follow(&naming(&second, 9, 8, &first), &DOMAIN),
        Ok(entry)
    );
    // From batch 9 on, the second key's batches name the third.
    let refused = keys.follow(&naming(&third, 20, 9, &first), &DOMAIN);
    assert!(
        matches!(refused, Err(KeyProofError::File(_))),
        "{refused:?}"
    );
    let refused = keys.follow(&naming(&third, 9, 8, &first), &DOMAIN);
    let order = KeyListError::Order {
        index: 2,
        from_batch: 9,
    };
    assert_eq!(refused, Err(KeyProofError::List(order)));
    keys.follow(&naming(&third, 20, 9, &second), &DOMAIN)
        .unwrap();
    assert_eq!(keys.entries().len(), 3);
}

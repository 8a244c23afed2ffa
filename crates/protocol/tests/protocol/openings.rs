//! Records of requests and opened actions: the proof that the signer requested them, in time.

use kedge_protocol::Hash;
use kedge_protocol::action::ActionWords;
use kedge_protocol::batch::BatchHeader;
use kedge_protocol::chain::{self, LogLeaf};
use kedge_protocol::eip712::Domain;
use kedge_protocol::evidence::{ActionOpening, NotAuthorised, check_authorised};
use kedge_protocol::hash::{keccak, keccak_parts};
use kedge_protocol::limits::BATCH_ACTIONS_MAX;
use kedge_protocol::proof::{Authorship, BatchPath, OpenedAction, PROOF_VERSION, ProofFile};
use kedge_protocol::receipt::ReceiptLeaf;
use kedge_protocol::record::RecordError;
use kedge_protocol::signature::SignatureError;

use crate::requests::{SEALED_AT_MS, domain, key, organization_id, request};

/// The last action of a request that had this many, opened, and its leaf.
fn last_of(count: usize) -> (LogLeaf, ActionOpening) {
    let record = request(0, 2, 1, &[u16::try_from(count - 1).unwrap()]);
    assert_eq!(record.organization_id, organization_id());
    let opening = ActionOpening::of_record(&record, &record.actions[0]).unwrap();
    assert_eq!(opening.action_hashes.len(), count);
    (record.placed(&record.hashes())[0], opening)
}

fn checked(spoil: impl FnOnce(&mut LogLeaf, &mut ActionOpening)) -> Result<(), NotAuthorised> {
    let (mut leaf, mut opening) = last_of(3);
    spoil(&mut leaf, &mut opening);
    check_authorised(&leaf, &opening, &domain())
}

#[test]
fn the_signer_asked_for_the_action_of_the_leaf() {
    assert_eq!(checked(|_, _| ()), Ok(()));
    let spoiled: [fn(&mut LogLeaf, &mut ActionOpening); 9] = [
        |leaf, _| leaf.content = keccak(b"another action"),
        |_, opening| opening.words.payload = keccak(b"another payload"),
        |_, opening| opening.salt = Hash::ZERO,
        |_, opening| opening.head.signer = key(8).address(),
        |_, opening| opening.signature.0[0] ^= 1,
        // The words are the leaf's, but the request does not list them at this index.
        |_, opening| opening.index = 1,
        |_, opening| opening.index = 3,
        |_, opening| opening.action_hashes[2] = Hash::ZERO,
        |_, opening| opening.action_hashes.truncate(2),
    ];
    for (place, spoil) in spoiled.into_iter().enumerate() {
        let refused = checked(spoil);
        assert_eq!(refused, Err(NotAuthorised::AnotherAction), "{place}");
    }
}

#[test]
fn the_signature_is_over_the_whole_request() {
    let spoiled: [fn(&mut ActionOpening); 5] = [
        |opening| opening.action_hashes[0] = Hash::ZERO,
        |opening| opening.action_hashes.push(Hash::ZERO),
        |opening| opening.head.nonce += 1,
        |opening| opening.head.deadline_s += 1,
        |opening| opening.head.atomic = true,
    ];
    let signer = key(7).address();
    for (place, spoil) in spoiled.into_iter().enumerate() {
        match checked(|_, opening| spoil(opening)) {
            Err(NotAuthorised::NotTheSigner {
                recovered,
                signer: named,
            }) => assert!(recovered != signer && named == signer, "{place}"),
            other => panic!("{place}: {other:?}"),
        }
    }
    let (leaf, opening) = last_of(3);
    let elsewhere = Domain {
        chain_id: domain().chain_id + 1,
        ..domain()
    };
    assert!(matches!(
        check_authorised(&leaf, &opening, &elsewhere),
        Err(NotAuthorised::NotTheSigner { .. })
    ));
}

/// The leaf's signature may recover to no key.
#[test]
fn what_is_no_signature_authorises_nothing() {
    let mut record = request(0, 2, 1, &[0]);
    record.signature.0[..32].fill(0);
    let leaf = record.placed(&record.hashes())[0];
    let opening = ActionOpening::of_record(&record, &record.actions[0]).unwrap();
    let refused = check_authorised(&leaf, &opening, &domain());
    let expected = NotAuthorised::Signature(SignatureError::Unrecoverable);
    assert_eq!(refused, Err(expected));
}

#[test]
fn a_record_has_what_its_actions_hash_to() {
    let record = request(0, 9, 1, &[0, 2]);
    assert_eq!(record.last_sequence(), 10);
    let hashes = record.hashes();
    for (action, hashes) in record.actions.iter().zip(&hashes) {
        let salt = keccak_parts(&[&record.salt_seed.0, &action.index.to_be_bytes()]);
        assert_eq!(record.salt(action), salt);
        let authority = chain::authority(&record.signature, &salt);
        assert_eq!(record.authority(action), authority);
        let words = ActionWords::of(&action.kind, &action.target, action.payload.as_bytes());
        let content = chain::content(&words, &record.head.signer, &authority);
        assert_eq!(record.content(action), content);
        assert_eq!(hashes.content, content);
    }
    assert_eq!(record.verify_signature(&domain()), Ok(()));
    let mut other = record.clone();
    other.head.nonce += 1;
    assert!(matches!(
        other.verify_signature(&domain()),
        Err(RecordError::Signer { .. })
    ));
    // Indices are those of the whole request, each once.
    for index in [1, 2, 3] {
        let mut gaps = record.clone();
        gaps.actions[0].index = index;
        let refused = gaps.verify_signature(&domain());
        assert_eq!(refused, Err(RecordError::Indices), "{index}");
    }
}

/// The proof file of the last action of a request that had this many, alone in its batch.
fn proof_of(count: usize) -> ProofFile {
    let record = request(0, 1, 0, &[u16::try_from(count - 1).unwrap()]);
    let action = &record.actions[0];
    let leaf = record.placed(&record.hashes())[0];
    let hash = leaf.hash();
    let separator = domain().separator();
    let header = BatchHeader {
        number: 0,
        first_sequence: 1,
        count: 1,
        previous_head: separator,
        head: chain::next_head(&separator, &hash),
        root: hash,
        history: keccak(b""),
        state: Hash::ZERO,
        sealed_at_ms: SEALED_AT_MS,
    };
    ProofFile {
        version: PROOF_VERSION,
        domain: domain(),
        sequencer: key(1).address(),
        action: OpenedAction {
            kind: action.kind.text().to_owned(),
            target: action.target.clone().into_owned(),
            payload: action.payload.clone().into_owned(),
            signer: record.head.signer,
            authority: record.authority(action),
        },
        leaf: ReceiptLeaf {
            sequence: leaf.sequence,
            timestamp_ms: leaf.timestamp_ms,
            content: leaf.content,
            previous_integrity: action.previous_integrity,
            integrity: leaf.integrity,
        },
        inclusion: BatchPath {
            leaf_index: 0,
            path: Vec::new(),
        },
        batch: header.sign(&separator, &key(1)),
        anchor: None,
        authorship: Some(Authorship {
            signature: record.signature,
            nonce: record.head.nonce,
            deadline: record.head.deadline_s,
            atomic: record.head.atomic,
            index: u32::from(action.index),
            salt: record.salt(action),
            action_hashes: record.action_hashes().unwrap(),
        }),
    }
}

#[test]
fn authorship_is_of_a_request_of_at_most_500_actions() {
    let verified = |count| proof_of(count).verify(&domain(), &key(1).address());
    for count in [1, BATCH_ACTIONS_MAX] {
        let shown = verified(count).unwrap();
        assert!(shown.authorship, "{count}");
    }
    for count in [BATCH_ACTIONS_MAX + 1, BATCH_ACTIONS_MAX + 2] {
        let refused = verified(count).unwrap_err();
        assert!(refused.to_string().contains("at most 500"), "{refused}");
    }
}

#[test]
fn a_request_has_at_most_500_actions() {
    let (leaf, opening) = last_of(BATCH_ACTIONS_MAX);
    assert_eq!(check_authorised(&leaf, &opening, &domain()), Ok(()));
    let (leaf, opening) = last_of(BATCH_ACTIONS_MAX + 1);
    let refused = check_authorised(&leaf, &opening, &domain());
    assert_eq!(refused, Err(NotAuthorised::AnotherAction));
}

#[test]
fn the_action_was_placed_before_its_deadline() {
    let (_, opening) = last_of(3);
    let deadline_s = opening.head.deadline_s;
    assert_eq!(checked(|leaf, _| leaf.timestamp_ms -= 1), Ok(()));
    for timestamp_ms in [SEALED_AT_MS + 1, u64::MAX] {
        let refused = checked(|leaf, _| leaf.timestamp_ms = timestamp_ms);
        let expected = NotAuthorised::PastDeadline {
            timestamp_ms,
            deadline_s,
        };
        assert_eq!(refused, Err(expected));
    }
}

#[test]
fn a_record_with_gaps_is_not_opened() {
    let mut record = request(0, 2, 1, &[2]);
    record.failed.pop();
    assert!(ActionOpening::of_record(&record, &record.actions[0]).is_err());
}

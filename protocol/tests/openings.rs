//! Opened actions: what shows that the signer asked for them, in time.

#![allow(clippy::unwrap_used, reason = "a test file: a panic is the failure")]

#[path = "support/requests.rs"]
mod requests;

use kedge_protocol::Hash;
use kedge_protocol::chain::Leaf;
use kedge_protocol::eip712::Domain;
use kedge_protocol::evidence::{NotAuthorised, Opening, check_authorised};
use kedge_protocol::hash::keccak;
use kedge_protocol::limits::BATCH_ACTIONS_MAX;
use kedge_protocol::signature::SignatureError;

use requests::{SEALED_AT_MS, domain, key, organization_id, request};

/// The last action of a request that had this many, opened, and its leaf.
fn last_of(count: usize) -> (Leaf, Opening) {
    let record = request(0, 2, 1, &[u16::try_from(count - 1).unwrap()]);
    assert_eq!(record.organization_id, organization_id());
    let opening = Opening::of_record(&record, &record.actions[0]).unwrap();
    assert_eq!(opening.action_hashes.len(), count);
    (record.placed(&record.hashes())[0], opening)
}

fn checked(spoil: impl FnOnce(&mut Leaf, &mut Opening)) -> Result<(), NotAuthorised> {
    let (mut leaf, mut opening) = last_of(3);
    spoil(&mut leaf, &mut opening);
    check_authorised(&leaf, &opening, &domain())
}

#[test]
fn the_signer_asked_for_the_action_of_the_leaf() {
    assert_eq!(checked(|_, _| ()), Ok(()));
    let spoiled: [fn(&mut Leaf, &mut Opening); 9] = [
        |leaf, _| leaf.content = keccak(b"another action"),
        |_, opening| opening.words.payload = keccak(b"another payload"),
        |_, opening| opening.salt = Hash::ZERO,
        |_, opening| opening.head.signer = key(8).address(),
        |_, opening| opening.signature.0[0] ^= 1,
        // The words are the leaf's, but the request does not list them there.
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
    let spoiled: [fn(&mut Opening); 5] = [
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

/// A leaf may be made from a signature that recovers to no key.
#[test]
fn what_is_no_signature_authorises_nothing() {
    let mut record = request(0, 2, 1, &[0]);
    record.signature.0[..32].fill(0);
    let leaf = record.placed(&record.hashes())[0];
    let opening = Opening::of_record(&record, &record.actions[0]).unwrap();
    let refused = check_authorised(&leaf, &opening, &domain());
    let expected = NotAuthorised::Signature(SignatureError::Unrecoverable);
    assert_eq!(refused, Err(expected));
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
    assert!(Opening::of_record(&record, &record.actions[0]).is_err());
}

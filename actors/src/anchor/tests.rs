//! An anchor's status after each report of the sender.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use kedge_chain::sender::{AnchorIntentStatus as Status, IntentUpdate};
use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash};
use kedge_storage::{AnchorProgress, AnchorRow};

use super::rows::status_after;

/// An anchor in the block with this hash.
pub(crate) fn row(status: AnchorProgress, block: Option<u8>) -> AnchorRow {
    let checkpoint = Checkpoint {
        batches: 4,
        sequence: 9,
        head: Hash([1; 32]),
        history: Hash([2; 32]),
        state: Hash::ZERO,
        issued_at_ms: 5,
    };
    let key = SigningKey::from_bytes(&[7; 32]).unwrap();
    AnchorRow {
        number: 1,
        id: checkpoint.anchor_id(),
        checkpoint: checkpoint.sign(&Hash::ZERO, &key),
        first_batch: 2,
        proof: Vec::new(),
        status,
        contract: Address([3; 20]),
        tx_hashes: vec![Hash([4; 32])],
        tx: Vec::new(),
        block_number: block.map(u64::from),
        block_hash: block.map(|block| Hash([block; 32])),
        attempts: 1,
        issued_at_ms: 5,
    }
}

fn update(status: Status, block: Option<u8>) -> IntentUpdate {
    IntentUpdate {
        batches: 4,
        status,
        tx_hash: Some(Hash([4; 32])),
        block_number: block.map(u64::from),
        block_hash: block.map(|block| Hash([block; 32])),
        gas_used: None,
        covered_by_batches: block.map(|_| 4),
        attempts: 1,
        note: None,
    }
}

// Holds invariant 36.
#[test]
fn what_was_confirmed_stays_so_while_its_block_stays() {
    use AnchorProgress::{Confirmed, Submitted};
    let after = |row, block| status_after(&row, &update(Status::Submitted, block));
    assert_eq!(after(row(Confirmed, Some(8)), Some(8)), Some(Confirmed));
    assert_eq!(after(row(Confirmed, Some(8)), Some(9)), Some(Submitted));
    assert_eq!(after(row(Confirmed, Some(8)), None), Some(Submitted));
    assert_eq!(after(row(Confirmed, None), None), Some(Submitted));
    assert_eq!(after(row(Submitted, Some(8)), Some(8)), Some(Submitted));
}

// Holds invariant 14.
#[test]
fn a_final_anchor_stays_final() {
    use AnchorProgress::{Confirmed, Failed, Finalized};
    for late in [
        Status::Pending,
        Status::Submitted,
        Status::Confirmed,
        Status::Failed,
    ] {
        let adopted = row(Finalized, Some(8));
        assert_eq!(
            status_after(&adopted, &update(late, None)),
            None,
            "{late:?}"
        );
    }
    let again = update(Status::Finalized, Some(8));
    assert_eq!(
        status_after(&row(Finalized, Some(8)), &again),
        Some(Finalized)
    );
    assert_eq!(
        status_after(&row(Confirmed, Some(8)), &again),
        Some(Finalized)
    );
    let covered = IntentUpdate {
        covered_by_batches: Some(5),
        ..again
    };
    assert_eq!(
        status_after(&row(Confirmed, Some(8)), &covered),
        Some(Failed)
    );
    assert_eq!(status_after(&row(Finalized, Some(8)), &covered), None);
}

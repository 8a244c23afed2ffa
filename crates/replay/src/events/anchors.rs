//! Events of anchors: confirmation, for organizations that see an action in its batches (`lib.rs`), and finality, for
//! every organization.

use kedge_protocol::Hash;
use kedge_protocol::event::{EventType, event_id};
use kedge_protocol::hash::keccak_parts;
use kedge_storage::{AnchorProgress, AnchorRow, EventRow};
use serde_json::json;

fn is_held(status: AnchorProgress) -> bool {
    matches!(
        status,
        AnchorProgress::Confirmed | AnchorProgress::Finalized
    )
}

/// The events of an anchor's change from one state to the row's.
pub fn anchor_events(before: AnchorProgress, row: &AnchorRow, timestamp_ms: u64) -> Vec<EventRow> {
    let checkpoint = row.checkpoint.checkpoint.hash();
    let mut events = Vec::new();
    let mut add = |event_type, id, status: &str| {
        events.push(EventRow {
            id,
            event_type,
            timestamp_ms,
            organization_id: None,
            object_id: None,
            template_id: None,
            data: data(row, status),
        });
    };
    if is_held(row.status) && !is_held(before) {
        // If the chain drops the block and includes the anchor in another one, or returns to it, that is another event.
        let block = row.block_hash.unwrap_or(Hash::ZERO);
        let held = keccak_parts(&[&checkpoint.0, &block.0, &timestamp_ms.to_be_bytes()]);
        add(EventType::BatchAnchored, event_id(&held, 0), "anchored");
    }
    if row.status == AnchorProgress::Finalized && before != AnchorProgress::Finalized {
        let id = event_id(&checkpoint, 0);
        add(EventType::AnchorConfirmed, id, "finalized");
    }
    events
}

fn data(row: &AnchorRow, status: &str) -> String {
    let checkpoint = &row.checkpoint.checkpoint;
    json!({
        "anchor_id": row.id,
        "number": row.number,
        "first_batch": row.first_batch,
        "last_batch": row.last_batch(),
        "last_sequence": checkpoint.sequence,
        "head": checkpoint.head,
        "root": checkpoint.history,
        "contract": row.contract,
        "tx_hash": row.tx_hashes.last(),
        "block_number": row.block_number,
        "status": status,
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use kedge_protocol::checkpoint::Checkpoint;
    use kedge_protocol::signature::SigningKey;
    use kedge_protocol::{Address, Id};

    use super::*;

    /// An anchor of batches 2 and 3, in the block with this hash.
    fn row(status: AnchorProgress, block: Option<u8>) -> AnchorRow {
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

    #[test]
    fn each_step_is_told_once() {
        use AnchorProgress::{Confirmed, Failed, Finalized, Pending, Submitted};
        use EventType::{AnchorConfirmed, BatchAnchored};
        let reported = |before, now| -> Vec<EventType> {
            let events = anchor_events(before, &row(now, Some(1)), 7);
            events.iter().map(|event| event.event_type).collect()
        };
        assert_eq!(reported(Submitted, Confirmed), [BatchAnchored]);
        assert_eq!(reported(Confirmed, Finalized), [AnchorConfirmed]);
        assert_eq!(
            reported(Submitted, Finalized),
            [BatchAnchored, AnchorConfirmed]
        );
        for (before, now) in [
            (Pending, Submitted),
            (Confirmed, Confirmed),
            (Finalized, Finalized),
            (Confirmed, Submitted),
            (Submitted, Failed),
        ] {
            assert_eq!(reported(before, now), [], "{before:?} {now:?}");
        }
    }

    #[test]
    fn another_block_and_the_same_one_later_make_another_event() {
        let id = |block, at_ms| -> Id {
            anchor_events(
                AnchorProgress::Submitted,
                &row(AnchorProgress::Confirmed, Some(block)),
                at_ms,
            )[0]
            .id
        };
        assert_eq!(id(1, 7), id(1, 7));
        assert_ne!(id(1, 7), id(2, 7));
        assert_ne!(id(1, 7), id(1, 8));
        let event = &anchor_events(
            AnchorProgress::Confirmed,
            &row(AnchorProgress::Finalized, Some(1)),
            7,
        )[0];
        let data: serde_json::Value = serde_json::from_str(&event.data).unwrap();
        assert_eq!(
            (&data["first_batch"], &data["last_batch"]),
            (&json!(2), &json!(3))
        );
        assert_eq!(data["status"], "finalized");
    }
}

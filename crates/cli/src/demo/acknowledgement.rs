//! Actions acknowledged during the demo: position in the log and leaf, from their receipts.

use std::collections::BTreeMap;

use kedge_client::{BatchOutcome, ChangedResource, Client};
use kedge_protocol::Hash;
use kedge_protocol::chain::{LogLeaf, next_integrity};

use super::super::output::{CliResult, CommandFailure, refuse};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct DemoAcknowledgement {
    sequence: u64,
    leaf: Hash,
    batch_number: u64,
}

impl DemoAcknowledgement {
    /// The action of a single-action request.
    pub(super) fn single<T>(changed: &ChangedResource<T>) -> CliResult<Self> {
        let receipt = changed.receipt.as_ref().ok_or_else(no_receipt)?;
        Ok(Self {
            sequence: receipt.leaf.sequence,
            leaf: receipt.leaf.hash()?,
            batch_number: receipt.batch.header.number,
        })
    }

    /// The actions of a batch request.
    pub(super) fn batch(outcome: &BatchOutcome) -> CliResult<Vec<Self>> {
        let receipt = outcome.receipt.as_ref().ok_or_else(no_receipt)?;
        let shown = outcome.done().zip(&receipt.actions);
        let actions = shown.map(|(done, shown)| {
            let leaf = LogLeaf {
                sequence: shown.sequence,
                timestamp_ms: shown.timestamp_ms,
                content: done.content,
                integrity: next_integrity(&shown.previous_integrity, &done.content),
            };
            Self {
                sequence: shown.sequence,
                leaf: leaf.hash(),
                batch_number: receipt.batch.header.number,
            }
        });
        Ok(actions.collect())
    }

    /// Checks that a node has all of these at their positions, under signed headers. The client checks the headers.
    pub(super) async fn check_all(all: &[Self], client: &Client) -> CliResult<()> {
        let mut batches: BTreeMap<u64, Vec<&Self>> = BTreeMap::new();
        for one in all {
            batches.entry(one.batch_number).or_default().push(one);
        }
        for (number, acknowledged) in batches {
            let held = client.leaves(number).await?;
            for one in acknowledged {
                let index = one.sequence.checked_sub(held.first_sequence);
                let index = index.and_then(|index| usize::try_from(index).ok());
                let leaf = index.and_then(|index| held.leaves.get(index));
                if leaf != Some(&one.leaf) {
                    return refuse(format!(
                        "the acknowledged action {} is not at its place in batch {number}",
                        one.sequence
                    ));
                }
            }
        }
        Ok(())
    }
}

fn no_receipt() -> CommandFailure {
    CommandFailure::refused("an action was acknowledged without a receipt")
}

//! The end of the log, recomputed at each start.

use std::sync::Arc;

use kedge_log::Position;

use super::{OpenError, unreadable};
use crate::check::own::{BatchReader, Terms};
use crate::check::{Fault, Walk, ensure};
use crate::snapshot::{ReadError, Snapshot};
use crate::store::StoreOptions;
use crate::tables::meta::LogHead;

/// How many of the last batches are recomputed.
const TAIL_BATCHES: u64 = 2;

/// Recomputes the last batches and compares them with the head, the tree and the signatures. `end` is where the log
/// ends, if there is one.
pub(super) fn check_tail(
    snapshot: &Snapshot,
    options: &StoreOptions,
    head: &LogHead,
    end: Option<&Position>,
) -> Result<(), OpenError> {
    let walked = || -> Result<LogHead, Fault> {
        if let Some(end) = end {
            ends_at(end, head)?;
        }
        let start = head.batches.saturating_sub(TAIL_BATCHES);
        let mut walk = Walk::begin(snapshot, &options.domain, start)?;
        let terms = Terms {
            separator: options.domain.separator(),
            keys: Arc::new(snapshot.sequencer_keys()?),
            request_signatures: true,
        };
        let mut reader = BatchReader::new(snapshot, terms);
        for number in start..head.batches {
            walk.join(reader.batch(number), |_, _| Ok(()))?;
        }
        Ok(walk.head)
    };
    match walked() {
        Ok(found) if found == *head => Ok(()),
        Ok(found) => Err(OpenError::Tampered(Fault::wrong(
            found.sequence,
            "the stored head is not where the last batch ends",
        ))),
        Err(
            Fault::Unreadable {
                source: ReadError::Rocks { table, text },
                ..
            }
            | Fault::Table(ReadError::Rocks { table, text }),
        ) => Err(unreadable(&options.path)(ReadError::Rocks { table, text })),
        Err(fault) => Err(OpenError::Tampered(fault)),
    }
}

/// The log must end where the rows state that it does.
fn ends_at(end: &Position, head: &LogHead) -> Result<(), Fault> {
    ensure(
        end.next_sequence == head.sequence + 1 && end.next_batch == head.batches,
        head.sequence,
        "the stored head is not where the log ends",
    )
}

//! The end of the log, recomputed at each start.

use std::sync::Arc;

use super::{OpenError, unreadable};
use crate::check::own::{Reader, Terms};
use crate::check::{Fault, Walk};
use crate::codec;
use crate::snapshot::{ReadError, Snapshot};
use crate::store::Options;
use crate::tables::Table;
use crate::tables::meta::LogHead;

/// How many of the last batches are recomputed.
const TAIL_BATCHES: u64 = 2;

/// Recomputes the last batches and holds them against the head, the tree and the signatures.
pub(super) fn check_tail(
    snapshot: &Snapshot,
    options: &Options,
    head: &LogHead,
) -> Result<(), OpenError> {
    let walked = || -> Result<LogHead, Fault> {
        nothing_beyond(snapshot, head)?;
        let start = head.batches.saturating_sub(TAIL_BATCHES);
        let mut walk = Walk::begin(snapshot, &options.domain, start)?;
        let terms = Terms {
            separator: options.domain.separator(),
            keys: Arc::new(snapshot.sequencer_keys()?),
            request_signatures: true,
            batches: head.batches,
        };
        let mut reader = Reader::new(snapshot, terms);
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

/// No table of the log may hold more than the head says.
fn nothing_beyond(snapshot: &Snapshot, head: &LogHead) -> Result<(), Fault> {
    for (table, last) in [
        (Table::Log, Some(head.sequence)),
        (Table::Batches, head.batches.checked_sub(1)),
        (Table::Leaves, head.batches.checked_sub(1)),
    ] {
        if let Some((key, _)) = snapshot.last_row(table)? {
            let found = codec::number(&key).map_err(ReadError::row(table, &key))?;
            if last.is_none_or(|last| found > last) {
                return Err(Fault::Rows {
                    table,
                    what: format!("row {found} lies beyond the log's head"),
                });
            }
        }
    }
    Ok(())
}

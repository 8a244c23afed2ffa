//! The log's tail, recomputed at each start.

use std::sync::Arc;

use kedge_log::LogPosition;

use super::{StoreOpenError, unreadable};
use crate::check::own_batch::{BatchReader, BatchTerms};
use crate::check::{BatchWalk, StoreFault, ensure};
use crate::snapshot::{StoreReadError, StoreSnapshot};
use crate::store::StoreOptions;
use crate::tables::meta::LogHead;

/// Number of recomputed batches.
const TAIL_BATCHES: u64 = 2;

/// A request of an otherwise whole log that is not signed by its stated signer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct UnsignedRequest {
    /// The request's first sequence.
    pub(super) sequence: u64,
    /// What is wrong with the signature.
    pub(super) what: String,
}

impl std::fmt::Display for UnsignedRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { sequence, what } = self;
        write!(
            f,
            "the request at sequence {sequence} is not signed by whom it names ({what}), although the sequencer has put it into \
             the log: nothing is written and nothing is anchored. Find out how it got there (KedgeUnsignedAction in \
             dashboards/RUNBOOK.md), and restore the log as it was before it (`kedge restore --to-sequence {}`)",
            sequence.saturating_sub(1),
        )
    }
}

/// Recomputes the last batches and compares them with the head, the tree and the signatures. `end` is the log's end, if
/// there is a log. A wrong request signature is no damage: the sequencer has signed the batch.
pub(super) fn check_tail(
    snapshot: &StoreSnapshot,
    options: &StoreOptions,
    head: &LogHead,
    end: Option<&LogPosition>,
) -> Result<Option<UnsignedRequest>, StoreOpenError> {
    match walked(snapshot, options, head, end, true) {
        Err(StoreFault::Signature { sequence, what }) => {
            let rest = walked(snapshot, options, head, end, false);
            judged(options, head, rest)?;
            Ok(Some(UnsignedRequest { sequence, what }))
        }
        walked => judged(options, head, walked).map(|()| None),
    }
}

/// The head after the last batches.
fn walked(
    snapshot: &StoreSnapshot,
    options: &StoreOptions,
    head: &LogHead,
    end: Option<&LogPosition>,
    request_signatures: bool,
) -> Result<LogHead, StoreFault> {
    if let Some(end) = end {
        ends_at(end, head)?;
    }
    let start = head.batches.saturating_sub(TAIL_BATCHES);
    let mut walk = BatchWalk::begin(snapshot, &options.domain, start)?;
    let terms = BatchTerms {
        separator: options.domain.separator(),
        keys: Arc::new(snapshot.sequencer_keys()?),
        request_signatures,
    };
    let mut reader = BatchReader::new(snapshot, terms);
    for number in start..head.batches {
        walk.join(reader.batch(number), |_, _| Ok(()))?;
    }
    Ok(walk.head)
}

fn judged(
    options: &StoreOptions,
    head: &LogHead,
    walked: Result<LogHead, StoreFault>,
) -> Result<(), StoreOpenError> {
    match walked {
        Ok(found) if found == *head => Ok(()),
        Ok(found) => Err(StoreOpenError::Tampered(StoreFault::wrong(
            found.sequence,
            "the stored head is not where the last batch ends",
        ))),
        Err(
            StoreFault::Unreadable {
                source: StoreReadError::Rocks { table, text },
                ..
            }
            | StoreFault::Table(StoreReadError::Rocks { table, text }),
        ) => Err(unreadable(&options.path)(StoreReadError::Rocks {
            table,
            text,
        })),
        Err(fault) => Err(StoreOpenError::Tampered(fault)),
    }
}

/// Checks that the log ends where the rows state.
fn ends_at(end: &LogPosition, head: &LogHead) -> Result<(), StoreFault> {
    ensure(
        end.next_sequence == head.sequence + 1 && end.next_batch == head.batches,
        head.sequence,
        "the stored head is not where the log ends",
    )
}

//! Consistency of a log, its rows and the mark of released headers.

use std::path::Path;

use kedge_log::{LogPosition, LogReader};

use super::StoreOpenError;
use super::store_opening::{log_error, mark_path};
use crate::high_water::HighWaterMark;
use crate::mark_check::{MissingMark, equivocation};
use crate::rocks::RocksDatabase;
use crate::store::{StoreAccess, StoreOptions};
use crate::tables::meta::AppliedFrame;

/// Checks that the action index ends within the log: later sequences may be assigned again.
pub(super) fn not_beyond(
    path: &Path,
    database: &RocksDatabase,
    log: &LogPosition,
) -> Result<(), StoreOpenError> {
    let (indexed, next) = (database.actions().in_files(), log.next_sequence);
    if indexed < next {
        return Ok(());
    }
    Err(StoreOpenError::Corruption {
        path: path.to_owned(),
        text: format!(
            "the ids of actions reach sequence {indexed}, but the log ends before {next}"
        ),
    })
}

/// Checks that the log holds every frame after the last applied one.
pub(super) fn reaches_back(
    options: &StoreOptions,
    log: Option<&LogReader>,
    applied: u64,
) -> Result<(), StoreOpenError> {
    match log.filter(|log| applied + 1 < log.first_frame()) {
        None => Ok(()),
        Some(log) => Err(StoreOpenError::Archived {
            path: options.log_path.clone(),
            first_frame: log.first_frame(),
            first_sequence: log.first_sequence(),
            applied,
        }),
    }
}

/// Checks that the rows follow from this log.
pub(super) fn follows(
    options: &StoreOptions,
    log: Option<&LogReader>,
    position: &LogPosition,
    applied: &AppliedFrame,
) -> Result<(), StoreOpenError> {
    let path = options.log_path.clone();
    let Some(log) = log else {
        return match applied.frame {
            0 => Ok(()),
            frame => Err(StoreOpenError::LogMissing {
                path,
                applied: frame,
            }),
        };
    };
    if applied.frame > position.frame {
        return Err(StoreOpenError::LogEndsEarly {
            path,
            last: position.frame,
            applied: applied.frame,
        });
    }
    let hash = if applied.frame == position.frame {
        Some(position.hash)
    } else {
        let next = log.frame(applied.frame + 1);
        let next = next.map_err(|error| log_error(&path)(error.into()))?;
        next.map(|frame| frame.header().previous)
    };
    if hash.is_some_and(|hash| hash != applied.hash) {
        return Err(StoreOpenError::OtherLog {
            path,
            applied: applied.frame,
        });
    }
    Ok(())
}

/// Why the log accepts nothing; `None` if it accepts writes.
pub(super) fn refuses(
    options: &StoreOptions,
    log: Option<&LogReader>,
    position: &LogPosition,
    mark: &HighWaterMark,
    missing: MissingMark,
) -> Option<String> {
    match options.access {
        StoreAccess::Read => return Some("it was opened for reading".to_owned()),
        StoreAccess::Derive => return Some("its rows are being built from its log".to_owned()),
        StoreAccess::Write => {}
    }
    let mark_path = mark_path(options);
    match mark {
        // A shared log: missing frames come from the other nodes before this one leads.
        HighWaterMark::Released(released)
            if options.replicate.is_some() && position.next_batch < released.batches =>
        {
            None
        }
        HighWaterMark::Released(released) => {
            // An unreadable batch does not count as a different one: `verify` names it.
            let stored = |number| Some(log?.batch(number).ok()??.header.head);
            equivocation(position.next_batch, stored, *released, &mark_path)
        }
        unknown => missing.refuses(unknown, position.next_batch, &mark_path),
    }
}

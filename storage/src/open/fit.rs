//! Consistency of a log, its rows and the mark of released headers.

use std::path::Path;

use kedge_log::{LogReader, Position};

use super::OpenError;
use super::opening::{log_error, mark_path};
use crate::high_water::Mark;
use crate::released::{MissingMark, equivocation};
use crate::rocks::Database;
use crate::store::{Access, StoreOptions};
use crate::tables::meta::Applied;

/// Checks that the action index ends within the log: later sequences may be assigned again.
pub(super) fn not_beyond(
    path: &Path,
    database: &Database,
    log: &Position,
) -> Result<(), OpenError> {
    let (indexed, next) = (database.actions().in_files(), log.next_sequence);
    if indexed < next {
        return Ok(());
    }
    Err(OpenError::Corruption {
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
) -> Result<(), OpenError> {
    match log.filter(|log| applied + 1 < log.first_frame()) {
        None => Ok(()),
        Some(log) => Err(OpenError::Archived {
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
    position: &Position,
    applied: &Applied,
) -> Result<(), OpenError> {
    let path = options.log_path.clone();
    let Some(log) = log else {
        return match applied.frame {
            0 => Ok(()),
            frame => Err(OpenError::LogMissing {
                path,
                applied: frame,
            }),
        };
    };
    if applied.frame > position.frame {
        return Err(OpenError::LogEndsEarly {
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
        return Err(OpenError::OtherLog {
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
    position: &Position,
    mark: &Mark,
    missing: MissingMark,
) -> Option<String> {
    match options.access {
        Access::Read => return Some("it was opened for reading".to_owned()),
        Access::Derive => return Some("its rows are being built from its log".to_owned()),
        Access::Write => {}
    }
    let mark_path = mark_path(options);
    match mark {
        // A shared log: missing frames come from the other nodes before this one leads.
        Mark::Released(released)
            if options.replicate.is_some() && position.next_batch < released.batches =>
        {
            None
        }
        Mark::Released(released) => {
            // An unreadable batch does not count as a different one: `verify` names it.
            let stored = |number| Some(log?.batch(number).ok()??.header.head);
            equivocation(position.next_batch, stored, *released, &mark_path)
        }
        unknown => missing.refuses(unknown, position.next_batch, &mark_path),
    }
}

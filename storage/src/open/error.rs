//! Errors of opening a store.

use std::path::{Path, PathBuf};

use kedge_protocol::eip712::Domain;
use rocksdb::ErrorKind;

use crate::check::StoreFault;
use crate::high_water::HighWaterError;
use crate::snapshot::StoreReadError;
use crate::store::CommitError;
use crate::tables::meta::FORMAT_LOG_IN_STORE;
use crate::tables::{FORMAT_VERSION, FORMAT_WITHOUT_SERIALS, FORMAT_WITHOUT_STATE};

/// File in the log's directory that lists the archived segments and their places.
pub const ARCHIVED_LIST: &str = "ARCHIVED.json";

/// Reason why a store does not open. Each text states the remedy.
#[derive(Debug, thiserror::Error)]
pub enum StoreOpenError {
    /// The store belongs to another log.
    #[error(
        "this data directory holds the log of chain {} and contract {}, not of chain {} and contract {}: start with that chain and contract, or use an empty data directory",
        .stored.chain_id, .stored.verifying_contract, .asked.chain_id, .asked.verifying_contract
    )]
    OtherDomain { stored: Domain, asked: Domain },
    /// Another version of the program wrote the store.
    #[error(
        "the store has format {found}; this program reads format {FORMAT_VERSION}: start the server once if the format is {FORMAT_WITHOUT_SERIALS} or {FORMAT_WITHOUT_STATE}, which upgrades it, or run `kedge rebuild` to rebuild it from the log"
    )]
    OtherFormat {
        /// The version that the store states, or RocksDB's report about its tables.
        found: String,
    },
    /// The log is in the store's tables (an old format).
    #[error(
        "the data directory has format {found}: its log is in the store's own tables. This program keeps the log in separate files (format {FORMAT_VERSION}) and cannot continue such a store: start with an empty data directory and a new contract, or use the program that wrote it"
    )]
    LogInStore {
        /// The version that the store states.
        found: u64,
    },
    /// The log's files do not open.
    #[error("the log in {path} cannot be opened: {error}. Nothing was changed", path = .path.display())]
    Log {
        path: PathBuf,
        error: Box<kedge_log::LogOpenError>,
    },
    /// The rows follow from a log that is missing.
    #[error(
        "there is no log in {path}, but the store was built from one that reached frame {applied}: restore the log's directory, from the newest backup if necessary. Nothing was changed", path = .path.display()
    )]
    LogMissing { path: PathBuf, applied: u64 },
    /// The log lacks frames that the rows follow from.
    #[error(
        "the log in {path} ends at frame {last}, but the store was built from one that reached frame {applied}: frames are missing at its end. Restore the newest copy of the log. Nothing was changed", path = .path.display()
    )]
    LogEndsEarly {
        path: PathBuf,
        last: u64,
        applied: u64,
    },
    /// The rows follow from another log.
    #[error(
        "the store was built from another log than the one in {path}: frame {applied} has another hash there. Restore the log that belongs to the store, or run `kedge rebuild` to rebuild the store from this log. Nothing was changed", path = .path.display()
    )]
    OtherLog { path: PathBuf, applied: u64 },
    /// The rows lag the log by frames that are in an archive.
    #[error(
        "the log in {path} begins with frame {first_frame}, sequence {first_sequence}, but the store ends at frame {applied}: the frames between them were archived, and {ARCHIVED_LIST} there lists where they are. Copy those segments back into {path}; a restore reads them with --archive. Nothing was changed", path = .path.display()
    )]
    Archived {
        path: PathBuf,
        first_frame: u64,
        first_sequence: u64,
        applied: u64,
    },
    /// The rows lag the log, and the missing frames were not applied.
    #[error(
        "the store lags its log: it holds frame {applied} of {last}; starting the server applies the others"
    )]
    Behind { applied: u64, last: u64 },
    /// A frame of the log cannot be applied.
    #[error("frame {frame} of the log cannot be applied: {what}")]
    Apply { frame: u64, what: String },
    /// The log's end does not match its head and signatures.
    #[error(
        "the end of the log is not valid; somebody or something changed it: {0}. Restore the data directory from a backup; run `verify` on a copy for details"
    )]
    Tampered(StoreFault),
    /// RocksDB finds its files damaged.
    #[error(
        "the store {path} is damaged: {text}. Nothing was changed. Every row follows from the log: run `kedge rebuild` to rebuild the store"
    )]
    Corruption {
        path: PathBuf,
        /// RocksDB's error, with the file's name.
        text: String,
    },
    /// Table files are missing or have the wrong size.
    #[error("the store in {path} is incomplete: {text}. {help}. Nothing was changed")]
    Incomplete {
        path: PathBuf,
        /// The files, each with its fault.
        text: String,
        /// The remedy.
        help: String,
    },
    /// Another process has it.
    #[error(
        "another process uses the data directory {path}: stop it first, or use another directory ({text})"
    )]
    Locked { path: PathBuf, text: String },
    /// There is no store.
    #[error("there is no store in {0}")]
    Absent(PathBuf),
    /// The system refuses access.
    #[error("the data directory {path}: {text}")]
    Io { path: PathBuf, text: String },
    /// The thread that applies the log's frames failed.
    #[error("the system cannot start another thread: {0}")]
    Thread(String),
    /// Rows could not be written.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The mark of released headers failed.
    #[error(transparent)]
    HighWater(#[from] HighWaterError),
}

/// Maps an error of RocksDB.
pub(super) fn of_rocks(path: &Path) -> impl Fn(rocksdb::Error) -> StoreOpenError {
    move |error| of_kind(path.to_owned(), &error.kind(), error.into_string())
}

fn of_kind(path: PathBuf, kind: &ErrorKind, text: String) -> StoreOpenError {
    match kind {
        ErrorKind::IOError if is_lock(&text) => StoreOpenError::Locked { path, text },
        ErrorKind::IOError if text.contains("No such file") => {
            StoreOpenError::Corruption { path, text }
        }
        ErrorKind::IOError => StoreOpenError::Io { path, text },
        ErrorKind::InvalidArgument if text.contains("Column famil") => {
            StoreOpenError::OtherFormat { found: text }
        }
        // RocksDB tried a file and does not report the system's answer.
        ErrorKind::InvalidArgument if text.contains("Direct I/O") => StoreOpenError::Io {
            path,
            text: format!(
                "{text} Either its file system cannot do direct I/O, or it failed now; the system's log says which"
            ),
        },
        _ => StoreOpenError::Corruption { path, text },
    }
}

/// Whether another process, or another store in this one, has the lock. The path may contain any words.
fn is_lock(text: &str) -> bool {
    text.contains("While lock file") || text.contains("lock hold by current process")
}

/// Maps an error of the system.
pub(super) fn of_system(path: &Path) -> impl Fn(std::io::Error) -> StoreOpenError {
    move |error| StoreOpenError::Io {
        path: path.to_owned(),
        text: error.to_string(),
    }
}

/// Maps a read error during opening.
pub(super) fn unreadable(path: &Path) -> impl Fn(StoreReadError) -> StoreOpenError {
    move |error| StoreOpenError::Corruption {
        path: path.to_owned(),
        text: error.to_string(),
    }
}

/// The error for a store of this format.
pub(super) fn of_format(found: u64) -> StoreOpenError {
    if found <= FORMAT_LOG_IN_STORE {
        StoreOpenError::LogInStore { found }
    } else {
        StoreOpenError::OtherFormat {
            found: found.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk error is neither damage, which calls for a rebuild, nor another process.
    #[test]
    fn what_the_system_refuses_is_told_apart() {
        let of = |kind, text: &str| of_kind(PathBuf::from("store"), &kind, text.to_owned());
        let lock = "IO error: While lock file: store/LOCK: Resource temporarily unavailable";
        assert!(matches!(
            of(ErrorKind::IOError, lock),
            StoreOpenError::Locked { .. }
        ));
        for failed in [
            "IO error: While open a file for lock: store/LOCK: Input/output error",
            "IO error: While open a file for appending: /srv/clock/store/1.log: Input/output error",
        ] {
            let found = of(ErrorKind::IOError, failed);
            assert!(matches!(found, StoreOpenError::Io { .. }), "{found}");
        }
        let direct = "Invalid argument: Direct I/O is not supported by the specified DB.";
        let found = of(ErrorKind::InvalidArgument, direct);
        assert!(matches!(found, StoreOpenError::Io { .. }), "{found}");
        assert!(!found.to_string().contains("rebuild"), "{found}");
    }
}

//! Why a store does not open.

use std::path::{Path, PathBuf};

use kedge_protocol::eip712::Domain;
use rocksdb::ErrorKind;

use crate::check::Fault;
use crate::high_water::HighWaterError;
use crate::snapshot::ReadError;
use crate::store::CommitError;
use crate::tables::FORMAT_VERSION;
use crate::tables::meta::FORMAT_LOG_IN_STORE;

/// The file in the log's directory that lists which segments were archived, and where.
pub const ARCHIVED_LIST: &str = "ARCHIVED.json";

/// Why a store does not open. Each text states what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store belongs to another log.
    #[error(
        "this data directory holds the log of chain {} and contract {}, not of chain {} and contract {}: start with that chain and contract, or use an empty data directory",
        .stored.chain_id, .stored.verifying_contract, .asked.chain_id, .asked.verifying_contract
    )]
    OtherDomain {
        /// What the store is bound to.
        stored: Domain,
        /// What it was opened for.
        asked: Domain,
    },
    /// Written by another version of the program.
    #[error(
        "the store has format {found}; this program reads format {FORMAT_VERSION}: run `kedge rebuild` to rebuild it from the log"
    )]
    OtherFormat {
        /// What the store states, or what RocksDB reports about its tables.
        found: String,
    },
    /// Its log is in its own tables.
    #[error(
        "the data directory has format {found}: its log is in the store's own tables. This program keeps the log in separate files (format {FORMAT_VERSION}) and cannot continue such a store: start with an empty data directory and a new contract, or use the program that wrote it"
    )]
    LogInStore {
        /// The version that the store states.
        found: u64,
    },
    /// The log's files.
    #[error("the log in {path} cannot be opened: {error}. Nothing was changed", path = .path.display())]
    Log {
        /// The log's directory.
        path: PathBuf,
        /// Why.
        error: Box<kedge_log::OpenError>,
    },
    /// The rows follow from a log that is missing.
    #[error(
        "there is no log in {path}, but the store was built from one that reached frame {applied}: restore the log's directory, from the newest backup if necessary. Nothing was changed", path = .path.display()
    )]
    LogMissing {
        /// The log's directory.
        path: PathBuf,
        /// The last frame that was applied.
        applied: u64,
    },
    /// The log lacks frames that the rows follow from.
    #[error(
        "the log in {path} ends at frame {last}, but the store was built from one that reached frame {applied}: frames are missing at its end. Restore the newest copy of the log. Nothing was changed", path = .path.display()
    )]
    LogEndsEarly {
        /// The log's directory.
        path: PathBuf,
        /// Its last frame.
        last: u64,
        /// The last frame that was applied.
        applied: u64,
    },
    /// The rows follow from another log.
    #[error(
        "the store was built from another log than the one in {path}: frame {applied} has another hash there. Restore the log that belongs to the store, or run `kedge rebuild` to rebuild the store from this log. Nothing was changed", path = .path.display()
    )]
    OtherLog {
        /// The log's directory.
        path: PathBuf,
        /// The frame.
        applied: u64,
    },
    /// The rows lag the log by frames that are in an archive.
    #[error(
        "the log in {path} begins with frame {first_frame}, sequence {first_sequence}, but the store ends at frame {applied}: the frames between them were archived, and {ARCHIVED_LIST} there lists where they are. Copy those segments back into {path}; a restore reads them with --archive. Nothing was changed", path = .path.display()
    )]
    Archived {
        /// The log's directory.
        path: PathBuf,
        /// The log's first frame.
        first_frame: u64,
        /// The log's first sequence.
        first_sequence: u64,
        /// The last frame that was applied.
        applied: u64,
    },
    /// The rows lag the log, and the missing frames were not applied.
    #[error(
        "the store lags its log: it holds frame {applied} of {last}; starting the server applies the others"
    )]
    Behind {
        /// The last frame that was applied.
        applied: u64,
        /// The log's last frame.
        last: u64,
    },
    /// A frame of the log cannot be applied.
    #[error("frame {frame} of the log cannot be applied: {what}")]
    Apply {
        /// Its number.
        frame: u64,
        /// Why.
        what: String,
    },
    /// The log's end does not match its head and signatures.
    #[error(
        "the end of the log is not valid; somebody or something changed it: {0}. Restore the data directory from a backup; run `verify` on a copy for details"
    )]
    Tampered(Fault),
    /// RocksDB finds its files damaged.
    #[error(
        "the store {path} is damaged: {text}. Nothing was changed. Every row follows from the log: run `kedge rebuild` to rebuild the store"
    )]
    Corruption {
        /// The data directory.
        path: PathBuf,
        /// RocksDB's error, with the file's name.
        text: String,
    },
    /// Table files are missing or have the wrong size.
    #[error("the store in {path} is incomplete: {text}. {help}. Nothing was changed")]
    Incomplete {
        /// The store's directory.
        path: PathBuf,
        /// Which files, and what is wrong with them.
        text: String,
        /// What to do.
        help: String,
    },
    /// Another process has it.
    #[error(
        "another process uses the data directory {path}: stop it first, or use another directory ({text})"
    )]
    Locked {
        /// The data directory.
        path: PathBuf,
        /// RocksDB's error.
        text: String,
    },
    /// There is nothing to read.
    #[error("there is no store in {0}")]
    Absent(PathBuf),
    /// The system refuses.
    #[error("the data directory {path}: {text}")]
    Io {
        /// The data directory.
        path: PathBuf,
        /// The system's error.
        text: String,
    },
    /// What the log has more than the rows could not be applied.
    #[error("the system cannot start another thread: {0}")]
    Thread(String),
    /// Rows could not be written.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The mark of released headers.
    #[error(transparent)]
    HighWater(#[from] HighWaterError),
}

/// RocksDB refuses.
pub(super) fn of_rocks(path: &Path) -> impl Fn(rocksdb::Error) -> OpenError {
    move |error| of_kind(path.to_owned(), &error.kind(), error.into_string())
}

fn of_kind(path: PathBuf, kind: &ErrorKind, text: String) -> OpenError {
    match kind {
        ErrorKind::IOError if is_lock(&text) => OpenError::Locked { path, text },
        ErrorKind::IOError if text.contains("No such file") => OpenError::Corruption { path, text },
        ErrorKind::IOError => OpenError::Io { path, text },
        ErrorKind::InvalidArgument if text.contains("Column famil") => {
            OpenError::OtherFormat { found: text }
        }
        // It tried a file and does not say what the system answered.
        ErrorKind::InvalidArgument if text.contains("Direct I/O") => OpenError::Io {
            path,
            text: format!(
                "{text} Either its file system cannot do direct I/O, or it failed now; the system's log says which"
            ),
        },
        _ => OpenError::Corruption { path, text },
    }
}

/// Whether another process, or another store in this one, has the lock. The path may hold any words.
fn is_lock(text: &str) -> bool {
    text.contains("While lock file") || text.contains("lock hold by current process")
}

/// The system refuses.
pub(super) fn of_system(path: &Path) -> impl Fn(std::io::Error) -> OpenError {
    move |error| OpenError::Io {
        path: path.to_owned(),
        text: error.to_string(),
    }
}

/// Rows that cannot be read while opening.
pub(super) fn unreadable(path: &Path) -> impl Fn(ReadError) -> OpenError {
    move |error| OpenError::Corruption {
        path: path.to_owned(),
        text: error.to_string(),
    }
}

/// Why a store of this format is not opened.
pub(super) fn of_format(found: u64) -> OpenError {
    if found <= FORMAT_LOG_IN_STORE {
        OpenError::LogInStore { found }
    } else {
        OpenError::OtherFormat {
            found: found.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fault of the disk is neither damage, for which one rebuilds, nor another process.
    #[test]
    fn what_the_system_refuses_is_told_apart() {
        let of = |kind, text: &str| of_kind(PathBuf::from("store"), &kind, text.to_owned());
        let lock = "IO error: While lock file: store/LOCK: Resource temporarily unavailable";
        assert!(matches!(
            of(ErrorKind::IOError, lock),
            OpenError::Locked { .. }
        ));
        for failed in [
            "IO error: While open a file for lock: store/LOCK: Input/output error",
            "IO error: While open a file for appending: /srv/clock/store/1.log: Input/output error",
        ] {
            let found = of(ErrorKind::IOError, failed);
            assert!(matches!(found, OpenError::Io { .. }), "{found}");
        }
        let direct = "Invalid argument: Direct I/O is not supported by the specified DB.";
        let found = of(ErrorKind::InvalidArgument, direct);
        assert!(matches!(found, OpenError::Io { .. }), "{found}");
        assert!(!found.to_string().contains("rebuild"), "{found}");
    }
}

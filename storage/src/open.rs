//! Opening: the log is checked, the rows are brought up to its end, and nothing is served before the log's tail was
//! recomputed and found to match the head.

mod opening;
mod tail;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kedge_protocol::eip712::Domain;
use rocksdb::ErrorKind;

use crate::action_index::{self, ActionIndex};
use crate::check::Fault;
use crate::codec;
use crate::codec::encode_into;
use crate::high_water::HighWaterError;
use crate::live_files;
use crate::making;
use crate::recent::row_writes;
use crate::rocks::{Access as Files, Database};
use crate::snapshot::{ReadError, Snapshot};
use crate::store::{CommitError, Options};
use crate::tables::Table;
use crate::tables::meta::{
    APPLIED_KEY, Applied, DOMAIN_KEY, DomainRow, FORMAT_KEY, FORMAT_LOG_IN_STORE, FORMAT_VERSION,
    HEAD_KEY, HeadRow, LogHead,
};

pub use opening::Opening;

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

pub(crate) fn of_rocks(path: &Path) -> impl Fn(rocksdb::Error) -> OpenError {
    move |error| {
        let kind = error.kind();
        let text = error.into_string();
        let path = path.to_owned();
        match kind {
            ErrorKind::IOError if text.contains("lock") && !text.contains("block") => {
                OpenError::Locked { path, text }
            }
            ErrorKind::IOError if text.contains("No such file") => {
                OpenError::Corruption { path, text }
            }
            ErrorKind::IOError => OpenError::Io { path, text },
            ErrorKind::InvalidArgument if text.contains("Column famil") => {
                OpenError::OtherFormat { found: text }
            }
            _ => OpenError::Corruption { path, text },
        }
    }
}

fn of_system(path: &Path) -> impl Fn(std::io::Error) -> OpenError {
    move |error| OpenError::Io {
        path: path.to_owned(),
        text: error.to_string(),
    }
}

/// Rows that cannot be read while opening.
fn unreadable(path: &Path) -> impl Fn(ReadError) -> OpenError {
    move |error| OpenError::Corruption {
        path: path.to_owned(),
        text: error.to_string(),
    }
}

/// Whether there is nothing that RocksDB could have written.
fn is_empty(path: &Path) -> Result<bool, OpenError> {
    if making::is_unfinished(path) {
        return Ok(true);
    }
    let io = of_system(path);
    match std::fs::read_dir(path) {
        Ok(entries) => {
            for entry in entries {
                let name = entry.map_err(&io)?.file_name();
                let name = name.to_string_lossy();
                let is_data = ["CURRENT", "MANIFEST-"]
                    .iter()
                    .any(|start| name.starts_with(start))
                    || [".sst", ".log"].iter().any(|end| name.ends_with(end));
                if is_data {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(io(error)),
    }
}

fn open_database(options: &Options, access: Files) -> Result<Database, OpenError> {
    let path = options.path.as_path();
    let open = |access, actions| Database::open(path, options.budget(), access, actions);
    let actions = open_index(options, access)?;
    open(access, actions).map_err(|error| {
        let error = of_rocks(path)(error);
        // What RocksDB fails on first is often a missing file: name all of them.
        match error {
            OpenError::Corruption { .. } => open_index(options, Files::Read)
                .and_then(|actions| open(Files::Lenient, actions).map_err(of_rocks(path)))
                .ok()
                .and_then(|looked| whole(&looked, path).err())
                .unwrap_or(error),
            OpenError::OtherFormat { .. } => other_format(path).unwrap_or(error),
            error => error,
        }
    })
}

/// Opens the index of actions, which is in files next to RocksDB's own.
fn open_index(options: &Options, access: Files) -> Result<ActionIndex, OpenError> {
    let dir = options.path.join(action_index::DIRECTORY);
    let env = Arc::clone(&options.env);
    let opened = match access {
        Files::Create => ActionIndex::create(env, dir),
        Files::Write => ActionIndex::open(env, dir, true),
        Files::Read | Files::Lenient => ActionIndex::open(env, dir, false),
    };
    opened.map_err(|error| OpenError::Corruption {
        path: options.path.clone(),
        text: format!("the ids of actions: {error}"),
    })
}

/// The format that a store with other tables than this program's states, if it is another one.
fn other_format(path: &Path) -> Option<OpenError> {
    let meta = Table::Meta.name();
    let options = rocksdb::Options::default();
    let database = rocksdb::DB::open_cf_for_read_only(&options, path, [meta], false).ok()?;
    let family = database.cf_handle(meta)?;
    let row = database.get_pinned_cf(family, FORMAT_KEY).ok()??;
    match codec::number(&row).ok()? {
        FORMAT_VERSION => None,
        found => Some(of_format(found)),
    }
}

/// Why a store of this format is not opened.
fn of_format(found: u64) -> OpenError {
    if found <= FORMAT_LOG_IN_STORE {
        OpenError::LogInStore { found }
    } else {
        OpenError::OtherFormat {
            found: found.to_string(),
        }
    }
}

/// Makes a store without rows. A crash during that leaves nothing that could be mistaken for a store.
fn make(options: &Options) -> Result<Database, OpenError> {
    let path = options.path.as_path();
    let making = making::begin(path).map_err(of_system(path))?;
    let database = open_database(options, Files::Create)?;
    initialize(&database, &options.domain).map_err(of_rocks(path))?;
    making.end().map_err(of_system(path))?;
    Ok(database)
}

/// Checks that a store has all its table files. If another process writes to it, its files come and go: it is in use,
/// not damaged.
fn whole(database: &Database, path: &Path) -> Result<(), OpenError> {
    live_files::check(database, path).map_err(|error| in_use(path).unwrap_or(error))
}

/// Reports whether another process has the store: what was found wrong with it is then no damage.
fn in_use(path: &Path) -> Option<OpenError> {
    // A store opened with none of its tables is locked, refused, and left as it is.
    let probed = rocksdb::DB::open(&rocksdb::Options::default(), path);
    match probed.map(drop).map_err(of_rocks(path)) {
        Err(locked @ OpenError::Locked { .. }) => Some(locked),
        _ => None,
    }
}

/// Extends the index of actions to the log's end.
fn index_actions(database: &Database, snapshot: &Snapshot, head: &LogHead) {
    let index = database.actions();
    let indexed = index.in_files();
    if indexed >= head.sequence {
        return;
    }
    for record in snapshot.requests_from(indexed + 1) {
        match record {
            Ok(record) => {
                let hashes = record.hashes();
                let ids = hashes.iter().map(|hashes| hashes.content.first_16());
                let ids: Vec<_> = ids.zip(record.first_sequence..).collect();
                index.add(&ids);
            }
            // `verify` names it; the other actions can be found meanwhile.
            Err(error) => tracing::warn!(%error, "the actions of a request cannot be found by id"),
        }
    }
}

/// Writes a new store's own description.
fn initialize(database: &Database, domain: &Domain) -> Result<(), rocksdb::Error> {
    let meta = database.table(Table::Meta);
    let mut batch = rocksdb::WriteBatch::default();
    let mut row = |key: &[u8], fill: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = Vec::new();
        fill(&mut bytes);
        batch.put_cf(meta, key, bytes);
    };
    row(FORMAT_KEY, &|out| {
        out.extend_from_slice(&FORMAT_VERSION.to_be_bytes());
    });
    row(DOMAIN_KEY, &|out| {
        encode_into(out, &DomainRow::from(domain));
    });
    row(HEAD_KEY, &|out| {
        encode_into(out, &HeadRow::from(&LogHead::empty(domain)));
    });
    row(APPLIED_KEY, &|out| {
        let start = kedge_log::Position::start(&domain.separator());
        out.extend_from_slice(&Applied::from(&start).to_row());
    });
    database.raw().write_opt(batch, &row_writes())?;
    database.raw().flush_cf(meta)
}

/// Checks the store's own description; returns the head, and up to which frame its rows follow the log.
fn check_meta(snapshot: &Snapshot, options: &Options) -> Result<(LogHead, Applied), OpenError> {
    let path = options.path.as_path();
    let format = snapshot
        .get_number(Table::Meta, FORMAT_KEY)
        .map_err(unreadable(path))?;
    match format {
        Some(FORMAT_VERSION) => {}
        Some(found) => return Err(of_format(found)),
        None => {
            return Err(OpenError::Corruption {
                path: path.to_owned(),
                text: "it does not state its format; if the machine stopped while the store was first created, empty the directory".to_owned(),
            });
        }
    }
    let stored = snapshot
        .get(Table::Meta, DOMAIN_KEY, |bytes| {
            codec::decode::<DomainRow>(bytes).map(Domain::from)
        })
        .map_err(unreadable(path))?
        .ok_or_else(|| OpenError::Corruption {
            path: path.to_owned(),
            text: "it does not state which chain and contract it belongs to".to_owned(),
        })?;
    if stored != options.domain {
        return Err(OpenError::OtherDomain {
            stored,
            asked: options.domain,
        });
    }
    let head = snapshot.head().map_err(unreadable(path))?;
    let applied = snapshot.applied().map_err(unreadable(path))?;
    Ok((head, applied))
}

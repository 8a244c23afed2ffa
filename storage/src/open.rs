//! Opening: nothing is served before the log's tail was recomputed and found to be the head's.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

use kedge_protocol::eip712::Domain;
use rocksdb::{ErrorKind, WriteBatch, WriteOptions};

use crate::check::own::{Reader, Terms};
use crate::check::{Fault, Walk};
use crate::codec::{self, encode_into};
use crate::high_water::{HighWater, HighWaterError, Released};
use crate::metric_definitions::READ_ONLY;
use crate::rocks::{Budget, Database};
use crate::snapshot::{ReadError, Snapshot};
use crate::store::{Options, Store};
use crate::tables::Table;
use crate::tables::meta::{
    DOMAIN_KEY, DomainRow, FIRST_KEY_KEY, FORMAT_KEY, FORMAT_VERSION, HEAD_KEY, HeadRow,
    INDEXED_KEY, LogHead,
};

/// How many of the last batches are recomputed.
const TAIL_BATCHES: u64 = 2;

/// The mark's name inside the data directory, where no other place is set.
const MARK_FILE: &str = "RELEASED";

/// Why a store does not open. Each text says what to do.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The store is another log's.
    #[error(
        "this data directory holds the log of chain {} and contract {}, not of chain {} and contract {}: start with that chain and contract, or give an empty data directory",
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
        "the data directory has format {found}; this program reads format {FORMAT_VERSION}: use the program that wrote it"
    )]
    OtherFormat {
        /// What the store says, or RocksDB says of its tables.
        found: String,
    },
    /// The log's end is not what its head and signatures say.
    #[error(
        "the end of the log does not check, somebody or something changed it: {0}. Restore the data directory from a backup; `verify` on a copy tells more"
    )]
    Tampered(Fault),
    /// RocksDB finds its files damaged.
    #[error(
        "the data directory {path} is damaged: {text}. Restore it from a backup; nothing was changed"
    )]
    Corruption {
        /// The data directory.
        path: PathBuf,
        /// What RocksDB says, with the file's name.
        text: String,
    },
    /// Another process has it.
    #[error(
        "another process uses the data directory {path}: stop it first, or give another directory ({text})"
    )]
    Locked {
        /// The data directory.
        path: PathBuf,
        /// What RocksDB says.
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
        /// What the system says.
        text: String,
    },
    /// The mark of released headers.
    #[error(transparent)]
    HighWater(#[from] HighWaterError),
}

fn of_rocks(path: &Path) -> impl Fn(rocksdb::Error) -> OpenError {
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

/// Rows that cannot be read while opening.
fn unreadable(path: &Path) -> impl Fn(ReadError) -> OpenError {
    move |error| OpenError::Corruption {
        path: path.to_owned(),
        text: error.to_string(),
    }
}

impl Store {
    /// Opens the store, or makes one in an empty directory.
    ///
    /// A store that lies behind the high-water mark is opened without changing a byte of it.
    pub fn open(options: Options) -> Result<Self, OpenError> {
        let (store, snapshot, head) = Self::open_without_index(options)?;
        let indexed = index_actions(&store.database, &snapshot, &head);
        let indexed = indexed.map_err(unreadable(&store.path))?;
        store.indexed.store(indexed, Ordering::Relaxed);
        Ok(store)
    }

    /// Opens the store for whoever walks the log and asks for no action by its id: only those whose
    /// ids are in their table are found. It is never changed.
    pub fn open_to_verify(options: Options) -> Result<Self, OpenError> {
        let options = Options {
            read_only: true,
            ..options
        };
        Self::open_without_index(options).map(|(store, ..)| store)
    }

    fn open_without_index(options: Options) -> Result<(Self, Snapshot, LogHead), OpenError> {
        let path = options.path.as_path();
        let fresh = is_empty(path)?;
        if fresh && options.read_only {
            return Err(OpenError::Absent(options.path));
        }
        let mark_path = options
            .high_water_path
            .clone()
            .unwrap_or_else(|| path.join(MARK_FILE));
        let (database, released) = if fresh {
            let database = open_database(&options, true, false)?;
            initialize(&database, &options.domain).map_err(of_rocks(path))?;
            (Arc::new(database), HighWater::read(&mark_path)?)
        } else {
            open_existing(&options, &mark_path)?
        };
        let mut snapshot = Snapshot::take(Arc::clone(&database));
        let head = check_meta(&snapshot, &options)?;
        if fresh || head.batches == 0 && released.is_none_or(|released| released.batches == 0) {
            // Nothing was signed yet: the first key is the one that it is opened for.
            begin_with(&database, &options).map_err(of_rocks(path))?;
            snapshot = Snapshot::take(Arc::clone(&database));
        }
        check_tail(&snapshot, &options, &head)?;
        let why = released
            .and_then(|released| equivocation(&snapshot, &head, released, &mark_path))
            .or_else(|| {
                options
                    .read_only
                    .then(|| "it was opened for reading".to_owned())
            });
        let high_water = if let Some(why) = &why {
            tracing::warn!(why, "the store is read-only");
            None
        } else {
            Some(open_mark(&mark_path, &head, released)?)
        };
        metrics::gauge!(READ_ONLY).set(f64::from(u8::from(why.is_some())));
        let store = Self {
            database,
            indexed: AtomicU64::new(0),
            path: options.path,
            high_water,
            read_only: why,
            suspended: RwLock::new(None),
        };
        Ok((store, snapshot, head))
    }
}

/// Whether nothing is there that RocksDB could have written.
fn is_empty(path: &Path) -> Result<bool, OpenError> {
    let io = |error: std::io::Error| OpenError::Io {
        path: path.to_owned(),
        text: error.to_string(),
    };
    match std::fs::read_dir(path) {
        Ok(entries) => {
            for entry in entries {
                let name = entry.map_err(io)?.file_name();
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

fn open_database(options: &Options, create: bool, read_only: bool) -> Result<Database, OpenError> {
    if create {
        std::fs::create_dir_all(&options.path).map_err(|error| OpenError::Io {
            path: options.path.clone(),
            text: error.to_string(),
        })?;
    }
    let budget = Budget {
        block_cache_bytes: options.block_cache_bytes,
        memtable_bytes: options.memtable_bytes,
        wal_bytes_max: options.wal_bytes_max,
    };
    Database::open(&options.path, budget, create, read_only).map_err(of_rocks(&options.path))
}

/// Opens a store that is there, and reads the mark. The store is looked at first without changing
/// anything: a recovery drops what it takes for a cut-off write, and where released batches are
/// gone that may be evidence, so such a store stays as it is.
fn open_existing(
    options: &Options,
    mark_path: &Path,
) -> Result<(Arc<Database>, Option<Released>), OpenError> {
    let released = HighWater::read(mark_path)?;
    if let Some(released) = released
        && let Ok(looked) = open_database(options, false, true)
    {
        let looked = Arc::new(looked);
        let head = Snapshot::take(Arc::clone(&looked)).head();
        if head.is_ok_and(|head| head.batches < released.batches) {
            return Ok((looked, Some(released)));
        }
    }
    let database = open_database(options, false, options.read_only)?;
    Ok((Arc::new(database), released))
}

/// Why a store that misses released batches, or holds others in their place, takes no commits.
fn equivocation(
    snapshot: &Snapshot,
    head: &LogHead,
    released: Released,
    mark_path: &Path,
) -> Option<String> {
    let mark = mark_path.display();
    if head.batches < released.batches {
        return Some(format!(
            "it holds {} batches, but the headers of {} were signed and let out ({mark}): signing those numbers again with other actions would be equivocation, which the contract punishes. Bring back the newest copy of the data directory; reading goes on meanwhile. Only who is sure that no header beyond the first {} ever left may remove the mark",
            head.batches, released.batches, head.batches,
        ));
    }
    let number = released.batches.checked_sub(1)?;
    // A batch that cannot be read is for `verify` to name; it is not another one.
    let stored = snapshot.batch(number).ok()??;
    (stored.header.head != released.head).then(|| {
        format!(
            "its batch {number} is another one than the batch {number} whose header was let out ({mark}): going on would be equivocation. Bring back the data directory that belongs to the mark"
        )
    })
}

/// Opens the mark of a store that is not behind it. A mark that is new, or older because the
/// machine crashed, is brought up to the head.
fn open_mark(
    path: &Path,
    head: &LogHead,
    released: Option<Released>,
) -> Result<HighWater, OpenError> {
    let mark = HighWater::open(path)?;
    if released.is_none_or(|released| released.batches < head.batches) {
        let now = Released {
            batches: head.batches,
            head: head.head,
        };
        let told = |source| HighWaterError::Io {
            path: path.to_owned(),
            source,
        };
        mark.advance(now).map_err(told)?;
        mark.sync().map_err(told)?;
    }
    Ok(mark)
}

/// Brings the index of actions up to the log's end; gives how far its table reaches.
fn index_actions(
    database: &Database,
    snapshot: &Snapshot,
    head: &LogHead,
) -> Result<u64, ReadError> {
    let indexed = snapshot.get_number(Table::Meta, INDEXED_KEY)?.unwrap_or(0);
    let index = database.actions();
    index.begin(indexed);
    if indexed >= head.sequence {
        return Ok(indexed);
    }
    for record in snapshot.requests_from(indexed + 1) {
        match record {
            Ok(record) => {
                let hashes = record.hashes();
                let ids = hashes.iter().map(|hashes| hashes.content.first_16());
                let ids: Vec<_> = ids.zip(record.first_sequence..).collect();
                index.add(&ids);
            }
            // For `verify` to name; the others can be found meanwhile.
            Err(error) => tracing::warn!(%error, "the actions of a request cannot be found by id"),
        }
    }
    Ok(indexed)
}

/// Writes what a new store says of itself.
fn initialize(database: &Database, domain: &Domain) -> Result<(), rocksdb::Error> {
    let meta = database.table(Table::Meta);
    let mut batch = WriteBatch::default();
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
    let mut durable = WriteOptions::default();
    durable.set_sync(true);
    database.raw().write_opt(batch, &durable)?;
    // In a table file from the start: a store always says what it is, whatever becomes of its log.
    database.raw().flush_cf(meta)
}

/// Notes the first key of a log that is still empty.
fn begin_with(database: &Database, options: &Options) -> Result<(), rocksdb::Error> {
    if options.read_only {
        return Ok(());
    }
    let mut durable = WriteOptions::default();
    durable.set_sync(true);
    let meta = database.table(Table::Meta);
    let raw = database.raw();
    raw.put_cf_opt(meta, FIRST_KEY_KEY, options.sequencer.0, &durable)
}

/// Checks what the store says of itself; gives the head.
fn check_meta(snapshot: &Snapshot, options: &Options) -> Result<LogHead, OpenError> {
    let path = options.path.as_path();
    let format = snapshot
        .get_number(Table::Meta, FORMAT_KEY)
        .map_err(unreadable(path))?;
    match format {
        Some(FORMAT_VERSION) => {}
        Some(other) => {
            return Err(OpenError::OtherFormat {
                found: other.to_string(),
            });
        }
        None => {
            return Err(OpenError::Corruption {
                path: path.to_owned(),
                text: "it does not say its format; if it was being made for the first time when the machine stopped, empty it".to_owned(),
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
            text: "it does not say which chain and contract it belongs to".to_owned(),
        })?;
    if stored != options.domain {
        return Err(OpenError::OtherDomain {
            stored,
            asked: options.domain,
        });
    }
    snapshot.head().map_err(unreadable(path))
}

/// Recomputes the last batches and holds them against the head, the tree and the signatures.
fn check_tail(snapshot: &Snapshot, options: &Options, head: &LogHead) -> Result<(), OpenError> {
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

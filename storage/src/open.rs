//! Opening: nothing is served before the log's tail was recomputed and found to be the head's.

mod tail;

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, RwLock};

use kedge_protocol::eip712::Domain;
use rocksdb::{ErrorKind, WriteBatch, WriteOptions};

use crate::check::Fault;
use crate::codec::{self, encode_into};
use crate::high_water::{HighWater, HighWaterError, Mark};
use crate::metric_definitions::READ_ONLY;
use crate::released::{MARK_FILE, MissingMark, equivocation, open_mark};
use crate::rocks::{Access, Database};
use crate::snapshot::{ReadError, Snapshot};
use crate::store::{Options, Store};
use crate::tables::Table;
use crate::tables::meta::{
    DOMAIN_KEY, DomainRow, FIRST_KEY_KEY, FORMAT_KEY, FORMAT_SHARED_INTEGRITY, FORMAT_VERSION,
    HEAD_KEY, HeadRow, INDEXED_KEY, LogHead,
};
use crate::{live_files, making};
use tail::check_tail;

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
    /// Its log was made under a rule that the protocol has replaced.
    #[error(
        "the data directory has format {found}; this program reads format {FORMAT_VERSION}. The log in it was made under an older registration rule: a new organization and its first wallet began with the same integrity, which the contract's judge takes for a fork. Such a log can't be continued: start with an empty data directory and a new contract"
    )]
    OlderRules {
        /// The version that the store says.
        found: u64,
    },
    /// The log's end is not what its head and signatures say.
    #[error(
        "the end of the log does not check, somebody or something changed it: {0}. Restore the data directory from a backup; `verify` on a copy tells more"
    )]
    Tampered(Fault),
    /// RocksDB finds its files damaged.
    #[error(
        "the data directory {path} is damaged: {text}. Nothing was changed. Restore it from a backup, or let `kedge rebuild` make again what the log explains"
    )]
    Corruption {
        /// The data directory.
        path: PathBuf,
        /// What RocksDB says, with the file's name.
        text: String,
    },
    /// Table files are missing or have another size than they should.
    #[error("the store in {path} is not whole: {text}. {help}. Nothing was changed")]
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

impl Store {
    /// Opens the store, or makes one in an empty directory.
    ///
    /// A store that lies behind the high-water mark, or has batches and no mark, is opened without
    /// changing a byte of it.
    pub fn open(options: Options) -> Result<Self, OpenError> {
        Self::open_where(options, MissingMark::ReadOnly)
    }

    /// Opens the store, and says what is done where nothing says how far its headers were released.
    pub fn open_where(options: Options, missing: MissingMark) -> Result<Self, OpenError> {
        let (store, snapshot, head) = Self::open_without_index(options, missing)?;
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
        Self::open_without_index(options, MissingMark::ReadOnly).map(|(store, ..)| store)
    }

    /// Opens a store to save what can be read of it: files may be missing, and nothing but what it
    /// says of itself is checked. It is never changed.
    pub fn open_to_salvage(options: Options) -> Result<Self, OpenError> {
        if is_empty(&options.path)? {
            return Err(OpenError::Absent(options.path));
        }
        let database = Arc::new(open_database(&options, Access::Salvage)?);
        check_meta(&Snapshot::take(Arc::clone(&database)), &options)?;
        Ok(Self {
            database,
            indexed: AtomicU64::new(0),
            path: options.path,
            high_water: None,
            read_only: Some("it was opened to be saved".to_owned()),
            suspended: RwLock::new(None),
        })
    }

    fn open_without_index(
        options: Options,
        missing: MissingMark,
    ) -> Result<(Self, Snapshot, LogHead), OpenError> {
        let path = options.path.as_path();
        if !options.read_only {
            making::clear(path).map_err(of_system(path))?;
        }
        let fresh = is_empty(path)?;
        if fresh && options.read_only {
            return Err(OpenError::Absent(options.path));
        }
        let mark_path = options
            .high_water_path
            .clone()
            .unwrap_or_else(|| path.join(MARK_FILE));
        let mark = HighWater::read(&mark_path);
        let database = if fresh {
            let making = making::begin(path).map_err(of_system(path))?;
            let database = open_database(&options, Access::Create)?;
            initialize(&database, &options.domain).map_err(of_rocks(path))?;
            making.end().map_err(of_system(path))?;
            database
        } else {
            open_existing(&options, &mark, missing)?
        };
        let database = Arc::new(database);
        let mut snapshot = Snapshot::take(Arc::clone(&database));
        let head = check_meta(&snapshot, &options)?;
        let is_signed = matches!(&mark, Mark::Released(released) if released.batches > 0);
        if fresh || head.batches == 0 && !is_signed {
            // Nothing was signed yet: the first key is the one that it is opened for.
            begin_with(&database, &options).map_err(of_rocks(path))?;
            snapshot = Snapshot::take(Arc::clone(&database));
        }
        check_tail(&snapshot, &options, &head)?;
        database.time().reached(head.last_sealed_at_ms);
        let why = if options.read_only {
            Some("it was opened for reading".to_owned())
        } else {
            match &mark {
                Mark::Released(released) => equivocation(&snapshot, &head, *released, &mark_path),
                unknown => missing.refuses(unknown, &head, &mark_path),
            }
        };
        let high_water = if let Some(why) = &why {
            tracing::warn!(why, "the store is read-only");
            None
        } else {
            Some(open_mark(&mark_path, &head, &mark)?)
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

fn open_database(options: &Options, access: Access) -> Result<Database, OpenError> {
    let path = options.path.as_path();
    if access == Access::Create {
        let made = std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(path);
        made.map_err(|error| OpenError::Io {
            path: path.to_owned(),
            text: error.to_string(),
        })?;
    }
    let open = |access| Database::open(path, options.budget(), access);
    open(access).map_err(|error| {
        let error = of_rocks(path)(error);
        // What RocksDB stumbled over first is often a file that is not there: name all of them.
        match error {
            OpenError::Corruption { .. } => open(Access::Salvage)
                .ok()
                .and_then(|looked| whole(&looked, path).err())
                .unwrap_or(error),
            error => error,
        }
    })
}

/// Checks that a store has all its table files. Those of one that another process writes to come and
/// go: it is in use, not damaged.
fn whole(database: &Database, path: &Path) -> Result<(), OpenError> {
    let checked = live_files::check(database, path);
    if checked.is_err() {
        // Opened with none of its tables, a store is locked, refused, and left as it is.
        let probed = rocksdb::DB::open(&rocksdb::Options::default(), path);
        let probed = probed.map(drop).map_err(of_rocks(path));
        if let Err(locked @ OpenError::Locked { .. }) = probed {
            return Err(locked);
        }
    }
    checked
}

/// Opens a store that is there. It is looked at first without changing anything: a recovery drops
/// what it takes for a cut-off write, and where released batches are gone that may be evidence, so
/// a store that misses some, or of which nobody knows, stays as it is.
fn open_existing(
    options: &Options,
    mark: &Mark,
    missing: MissingMark,
) -> Result<Database, OpenError> {
    if options.read_only {
        let database = open_database(options, Access::Read)?;
        return whole(&database, &options.path).map(|()| database);
    }
    let stays = |head: &LogHead| match mark {
        Mark::Released(released) => head.batches < released.batches,
        unknown => missing.refuses(unknown, head, &options.path).is_some(),
    };
    match open_database(options, Access::Read) {
        Ok(looked) => {
            whole(&looked, &options.path)?;
            let looked = Arc::new(looked);
            let head = Snapshot::take(Arc::clone(&looked)).head();
            if head.is_ok_and(|head| stays(&head))
                && let Some(looked) = Arc::into_inner(looked)
            {
                return Ok(looked);
            }
        }
        Err(error @ OpenError::Incomplete { .. }) => return Err(error),
        // What stops a reader may be nothing to a recovery, which says so itself otherwise.
        Err(_) => {}
    }
    open_database(options, Access::Write)
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
        Some(found) if found <= FORMAT_SHARED_INTEGRITY => {
            return Err(OpenError::OlderRules { found });
        }
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

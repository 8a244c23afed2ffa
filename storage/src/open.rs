//! Opening of a store: the log is checked, the rows are brought up to its end, and nothing is served before the log's
//! tail was recomputed and matches the head.

mod consistency;
mod error;
mod format_upgrade;
mod store_opening;
mod tail;

use std::path::Path;
use std::sync::Arc;

use kedge_protocol::eip712::Domain;

use crate::action_index::{self, ActionIndex};
use crate::codec;
use crate::codec::encode_into;
use crate::creation_lock;
use crate::live_files;
use crate::recent::row_writes;
use crate::rocks::{DatabaseAccess as Files, RocksDatabase, is_no_space};
use crate::snapshot::StoreSnapshot;
use crate::store::{StoreAccess, StoreOptions};
use crate::tables::Table;
use crate::tables::meta::{APPLIED_KEY, AppliedFrame, DOMAIN_KEY, FORMAT_KEY, HEAD_KEY, LogHead};
use crate::tables::row::BincodeRow;
use crate::tables::{FORMAT_VERSION, FORMAT_WITHOUT_SERIALS, FORMAT_WITHOUT_STATE};

pub use error::{ARCHIVED_LIST, StoreOpenError};
pub use store_opening::StoreOpening;

use error::{of_format, of_rocks, of_system, unreadable};
use format_upgrade::UpgradeError;

/// True if RocksDB cannot have written anything here.
fn is_empty(path: &Path) -> Result<bool, StoreOpenError> {
    if creation_lock::is_unfinished(path) {
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

fn open_database(options: &StoreOptions, access: Files) -> Result<RocksDatabase, StoreOpenError> {
    let path = options.path.as_path();
    let open = |access, actions| RocksDatabase::open(path, options.budget(), access, actions);
    let actions = open_index(options, access)?;
    open(access, actions).map_err(|error| {
        let error = of_rocks(path)(error);
        // RocksDB often fails first on a missing file: name all of them.
        match error {
            StoreOpenError::Corruption { .. } => open_index(options, Files::Read)
                .and_then(|actions| open(Files::Lenient, actions).map_err(of_rocks(path)))
                .ok()
                .and_then(|looked| whole(&looked, path).err())
                .unwrap_or(error),
            StoreOpenError::OtherFormat { .. } => other_format(path).unwrap_or(error),
            error => error,
        }
    })
}

/// Opens a store for writing, and upgrades it. On a completely full disk RocksDB cannot even begin to write: then it opens
/// the store for reading, and returns why.
fn open_or_look(
    options: &StoreOptions,
) -> Result<(Arc<RocksDatabase>, Option<String>), StoreOpenError> {
    match open_database(options, Files::Write).map(Arc::new) {
        Ok(database) => {
            let path = options.path.as_path();
            let upgraded = format_upgrade::upgrade(&database, &StoreSnapshot::take(&database));
            upgraded.map_err(|error| match error {
                UpgradeError::Read(error) => unreadable(path)(error),
                UpgradeError::Write(error) => of_rocks(path)(error),
            })?;
            Ok((database, None))
        }
        Err(StoreOpenError::Io { text, .. }) if is_no_space(&text) => {
            let why = format!(
                "the disk is full to the last byte: make room and start again; reads continue meanwhile ({text})"
            );
            let database = open_database(options, Files::Read)?;
            Ok((Arc::new(database), Some(why)))
        }
        Err(error) => Err(error),
    }
}

/// Opens the action index, whose files are next to RocksDB's.
fn open_index(options: &StoreOptions, access: Files) -> Result<ActionIndex, StoreOpenError> {
    let dir = options.path.join(action_index::DIRECTORY);
    let env = Arc::clone(&options.env);
    let opened = match access {
        Files::Create => ActionIndex::create(env, dir),
        Files::Write => ActionIndex::open(env, dir, true),
        Files::Read | Files::Lenient => ActionIndex::open(env, dir, false),
    };
    opened.map_err(|error| StoreOpenError::Corruption {
        path: options.path.clone(),
        text: format!("the ids of actions: {error}"),
    })
}

/// The error for a store in another format, if its tables are not this program's.
fn other_format(path: &Path) -> Option<StoreOpenError> {
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

/// Creates a store without rows. A crash meanwhile leaves nothing that could be mistaken for a store.
fn make(options: &StoreOptions) -> Result<RocksDatabase, StoreOpenError> {
    let path = options.path.as_path();
    let making = creation_lock::begin(path).map_err(of_system(path))?;
    let database = open_database(options, Files::Create)?;
    initialize(&database, &options.domain).map_err(of_rocks(path))?;
    making.end().map_err(of_system(path))?;
    Ok(database)
}

/// Checks that a store has all its table files. If another process writes to it, its files come and go: it is in use,
/// not damaged.
fn whole(database: &RocksDatabase, path: &Path) -> Result<(), StoreOpenError> {
    live_files::check(database, path).map_err(|error| in_use(path).unwrap_or(error))
}

/// The error for a store that another process uses: apparent faults are then no damage.
fn in_use(path: &Path) -> Option<StoreOpenError> {
    // A store opened with none of its tables is locked, refused, and left as it is.
    let probed = rocksdb::DB::open(&rocksdb::Options::default(), path);
    match probed.map(drop).map_err(of_rocks(path)) {
        Err(locked @ StoreOpenError::Locked { .. }) => Some(locked),
        _ => None,
    }
}

/// Extends the index of actions to the log's end.
fn index_actions(database: &RocksDatabase, snapshot: &StoreSnapshot, head: &LogHead) {
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
            // `verify` names the damage; the other actions can still be found.
            Err(error) => tracing::warn!(%error, "the actions of a request cannot be found by id"),
        }
    }
}

/// Writes a new store's metadata.
fn initialize(database: &RocksDatabase, domain: &Domain) -> Result<(), rocksdb::Error> {
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
        encode_into(out, &BincodeRow(domain));
    });
    row(HEAD_KEY, &|out| {
        encode_into(out, &BincodeRow(&LogHead::empty(domain)));
    });
    row(APPLIED_KEY, &|out| {
        let start = kedge_log::LogPosition::start(&domain.separator());
        out.extend_from_slice(&AppliedFrame::from(&start).to_row());
    });
    database.raw().write_opt(batch, &row_writes())?;
    database.raw().flush_cf(meta)
}

/// Checks the store's metadata; returns the head, and the frame up to which its rows follow the log.
fn check_meta(
    database: &Arc<RocksDatabase>,
    options: &StoreOptions,
) -> Result<(LogHead, AppliedFrame), StoreOpenError> {
    let path = options.path.as_path();
    let snapshot = StoreSnapshot::take(database);
    let format = snapshot
        .get_number(Table::Meta, FORMAT_KEY)
        .map_err(unreadable(path))?;
    match format {
        Some(FORMAT_VERSION) => {}
        Some(FORMAT_WITHOUT_SERIALS | FORMAT_WITHOUT_STATE)
            if options.access != StoreAccess::Read => {}
        Some(found) => return Err(of_format(found)),
        None => {
            return Err(StoreOpenError::Corruption {
                path: path.to_owned(),
                text: "it does not state its format; if the machine stopped while the store was first created, empty the directory".to_owned(),
            });
        }
    }
    let mut missing = database.missing_tables();
    if let Some(table) =
        missing.find(|table| format == Some(FORMAT_VERSION) || !table.is_of_state())
    {
        return Err(StoreOpenError::Corruption {
            path: path.to_owned(),
            text: format!("the table {} is missing", table.name()),
        });
    }
    let stored = snapshot
        .get(Table::Meta, DOMAIN_KEY, |bytes| {
            codec::decode(bytes).map(|BincodeRow(domain)| domain)
        })
        .map_err(unreadable(path))?
        .ok_or_else(|| StoreOpenError::Corruption {
            path: path.to_owned(),
            text: "it does not state which chain and contract it belongs to".to_owned(),
        })?;
    if stored != options.domain {
        return Err(StoreOpenError::OtherDomain {
            stored,
            asked: options.domain,
        });
    }
    let head = snapshot.head().map_err(unreadable(path))?;
    let applied = snapshot.applied().map_err(unreadable(path))?;
    Ok((head, applied))
}

//! Making a store again from its log: every table that the log explains, in a new place, verified
//! there, and then put where the damaged one was. What the log does not hold is kept as it is.

use std::io;
use std::path::{Path, PathBuf};

use kedge_actors::apply::{Apply, ApplyError};
use kedge_protocol::Address;
use kedge_protocol::chain::Leaf;
use kedge_protocol::eip712::Domain;
use kedge_protocol::record::RequestRecord;
use kedge_storage::verify::Progress;
use kedge_storage::{CommitError, CopyError, Group, OpenError, ReadError, Snapshot, Store, Table};
use rustix::fs::{CWD, FlockOperation, RenameFlags};

use crate::durable;
use crate::verify::{Checks, GROUP_BYTES_MAX, Summary, Verifier, VerifyError, options};

/// The folder of the store, inside the data directory.
const STORE: &str = "store";
/// Where the new one is made.
const MAKING: &str = "store.rebuild";
/// A file in it that says that it is not whole.
const UNFINISHED: &str = "UNFINISHED";
/// Where the damaged one goes.
const DAMAGED: &str = "store.damaged";

/// Why a store was not made again. The old one is where it was, as it was.
#[derive(Debug, thiserror::Error)]
pub enum RebuildError {
    /// The old store does not even open, or the new one does not.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A server has it open.
    #[error("a process uses the store {0}: stop the server first")]
    InUse(PathBuf),
    /// The log itself is damaged.
    #[error(
        "the log itself cannot be read ({0}): only a backup brings it back, with `kedge restore`"
    )]
    Log(ReadError),
    /// The log lacks a request.
    #[error(
        "the log has no request at sequence {0}: only a backup brings it back, with `kedge restore`"
    )]
    Gap(u64),
    /// A table that the log does not explain is damaged.
    #[error(
        "{error}. The log does not explain the table {table}: restore a backup, or let it go with --discard {table}", table = .table.name()
    )]
    Kept {
        /// Which.
        table: Table,
        /// Why.
        error: CopyError,
    },
    /// Only tables that the log does not explain can be let go.
    #[error("{0} is no table that can be discarded; these are: {list}", list = discardable())]
    Discard(String),
    /// The rules refuse what stands in the log.
    #[error("{0}")]
    Replay(String),
    /// The new store could not be written.
    #[error("the new store could not be written: {0}")]
    Write(String),
    /// What was made does not hold.
    #[error("what was made of the log does not hold, so the old store stays: {0}")]
    Verify(#[from] VerifyError),
    /// The system.
    #[error("{path}: {source}", path = .path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

impl From<CommitError> for RebuildError {
    fn from(error: CommitError) -> Self {
        Self::Write(error.to_string())
    }
}

impl From<ApplyError> for RebuildError {
    fn from(error: ApplyError) -> Self {
        Self::Replay(error.to_string())
    }
}

fn at(path: &Path) -> impl Fn(io::Error) -> RebuildError {
    move |source| RebuildError::Io {
        path: path.to_owned(),
        source,
    }
}

fn discardable() -> String {
    let names: Vec<_> = Table::KEPT.iter().map(|table| table.name()).collect();
    names.join(", ")
}

/// What was done.
#[derive(Debug)]
pub struct Rebuilt {
    /// What the new store holds, as its verification counted it.
    pub summary: Summary,
    /// The tables that were kept, and how many rows each had.
    pub kept: Vec<(Table, u64)>,
    /// The tables that were let go.
    pub discarded: Vec<Table>,
    /// Where the damaged store is now.
    pub damaged: PathBuf,
}

/// Makes the store in the data directory `data` again. `progress` is called after each batch, for the
/// making and for the verification alike.
pub fn rebuild(
    data: &Path,
    domain: Domain,
    sequencer: Address,
    discard: &[String],
    mut progress: impl FnMut(&'static str, Progress),
) -> Result<Rebuilt, RebuildError> {
    let discarded = discard
        .iter()
        .map(|name| {
            let table = Table::named(name).filter(|table| Table::KEPT.contains(table));
            table.ok_or_else(|| RebuildError::Discard(name.clone()))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let (store, making) = (data.join(STORE), data.join(MAKING));
    let lock = locked(&store)?;
    put_away(data, &making)?;
    let kept = make(&store, &making, (domain, sequencer), &discarded, |at| {
        progress("making", at);
    })?;
    let verifier = Verifier::open(&making, domain, sequencer)?;
    let summary = verifier.check(Checks::State, |at| progress("verifying", at))?;
    drop(verifier);
    std::fs::remove_file(making.join(UNFINISHED)).map_err(at(&making))?;
    durable::sync_directory(&making).map_err(at(&making))?;
    // One step, so that there is a whole store under this name at every moment.
    rustix::fs::renameat_with(CWD, &store, CWD, &making, RenameFlags::EXCHANGE)
        .map_err(|error| at(&store)(error.into()))?;
    durable::sync_directory(data).map_err(at(data))?;
    drop(lock);
    let damaged = set_aside(data, &making)?;
    Ok(Rebuilt {
        summary,
        kept,
        discarded,
        damaged,
    })
}

/// Takes the store's lock, as RocksDB does: no server may have it or take it meanwhile.
fn locked(store: &Path) -> Result<std::fs::File, RebuildError> {
    let path = store.join("LOCK");
    let file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(at(&path))?;
    rustix::fs::fcntl_lock(&file, FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| RebuildError::InUse(store.to_owned()))?;
    Ok(file)
}

/// What an earlier run left: half a store is removed, a whole one is kept.
fn put_away(data: &Path, making: &Path) -> Result<(), RebuildError> {
    if making.join(UNFINISHED).exists() {
        std::fs::remove_dir_all(making).map_err(at(making))?;
    } else if making.exists() {
        set_aside(data, making)?;
    }
    std::fs::create_dir(making).map_err(at(making))?;
    durable::put(&making.join(UNFINISHED), b"").map_err(at(making))?;
    durable::sync_directory(data).map_err(at(data))
}

/// Gives a store a name under which nothing looks for it.
fn set_aside(data: &Path, store: &Path) -> Result<PathBuf, RebuildError> {
    let mut aside = data.join(DAMAGED);
    let mut number = 1;
    while aside.exists() {
        number += 1;
        aside = data.join(format!("{DAMAGED}-{number}"));
    }
    std::fs::rename(store, &aside).map_err(at(store))?;
    durable::sync_directory(data).map_err(at(data))?;
    Ok(aside)
}

/// Fills a new store; gives the tables that it took from the old one.
fn make(
    old: &Path,
    new: &Path,
    (domain, sequencer): (Domain, Address),
    discarded: &[Table],
    progress: impl FnMut(Progress),
) -> Result<Vec<(Table, u64)>, RebuildError> {
    let old = Store::open_to_salvage(options(old, domain, sequencer))?;
    let new = Store::open(options(new, domain, sequencer))?;
    let snapshot = old.snapshot();
    log(&snapshot, &new, progress)?;
    let mut kept = Vec::new();
    for &table in Table::KEPT {
        if !discarded.contains(&table) {
            let count = new.take_table(&snapshot, table);
            let count = count.map_err(|error| RebuildError::Kept { table, error })?;
            kept.push((table, count));
        }
    }
    // The head with it, so that it is the last thing that the new store says.
    new.take_table(&snapshot, Table::Meta)
        .map_err(|error| RebuildError::Write(error.to_string()))?;
    new.close()?;
    Ok(kept)
}

/// Writes the log into a new store, with everything that follows from it.
fn log(
    old: &Snapshot,
    new: &Store,
    mut progress: impl FnMut(Progress),
) -> Result<(), RebuildError> {
    let head = old.head().map_err(RebuildError::Log)?;
    let operators = old.operators().map_err(RebuildError::Log)?;
    let mut apply = Apply::from_nothing(operators);
    let mut requests = old.requests_from(1);
    let mut sequence = 0;
    for number in 0..head.batches {
        let batch = old.batch(number).map_err(RebuildError::Log)?;
        let batch = batch.ok_or(RebuildError::Gap(sequence + 1))?;
        let mut leaves = Vec::new();
        while sequence < batch.header.last_sequence() {
            let record: RequestRecord<'_> = match requests.next() {
                Some(record) => record.map_err(RebuildError::Log)?,
                None => return Err(RebuildError::Gap(sequence + 1)),
            };
            if record.first_sequence != sequence + 1 || record.actions.is_empty() {
                return Err(RebuildError::Gap(sequence + 1));
            }
            let placed = record.placed(&record.hashes());
            leaves.extend(placed.iter().map(Leaf::hash));
            apply.request(&record, &placed)?;
            sequence = record.last_sequence();
        }
        if leaves.len() != batch.header.count as usize {
            return Err(RebuildError::Gap(batch.header.first_sequence));
        }
        apply.batch(&batch, &leaves)?;
        if apply.len_bytes() >= GROUP_BYTES_MAX {
            write(new, apply.take_formed())?;
        }
        progress(Progress {
            batches: number + 1,
            batches_total: head.batches,
            sequence,
        });
    }
    apply.finish(GROUP_BYTES_MAX, |group| write(new, group))
}

fn write(new: &Store, mut group: Group) -> Result<(), RebuildError> {
    new.write(&group)?;
    new.index(&group.take_action_ids());
    Ok(())
}

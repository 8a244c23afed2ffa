//! The store: the only write handle, and where snapshots come from.

use std::borrow::Borrow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

use kedge_protocol::Address;
use kedge_protocol::eip712::Domain;
use metrics::{counter, gauge, histogram};
use rocksdb::{WriteBatch, WriteOptions};

use crate::action_index;
use crate::group::Group;
use crate::high_water::{HighWater, Released};
use crate::metric_definitions as names;
use crate::rocks::{Budget, Database};
use crate::snapshot::Snapshot;
use crate::tables::Table;
use crate::tables::meta::{INDEXED_KEY, LogHead};

/// Bytes that RocksDB writes in front of a key and a value, at the most: the kind, the family, two lengths.
const WRITE_HEADER_BYTES_MAX: usize = 16;

/// What a store is opened with.
#[derive(Clone, Debug)]
pub struct Options {
    /// The data directory; made if it is not there.
    pub path: PathBuf,
    /// The chain and contract that the log is bound to.
    pub domain: Domain,
    /// The key that signs from batch 0 on, where the store has to be made. One that is there says it itself.
    pub sequencer: Address,
    /// The high-water mark of released headers; outside the data directory, so that a restored
    /// directory does not bring an old mark along. `None`: inside it, where the mark shows writes
    /// that were lost but not that the whole directory is an old copy.
    pub high_water_path: Option<PathBuf>,
    /// Memory for blocks read from files.
    pub block_cache_bytes: usize,
    /// Memory for rows not yet written to table files.
    pub memtable_bytes: usize,
    /// Bytes of write-ahead log that a start may have to read.
    pub wal_bytes_max: u64,
    /// Change nothing, not even what a recovery would: for looking at a store that is not running.
    pub read_only: bool,
}

impl Options {
    /// What an open store may use.
    pub(crate) fn budget(&self) -> Budget {
        Budget {
            block_cache_bytes: self.block_cache_bytes,
            memtable_bytes: self.memtable_bytes,
            wal_bytes_max: self.wal_bytes_max,
        }
    }
}

/// Whether the store takes commits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Mode {
    /// It does.
    ReadWrite,
    /// It does not; the text says why, and what to do about it.
    ReadOnly(String),
}

/// Why a group was not committed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// The disk is full. Nothing of the group is stored, and nothing is until there is room again,
    /// for `memtable_bytes` at least; some seconds later committing works without a restart.
    #[error("the disk is full: {0}")]
    NoSpace(String),
    /// The store was opened, or made, read-only.
    #[error("the store is read-only: {0}")]
    ReadOnly(String),
    /// The write failed and nobody knows how much of it is on the disk: the process must end.
    #[error("the write failed: {0}")]
    Failed(String),
}

impl CommitError {
    fn of_rocks(error: rocksdb::Error) -> Self {
        let text = error.into_string();
        if text.contains("No space left on device") || text.contains("Disk quota exceeded") {
            Self::NoSpace(text)
        } else {
            Self::Failed(text)
        }
    }
}

/// An open store.
pub struct Store {
    pub(crate) database: Arc<Database>,
    pub(crate) path: PathBuf,
    /// How far the index of actions is known to reach, as the store says it.
    pub(crate) indexed: AtomicU64,
    pub(crate) high_water: Option<HighWater>,
    /// Why it was opened read-only; that stays until it is opened again.
    pub(crate) read_only: Option<String>,
    /// Why it takes no commits for now.
    pub(crate) suspended: RwLock<Option<String>>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("mode", &self.mode())
            .finish_non_exhaustive()
    }
}

/// A write finds the place of a row from the place of the row before, see [`Group::writes`].
fn neighbours_first() -> WriteOptions {
    let mut options = WriteOptions::default();
    options.set_memtable_insert_hint_per_batch(true);
    options
}

impl Store {
    /// Whether it takes commits.
    pub fn mode(&self) -> Mode {
        match self.why_read_only() {
            Some(why) => Mode::ReadOnly(why),
            None => Mode::ReadWrite,
        }
    }

    fn why_read_only(&self) -> Option<String> {
        let damage = || self.database.damage().map(str::to_owned);
        self.why_no_commit().or_else(damage)
    }

    /// Damage refuses new requests and no commit: what is placed already must not get lost.
    fn why_no_commit(&self) -> Option<String> {
        let suspended = || {
            let why = self.suspended.read();
            why.unwrap_or_else(PoisonError::into_inner).clone()
        };
        self.read_only.clone().or_else(suspended)
    }

    /// True while it takes no commits for a reason that may go away ([`Store::resume`]).
    pub fn is_suspended(&self) -> bool {
        let why = self.suspended.read();
        self.read_only.is_none() && why.unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Takes no commit from now on. The first reason given stays.
    pub fn set_read_only(&self, why: impl Into<String>) {
        let why = why.into();
        let suspended = self.suspended.write();
        let mut suspended = suspended.unwrap_or_else(PoisonError::into_inner);
        if suspended.is_none() {
            tracing::warn!(why, "the store is read-only from now on");
            *suspended = Some(why);
            gauge!(names::READ_ONLY).set(1.0);
        }
    }

    /// Takes commits again, if it was opened for that; for whoever has seen that the reason given
    /// to [`Store::set_read_only`] is gone.
    pub fn resume(&self) {
        let suspended = self.suspended.write();
        let mut suspended = suspended.unwrap_or_else(PoisonError::into_inner);
        if let Some(why) = suspended.take() {
            tracing::warn!(why, "the store takes commits again; it was read-only");
            let stays = self.read_only.is_some() || self.database.damage().is_some();
            gauge!(names::READ_ONLY).set(f64::from(u8::from(stays)));
        }
    }

    /// The store as it stands after the last commit.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::take(Arc::clone(&self.database))
    }

    /// Makes a group durable: one write, one sync, all or nothing. Gives the store with it.
    /// Only one thread commits.
    pub fn commit(&self, group: impl Borrow<Group>) -> Result<Snapshot, CommitError> {
        let group = group.borrow();
        let snapshot = self.write(group)?;
        self.sync()?;
        self.index(&group.action_ids);
        Ok(snapshot)
    }

    /// Lets the ids of actions lead to their sequences, once these are durable.
    pub fn index(&self, actions: &[([u8; 16], u64)]) {
        self.database.actions().add(actions);
        action_index::write_when_full(&self.database, &self.path);
    }

    /// Writes a group, all or nothing, and gives the store with it. It is durable, and may be told
    /// of, after the next [`Store::sync`]; a crash before that loses it and everything behind it,
    /// or nothing. Only one thread writes.
    pub fn write(&self, group: impl Borrow<Group>) -> Result<Snapshot, CommitError> {
        let group = group.borrow();
        if let Some(why) = self.why_no_commit() {
            return Err(CommitError::ReadOnly(why));
        }
        let started = Instant::now();
        let mut batch = self.write_batch(group);
        self.note_indexed(&mut batch);
        let batch_bytes = batch.size_in_bytes();
        self.database
            .raw()
            .write_opt(batch, &neighbours_first())
            .map_err(CommitError::of_rocks)
            .inspect_err(|_| counter!(names::COMMIT_FAILURES).increment(1))?;
        if let Some(sealed_at_ms) = group.sealed_at_ms {
            self.database.time().reached(sealed_at_ms);
        }
        histogram!(names::WRITE_SECONDS).record(started.elapsed());
        histogram!(names::GROUP_BYTES).record(batch_bytes as f64);
        histogram!(names::GROUP_WRITES).record(group.len() as f64);
        histogram!(names::GROUP_ACTIONS).record(group.action_ids.len() as f64);
        counter!(names::COMMITTED_BYTES).increment(batch_bytes as u64);
        Ok(self.snapshot())
    }

    /// Brings the ids of actions that are in memory into their table, before an orderly end: the next
    /// start has nothing to read for them.
    pub fn write_index(&self) -> Result<(), CommitError> {
        if self.read_only.is_some() {
            return Ok(());
        }
        action_index::write_all(&self.database, &self.path);
        let mut last = WriteBatch::default();
        self.note_indexed(&mut last);
        let mut durable = WriteOptions::default();
        durable.set_sync(true);
        let written = self.database.raw().write_opt(last, &durable);
        written.map_err(CommitError::of_rocks)
    }

    /// Says in the store how far its index of actions reaches, where that has changed.
    fn note_indexed(&self, batch: &mut WriteBatch) {
        let indexed = self.database.actions().in_table();
        if self.indexed.swap(indexed, Ordering::Relaxed) != indexed {
            let meta = self.database.table(Table::Meta);
            batch.put_cf(meta, INDEXED_KEY, indexed.to_be_bytes());
        }
    }

    /// Makes everything that was written before the call durable. After a failure nobody knows what
    /// is on the disk: the process must end.
    pub fn sync(&self) -> Result<(), CommitError> {
        let started = Instant::now();
        self.database
            .raw()
            .flush_wal(true)
            .map_err(|error| CommitError::Failed(error.into_string()))
            .inspect_err(|_| counter!(names::COMMIT_FAILURES).increment(1))?;
        histogram!(names::WAL_SECONDS).record(started.elapsed());
        Ok(())
    }

    fn write_batch(&self, group: &Group) -> WriteBatch {
        let families: Vec<_> = Table::ALL
            .iter()
            .map(|&table| self.database.table(table))
            .collect();
        let capacity_bytes = group.len_bytes() + group.len() * WRITE_HEADER_BYTES_MAX;
        let mut batch = WriteBatch::with_capacity_bytes(capacity_bytes);
        for (table, key, value) in group.writes() {
            let family = families[table as usize];
            match value {
                Some(value) => batch.put_cf(family, key, value),
                None => batch.delete_cf(family, key),
            }
        }
        batch
    }

    /// Notes that headers up to this head leave: after their commit, before they go.
    pub fn release(&self, head: &LogHead) -> std::io::Result<()> {
        match &self.high_water {
            Some(mark) => mark.advance(Released {
                batches: head.batches,
                head: head.head,
            }),
            None => Ok(()),
        }
    }

    /// The high-water mark, if the store was opened with one.
    pub fn high_water(&self) -> Option<&HighWater> {
        self.high_water.as_ref()
    }

    /// Bytes of table files and of rows in memory, for a gauge.
    pub fn size_bytes(&self) -> u64 {
        let properties = [
            "rocksdb.total-sst-files-size",
            "rocksdb.cur-size-all-mem-tables",
        ];
        let of = |table: &Table, property: &str| {
            let family = self.database.table(*table);
            let value = self.database.raw().property_int_value_cf(family, property);
            value.ok().flatten().unwrap_or(0)
        };
        Table::ALL
            .iter()
            .flat_map(|table| properties.map(|property| of(table, property)))
            .sum()
    }

    /// Records how many snapshots are held, and gives [`Self::background_failures`].
    pub fn observe(&self) -> u64 {
        let count = self
            .database
            .raw()
            .property_int_value("rocksdb.num-snapshots");
        gauge!(names::SNAPSHOTS).set(count.ok().flatten().unwrap_or(0) as f64);
        self.background_failures()
    }

    /// Drops the rows that have expired, which otherwise happens as files are compacted, within days.
    pub fn drop_expired(&self) -> Result<(), CommitError> {
        let mut options = rocksdb::CompactOptions::default();
        options.set_bottommost_level_compaction(rocksdb::BottommostLevelCompaction::Force);
        for &table in Table::ALL.iter().filter(|table| table.expires()) {
            let family = self.database.table(table);
            let raw = self.database.raw();
            raw.flush_cf(family).map_err(CommitError::of_rocks)?;
            raw.compact_range_cf_opt(family, None::<&[u8]>, None::<&[u8]>, &options);
        }
        Ok(())
    }

    /// How often writing in the background has failed since the store was opened. Where it cannot be
    /// made good, the next [`Store::write`] fails.
    pub fn background_failures(&self) -> u64 {
        let failures = self
            .database
            .raw()
            .property_int_value("rocksdb.background-errors");
        failures.ok().flatten().unwrap_or(0)
    }

    /// Ends cleanly: the mark and all tables are brought to the disk. Snapshots still held keep the
    /// files locked.
    pub fn close(self) -> Result<(), CommitError> {
        let failed = |error: std::io::Error| CommitError::Failed(error.to_string());
        if let Some(mark) = &self.high_water {
            mark.sync().map_err(failed)?;
        }
        if self.why_no_commit().is_none() {
            self.write_index()?;
            let families: Vec<_> = Table::ALL
                .iter()
                .map(|&table| self.database.table(table))
                .collect();
            let mut options = rocksdb::FlushOptions::default();
            options.set_wait(true);
            self.database
                .raw()
                .flush_cfs_opt(&families, &options)
                .map_err(CommitError::of_rocks)?;
            self.database.raw().cancel_all_background_work(true);
        }
        Ok(())
    }
}

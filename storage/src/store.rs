//! The store: the only write handle, and the source of snapshots. A commit goes to the log first; the rows follow once
//! it is durable there.

use std::borrow::Borrow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kedge_log::{
    AppendError, Durability, FileLog, Log, LogMaintenance, LogPosition, SideKeys, SyncError,
};
use kedge_protocol::Address;
use kedge_protocol::eip712::Domain;
use kedge_runtime::env::{Env, RealEnv};
use metrics::{counter, gauge, histogram};
use parking_lot::{Mutex, RwLock};

use crate::group::WriteGroup;
use crate::high_water::{HighWater, ReleasedHead};
use crate::metric_definitions as names;
use crate::recent::{RecentWrites, row_writes, scratch_batch};
use crate::rocks::{RocksBudget, RocksDatabase, is_no_space};
use crate::snapshot::StoreSnapshot;
use crate::tables::Table;
use crate::tables::meta::{AppliedFrame, LogHead};

/// Smallest size of a frame in the log's file.
const FRAME_BYTES_MIN: u64 = 4096;
/// Why a scratch store takes no commits.
pub(crate) const NO_LOG: &str = "it has no log";

/// Options for opening a store.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Time, randomness and the files of the log and of the mark.
    pub env: Arc<dyn Env>,
    /// The directory of the rows; created if it is missing.
    pub path: PathBuf,
    /// The directory of the log; created if it is missing.
    pub log_path: PathBuf,
    /// The chain and contract that the log is bound to.
    pub domain: Domain,
    /// The key that signs from batch 0 on, if the log is new. An existing log names it itself.
    pub sequencer: Address,
    /// The keys that seal and open the log's side entries.
    pub side_keys: SideKeys,
    /// Path of the high-water mark; outside the data directory, so that a restored directory does not bring an old mark
    /// along. `None`: next to the rows, where the mark shows lost writes but not that the whole directory is an old
    /// copy.
    pub high_water_path: Option<PathBuf>,
    /// Cache of blocks read from files.
    pub block_cache_bytes: usize,
    /// Memory for rows not yet written to table files.
    pub memtable_bytes: usize,
    /// Bound on the log bytes whose rows are only in memory: a start applies up to as much again.
    pub replay_bytes_max: u64,
    /// Options of the log's segments.
    pub segments: kedge_log::LogOptions,
    pub access: StoreAccess,
    /// Shares the log with other nodes; `None` on a single node.
    pub replicate: Option<LogReplicator>,
}

/// Turns the log in files into one shared with other nodes. The store then begins no log: the nodes agree on the first
/// frame, and frames of other nodes arrive with [`Store::append_stored`].
#[derive(Clone)]
pub struct LogReplicator(pub Arc<dyn Fn(FileLog) -> Box<dyn Log> + Send + Sync>);

impl fmt::Debug for LogReplicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Replicate")
    }
}

impl StoreOptions {
    /// Options for a store with rows in `path` and the log in the directory `log` next to it, with little memory and
    /// without keys for side entries, on the real disk.
    pub fn of_store(path: &Path, domain: Domain, sequencer: Address) -> Self {
        Self {
            env: Arc::new(RealEnv),
            path: path.to_owned(),
            log_path: path.with_file_name("log"),
            domain,
            sequencer,
            side_keys: SideKeys::none(),
            high_water_path: None,
            block_cache_bytes: 64 << 20,
            memtable_bytes: 64 << 20,
            replay_bytes_max: 128 << 20,
            segments: kedge_log::LogOptions::default(),
            access: StoreAccess::Write,
            replicate: None,
        }
    }

    /// The memory that an open store may use.
    pub(crate) fn budget(&self) -> RocksBudget {
        RocksBudget {
            block_cache_bytes: self.block_cache_bytes,
            memtable_bytes: self.memtable_bytes,
        }
    }
}

/// What an open store may change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoreAccess {
    /// Both the log and the rows that follow from it.
    Write,
    /// Only the rows: the log is applied to them.
    Derive,
    /// Nothing, not even by a recovery: for inspecting a stopped store.
    Read,
}

/// Whether the store accepts commits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StoreMode {
    ReadWrite,
    /// The text states why not, and the remedy.
    ReadOnly(String),
}

/// Reason why a group was not committed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// The disk is full. The same step succeeds once there is room for at least `memtable_bytes`.
    #[error("the disk is full: {0}")]
    NoSpace(String),
    /// The store was opened read-only.
    #[error("the store is read-only: {0}")]
    ReadOnly(String),
    /// The store accepts no commits for now ([`Store::set_read_only`]). Retry the same step.
    #[error("the store accepts no commits for now: {0}")]
    Suspended(String),
    /// This node does not lead, or another one leads by now. Nothing of the group is durable or will be.
    #[error("another node leads the log: {0}")]
    Fenced(String),
    /// The write failed, and it is unknown how much of it is on the disk: the process must end.
    #[error("the write failed: {0}")]
    Failed(String),
}

impl CommitError {
    /// Counts the error. A replaced leader has lost nothing, and a step without room is retried: only a failed write is
    /// a failure of the store.
    fn count(&self) {
        match self {
            Self::Failed(_) => counter!(names::COMMIT_FAILURES).increment(1),
            Self::Fenced(_) => counter!(names::COMMITS_FENCED).increment(1),
            Self::NoSpace(_) | Self::ReadOnly(_) | Self::Suspended(_) => {}
        }
    }

    pub(crate) fn of_rocks(error: rocksdb::Error) -> Self {
        let text = error.into_string();
        if is_no_space(&text) {
            Self::NoSpace(text)
        } else {
            Self::Failed(text)
        }
    }
}

impl From<AppendError> for CommitError {
    fn from(error: AppendError) -> Self {
        match error {
            AppendError::NoSpace(error) => Self::NoSpace(error.to_string()),
            AppendError::Fenced(why) => Self::Fenced(why),
            error => Self::Failed(error.to_string()),
        }
    }
}

impl From<SyncError> for CommitError {
    fn from(error: SyncError) -> Self {
        match error {
            SyncError::Fenced(why) => Self::Fenced(why),
            SyncError::Failed(error) => Self::Failed(error.to_string()),
        }
    }
}

/// The writable end of the log.
pub(crate) struct StoreLog {
    pub(crate) log: Mutex<Box<dyn Log>>,
    pub(crate) durability: Arc<dyn Durability>,
    pub(crate) maintenance: LogMaintenance,
    /// The keys that open side entries.
    pub(crate) side_keys: Mutex<SideKeys>,
}

pub struct Store {
    pub(crate) database: Arc<RocksDatabase>,
    /// Rows that RocksDB does not have yet.
    pub(crate) recent: RecentWrites,
    /// Bound on the memory of recent rows before they are flushed.
    pub(crate) recent_bytes_max: usize,
    pub(crate) path: PathBuf,
    /// `None` if the log accepts nothing.
    pub(crate) writing: Option<StoreLog>,
    /// Whether rows may be written at all.
    pub(crate) rows_writable: bool,
    /// Bytes of log whose rows may not be on the disk yet: roughly since the last requested flush.
    pub(crate) unflushed_bytes: AtomicU64,
    pub(crate) replay_bytes_max: u64,
    pub(crate) high_water: Option<HighWater>,
    /// Why it was opened read-only, until it is opened again.
    pub(crate) read_only: Option<String>,
    /// Whether the log's end holds an action that its author did not sign.
    pub(crate) has_unsigned_action: bool,
    /// Why it accepts no commits for now.
    pub(crate) suspended: RwLock<Option<String>>,
    pub(crate) env: Arc<dyn Env>,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("mode", &self.mode())
            .finish_non_exhaustive()
    }
}

impl Store {
    pub fn mode(&self) -> StoreMode {
        match self.why_read_only() {
            Some(why) => StoreMode::ReadOnly(why),
            None => StoreMode::ReadWrite,
        }
    }

    /// Whether the log's end holds an action that its author did not sign. Such a log must not be attested.
    pub fn has_unsigned_action(&self) -> bool {
        self.has_unsigned_action
    }

    fn why_read_only(&self) -> Option<String> {
        let damage = || self.database.damage().map(str::to_owned);
        let opened = self.read_only.clone();
        opened.or_else(|| self.why_suspended()).or_else(damage)
    }

    fn why_suspended(&self) -> Option<String> {
        let why = self.suspended.read();
        why.clone()
    }

    /// Damage makes it refuse new requests, but no commit: placed actions must not get lost.
    fn accepts_commits(&self) -> Result<(), CommitError> {
        if let Some(why) = &self.read_only {
            return Err(CommitError::ReadOnly(why.clone()));
        }
        self.why_suspended()
            .map_or(Ok(()), |why| Err(CommitError::Suspended(why)))
    }

    /// True while it accepts no commits for a temporary reason ([`Store::resume`]).
    pub fn is_suspended(&self) -> bool {
        let why = self.suspended.read();
        self.read_only.is_none() && why.is_some()
    }

    /// Refuses commits from now on. The first reason stays.
    pub fn set_read_only(&self, why: impl Into<String>) {
        let why = why.into();
        let mut suspended = self.suspended.write();
        if suspended.is_none() {
            tracing::warn!(why, "the store is read-only from now on");
            *suspended = Some(why);
            gauge!(names::READ_ONLY).set(1.0);
        }
    }

    /// Accepts commits again, if it was opened for that. Call it once the reason of [`Store::set_read_only`] is gone.
    pub fn resume(&self) {
        let mut suspended = self.suspended.write();
        if let Some(why) = suspended.take() {
            tracing::warn!(why, "the store accepts commits again; it was read-only");
            let stays = self.read_only.is_some() || self.database.damage().is_some();
            gauge!(names::READ_ONLY).set(f64::from(u8::from(stays)));
        }
    }

    /// The store after the last commit.
    pub fn snapshot(&self) -> StoreSnapshot {
        self.recent.snapshot()
    }

    /// Makes a group durable and applies it. Returns the store after it. Only one thread commits. After
    /// [`CommitError::NoSpace`] continue with the single steps: the log may have the group already.
    pub fn commit(&self, group: impl Borrow<WriteGroup>) -> Result<StoreSnapshot, CommitError> {
        let group = group.borrow();
        let position = self.append(group)?;
        self.sync_through(&position)?;
        let snapshot = self.apply(group, &position)?;
        self.index(&group.action_ids);
        Ok(snapshot)
    }

    /// Makes actions findable by their ids, once they are durable.
    pub fn index(&self, actions: &[([u8; 16], u64)]) {
        self.database.actions().add(actions);
    }

    /// Appends a group to the log and returns the position after it. It is durable after [`Store::sync_through`], and
    /// must not be acknowledged before. A crash before that loses it and everything after it, or nothing. Only one
    /// thread appends.
    pub fn append(&self, group: &WriteGroup) -> Result<LogPosition, CommitError> {
        self.accepts_commits()?;
        let writing = self.writing.as_ref().ok_or_else(no_log)?;
        let frame = group.frame();
        let frame = frame.map_err(|error| CommitError::Failed(error.to_string()))?;
        let mut log = writing.log.lock();
        if frame.is_empty() {
            return Ok(log.position());
        }
        let started = self.env.now();
        let frame_bytes = (frame.bytes_max() as u64).next_multiple_of(FRAME_BYTES_MIN);
        let appended = log.append(frame).map_err(CommitError::from);
        let position = appended.inspect_err(CommitError::count)?;
        self.unflushed_bytes
            .fetch_add(frame_bytes, Ordering::Relaxed);
        histogram!(names::APPEND_SECONDS).record(self.env.now() - started);
        histogram!(names::GROUP_BYTES).record(frame_bytes as f64);
        counter!(names::COMMITTED_BYTES).increment(frame_bytes);
        Ok(position)
    }

    /// Makes everything appended up to this position durable. After [`CommitError::Failed`] the disk's content is
    /// unknown: the process must end.
    ///
    /// # Errors
    /// [`CommitError::Fenced`] if the log gave up the appended frames, because this node's leadership ended first: then
    /// no caller may get an answer.
    pub fn sync_through(&self, position: &LogPosition) -> Result<(), CommitError> {
        let started = self.env.now();
        let durable = self.sync()?;
        let is_held = durable.frame > position.frame
            || (durable.frame == position.frame && durable.hash == position.hash);
        if !is_held {
            let fenced = CommitError::Fenced(format!(
                "leadership ended before frame {} was durable",
                position.frame
            ));
            fenced.count();
            return Err(fenced);
        }
        histogram!(names::SYNC_SECONDS).record(self.env.now() - started);
        Ok(())
    }

    /// Makes the log durable, and returns the position reached. A shared log may hold less than was appended:
    /// [`Store::sync_through`] checks it.
    ///
    /// # Errors
    /// As [`Store::sync_through`].
    pub fn sync(&self) -> Result<LogPosition, CommitError> {
        let writing = self.writing.as_ref().ok_or_else(no_log)?;
        let synced = writing.durability.sync().map_err(CommitError::from);
        synced.inspect_err(CommitError::count)
    }

    /// Writes the rows of a group that is durable in the log, which reached up to `position` after it; all or none.
    /// Returns the store after it. Groups are applied in the order in which they were appended.
    pub fn apply(
        &self,
        group: &WriteGroup,
        position: &LogPosition,
    ) -> Result<StoreSnapshot, CommitError> {
        let started = self.env.now();
        if self.recent.len_bytes() >= 2 * self.recent_bytes_max {
            // The background flushes are too slow, or failed.
            self.flush()?;
        }
        let snapshot = self.recent.apply(group, AppliedFrame::from(position));
        if let Some(sealed_at_ms) = group.sealed_at_ms {
            self.database.time().reached(sealed_at_ms);
        }
        histogram!(names::WRITE_SECONDS).record(self.env.now() - started);
        histogram!(names::GROUP_WRITES).record(group.len() as f64);
        histogram!(names::GROUP_ACTIONS).record(group.action_ids.len() as f64);
        Ok(snapshot)
    }

    /// Writes rows to a store that has no log ([`Store::scratch`]).
    pub fn put_rows(&self, group: &WriteGroup) -> Result<StoreSnapshot, CommitError> {
        if self.read_only.as_deref() != Some(NO_LOG) {
            return Err(CommitError::ReadOnly(
                "its rows follow only from its log".to_owned(),
            ));
        }
        let batch = scratch_batch(&self.database, group);
        let written = self.database.raw().write_opt(batch, &row_writes());
        written.map_err(CommitError::of_rocks)?;
        self.recent.rebase();
        Ok(self.snapshot())
    }

    /// Writes the action ids in memory to a file, before a clean shutdown, so that the next start need not read them
    /// from the log.
    pub fn write_index(&self) {
        if self.rows_writable {
            self.database.actions().write(0);
        }
    }

    /// Notes that headers up to this head are released: after their commit, before they leave.
    pub fn release(&self, head: &LogHead) -> std::io::Result<()> {
        match &self.high_water {
            Some(mark) => mark.advance(ReleasedHead {
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

    /// Bytes of table files and of recent rows, for a gauge.
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
            .sum::<u64>()
            + self.recent.len_bytes() as u64
    }

    /// Records the number of held snapshots, and returns [`Self::background_failures`].
    pub fn observe(&self) -> u64 {
        gauge!(names::SNAPSHOTS).set(self.recent.snapshots() as f64);
        self.background_failures()
    }

    /// Drops expired rows, and those of versions that are not kept, which otherwise happens as files are compacted,
    /// within days.
    pub fn drop_expired(&self) -> Result<(), CommitError> {
        let mut options = rocksdb::CompactOptions::default();
        options.set_bottommost_level_compaction(rocksdb::BottommostLevelCompaction::Force);
        self.flush()?;
        for &table in Table::ALL
            .iter()
            .filter(|table| table.expires() || table.has_versions())
        {
            let family = self.database.table(table);
            let raw = self.database.raw();
            raw.compact_range_cf_opt(family, None::<&[u8]>, None::<&[u8]>, &options);
        }
        Ok(())
    }

    /// Number of failed background writes since the store was opened. If that cannot be repaired, the next
    /// [`Store::apply`] fails.
    pub fn background_failures(&self) -> u64 {
        let failures = self
            .database
            .raw()
            .property_int_value("rocksdb.background-errors");
        failures.ok().flatten().unwrap_or(0)
    }

    /// Closes the store cleanly: writes the mark and all tables to the disk. Held snapshots keep the files locked.
    pub fn close(self) -> Result<(), CommitError> {
        let failed = |error: std::io::Error| CommitError::Failed(error.to_string());
        if let Some(mark) = &self.high_water {
            mark.sync().map_err(failed)?;
        }
        if self.rows_writable {
            self.write_index();
            self.flush()?;
        }
        self.database.raw().cancel_all_background_work(true);
        Ok(())
    }
}

pub(crate) fn no_log() -> CommitError {
    CommitError::ReadOnly("its log accepts nothing".to_owned())
}

//! Opening of a store in three steps. First everything is inspected and nothing is changed. Then the caller, which
//! knows the rules, brings the rows up to the log's end. Then the tail is checked.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kedge_log::{FileLog, Log, LogPosition, LogReader, SideEntry, SideKeys, StoredFrame};
use parking_lot::{Mutex, RwLock};

use super::consistency::{follows, not_beyond, reaches_back, refuses};
use super::tail::{UnsignedRequest, check_tail};
use super::{
    StoreOpenError, check_meta, in_use, index_actions, is_empty, make, of_system, open_database,
    open_or_look, unreadable, whole,
};
use crate::creation_lock;
use crate::group::WriteGroup;
use crate::high_water::{HighWater, HighWaterMark};
use crate::mark_check::{MARK_FILE, MissingMark, open_mark};
use crate::metric_definitions::{READ_ONLY, UNSIGNED_ACTION};
use crate::recent::{RecentWrites, batch_through, row_writes, write_batch};
use crate::rocks::{DatabaseAccess as Files, RocksDatabase};
use crate::snapshot::StoreSnapshot;
use crate::store::{
    CommitError, LogReplicator, NO_LOG, Store, StoreAccess, StoreLog, StoreOptions,
};
use crate::tables::meta::{AppliedFrame, LogHead};

/// A store whose rows may lag its log.
pub struct StoreOpening {
    database: Arc<RocksDatabase>,
    options: StoreOptions,
    /// The log, if it accepts writes.
    log: Option<FileLog>,
    /// Why the log accepts nothing.
    why: Option<String>,
    /// Rows of the frames applied now, if the disk has no room.
    in_memory: Option<RecentWrites>,
    mark: HighWaterMark,
    /// Bytes of applied rows: roughly their size in the log.
    applied_bytes: AtomicU64,
}

impl Store {
    /// Opens a store whose rows do not lag its log, or creates one in empty directories.
    ///
    /// # Errors
    /// [`StoreOpenError`]; [`StoreOpenError::Behind`] if frames have to be applied first ([`Store::begin`]).
    pub fn open(options: StoreOptions) -> Result<Self, StoreOpenError> {
        Self::begin(options, MissingMark::ReadOnly)?.finish()
    }

    /// Opens the store for walks through the log without look-ups of actions by id: only ids in the files are found.
    /// The store is never changed.
    pub fn open_to_verify(options: StoreOptions) -> Result<Self, StoreOpenError> {
        let options = StoreOptions {
            access: StoreAccess::Read,
            ..options
        };
        Self::begin(options, MissingMark::ReadOnly)?.finish()
    }

    /// Creates a store for comparing rows: it has no log, and nothing in it is durable.
    ///
    /// # Errors
    /// [`StoreOpenError`] if the folder is not empty, or cannot be written.
    pub fn scratch(options: StoreOptions) -> Result<Self, StoreOpenError> {
        let database = Arc::new(make(&options)?);
        Ok(Self::without_log(database, options))
    }

    /// [`Self::scratch`], whose snapshots read the actions of their rows from this log, which stays unchanged.
    ///
    /// # Errors
    /// [`StoreOpenError`] if the folder is not empty, or cannot be written.
    pub fn scratch_over(options: StoreOptions, log: LogReader) -> Result<Self, StoreOpenError> {
        let database = Arc::new(make(&options)?);
        database.set_log(log);
        Ok(Self::without_log(database, options))
    }

    fn without_log(database: Arc<RocksDatabase>, options: StoreOptions) -> Self {
        Self {
            recent: RecentWrites::new(Arc::clone(&database)),
            recent_bytes_max: options.memtable_bytes / 2,
            database,
            path: options.path,
            writing: None,
            rows_writable: true,
            unflushed_bytes: AtomicU64::new(0),
            replay_bytes_max: options.replay_bytes_max,
            high_water: None,
            read_only: Some(NO_LOG.to_owned()),
            has_unsigned_action: false,
            suspended: RwLock::new(None),
            env: options.env,
        }
    }

    /// Checks the store and its log, or creates them in empty directories. `missing` decides if nothing shows which
    /// headers were released. A log that ends before the high-water mark, or has batches and no mark, accepts nothing:
    /// not a byte of it is changed.
    ///
    /// # Errors
    /// [`StoreOpenError`]; nothing was changed then.
    pub fn begin(
        options: StoreOptions,
        missing: MissingMark,
    ) -> Result<StoreOpening, StoreOpenError> {
        let path = options.path.as_path();
        if options.access != StoreAccess::Read {
            creation_lock::clear(path).map_err(of_system(path))?;
        }
        let looked = look(&options)?;
        let reader = open_log(&options)?;
        let start = LogPosition::start(&options.domain.separator());
        let position = reader.as_ref().map_or(start, LogReader::position);
        let applied_frame = looked.as_ref().map_or(0, |(_, _, applied)| applied.frame);
        reaches_back(&options, reader.as_ref(), applied_frame)?;
        if let Some((database, _, applied)) = &looked {
            follows(&options, reader.as_ref(), &position, applied)?;
            not_beyond(path, database, &position)?;
        }
        let mark = HighWater::read(&*options.env, &mark_path(&options));
        let mut why = refuses(&options, reader.as_ref(), &position, &mark, missing);
        let mut in_memory = None;
        let (head, applied) = match &looked {
            Some((_, head, applied)) => (*head, *applied),
            None => (LogHead::empty(&options.domain), AppliedFrame::from(&start)),
        };
        let database = match looked {
            Some((looked, ..)) if options.access == StoreAccess::Read => looked,
            Some(looked) => {
                drop(looked);
                let (database, full) = open_or_look(&options)?;
                if full.is_some() {
                    in_memory = Some(RecentWrites::new(Arc::clone(&database)));
                    why = full;
                }
                database
            }
            None => Arc::new(make(&options)?),
        };
        if let Some(why) = &why {
            tracing::warn!(why, "the store is read-only");
        }
        metrics::gauge!(READ_ONLY).set(f64::from(u8::from(why.is_some())));
        let log = if why.is_none() {
            let released = kedge_log::ReleaseMark {
                frame: applied.frame,
                sequence: head.sequence,
            };
            let log = open_to_append(&options, released)?;
            database.set_log(log.reader());
            Some(log)
        } else {
            if let Some(reader) = reader {
                database.set_log(reader);
            }
            None
        };
        if options.access != StoreAccess::Read {
            index_actions(&database, &StoreSnapshot::take(&database), &head);
        }
        Ok(StoreOpening {
            database,
            options,
            log,
            why,
            in_memory,
            mark,
            applied_bytes: AtomicU64::new(0),
        })
    }
}

impl StoreOpening {
    /// The store in its present state.
    pub fn snapshot(&self) -> StoreSnapshot {
        let in_memory = self.in_memory.as_ref().map(RecentWrites::snapshot);
        in_memory.unwrap_or_else(|| StoreSnapshot::take(&self.database))
    }

    /// How many batches the log holds.
    pub fn log_batches(&self) -> u64 {
        self.database
            .log()
            .map_or(0, |log| log.position().next_batch)
    }

    /// The frames to apply, in order.
    pub fn frames(
        &self,
    ) -> Result<impl Iterator<Item = Result<StoredFrame, StoreOpenError>>, StoreOpenError> {
        let applied = self.applied()?;
        let frames = (self.options.access != StoreAccess::Read)
            .then(|| self.database.log())
            .flatten()
            .map(|log| log.frames(applied.frame + 1));
        Ok(frames.into_iter().flatten().map(|frame| {
            frame.map_err(|error| StoreOpenError::Log {
                path: self.options.log_path.clone(),
                error: Box::new(error.into()),
            })
        }))
    }

    /// The last applied frame.
    fn applied(&self) -> Result<AppliedFrame, StoreOpenError> {
        let applied = self.snapshot().applied();
        applied.map_err(unreadable(&self.options.path))
    }

    /// The side entries of a frame.
    pub fn side(&self, frame: &StoredFrame) -> Result<Vec<SideEntry>, StoreOpenError> {
        let identity = self.options.domain.separator();
        let entries = frame.side(&identity, &self.options.side_keys);
        entries.map_err(|error| StoreOpenError::Apply {
            frame: frame.header().number,
            what: format!("{error}. Restore the keys that seal side entries from a backup"),
        })
    }

    /// Writes rows, all or none: the store then has the state after the frame `through`.
    pub fn apply(&self, rows: &WriteGroup, through: &StoredFrame) -> Result<(), StoreOpenError> {
        let header = through.header();
        let applied = AppliedFrame {
            frame: header.number,
            hash: header.hash(),
        };
        if let Some(in_memory) = &self.in_memory {
            in_memory.apply(rows, applied);
        } else {
            let batch = batch_through(&self.database, rows, applied);
            let written = self.database.raw().write_opt(batch, &row_writes());
            written.map_err(CommitError::of_rocks)?;
        }
        self.applied_bytes
            .fetch_add(rows.len_bytes() as u64, Ordering::Relaxed);
        self.database.actions().add(&rows.action_ids);
        Ok(())
    }

    /// Checks the log's end and opens the store.
    ///
    /// # Errors
    /// [`StoreOpenError::Behind`] if frames were not applied; [`StoreOpenError::Tampered`] if the log's end is wrong. A
    /// log whose end holds an action that its author did not sign, and is whole otherwise, accepts nothing.
    pub fn finish(mut self) -> Result<Store, StoreOpenError> {
        let mut snapshot = self.snapshot();
        let path = self.options.path.clone();
        let applied = self.applied()?;
        let end = self.database.log().map(LogReader::position);
        let is_behind = end.is_some_and(|end| end.frame > applied.frame);
        if let Some(end) = end.filter(|_| is_behind) {
            return Err(StoreOpenError::Behind {
                applied: applied.frame,
                last: end.frame,
            });
        }
        let head = snapshot.head().map_err(unreadable(&path))?;
        if head.batches == 0 {
            snapshot = self.begin_with_key(snapshot)?;
        }
        let unsigned = check_tail(&snapshot, &self.options, &head, end.as_ref())?;
        self.refuse_unsigned(unsigned.as_ref());
        let Self {
            database,
            options,
            log,
            why,
            in_memory,
            mark,
            applied_bytes,
        } = self;
        let rows_writable = options.access != StoreAccess::Read && in_memory.is_none();
        database.time().reached(head.last_sealed_at_ms);
        let high_water = match &why {
            None => Some(open_mark(
                &*options.env,
                &mark_path(&options),
                &head,
                &mark,
            )?),
            Some(_) => None,
        };
        let writing = log.map(|log| writing_to(log, options.replicate.as_ref(), options.side_keys));
        let store = Store {
            recent: in_memory.unwrap_or_else(|| RecentWrites::new(Arc::clone(&database))),
            recent_bytes_max: options.memtable_bytes / 2,
            database,
            path,
            writing,
            rows_writable,
            unflushed_bytes: applied_bytes,
            replay_bytes_max: options.replay_bytes_max,
            high_water,
            read_only: why,
            has_unsigned_action: unsigned.is_some(),
            suspended: RwLock::new(None),
            env: options.env,
        };
        if options.access == StoreAccess::Derive {
            store.write_index();
            store.flush()?;
        }
        Ok(store)
    }
}

impl StoreOpening {
    /// Closes the log to writes after an action that its author did not sign.
    fn refuse_unsigned(&mut self, unsigned: Option<&UnsignedRequest>) {
        metrics::gauge!(UNSIGNED_ACTION).set(f64::from(u8::from(unsigned.is_some())));
        let Some(unsigned) = unsigned else {
            return;
        };
        let what = unsigned.to_string();
        tracing::error!(
            sequence = unsigned.sequence,
            what,
            "the log holds an action that its author did not sign; the store is read-only"
        );
        self.log = None;
        self.why.get_or_insert(what);
        metrics::gauge!(READ_ONLY).set(1.0);
    }

    /// Names the first key in an empty log, or replaces it if nothing was signed yet.
    fn begin_with_key(&mut self, snapshot: StoreSnapshot) -> Result<StoreSnapshot, StoreOpenError> {
        let key = self.options.sequencer;
        let named = snapshot.first_sequencer_key().ok();
        // The first leader begins a shared log.
        let begun_here = self.options.replicate.is_none();
        let log = self.log.as_mut().filter(|_| begun_here);
        let is_settled = match &log {
            // A start at which the log accepted nothing made rows with a key that no frame names.
            Some(log) => named == Some(key) && log.position().frame > 0,
            // The log's keys stay: nothing is signed now.
            None if begun_here => named.is_some(),
            None => named == Some(key),
        };
        if is_settled || self.options.access != StoreAccess::Write {
            return Ok(snapshot);
        }
        let mut group = WriteGroup::new();
        let batch = if let Some(log) = log {
            group.put_beginning(key);
            let failed = |what: String| StoreOpenError::Commit(CommitError::Failed(what));
            let frame = group.frame().map_err(|error| failed(error.to_string()))?;
            let position = log.append(frame).map_err(CommitError::from)?;
            log.durability().sync().map_err(CommitError::from)?;
            batch_through(&self.database, &group, AppliedFrame::from(&position))
        } else {
            // The log does not name the key yet, so it is in this copy of the rows only. From when on checkpoints have
            // roots is the log's to say.
            group.put_first_key(key);
            write_batch(&self.database, &group)
        };
        let written = self.database.raw().write_opt(batch, &row_writes());
        written.map_err(CommitError::of_rocks)?;
        Ok(self.snapshot())
    }
}

pub(super) fn mark_path(options: &StoreOptions) -> std::path::PathBuf {
    let default = || options.path.join(MARK_FILE);
    options.high_water_path.clone().unwrap_or_else(default)
}

pub(super) fn log_error(path: &Path) -> impl Fn(kedge_log::LogOpenError) -> StoreOpenError {
    move |error| StoreOpenError::Log {
        path: path.to_owned(),
        error: Box::new(error),
    }
}

/// The writer of this log.
fn writing_to(log: FileLog, replicate: Option<&LogReplicator>, side_keys: SideKeys) -> StoreLog {
    let maintenance = log.maintenance();
    let log = match replicate {
        Some(LogReplicator(share)) => share(log),
        None => Box::new(log),
    };
    StoreLog {
        durability: log.durability(),
        maintenance,
        log: Mutex::new(log),
        side_keys: Mutex::new(side_keys),
    }
}

/// Opens the store for reading, with its head and its last applied frame; `None` if there is none.
fn look(
    options: &StoreOptions,
) -> Result<Option<(Arc<RocksDatabase>, LogHead, AppliedFrame)>, StoreOpenError> {
    let path = options.path.as_path();
    match (is_empty(path)?, options.access) {
        (true, StoreAccess::Read) => return Err(StoreOpenError::Absent(options.path.clone())),
        (true, StoreAccess::Write | StoreAccess::Derive) => return Ok(None),
        (false, _) => {}
    }
    let database = open_database(options, Files::Read);
    let database = database.map_err(|error| in_use(path).unwrap_or(error))?;
    whole(&database, path)?;
    let database = Arc::new(database);
    let (head, applied) = check_meta(&database, options)?;
    Ok(Some((database, head, applied)))
}

/// Reads the log without changing it; `None` if there is none.
fn open_log(options: &StoreOptions) -> Result<Option<LogReader>, StoreOpenError> {
    let path = options.log_path.as_path();
    let identity = options.domain.separator();
    let cache_bytes = options.segments.cache_bytes;
    match LogReader::open(Arc::clone(&options.env), path, Some(identity), cache_bytes) {
        Ok((reader, _)) => Ok(Some(reader)),
        Err(kedge_log::LogOpenError::Io(error))
            if error.source.kind() == std::io::ErrorKind::NotFound =>
        {
            Ok(None)
        }
        Err(error) => Err(log_error(path)(error)),
    }
}

fn open_to_append(
    options: &StoreOptions,
    released: kedge_log::ReleaseMark,
) -> Result<FileLog, StoreOpenError> {
    let path = options.log_path.as_path();
    let opened = FileLog::open(
        Arc::clone(&options.env),
        path,
        options.domain.separator(),
        &options.side_keys,
        released,
        options.segments,
    );
    let (log, recovery) = opened.map_err(log_error(path))?;
    if let Some(torn) = &recovery.torn {
        tracing::warn!(
            segment = %torn.segment.display(),
            offset = torn.offset,
            bytes = torn.bytes,
            frame = torn.frame,
            what = torn.what,
            "the log's last frame was cut off before it was durable and is removed; it was never acknowledged"
        );
    }
    Ok(log)
}

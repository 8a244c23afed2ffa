//! Where each action id leads. Ids are hashes, so their rows fall all over the table: written one
//! by one they would cost more than everything else of an action. The newest stay in memory, where
//! the log can bring them back after a crash, and go into the table in sorted files of many.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use kedge_protocol::ids::IdMap;
use rocksdb::{IngestExternalFileOptions, SstFileWriter};

use crate::rocks::{Database, file_options};
use crate::tables::Table;

/// Actions in memory that are worth a file. A start reads at most about twice as many again.
const FILE_ACTIONS: usize = 128 * 1024;

/// The file's name in the store's directory, before its rows are the table's. One is written at a time.
const FILE: &str = "ACTION-INDEX.tmp";

type Sequences = IdMap<[u8; 16], u64>;

#[derive(Default)]
struct State {
    recent: Sequences,
    /// What is being written to a file, or could not be written so far.
    leaving: Arc<Sequences>,
    is_writing: bool,
    thread: Option<JoinHandle<()>>,
    /// Every action up to this sequence is in the table.
    in_table: u64,
}

/// The part of the index that is in memory.
#[derive(Default)]
pub(crate) struct ActionIndex(Mutex<State>);

impl ActionIndex {
    fn state(&self) -> MutexGuard<'_, State> {
        // No code of ours panics while it holds the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// At the start: every action up to this sequence is in the table.
    pub(crate) fn begin(&self, in_table: u64) {
        self.state().in_table = in_table;
    }

    /// Adds actions that are in the log, in its order.
    pub(crate) fn add(&self, actions: &[([u8; 16], u64)]) {
        self.state().recent.extend(actions.iter().copied());
    }

    /// The sequence of an action that is in memory.
    pub(crate) fn sequence(&self, id: [u8; 16]) -> Option<u64> {
        let state = self.state();
        let found = state.recent.get(&id).or_else(|| state.leaving.get(&id));
        found.copied()
    }

    /// The sequence up to which every action is in the table.
    pub(crate) fn in_table(&self) -> u64 {
        self.state().in_table
    }

    /// What is worth a file; nothing while one is being written.
    fn take_full(&self) -> Option<Arc<Sequences>> {
        let state = self.state();
        let is_full = !state.is_writing && state.recent.len() >= FILE_ACTIONS;
        is_full.then(|| Self::take(state))
    }

    /// Everything, once no file is being written.
    fn take_all(&self) -> Option<Arc<Sequences>> {
        let thread = self.state().thread.take();
        if let Some(Err(panic)) = thread.map(JoinHandle::join) {
            std::panic::resume_unwind(panic);
        }
        let state = self.state();
        let is_any = !state.recent.is_empty() || !state.leaving.is_empty();
        is_any.then(|| Self::take(state))
    }

    /// Everything, unless a file is being written.
    fn take_idle(&self) -> Option<Arc<Sequences>> {
        let state = self.state();
        let is_any = !state.recent.is_empty() || !state.leaving.is_empty();
        (is_any && !state.is_writing).then(|| Self::take(state))
    }

    fn take(mut state: MutexGuard<'_, State>) -> Arc<Sequences> {
        let State {
            recent,
            leaving,
            is_writing,
            ..
        } = &mut *state;
        // What could not be written before goes along.
        let mut all = std::mem::take(recent);
        all.extend(leaving.iter());
        *leaving = Arc::new(all);
        *is_writing = true;
        Arc::clone(leaving)
    }

    fn written(&self, last: u64) {
        let mut state = self.state();
        state.in_table = state.in_table.max(last);
        state.leaving = Arc::default();
        state.is_writing = false;
    }

    fn failed(&self) {
        self.state().is_writing = false;
    }
}

/// Writes a file of the newest actions where there are enough of them, on a thread of its own.
pub(crate) fn write_when_full(database: &Arc<Database>, path: &Path) {
    let Some(actions) = database.actions().take_full() else {
        return;
    };
    let (writer, path) = (Arc::clone(database), path.to_owned());
    let spawned = std::thread::Builder::new()
        .name("action-index".into())
        .spawn(move || write(&writer, &path, &actions));
    match spawned {
        Ok(thread) => database.actions().state().thread = Some(thread),
        Err(error) => {
            tracing::warn!(%error, "the action index stays in memory for now");
            database.actions().failed();
        }
    }
}

/// Writes everything, before an orderly end.
pub(crate) fn write_all(database: &Arc<Database>, path: &Path) {
    if let Some(actions) = database.actions().take_all() {
        write(database, path, &actions);
    }
}

/// Writes everything while actions are added, unless a file is being written.
pub(crate) fn write_idle(database: &Database, path: &Path) {
    if let Some(actions) = database.actions().take_idle() {
        write(database, path, &actions);
    }
}

fn write(database: &Database, path: &Path, actions: &Sequences) {
    match ingest(database, path, actions) {
        Ok(last) => database.actions().written(last),
        Err(error) => {
            // Nothing is lost: it is still in memory, and the log has it.
            tracing::warn!(%error, "the action index could not be written; it is tried again later");
            database.actions().failed();
        }
    }
}

/// Why the actions are not in the table.
#[derive(Debug, thiserror::Error)]
enum IngestError {
    #[error("{0}")]
    Rocks(#[from] rocksdb::Error),
    #[error("{name}: {0}", name = FILE)]
    File(#[from] io::Error),
}

/// Puts the actions into the table as one file; gives the last sequence.
///
/// The file is copied into the store, never moved: RocksDB moves by linking, and a crash between the
/// link and its removal would leave two names for one file, of which the next write would open one.
fn ingest(database: &Database, path: &Path, actions: &Sequences) -> Result<u64, IngestError> {
    let mut rows: Vec<([u8; 16], u64)> = actions
        .iter()
        .map(|(id, sequence)| (*id, *sequence))
        .collect();
    rows.sort_unstable();
    let file = path.join(FILE);
    free(&file)?;
    let options = file_options(Table::Actions);
    let mut writer = SstFileWriter::create(&options);
    writer.open(&file)?;
    for (id, sequence) in &rows {
        writer.put(id, sequence.to_be_bytes())?;
    }
    writer.finish()?;
    let mut how = IngestExternalFileOptions::default();
    how.set_move_files(false);
    let table = database.table(Table::Actions);
    database
        .raw()
        .ingest_external_file_cf_opts(table, &how, vec![&file])?;
    free(&file)?;
    Ok(rows
        .iter()
        .map(|(_, sequence)| *sequence)
        .max()
        .unwrap_or(0))
}

/// Frees the name. It is never opened while something has it: what a crash left there may be a link
/// to a live table file, and opening it would cut that file off.
fn free(file: &Path) -> io::Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

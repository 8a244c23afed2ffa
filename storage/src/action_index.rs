//! Maps action ids to sequences. Ids are hashes, so their rows fall all over the table: written one by one they would
//! cost more than everything else of an action. The newest stay in memory, where the log can restore them after a
//! crash. They go into the table in sorted files of many.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kedge_protocol::ids::IdMap;
use rocksdb::{IngestExternalFileOptions, SstFileWriter};

use crate::rocks::{Database, file_options};
use crate::tables::Table;

/// Actions in memory that are worth a file. A start reads at most about twice as many again.
pub(crate) const FILE_ACTIONS: usize = 128 * 1024;
/// Actions added since a file was begun, at most: the thread that adds more writes a file itself.
pub(crate) const MEMORY_ACTIONS_MAX: usize = 16 * FILE_ACTIONS;

/// The file's name in the store's directory, before its rows are the table's. One is written at a time.
const FILE: &str = "ACTION-INDEX.tmp";

type Sequences = IdMap<[u8; 16], u64>;

#[derive(Default)]
struct State {
    recent: Sequences,
    /// What is being written to a file, or could not be written so far.
    leaving: Arc<Sequences>,
    /// Every action up to this sequence is in the table.
    in_table: u64,
}

/// The part of the index that is in memory.
#[derive(Default)]
pub(crate) struct ActionIndex {
    state: Mutex<State>,
    /// Held while a file is written.
    writing: Mutex<()>,
}

impl ActionIndex {
    fn state(&self) -> MutexGuard<'_, State> {
        // No code of ours panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// At the start: every action up to this sequence is in the table.
    pub(crate) fn begin(&self, in_table: u64) {
        self.state().in_table = in_table;
    }

    /// Adds actions that are in the log, in its order. Returns how many have been added since a file was begun.
    pub(crate) fn add(&self, actions: &[([u8; 16], u64)]) -> usize {
        let mut state = self.state();
        state.recent.extend(actions.iter().copied());
        state.recent.len()
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

    /// Everything in memory, once at least `count_min` actions were added since the last file was begun. So a file that could
    /// not be written is not tried again at every look.
    fn take(&self, count_min: usize) -> Option<Arc<Sequences>> {
        let mut state = self.state();
        let State {
            recent, leaving, ..
        } = &mut *state;
        let is_nothing = recent.is_empty() && leaving.is_empty();
        if recent.len() < count_min || is_nothing {
            return None;
        }
        let mut all = std::mem::take(recent);
        // What could not be written before is written now.
        all.extend(leaving.iter());
        *leaving = Arc::new(all);
        Some(Arc::clone(leaving))
    }

    fn written(&self, last: u64) {
        let mut state = self.state();
        state.in_table = state.in_table.max(last);
        state.leaving = Arc::default();
    }
}

/// Writes everything in memory to a file of the table, once at least `count_min` actions were added since the last file
/// was begun. It waits while another thread writes one.
pub(crate) fn write(database: &Database, path: &Path, count_min: usize) {
    let index = database.actions();
    let writing = index.writing.lock();
    let _one_at_a_time = writing.unwrap_or_else(PoisonError::into_inner);
    let Some(actions) = index.take(count_min) else {
        return;
    };
    match ingest(database, path, &actions) {
        Ok(last) => index.written(last),
        // Nothing is lost: it is still in memory, and the log has it.
        Err(error) => {
            tracing::warn!(%error, "the action index could not be written; it will be retried later");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_not_written_is_tried_again_after_as_many_actions_or_when_all_are_wanted() {
        let index = ActionIndex::default();
        let add = |ids: std::ops::Range<u8>| {
            let actions: Vec<_> = ids.map(|id| ([id; 16], u64::from(id))).collect();
            index.add(&actions)
        };
        assert!(index.take(0).is_none());
        assert_eq!(add(0..3), 3);
        assert_eq!(index.take(3).map(|taken| taken.len()), Some(3));
        // Nobody reports that these are written.
        assert_eq!(add(3..5), 2);
        assert!(index.take(3).is_none());
        assert_eq!(index.take(0).map(|taken| taken.len()), Some(5));
        assert_eq!(add(5..8), 3);
        assert_eq!(index.take(3).map(|taken| taken.len()), Some(8));
        assert_eq!(index.sequence([1; 16]), Some(1));
        index.written(7);
        assert_eq!((index.sequence([1; 16]), index.in_table()), (None, 7));
        assert!(index.take(0).is_none());
    }
}

//! Index from action ids to sequences. Ids are hashes: written one by one they would scatter over a table and cost more
//! than all other rows of an action. The newest stay in memory, where the log can restore them after a crash; the
//! others are in large sorted files, which are merged from time to time (adr/0018).

mod file;
mod merge;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kedge_protocol::ids::IdMap;
use kedge_runtime::env::Env;
use parking_lot::{Mutex, MutexGuard};

use self::file::UnfinishedFile;
pub(crate) use self::file::{ActionIndexEntry, IdFile, IdFileError};

/// Ids merged between two calls that let the caller pause.
const MERGED_BETWEEN: usize = 4_096;
/// Number of actions in memory that are worth a file. A start reads at most about twice as many again.
pub(crate) const FILE_ACTIONS: usize = 128 * 1024;
/// Bound on the actions added since a file was begun: the thread that adds more writes a file itself.
pub(crate) const MEMORY_ACTIONS_MAX: usize = 16 * FILE_ACTIONS;

/// The files' directory, inside the store's.
pub(crate) const DIRECTORY: &str = "action-ids";

type SequenceMap = IdMap<[u8; 16], u64>;

#[derive(Default)]
struct ActionIndexState {
    recent: SequenceMap,
    /// Actions that are being written to a file, or could not be written yet.
    leaving: Arc<SequenceMap>,
    /// The complete files, in the order of their sequences, without gaps.
    files: Arc<Vec<Arc<IdFile>>>,
    /// Number of files when merging last failed: it is not retried before there are more.
    unmerged: usize,
}

impl ActionIndexState {
    fn in_files(&self) -> u64 {
        self.files.last().map_or(0, |file| file.last)
    }
}

/// Index from action ids to sequences.
pub(crate) struct ActionIndex {
    env: Arc<dyn Env>,
    dir: PathBuf,
    state: Mutex<ActionIndexState>,
    /// Held while a file is written.
    writing: Mutex<()>,
    /// Held while files are merged.
    merging: Mutex<()>,
    ending: AtomicBool,
}

impl ActionIndex {
    /// Creates an index without actions.
    pub(crate) fn create(env: Arc<dyn Env>, dir: PathBuf) -> Result<Self, IdFileError> {
        let failed = in_dir(&dir);
        env.create_dir(&dir).map_err(&failed)?;
        // Old files belong to a store that no longer exists.
        for name in env.list(&dir).map_err(&failed)? {
            if file::sequences_of(&name).is_some() {
                env.remove(&dir.join(name)).map_err(&failed)?;
            }
        }
        Self::open(env, dir, true)
    }

    /// Opens the files in a directory. With `clean`, remains of interrupted writes and merges are removed.
    ///
    /// # Errors
    /// [`IdFileError`] if a file is damaged or missing.
    pub(crate) fn open(env: Arc<dyn Env>, dir: PathBuf, clean: bool) -> Result<Self, IdFileError> {
        let failed = in_dir(&dir);
        if clean {
            env.create_dir(&dir).map_err(&failed)?;
            for unfinished in [UnfinishedFile::New, UnfinishedFile::Merged] {
                unfinished.remove(&*env, &dir).map_err(&failed)?;
            }
        }
        let names = match env.list(&dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            names => names.map_err(&failed)?,
        };
        let mut named: Vec<_> = names
            .into_iter()
            .filter_map(|name| Some((file::sequences_of(&name)?, name)))
            .collect();
        // Of files with the same first sequence the longest comes first: the others were merged into it.
        named.sort_unstable_by_key(|((first, last), _)| (*first, u64::MAX - last));
        let mut files: Vec<Arc<IdFile>> = Vec::new();
        for ((first, last), name) in named {
            let end = files.last().map_or(0, |file| file.last);
            if last <= end {
                if clean {
                    env.remove(&dir.join(&name)).map_err(&failed)?;
                }
                continue;
            }
            if first != end + 1 {
                let what = format!(
                    "the file of the ids from sequence {} on is missing",
                    end + 1
                );
                return Err(IdFileError::Damaged { name, what });
            }
            files.push(Arc::new(IdFile::load(&*env, &dir, &name)?));
        }
        Ok(Self {
            env,
            dir,
            state: Mutex::new(ActionIndexState {
                files: Arc::new(files),
                ..ActionIndexState::default()
            }),
            writing: Mutex::default(),
            merging: Mutex::default(),
            ending: AtomicBool::new(false),
        })
    }

    fn state(&self) -> MutexGuard<'_, ActionIndexState> {
        self.state.lock()
    }

    /// Adds actions of the log, in its order. The ones that a file already has are skipped.
    pub(crate) fn add(&self, actions: &[ActionIndexEntry]) {
        let is_full = {
            let mut state = self.state();
            let in_files = state.in_files();
            let new = actions.iter().filter(|(_, sequence)| *sequence > in_files);
            state.recent.extend(new.copied());
            state.recent.len() >= MEMORY_ACTIONS_MAX
        };
        if is_full {
            // The maintenance thread is too slow, or could not write.
            self.write(MEMORY_ACTIONS_MAX);
        }
    }

    pub(crate) fn sequence(&self, id: [u8; 16]) -> Result<Option<u64>, IdFileError> {
        let files = {
            let state = self.state();
            let found = state.recent.get(&id).or_else(|| state.leaving.get(&id));
            if let Some(sequence) = found {
                return Ok(Some(*sequence));
            }
            Arc::clone(&state.files)
        };
        for file in files.iter().rev() {
            if let Some(sequence) = file.sequence(&id)? {
                return Ok(Some(sequence));
            }
        }
        Ok(None)
    }

    pub(crate) fn files(&self) -> Arc<Vec<Arc<IdFile>>> {
        Arc::clone(&self.state().files)
    }

    /// The sequence up to which every action is in a file.
    pub(crate) fn in_files(&self) -> u64 {
        self.state().in_files()
    }

    /// Writes all actions in memory to a file, once at least `count_min` were added since the last file was begun. It
    /// waits while another thread writes one. After a failure the actions stay in memory, and the log has them.
    pub(crate) fn write(&self, count_min: usize) {
        let _one_at_a_time = self.writing.lock();
        let Some((first, actions)) = self.take(count_min) else {
            return;
        };
        let mut entries: Vec<ActionIndexEntry> =
            actions.iter().map(|(id, at)| (*id, *at)).collect();
        entries.sort_unstable();
        let last = entries.iter().map(|(_, sequence)| *sequence).max();
        let last = last.unwrap_or(0);
        let entries = entries.into_iter().map(Ok);
        // The end of the server waits for this write.
        let never = AtomicBool::new(false);
        let place = (&*self.dir, UnfinishedFile::New);
        match IdFile::write(&*self.env, place, (first, last), entries, &never) {
            Ok(file) => {
                let mut state = self.state();
                Arc::make_mut(&mut state.files).push(Arc::new(file));
                state.leaving = Arc::default();
            }
            Err(error) => {
                tracing::warn!(%error, "the ids of actions could not be written; it will be retried later");
            }
        }
    }

    /// All actions in memory with their first sequence, once at least `count_min` were added since the last file was
    /// begun. So a failed write is not retried at every look.
    fn take(&self, count_min: usize) -> Option<(u64, Arc<SequenceMap>)> {
        let mut state = self.state();
        let first = state.in_files() + 1;
        let ActionIndexState {
            recent, leaving, ..
        } = &mut *state;
        let is_nothing = recent.is_empty() && leaving.is_empty();
        if recent.len() < count_min || is_nothing {
            return None;
        }
        // As many are likely to come until the next file, and a growing table would be copied repeatedly.
        let mut next = SequenceMap::default();
        next.reserve(recent.len());
        let mut all = std::mem::replace(recent, next);
        // Actions of a failed write go into this file.
        all.extend(leaving.iter());
        *leaving = Arc::new(all);
        Some((first, Arc::clone(leaving)))
    }

    /// Merges some files into one, if there are many; calls `between` regularly. Returns whether there may be more to
    /// do right away.
    pub(crate) fn merge(&self, between: &mut dyn FnMut(usize)) -> bool {
        let _one_at_a_time = self.merging.lock();
        let files = {
            let state = self.state();
            if state.files.len() <= state.unmerged {
                return false;
            }
            Arc::clone(&state.files)
        };
        let Some(merged) = merge::next(&files) else {
            return false;
        };
        let [oldest, .., newest] = merged else {
            return false;
        };
        let range = (oldest.first, newest.last);
        let mut part = 0;
        let entries = merge::entries(merged).inspect(|_| {
            part = (part + 1) % MERGED_BETWEEN;
            if part == 0 {
                between(0);
            }
        });
        let place = (&*self.dir, UnfinishedFile::Merged);
        let file = match IdFile::write(&*self.env, place, range, entries, &self.ending) {
            Ok(file) => Arc::new(file),
            Err(IdFileError::Ended) => return false,
            Err(error) => {
                tracing::warn!(%error, "files of action ids could not be merged; it will be retried later");
                self.state().unmerged = files.len();
                return false;
            }
        };
        {
            let mut state = self.state();
            state.unmerged = 0;
            let files = Arc::make_mut(&mut state.files);
            let at = files.partition_point(|file| file.last < range.0);
            files.splice(at..at + merged.len(), [file]);
        }
        for file in merged {
            // A look-up may still have the file open. If the removal fails, the next start repeats it.
            let _ = self.env.remove(&file.path(&self.dir));
        }
        true
    }

    /// Makes a [`Self::merge`] on another thread end soon.
    pub(crate) fn end(&self) {
        self.ending.store(true, Ordering::Relaxed);
    }
}

/// Wraps an error of the directory itself.
fn in_dir(dir: &Path) -> impl Fn(io::Error) -> IdFileError + use<> {
    let name = dir.display().to_string();
    move |source| IdFileError::Io {
        name: name.clone(),
        source,
    }
}

#[cfg(test)]
mod tests;

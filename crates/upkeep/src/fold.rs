//! Folds of a log into a scratch store, and the roots of the state that they give on the way. A signed root has to be
//! the fold's after as many batches.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kedge_log::env::RealEnv;
use kedge_log::{LogReader, SideKeys};
use kedge_protocol::chain::LogLeaf;
use kedge_protocol::checkpoint::SignedCheckpoint;
use kedge_protocol::eip712::Domain;
use kedge_protocol::record::RequestRecord;
use kedge_protocol::state::EMPTY_STATE_ROOT;
use kedge_protocol::{Address, BatchKeys as _, Hash, SequencerKeys};
use kedge_replay::apply::LogApplier;
use kedge_replay::frame_hashes::HashedFrame;
use kedge_storage::{
    ARCHIVED_LIST, SideEntry, StateRoot, Store, StoreOptions, StoreSnapshot, StoredFrame,
    WriteGroup,
};
use tempfile::TempDir;

use crate::bounds::MemoryBounds;
use crate::verify::VerifyError;

/// Bytes of rows that are gathered before they are written.
const GROUP_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Bytes of cached decompressed blocks: a fold reads each block once.
const CACHE_BYTES: u64 = 16 * 1024 * 1024;

/// A signed root that the log does not give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "after {batches} batches the log gives the state {made}, but the signed checkpoint has {signed}: the sequencer signed \
     a state that the log did not make, or the checkpoint was changed"
)]
pub struct RootDifference {
    /// How many batches the checkpoint covers.
    pub batches: u64,
    /// The root in the checkpoint.
    pub signed: Hash,
    /// The root that the log gives.
    pub made: Hash,
}

/// Rows of a fold, in a scratch store, which spills rows to disk and reads them back.
pub(crate) struct StateFold<'a> {
    apply: LogApplier,
    rows: FoldRows<'a>,
}

/// Where a fold writes.
#[derive(Clone, Copy)]
pub(crate) struct FoldRows<'a> {
    pub(crate) made: &'a Store,
    /// Memory of the fold, in bytes.
    pub(crate) memory_bytes: usize,
}

impl<'a> StateFold<'a> {
    /// Begins with the log's first request.
    pub(crate) fn new(rows: FoldRows<'a>, operators: Vec<Address>) -> Self {
        Self {
            apply: LogApplier::from_nothing(operators).state_alone(),
            rows,
        }
    }

    /// Applies the next request.
    pub(crate) fn request(
        &mut self,
        record: &RequestRecord<'_>,
        leaves: &[LogLeaf],
    ) -> Result<(), VerifyError> {
        self.apply.request(record, leaves)?;
        self.rows.make_room(&mut self.apply)
    }

    /// Writes all rows, which then show the state after the last request.
    pub(crate) fn write(&mut self) -> Result<(), VerifyError> {
        self.rows.write(&mut self.apply)
    }

    /// Compares the signed roots that are due after this many batches, which the fold holds.
    ///
    /// # Errors
    /// [`VerifyError::Root`] if one differs.
    pub(crate) fn compare(
        &mut self,
        roots: &mut SignedRoots,
        batches: u64,
        log: &StoreSnapshot,
    ) -> Result<(), VerifyError> {
        if roots.is_due(batches) {
            let made = self.rows.root(&mut self.apply, batches, Some(log))?;
            roots.compare(&made)?;
        }
        Ok(())
    }
}

impl FoldRows<'_> {
    /// Writes what was gathered, once it is much.
    fn make_room(self, apply: &mut LogApplier) -> Result<(), VerifyError> {
        if apply.memory_bytes() >= self.memory_bytes {
            self.write(apply)?;
            apply.rest_on(self.made.snapshot());
        } else if apply.len_bytes() >= GROUP_BYTES_MAX {
            self.made.put_rows(&apply.take_formed())?;
        }
        Ok(())
    }

    fn write(self, apply: &mut LogApplier) -> Result<(), VerifyError> {
        apply.finish(GROUP_BYTES_MAX, |group| -> Result<(), VerifyError> {
            self.made.put_rows(&group)?;
            Ok(())
        })
    }

    /// The root of the state after this many batches, which were applied; `log` reads the log if the store does not.
    fn root(
        self,
        apply: &mut LogApplier,
        batches: u64,
        log: Option<&StoreSnapshot>,
    ) -> Result<StateRoot, VerifyError> {
        self.write(apply)?;
        let own = self.made.snapshot();
        Ok(self.made.make_scratch_state(batches, log.unwrap_or(&own))?)
    }
}

/// Signed roots that a fold still has to give, in the order of their batches.
pub(crate) struct SignedRoots {
    due: VecDeque<(u64, Hash)>,
    /// How many there were.
    count: u64,
}

impl SignedRoots {
    /// The roots of these checkpoints, less those over an empty log, which are compared already.
    pub(crate) fn new(checkpoints: &[SignedCheckpoint]) -> Result<Self, RootDifference> {
        let checkpoints = checkpoints.iter().map(|signed| &signed.checkpoint);
        let roots = checkpoints.map(|checkpoint| (checkpoint.batches, checkpoint.state));
        let mut due: Vec<(u64, Hash)> = roots.collect();
        due.sort_unstable();
        due.dedup();
        let mut roots = Self {
            count: due.len() as u64,
            due: due.into(),
        };
        roots.compare(&StateRoot {
            batches: 0,
            root: EMPTY_STATE_ROOT,
        })?;
        Ok(roots)
    }

    fn is_due(&self, batches: u64) -> bool {
        self.due.front().is_some_and(|(due, _)| *due == batches)
    }

    fn compare(&mut self, made: &StateRoot) -> Result<(), RootDifference> {
        let (batches, made) = (made.batches, made.root);
        while let Some((_, signed)) = self.due.pop_front_if(|(due, _)| *due == batches) {
            if made != signed {
                return Err(RootDifference {
                    batches,
                    signed,
                    made,
                });
            }
        }
        Ok(())
    }
}

/// A log that is folded without a store.
pub struct LogFold {
    reader: LogReader,
    side_keys: SideKeys,
    bounds: MemoryBounds,
    /// Directory of the rows, and of links to segments.
    scratch: TempDir,
}

impl LogFold {
    /// Opens the segments in the folder `log`, which stay unchanged, and those in the folder of an archive. `keys` open
    /// the side entries.
    ///
    /// # Errors
    /// [`VerifyError`] if the segments cannot be read, or the first ones are elsewhere.
    pub fn open(
        log: &Path,
        archive: Option<&Path>,
        side_keys: SideKeys,
        bounds: MemoryBounds,
    ) -> Result<Self, VerifyError> {
        let scratch = bounds.folder()?;
        let dir = match archive {
            None => log.to_owned(),
            Some(archive) => linked(&[archive, log], scratch.path())?,
        };
        let (reader, _) = LogReader::open(Arc::new(RealEnv), &dir, None, CACHE_BYTES)
            .map_err(|error| VerifyError::Segments(Box::new(error)))?;
        if reader.first_frame() > 1 {
            return Err(VerifyError::Begun {
                path: log.to_owned(),
                sequence: reader.first_sequence(),
            });
        }
        Ok(Self {
            reader,
            side_keys,
            bounds,
            scratch,
        })
    }

    /// How many batches the log holds.
    pub fn batches(&self) -> u64 {
        self.reader.position().next_batch
    }

    /// The signed checkpoints with a root of the state that the log's side entries hold, in order.
    ///
    /// # Errors
    /// The log cannot be read, or its side entries cannot be opened.
    pub fn checkpoints(&self) -> Result<Vec<SignedCheckpoint>, VerifyError> {
        let mut found = Vec::new();
        for frame in self.reader.frames(1) {
            let frame = frame?;
            let entries = self.side(&frame)?;
            let signed = WriteGroup::rooted_checkpoints_in(&entries);
            found.extend(signed.map_err(|error| in_frame(&frame, &error))?);
        }
        found.sort_by_key(|signed| signed.checkpoint.batches);
        Ok(found)
    }

    /// Checks that every checkpoint is a signed one of this log, folds the log to its end under the rules, and compares
    /// the root of every checkpoint. Without checkpoints nothing is folded. Calls `progress` with the number of batches
    /// so far. Returns how many roots were compared.
    ///
    /// # Errors
    /// [`VerifyError::Root`] if one differs; the log cannot be read or applied.
    pub fn verify_roots(
        &self,
        checkpoints: &[SignedCheckpoint],
        keys: &SequencerKeys,
        mut progress: impl FnMut(u64),
    ) -> Result<u64, VerifyError> {
        for signed in checkpoints {
            self.check_checkpoint(signed, keys)?;
        }
        let mut roots = SignedRoots::new(checkpoints)?;
        if !roots.due.is_empty() {
            let made = self.scratch_store()?;
            self.fold(&made, self.batches(), |rows, apply, batches| {
                if roots.is_due(batches) {
                    roots.compare(&rows.root(apply, batches, None)?)?;
                }
                progress(batches);
                Ok(())
            })?;
        }
        Ok(roots.count)
    }

    /// Checks who signed a checkpoint, and that the log is as it says.
    fn check_checkpoint(
        &self,
        signed: &SignedCheckpoint,
        keys: &SequencerKeys,
    ) -> Result<(), VerifyError> {
        let checkpoint = &signed.checkpoint;
        let batches = checkpoint.batches;
        let wrong = |what| VerifyError::Checkpoint { batches, what };
        let signer = signed
            .signature
            .recover(&checkpoint.digest(&self.reader.identity()));
        if signer != Ok(keys.key_of_checkpoint(batches)) {
            return Err(wrong("it is not signed with the key of its last batch"));
        }
        let found = match batches.checked_sub(1) {
            None => (self.reader.identity(), 0),
            Some(last) => {
                let held = self.batches();
                let batch = self.reader.batch(last)?;
                let header = batch.ok_or(VerifyError::Short { batches, held })?.header;
                (header.head, header.last_sequence())
            }
        };
        if found != (checkpoint.head, checkpoint.sequence) {
            return Err(wrong("its head or its sequence is not the log's"));
        }
        Ok(())
    }

    /// Folds the log up to this many batches. Returns a store whose rows and root are those after them; it lasts as long
    /// as the fold.
    ///
    /// # Errors
    /// [`VerifyError::Root`] if the root differs from the checkpoint's; the log cannot be read or applied, or is shorter.
    pub fn state_at(
        &self,
        checkpoint: &SignedCheckpoint,
        mut progress: impl FnMut(u64),
    ) -> Result<StoreSnapshot, VerifyError> {
        let until = checkpoint.checkpoint.batches;
        let mut roots = SignedRoots::new(std::slice::from_ref(checkpoint))?;
        let made = self.scratch_store()?;
        let mut state = None;
        self.fold(&made, until, |rows, apply, batches| {
            progress(batches);
            if batches == until {
                roots.compare(&rows.root(apply, batches, None)?)?;
                state = Some(rows.made.snapshot());
            }
            Ok(())
        })?;
        state.ok_or(VerifyError::Short {
            batches: until,
            held: self.batches(),
        })
    }

    fn scratch_store(&self) -> Result<Store, VerifyError> {
        let folder = tempfile::Builder::new()
            .prefix("rows-")
            .tempdir_in(self.scratch.path())?;
        // The scratch folder holds it, and is removed with it.
        let path = folder.keep();
        // The rows of the state name no domain and no first key.
        let domain = Domain {
            chain_id: 0,
            verifying_contract: Address::ZERO,
        };
        let options = StoreOptions::of_store(&path, domain, Address::ZERO);
        let options = self.bounds.of_store(options);
        Ok(Store::scratch_over(options, self.reader.clone())?)
    }

    /// Applies frames up to the one with the last of `until` batches; `each` is called after every batch.
    fn fold(
        &self,
        made: &Store,
        until: u64,
        mut each: impl FnMut(FoldRows<'_>, &mut LogApplier, u64) -> Result<(), VerifyError>,
    ) -> Result<(), VerifyError> {
        let memory_bytes = self.bounds.rows_bytes();
        let rows = FoldRows { made, memory_bytes };
        let mut apply = LogApplier::from_nothing(Vec::new()).state_alone();
        for frame in self.reader.frames(1) {
            let frame = frame?;
            let operators = WriteGroup::operators_in(&self.side(&frame)?);
            if let Some(operators) = operators.map_err(|error| in_frame(&frame, &error))? {
                apply.set_operators(operators);
            }
            let next = frame.header().next_batch();
            let hashed = HashedFrame::of(frame)?;
            apply.frame_by_batch(&hashed, |apply, batches| each(rows, apply, batches))?;
            rows.make_room(&mut apply)?;
            if next >= until {
                break;
            }
        }
        Ok(())
    }

    fn side(&self, frame: &StoredFrame) -> Result<Vec<SideEntry>, VerifyError> {
        let opened = frame.side(&self.reader.identity(), &self.side_keys);
        opened.map_err(|error| in_frame(frame, &error))
    }
}

fn in_frame(frame: &StoredFrame, error: &dyn std::fmt::Display) -> VerifyError {
    let what = error.to_string();
    VerifyError::Side {
        frame: frame.header().number,
        what,
    }
}

/// Makes a folder of links to the files of some folders; of two files with one name the later folder's.
fn linked(folders: &[&Path], scratch: &Path) -> Result<PathBuf, VerifyError> {
    let all = scratch.join("log");
    std::fs::create_dir(&all)?;
    for folder in folders {
        for entry in std::fs::read_dir(folder.canonicalize()?)? {
            let (name, from) = entry.map(|entry| (entry.file_name(), entry.path()))?;
            if !from.is_file() || name == ARCHIVED_LIST {
                continue;
            }
            let link = all.join(name);
            if link.is_symlink() {
                std::fs::remove_file(&link)?;
            }
            std::os::unix::fs::symlink(&from, &link)?;
        }
    }
    Ok(all)
}

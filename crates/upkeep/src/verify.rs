//! Verification of a whole store: every hash, header and signature of its log, and its state, which must equal a replay
//! of the log byte for byte.

use std::cell::Cell;
use std::io;
use std::path::{Path, PathBuf};

use kedge_config::secrets::SecretError;
use kedge_log::{LogOpenError, LogReadError};
use kedge_protocol::eip712::Domain;
use kedge_protocol::resource::FileRecord;
use kedge_protocol::state::EntryError;
use kedge_protocol::{Hash, SequencerKeys};
use kedge_replay::apply::ApplyError;
use kedge_replay::catch_up::open_store_within;
use kedge_storage::content_path;
use kedge_storage::verify::{self as log, StoreVerifyPlan, StoreVerifyProgress};
use kedge_storage::{
    CommitError, MissingMark, StateError, Store, StoreAccess, StoreOpenError, StoreOptions,
    StoreSnapshot,
};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::archive::{self, ArchiveError};
use crate::bounds::MemoryBounds;
use crate::fold::{FoldRows, RootDifference, SignedRoots, StateFold};
use crate::side_keys;

/// Counts of verified items.
pub use kedge_storage::verify::StoreVerifySummary;

/// Why a store does not verify.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// The store does not open.
    #[error(transparent)]
    Open(#[from] StoreOpenError),
    /// The first wrong sequence of the log, or its unreadable range.
    #[error(transparent)]
    Log(#[from] kedge_storage::StoreFault),
    #[error("the stored state differs from a replay of the log: {0}")]
    State(#[from] log::StoreDifference),
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// Keys of the log's side entries cannot be read.
    #[error(transparent)]
    Keys(#[from] SecretError),
    #[error(transparent)]
    Read(#[from] kedge_storage::StoreReadError),
    #[error("the replay could not be written: {0}")]
    Replay(#[from] CommitError),
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// A signed root is not the one that the log gives.
    #[error(transparent)]
    Root(#[from] RootDifference),
    /// A root cannot be made.
    #[error("a root of the state could not be made: {0}")]
    MakeRoot(#[from] StateError),
    /// An entry of the state is malformed.
    #[error("the state holds an entry that is malformed, which is a fault: {0}")]
    Entry(#[from] EntryError),
    /// The segments of a log do not open.
    #[error(transparent)]
    Segments(Box<LogOpenError>),
    /// A frame of a log cannot be read.
    #[error(transparent)]
    Frame(#[from] LogReadError),
    /// A log whose first segments are elsewhere.
    #[error(
        "{path} begins at sequence {sequence}, and a fold needs the log from its beginning: name the archive's directory \
         that holds the segments before",
        path = .path.display()
    )]
    Begun {
        /// The log's folder.
        path: PathBuf,
        /// Its first sequence.
        sequence: u64,
    },
    /// Side entries of a frame cannot be opened or read.
    #[error("frame {frame}: {what}")]
    Side {
        /// The frame's number.
        frame: u64,
        /// Why.
        what: String,
    },
    /// A checkpoint in the log's side entries is not one of this log.
    #[error("the checkpoint over {batches} batches: {what}")]
    Checkpoint {
        /// How many batches it covers.
        batches: u64,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A checkpoint covers more batches than the log holds.
    #[error(
        "a signed checkpoint covers {batches} batches, but the log holds only {held}: its end is missing"
    )]
    Short {
        /// How many batches the checkpoint covers.
        batches: u64,
        /// How many the log holds.
        held: u64,
    },
    /// The rows give no proof.
    #[error(
        "the rows after {batches} batches give no proof under the checkpoint's root: check them with `kedge verify data`"
    )]
    Unproven {
        /// How many batches the checkpoint covers.
        batches: u64,
    },
    /// No temporary directory can be created.
    #[error("no temporary directory for the replay: {0}")]
    Temporary(#[from] io::Error),
}

/// Depth of a check. Each level includes the previous ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum StoreCheckLevel {
    /// Every hash, tree, chain and index of the log, and the signatures of batches and anchors.
    Hashes,
    /// The signature of every request.
    Signatures,
    /// The state, which must equal a replay of the log under the rules.
    State,
}

/// A store opened for verification. It is never modified, and no server may have it open.
pub struct StoreVerifier {
    store: Store,
    plan: StoreVerifyPlan,
    bounds: MemoryBounds,
    /// Directory of the view, if the store lags its log.
    _scratch: Option<TempDir>,
}

/// Verifies the store in `path`, except the contents of files.
pub fn store(
    path: &Path,
    domain: Domain,
    keys: impl Into<SequencerKeys>,
    progress: impl FnMut(StoreVerifyProgress),
) -> Result<StoreVerifySummary, VerifyError> {
    StoreVerifier::open(path, domain, keys, MemoryBounds::default())?
        .check(StoreCheckLevel::State, progress)
}

impl StoreVerifier {
    /// Opens the store in `path`, which must hold the log of these keys: all of them, or the first ones, which the log
    /// continues.
    pub fn open(
        path: &Path,
        domain: Domain,
        keys: impl Into<SequencerKeys>,
        bounds: MemoryBounds,
    ) -> Result<Self, VerifyError> {
        let plan = StoreVerifyPlan::new(domain, keys);
        let options = StoreOptions::of_store(path, plan.domain, plan.keys.first());
        let options = bounds.of_store(options);
        match Store::open_to_verify(options) {
            Ok(store) => {
                archive::announce(&store, &path.with_file_name(""))?;
                Ok(Self {
                    store,
                    plan,
                    bounds,
                    _scratch: None,
                })
            }
            Err(StoreOpenError::Behind { .. }) => Self::brought_up(path, plan, bounds),
            Err(error) => Err(error.into()),
        }
    }

    /// Verifies a store that lags its log, as after a crash. A view of it in another directory is first brought up to
    /// date, like the store itself at a start.
    fn brought_up(
        path: &Path,
        plan: StoreVerifyPlan,
        bounds: MemoryBounds,
    ) -> Result<Self, VerifyError> {
        let scratch = bounds.folder()?;
        let view = scratch.path().join("store");
        std::fs::create_dir(&view)?;
        for entry in std::fs::read_dir(path.canonicalize()?)? {
            let entry = entry?;
            let (name, from) = (entry.file_name(), entry.path());
            // Table files never change. Removing one from the view removes only a link.
            if from.extension().is_some_and(|end| end == "sst") {
                std::os::unix::fs::symlink(&from, view.join(name))?;
            } else if entry.file_type()?.is_file() && name != "LOCK" {
                std::fs::copy(&from, view.join(name))?;
            }
        }
        let data = path.with_file_name("");
        let of = (plan.domain, plan.keys.clone());
        let verifier = Self::derive(&data, &view, of, bounds, |_| ())?;
        Ok(Self {
            plan,
            _scratch: Some(scratch),
            ..verifier
        })
    }

    /// Builds a store in `path` from the log of the data directory `data`, which stays unchanged, to verify both. Calls
    /// `progress` with the last batch after each frame.
    ///
    /// # Errors
    /// [`VerifyError`] if the log cannot be read or applied.
    pub fn derive(
        data: &Path,
        path: &Path,
        (domain, keys): (Domain, impl Into<SequencerKeys>),
        bounds: MemoryBounds,
        mut progress: impl FnMut(u64),
    ) -> Result<Self, VerifyError> {
        let plan = StoreVerifyPlan::new(domain, keys);
        let options = bounds.of_store(StoreOptions {
            log_path: data.join("log"),
            side_keys: side_keys::read(&data.join("keys"))?,
            access: StoreAccess::Derive,
            ..StoreOptions::of_store(path, plan.domain, plan.keys.first())
        });
        let (missing, rows_bytes) = (MissingMark::ReadOnly, bounds.rows_bytes());
        let store = open_store_within(options, missing, rows_bytes, |done| progress(done.batches))?;
        Ok(Self {
            store,
            plan,
            bounds,
            _scratch: None,
        })
    }

    /// The rows.
    pub(crate) fn snapshot(&self) -> StoreSnapshot {
        self.store.snapshot()
    }

    /// The sequencer's keys according to the store.
    pub fn sequencer_keys(&self) -> Result<SequencerKeys, VerifyError> {
        Ok(self.store.snapshot().sequencer_keys()?)
    }

    /// Checks the store to this level. With the state, every root that the store's checkpoints and anchors hold must be
    /// the one of the replay after as many batches. Calls `progress` after each batch of the log.
    pub fn check(
        &self,
        checks: StoreCheckLevel,
        mut progress: impl FnMut(StoreVerifyProgress),
    ) -> Result<StoreVerifySummary, VerifyError> {
        let snapshot = self.store.snapshot();
        let scratch = self.bounds.folder()?;
        let plan = StoreVerifyPlan {
            request_signatures: checks >= StoreCheckLevel::Signatures,
            ..self.plan.clone()
        };
        let plan = plan.within(self.bounds.compared_bytes(), scratch.path());
        if checks < StoreCheckLevel::State {
            return Ok(log::verify(&snapshot, &plan, progress, |_, _| Ok(()))?);
        }
        let replay_path = scratch.path().join("replay");
        let made = StoreOptions::of_store(&replay_path, plan.domain, plan.keys.first());
        let made = Store::scratch(self.bounds.of_store(made))?;
        let rows = FoldRows {
            made: &made,
            memory_bytes: self.bounds.rows_bytes(),
        };
        let mut fold = StateFold::new(rows, snapshot.operators()?);
        let mut roots = SignedRoots::new(&snapshot.rooted_checkpoints()?)?;
        // How many batches the fold holds, before the next request.
        let batches = Cell::new(0);
        let mut unrooted = None;
        let walked = log::verify(
            &snapshot,
            &plan,
            |at: StoreVerifyProgress| {
                batches.set(at.batches);
                progress(at);
            },
            |record, leaves| {
                let compared = fold.compare(&mut roots, batches.get(), &snapshot);
                let stopped = compared.map_err(|error| unrooted.insert(error).to_string());
                stopped?;
                let applied = fold.request(record, leaves);
                applied.map_err(|error| error.to_string())
            },
        );
        if let Some(error) = unrooted {
            return Err(error);
        }
        let summary = walked?;
        fold.compare(&mut roots, summary.batches, &snapshot)?;
        fold.write()?;
        log::compare_state(&snapshot, &made.snapshot())?;
        Ok(summary)
    }

    /// Checks that `folder` holds the content of every file in the store, with its digest. Calls `finding` with each
    /// faulty file and its fault; returns the number of files.
    pub fn contents(
        &self,
        folder: &Path,
        mut finding: impl FnMut(&FileRecord, &str),
    ) -> Result<u64, VerifyError> {
        let snapshot = self.store.snapshot();
        let mut count = 0;
        for file in snapshot.every::<FileRecord>() {
            let file = file?;
            count += 1;
            match digest_of(&content_path(folder, &file.sha256)) {
                Ok(digest) if digest == file.sha256 => {}
                Ok(digest) => finding(&file, &format!("its content has the digest {digest}")),
                Err(error) => finding(&file, &format!("its content cannot be read: {error}")),
            }
        }
        Ok(count)
    }
}

fn digest_of(path: &Path) -> io::Result<Hash> {
    let mut hasher = Sha256::new();
    let mut content = std::fs::File::open(path)?;
    let mut piece = vec![0; 64 * 1024];
    loop {
        match io::Read::read(&mut content, &mut piece)? {
            0 => return Ok(Hash(hasher.finalize().into())),
            count => hasher.update(&piece[..count]),
        }
    }
}

//! Verification of a whole store: every hash, header and signature of its log, and its state, which must equal a replay
//! of the log byte for byte.

use std::io;
use std::path::Path;

use kedge_config::secrets::SecretError;
use kedge_protocol::chain::LogLeaf;
use kedge_protocol::eip712::Domain;
use kedge_protocol::record::RequestRecord;
use kedge_protocol::resource::FileRecord;
use kedge_protocol::{Hash, SequencerKeys};
use kedge_replay::apply::{ApplyError, LogApplier};
use kedge_replay::catch_up::open_store_within;
use kedge_storage::content_path;
use kedge_storage::verify::{self as log, StoreVerifyPlan, StoreVerifyProgress};
use kedge_storage::{CommitError, MissingMark, Store, StoreAccess, StoreOpenError, StoreOptions};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::archive::{self, ArchiveError};
use crate::bounds::MemoryBounds;
use crate::side_keys;

/// Counts of verified items.
pub use kedge_storage::verify::StoreVerifySummary;

/// Bytes that the replay buffers before writing.
const GROUP_BYTES_MAX: usize = 8 * 1024 * 1024;

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

    /// The sequencer's keys according to the store.
    pub fn sequencer_keys(&self) -> Result<SequencerKeys, VerifyError> {
        Ok(self.store.snapshot().sequencer_keys()?)
    }

    /// Checks the store to this level. Calls `progress` after each batch of the log.
    pub fn check(
        &self,
        checks: StoreCheckLevel,
        progress: impl FnMut(StoreVerifyProgress),
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
        let mut replay = StoreVerifyReplay {
            apply: LogApplier::from_nothing(snapshot.operators()?).state_alone(),
            made: &made,
            memory_bytes: self.bounds.rows_bytes(),
        };
        let summary = log::verify(&snapshot, &plan, progress, |record, leaves| {
            let applied = replay.request(record, leaves);
            applied.map_err(|error| error.to_string())
        })?;
        replay.write()?;
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

/// A replay of the log into a store of rows, which spills rows to disk and reads them back.
struct StoreVerifyReplay<'a> {
    apply: LogApplier,
    made: &'a Store,
    memory_bytes: usize,
}

impl StoreVerifyReplay<'_> {
    fn request(
        &mut self,
        record: &RequestRecord<'_>,
        leaves: &[LogLeaf],
    ) -> Result<(), VerifyError> {
        self.apply.request(record, leaves)?;
        if self.apply.memory_bytes() >= self.memory_bytes {
            self.write()?;
            self.apply.rest_on(self.made.snapshot());
        } else if self.apply.len_bytes() >= GROUP_BYTES_MAX {
            self.made.put_rows(&self.apply.take_formed())?;
        }
        Ok(())
    }

    fn write(&mut self) -> Result<(), VerifyError> {
        let made = self.made;
        self.apply
            .finish(GROUP_BYTES_MAX, |group| -> Result<(), VerifyError> {
                made.put_rows(&group)?;
                Ok(())
            })
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

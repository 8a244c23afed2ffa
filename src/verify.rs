//! Verifying a whole store: every hash, header and signature of its log, and its state, which must
//! be to the byte what a replay of the log with the rules makes.

use std::io;
use std::path::Path;

use kedge_actors::apply::{Apply, ApplyError};
use kedge_protocol::eip712::Domain;
use kedge_protocol::resource::File;
use kedge_protocol::{Address, Hash, SequencerKeys};
use kedge_storage::verify::{self as log, Plan, Progress};
use kedge_storage::{CommitError, Group, OpenError, Options, Store};
use sha2::{Digest as _, Sha256};

use crate::files::place;

/// What was checked.
pub use kedge_storage::verify::Summary;

/// Memory for rows that are looked up by themselves: headers, leaves, the tree's nodes.
const CACHE_BYTES: usize = 64 * 1024 * 1024;
/// Memory for rows of the store that the replay fills.
const MEMTABLE_BYTES: usize = 64 * 1024 * 1024;
/// Write-ahead log of the replay's store.
const WAL_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Bytes that the replay gathers before it writes them.
pub(crate) const GROUP_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Why a store does not hold.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// It does not even open.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The log: the first sequence that is wrong, or the range that cannot be read.
    #[error(transparent)]
    Log(#[from] kedge_storage::Fault),
    /// The state is not what the log makes.
    #[error("the stored state is not what a replay of the log makes: {0}")]
    State(#[from] log::Difference),
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] kedge_storage::ReadError),
    /// The replay had no room to work in.
    #[error("the replay could not be written down: {0}")]
    Replay(#[from] CommitError),
    /// The replay could not be finished.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// No temporary directory.
    #[error("no temporary directory for the replay: {0}")]
    Temporary(#[from] io::Error),
}

/// How much of a store is checked. Each includes what stands before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Checks {
    /// Every hash, tree, chain and index of the log, and the signatures of batches and anchors.
    Hashes,
    /// The signature of every request.
    Signatures,
    /// The state, which must be what a replay of the log with the rules makes.
    State,
}

/// A store that is open to be verified. Not a byte of it is changed, and no server may have it open.
pub struct Verifier {
    store: Store,
    plan: Plan,
}

/// Verifies everything in the store in `path` but the content of files.
pub fn store(
    path: &Path,
    domain: Domain,
    keys: impl Into<SequencerKeys>,
    progress: impl FnMut(Progress),
) -> Result<Summary, VerifyError> {
    Verifier::open(path, domain, keys)?.check(Checks::State, progress)
}

impl Verifier {
    /// Opens the store in `path`, which must hold the log of these keys: all of them, or the first ones,
    /// which the log itself continues.
    pub fn open(
        path: &Path,
        domain: Domain,
        keys: impl Into<SequencerKeys>,
    ) -> Result<Self, VerifyError> {
        let plan = Plan::new(domain, keys);
        let store = Store::open_to_verify(options(path, plan.domain, plan.keys.first()))?;
        Ok(Self { store, plan })
    }

    /// The sequencer's keys, as the store names them.
    pub fn sequencer_keys(&self) -> Result<SequencerKeys, VerifyError> {
        Ok(self.store.snapshot().sequencer_keys()?)
    }

    /// Checks the store this far. `progress` is called after each batch of the log.
    pub fn check(
        &self,
        checks: Checks,
        progress: impl FnMut(Progress),
    ) -> Result<Summary, VerifyError> {
        let snapshot = self.store.snapshot();
        let plan = Plan {
            request_signatures: checks >= Checks::Signatures,
            ..self.plan.clone()
        };
        if checks < Checks::State {
            return Ok(log::verify(&snapshot, &plan, progress, |_, _| Ok(()))?);
        }
        let scratch = tempfile::tempdir()?;
        let replay_path = scratch.path().join("replay");
        let made = Store::open(options(&replay_path, plan.domain, plan.keys.first()))?;
        // Nothing waits for the disk: what is lost with the machine is made again.
        let write = |group: Group| made.write(group).map(|_| ());
        let mut replay = Apply::from_nothing(snapshot.operators()?).state_alone();
        let summary = log::verify(&snapshot, &plan, progress, |record, leaves| {
            let applied = replay.request(record, leaves);
            applied.map_err(|error| error.to_string())?;
            if replay.len_bytes() >= GROUP_BYTES_MAX {
                write(replay.take_formed()).map_err(|error| error.to_string())?;
            }
            Ok(())
        })?;
        replay.finish(GROUP_BYTES_MAX, |group| -> Result<(), VerifyError> {
            Ok(write(group)?)
        })?;
        log::compare_state(&snapshot, &made.snapshot())?;
        Ok(summary)
    }

    /// Checks that the content of every file that the store names is in `folder` and has its digest.
    /// `finding` is told what is wrong with which; gives how many files there are.
    pub fn contents(
        &self,
        folder: &Path,
        mut finding: impl FnMut(&File, &str),
    ) -> Result<u64, VerifyError> {
        let snapshot = self.store.snapshot();
        let mut count = 0;
        for file in snapshot.every_file() {
            let file = file?;
            count += 1;
            match digest_of(&place(folder, &file.sha256)) {
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

pub(crate) fn options(path: &Path, domain: Domain, sequencer: Address) -> Options {
    Options {
        path: path.to_owned(),
        domain,
        sequencer,
        high_water_path: None,
        block_cache_bytes: CACHE_BYTES,
        memtable_bytes: MEMTABLE_BYTES,
        wal_bytes_max: WAL_BYTES_MAX,
        read_only: false,
    }
}

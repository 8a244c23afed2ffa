//! Verifying a whole store: every hash, header and signature of its log, and its state, which must
//! be to the byte what a replay of the log with the rules makes.

use std::collections::hash_map::Entry;
use std::io;
use std::path::Path;

use kedge_actors::put_image;
use kedge_machine::fold::State;
use kedge_machine::image::Image;
use kedge_protocol::chain::Leaf;
use kedge_protocol::eip712::Domain;
use kedge_protocol::ids::IdMap;
use kedge_protocol::limits::OBJECT_HISTORY_MAX;
use kedge_protocol::record::RequestRecord;
use kedge_protocol::resource::{File, Object, ObjectStatus};
use kedge_protocol::{Address, Hash, Id, SequencerKeys};
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
        let mut replay = Replay::new(&made, snapshot.operators()?);
        let summary = log::verify(&snapshot, &plan, progress, |record, leaves| {
            replay
                .request(record, leaves)
                .map_err(|error| error.to_string())
        })?;
        replay.finish()?;
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

/// The fold, written to a store of its own: what the committer's rows come to in the end.
pub(crate) struct Replay<'a> {
    store: &'a Store,
    state: State,
    rows: Rows,
}

/// Rows to write.
#[derive(Default)]
struct Rows {
    group: Group,
    /// Objects whose rows are behind their state, as they were when their rows were right. Their
    /// last state alone is written, for only that stays.
    behind: IdMap<Id, Before>,
}

/// What an object was before an action.
struct Before {
    owner_id: Id,
    /// Kept where they are indexed.
    properties: Option<String>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ReplayError {
    #[error(transparent)]
    Fold(#[from] kedge_machine::fold::FoldError),
    #[error(transparent)]
    Write(#[from] CommitError),
}

impl<'a> Replay<'a> {
    pub(crate) fn new(store: &'a Store, operators: Vec<Address>) -> Self {
        Self {
            store,
            state: State::new(operators),
            rows: Rows::default(),
        }
    }

    pub(crate) fn request(
        &mut self,
        record: &RequestRecord<'_>,
        leaves: &[Leaf],
    ) -> Result<(), ReplayError> {
        let Self { state, rows, .. } = self;
        state.apply_placed(record, leaves, |state, images| {
            rows.action(record, state, images);
        })?;
        if let Some(window) = state.nonces.get(&record.head.signer) {
            let signer = record.head.signer;
            rows.group.put_nonces(signer, window);
            rows.group
                .put_spent(signer, record.head.nonce, record.first_sequence);
        }
        if rows.group.len_bytes() >= GROUP_BYTES_MAX {
            self.write()?;
        }
        Ok(())
    }

    /// Writes what is not written yet.
    pub(crate) fn finish(mut self) -> Result<(), CommitError> {
        let behind = std::mem::take(&mut self.rows.behind);
        let mut behind: Vec<_> = behind.into_iter().collect();
        behind.sort_unstable_by_key(|(id, _)| *id);
        for (id, before) in behind {
            if let Some(object) = self.state.objects.get(&id) {
                self.rows.object(&self.state, object, Some(&before));
            }
            if self.rows.group.len_bytes() >= GROUP_BYTES_MAX {
                self.write()?;
            }
        }
        self.write()
    }

    /// Nothing waits for the disk: what is lost with the machine is made again.
    fn write(&mut self) -> Result<(), CommitError> {
        let group = std::mem::take(&mut self.rows.group);
        self.store.write(group).map(|_| ())
    }
}

impl Rows {
    /// What an action leaves behind; `state` is what was before it.
    fn action(&mut self, record: &RequestRecord<'_>, state: &State, images: &[Image]) {
        let acted_on = images.first().map(Image::id);
        let before = acted_on.and_then(|id| state.image(id));
        for image in images {
            match image {
                Image::Object(object) => {
                    self.changed(state, object);
                    if object.organization_id != record.organization_id {
                        let sequence = object.trace.sequence;
                        self.group
                            .put_foreign_action(object.organization_id, sequence);
                    }
                }
                image => put_image(&mut self.group, image, before.as_ref()),
            }
        }
    }

    /// An object with its next version. The first and every milestone leave rows that stay; of the
    /// others only the last does, which is written later.
    fn changed(&mut self, state: &State, object: &Object) {
        if object.status == ObjectStatus::Burned {
            let burned = state.burned.get(&object.template_id).unwrap_or(&0) + 1;
            self.group.put_burned(object.template_id, burned);
        }
        let stays = object.trace.version.is_multiple_of(OBJECT_HISTORY_MAX);
        let Some(known) = state.objects.get(&object.id) else {
            self.object(state, object, None);
            let minted = state.minted.get(&object.template_id).unwrap_or(&0) + 1;
            self.group.put_minted(object.template_id, minted);
            return;
        };
        let behind = match self.behind.entry(object.id) {
            Entry::Vacant(free) if !stays => {
                free.insert(Before::of(state, known));
                return;
            }
            Entry::Vacant(_) => Before::of(state, known),
            Entry::Occupied(_) if !stays => return,
            Entry::Occupied(behind) => behind.remove(),
        };
        self.object(state, object, Some(&behind));
    }

    /// An object's rows, which were right when it was `before`.
    fn object(&mut self, state: &State, object: &Object, before: Option<&Before>) {
        let owner = before.map(|before| before.owner_id);
        let moved_from = owner.filter(|owner| *owner != object.owner_id);
        self.group.put_object(object, moved_from);
        let rules = state.templates.get(&object.template_id);
        let Some(indexed) = rules.and_then(|rules| rules.indexed()) else {
            return;
        };
        let properties = before.and_then(|before| before.properties.as_deref());
        for change in indexed.changes(properties, &object.properties) {
            let value_before = change.before.as_deref();
            self.group
                .change_property(object, change.path, value_before, &change.after);
        }
    }
}

impl Before {
    fn of(state: &State, object: &Object) -> Self {
        let rules = state.templates.get(&object.template_id);
        let is_indexed = rules.is_some_and(|rules| rules.indexed().is_some());
        Self {
            owner_id: object.owner_id,
            properties: is_indexed.then(|| object.properties.clone()),
        }
    }
}

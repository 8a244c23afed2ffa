//! Verifying a whole store: every hash, header and signature of its log, and its state, which must
//! be to the byte what a replay of the log with the rules makes.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use kedge_actors::put_image;
use kedge_machine::fold::State;
use kedge_machine::image::Image;
use kedge_protocol::eip712::Domain;
use kedge_protocol::record::RequestRecord;
use kedge_protocol::resource::{File, Object};
use kedge_protocol::{Address, Hash, Id};
use kedge_storage::verify::{self as log, Progress};
use kedge_storage::{CommitError, Group, OpenError, Options, Store};
use sha2::{Digest as _, Sha256};

use crate::files::place;

/// What was checked.
pub use kedge_storage::verify::Summary;

/// Memory for reading: the filters and indexes of the table of action ids, which every action is looked
/// up in, must fit in one of its parts, or each look-up reads them anew.
const CACHE_BYTES: usize = 512 * 1024 * 1024;
/// Memory for rows of the store that the replay fills.
const MEMTABLE_BYTES: usize = 64 * 1024 * 1024;
/// Write-ahead log of the replay's store.
const WAL_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Bytes that the replay gathers before it writes them.
const GROUP_BYTES_MAX: usize = 8 * 1024 * 1024;

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

/// Verifies the store in `path`, without changing a byte of it. No server may have it open.
pub fn store(
    path: &Path,
    domain: Domain,
    sequencer: Address,
    progress: impl FnMut(Progress),
) -> Result<Summary, VerifyError> {
    let found = Store::open(options(path, domain, sequencer, true))?;
    let scratch = tempfile::tempdir()?;
    let replay_path = scratch.path().join("replay");
    let made = Store::open(options(&replay_path, domain, sequencer, false))?;
    let snapshot = found.snapshot();
    let mut replay = Replay::new(&made, snapshot.operators()?);
    let summary = log::verify(&snapshot, &domain, sequencer, progress, |record, _| {
        replay.request(record).map_err(|error| error.to_string())
    })?;
    replay.write()?;
    log::compare_state(&snapshot, &made.snapshot())?;
    Ok(summary)
}

/// Checks that the content of every file that the store in `path` names is in `folder` and has its
/// digest. `finding` is told what is wrong with which; gives how many files there are.
pub fn contents(
    path: &Path,
    folder: &Path,
    (domain, sequencer): (Domain, Address),
    mut finding: impl FnMut(&File, &str),
) -> Result<u64, VerifyError> {
    let store = Store::open(options(path, domain, sequencer, true))?;
    let snapshot = store.snapshot();
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

fn options(path: &Path, domain: Domain, sequencer: Address, read_only: bool) -> Options {
    Options {
        path: path.to_owned(),
        domain,
        sequencer,
        high_water_path: None,
        block_cache_bytes: CACHE_BYTES,
        memtable_bytes: MEMTABLE_BYTES,
        wal_bytes_max: WAL_BYTES_MAX,
        read_only,
    }
}

/// The fold, written to a store of its own as the committer would have written it.
struct Replay<'a> {
    store: &'a Store,
    state: State,
    group: Group,
}

/// What an object was before an action.
struct Before {
    owner_id: Id,
    /// Kept where they are indexed.
    properties: Option<String>,
}

impl Before {
    fn of(object: &Object, is_indexed: bool) -> Self {
        Self {
            owner_id: object.owner_id,
            properties: is_indexed.then(|| object.properties.clone()),
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum ReplayError {
    #[error(transparent)]
    Fold(#[from] kedge_machine::fold::FoldError),
    #[error(transparent)]
    Write(#[from] CommitError),
}

impl<'a> Replay<'a> {
    fn new(store: &'a Store, operators: Vec<Address>) -> Self {
        Self {
            store,
            state: State::new(operators),
            group: Group::new(),
        }
    }

    fn request(&mut self, record: &RequestRecord<'_>) -> Result<(), ReplayError> {
        // What the objects were before: later actions of the request must see earlier ones.
        let mut before: HashMap<Id, Before> = HashMap::new();
        for action in &record.actions {
            let Some(object) = self.state.objects.get(&action.resource) else {
                continue;
            };
            let rules = self.state.templates.get(&object.template_id);
            let is_indexed = rules.is_some_and(|rules| rules.indexed().is_some());
            before.insert(object.id, Before::of(object, is_indexed));
        }
        // What is not an object comes alone: a request holds one action on it.
        let acted_on = record.actions.first().map(|action| action.resource);
        let image_before = acted_on.and_then(|id| self.state.image(id));
        for image in self.state.apply(record)?.into_iter().flatten() {
            match image {
                Image::Object(object) => {
                    self.object(&object, &mut before);
                    if object.organization_id != record.organization_id {
                        let sequence = object.trace.sequence;
                        self.group
                            .put_foreign_action(object.organization_id, sequence);
                    }
                }
                image => put_image(&mut self.group, &image, image_before.as_ref()),
            }
        }
        if let Some(window) = self.state.nonces.get(&record.head.signer) {
            self.group.put_nonces(record.head.signer, window);
        }
        if self.group.len_bytes() >= GROUP_BYTES_MAX {
            self.write()?;
        }
        Ok(())
    }

    fn object(&mut self, object: &Object, before: &mut HashMap<Id, Before>) {
        let rules = self.state.templates.get(&object.template_id);
        let indexed = rules.and_then(|rules| rules.indexed());
        let now = Before::of(object, indexed.is_some());
        let known = before.insert(object.id, now);
        let owner = known.as_ref().map(|known| known.owner_id);
        let moved_from = owner.filter(|owner| *owner != object.owner_id);
        self.group.put_object(object, moved_from);
        if let Some(indexed) = indexed {
            let properties = known.as_ref().and_then(|known| known.properties.as_deref());
            for change in indexed.changes(properties, &object.properties) {
                let value_before = change.before.as_deref();
                self.group
                    .change_property(object, change.path, value_before, &change.after);
            }
        }
        if object.trace.version == 1
            && let Some(minted) = self.state.minted.get(&object.template_id)
        {
            self.group.put_minted(object.template_id, *minted);
        }
    }

    fn write(&mut self) -> Result<(), CommitError> {
        let group = std::mem::replace(&mut self.group, Group::new());
        self.store.commit(group).map(|_| ())
    }
}

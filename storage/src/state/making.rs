//! The next root. It is made from one snapshot, in the background, from what changed since the last root; the first root
//! from all rows. A crash leaves rows of a version that no root names: the next root writes them again.

use std::cell::RefCell;

use kedge_protocol::lanes::keccak_each;
use kedge_protocol::state::StateEntry;
use kedge_protocol::state::trie::{
    NodePath, PathOrderError, StateLeaves, StateNodes, StateRootBuilder, StateTrieError,
    StoredBranch, update_state,
};
use kedge_protocol::{Hash, Id, Prefix};
use rocksdb::{Direction, WriteBatch};

use super::batch::EntryBatch;
use super::changes::{ChangedEntry, PendingChanges, SOURCES};
use super::entries::ResourceEntries;
use super::near::NearCursor;
use super::neighbors::NeighborLeaves;
use super::versions::StoredVersion;
use crate::codec::{self, CodecError};
use crate::snapshot::{StoreReadError, StoreSnapshot};
use crate::store::{CommitError, Store};
use crate::tables::Table;
use crate::tables::states::{entry_key, node_key, put_entry_row};

/// Bytes of entries in one write.
const WRITE_BYTES: usize = 8 << 20;
/// One changed leaf in so many is worth a walk along all leaves, and along all lists of objects.
const LEAVES_WALKED: u64 = 16;
/// Fewer changed leaves are never worth a walk along all leaves.
const LEAVES_WALKED_MIN: u64 = 1 << 13;
/// Changed resources that are read together.
const CHANGES_READ: usize = 1 << 13;
/// Entries between two looks at whether to go on.
const PAUSE_ENTRIES: usize = 16;
/// Leaves after which complete branches are written.
const BRANCH_LEAVES: usize = 1 << 17;
/// Branches in one write.
const WRITTEN_BRANCHES: usize = 1 << 12;

/// The root after some number of batches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StateRoot {
    /// How many batches the state holds.
    pub batches: u64,
    /// keccak256 of the trie's topmost node.
    pub root: Hash,
}

/// Why no root was made.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    #[error(transparent)]
    Read(#[from] StoreReadError),
    #[error("the state could not be written: {0}")]
    Write(#[from] CommitError),
    /// The stored entries are not in order.
    #[error("the state's entries: {0}")]
    Order(#[from] PathOrderError),
    /// The caller asked to stop.
    #[error("the root was abandoned")]
    Abandoned,
}

impl From<StateTrieError<Self>> for StateError {
    fn from(error: StateTrieError<Self>) -> Self {
        match error {
            StateTrieError::Read(error) => error,
            StateTrieError::Order(error) => Self::Order(error),
        }
    }
}

/// Root ‖ frame.
fn root_row(root: &Hash, frame: u64) -> [u8; 40] {
    let mut row = [0; 40];
    row[..32].copy_from_slice(&root.0);
    row[32..].copy_from_slice(&frame.to_be_bytes());
    row
}

fn root_of_row(key: &[u8], row: &[u8]) -> Result<StateRoot, CodecError> {
    let row: [u8; 40] = codec::array(row)?;
    let mut root = Hash::ZERO;
    root.0.copy_from_slice(&row[..32]);
    let batches = codec::number(key)?;
    Ok(StateRoot { batches, root })
}

impl StoreSnapshot {
    /// The newest root that this copy of the state has.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn newest_root(&self) -> Result<Option<StateRoot>, StoreReadError> {
        let end = [u8::MAX; 8];
        let mut rows = self.rows_from(Table::StateRoots, &end, Direction::Reverse);
        let Some(row) = rows.next() else {
            return Ok(None);
        };
        let (key, row) = row?;
        let root = root_of_row(&key, &row);
        root.map(Some)
            .map_err(StoreReadError::row(Table::StateRoots, &key))
    }

    /// This copy's root after some number of batches, if it made one there.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn root_at(&self, batches: u64) -> Result<Option<StateRoot>, StoreReadError> {
        let key = batches.to_be_bytes();
        self.get(Table::StateRoots, &key, |row| root_of_row(&key, row))
    }

    /// The number of batches nearest to this one, and other than it, whose kept checkpoint this copy can prove; the
    /// lower of two that are as near. It is never 0: a checkpoint over no batches has no key that signs for it.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn nearest_provable(&self, batches: u64) -> Result<Option<u64>, StoreReadError> {
        let from = batches.to_be_bytes();
        let mut nearest: Option<u64> = None;
        for direction in [Direction::Reverse, Direction::Forward] {
            for row in self.rows_from(Table::StateRoots, &from, direction) {
                let (key, row) = row?;
                let made = root_of_row(&key, &row)
                    .map_err(StoreReadError::row(Table::StateRoots, &key))?;
                if made.batches == batches || made.batches == 0 {
                    continue;
                }
                let signed = self.checkpoint(made.batches)?;
                if signed.is_none_or(|signed| signed.checkpoint.state != made.root) {
                    continue;
                }
                let distance = made.batches.abs_diff(batches);
                if nearest.is_none_or(|nearest| distance < nearest.abs_diff(batches)) {
                    nearest = Some(made.batches);
                }
                break;
            }
        }
        Ok(nearest)
    }
}

impl Store {
    /// Notes from now on which entries change. A store with a root does so from its opening on.
    pub fn track_state(&self) {
        self.database.track_state();
    }

    /// Estimated bytes of the state's entries and branches in files, those of kept versions too.
    pub fn state_bytes(&self) -> u64 {
        let tables = [Table::StateEntries, Table::StateNodes];
        let sizes = tables.map(|table| {
            let family = self.database.table(table);
            let size = self
                .database
                .raw()
                .property_int_value_cf(family, rocksdb::properties::ESTIMATE_LIVE_DATA_SIZE);
            size.ok().flatten().unwrap_or(0)
        });
        sizes.iter().sum()
    }

    /// Whether rows can be written, those of the state too.
    pub fn has_writable_rows(&self) -> bool {
        self.rows_writable
    }

    /// Keeps the proofs of these versions, and of the newest; others are dropped in the background. The roots of the
    /// others go now, up to the last of these versions: a later root may not have its checkpoint yet.
    ///
    /// # Errors
    /// The rows cannot be read or written.
    pub fn keep_states(&self, versions: Vec<u64>) -> Result<(), StateError> {
        let rows = StoreSnapshot::take(&self.database);
        let newest = rows.newest_root()?.map(|root| root.batches);
        let last = versions.iter().max().copied().unwrap_or(0);
        let mut batch = WriteBatch::default();
        let roots = self.database.table(Table::StateRoots);
        for row in rows.raw_rows(Table::StateRoots) {
            let (key, _) = row?;
            let version =
                codec::number(&key).map_err(StoreReadError::row(Table::StateRoots, &key))?;
            if version >= last || Some(version) == newest {
                break;
            }
            if !versions.contains(&version) {
                batch.delete_cf(roots, key);
            }
        }
        if self.rows_writable && !batch.is_empty() {
            self.write_state(batch)?;
        }
        self.database.kept_versions().set(versions, newest);
        Ok(())
    }

    /// Makes the root of a snapshot, and makes it durable. [`Self::track_state`] must have been called before the snapshot
    /// was taken. `go_on` is called after each small part of the work, and ends it with `false`.
    ///
    /// # Errors
    /// [`StateError`]; the work can be done again.
    pub fn make_state(
        &self,
        at: &StoreSnapshot,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<StateRoot, StateError> {
        let batches = at.head()?.batches;
        self.flush()?;
        let source = RootSource {
            rows: at,
            log: at,
            batches,
            frame: at.applied()?.frame,
        };
        let made = self.make_root(&source, go_on)?;
        self.flush()?;
        Ok(made)
    }

    /// Makes the root of a store without its own log ([`Store::scratch`]), whose rows are those after `batches`
    /// batches of the log that `log` reads. Every later root is made from what changed since the last one, and this
    /// store keeps the proofs of the newest alone.
    ///
    /// # Errors
    /// [`StateError`].
    pub fn make_scratch_state(
        &self,
        batches: u64,
        log: &StoreSnapshot,
    ) -> Result<StateRoot, StateError> {
        let rows = self.snapshot();
        let source = RootSource {
            rows: &rows,
            log,
            batches,
            frame: u64::MAX,
        };
        let made = self.make_root(&source, &mut || true)?;
        // The first root is made from all rows.
        self.track_state();
        self.database
            .kept_versions()
            .set(vec![batches], Some(batches));
        Ok(made)
    }

    fn make_root(
        &self,
        source: &RootSource<'_>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<StateRoot, StateError> {
        let RootSource { batches, frame, .. } = *source;
        let rows = StoreSnapshot::take(&self.database);
        if let Some(root) = rows.root_at(batches)? {
            return Ok(root);
        }
        // A version before the newest root may go, and this one must not while it is made.
        self.database.kept_versions().add(batches);
        let mut making = StateMaking {
            store: self,
            version: batches,
            waiting: EntryBatch::new(),
            leaves: None,
            entry: Vec::new(),
            go_on,
        };
        let base = rows.newest_root()?;
        let (root, frames) = match base.filter(|base| base.batches < batches) {
            Some(base) => {
                let changes = PendingChanges::read(&rows)?;
                let root = making.root_of_changes(source, &rows, base.batches, &changes.entries)?;
                (root, changes.frames)
            }
            None => (making.all(source)?, PendingChanges::read(&rows)?.frames),
        };
        let mut batch = WriteBatch::default();
        let roots = self.database.table(Table::StateRoots);
        batch.put_cf(roots, batches.to_be_bytes(), root_row(&root, frame));
        let changes = self.database.table(Table::StateChanges);
        // A flush that ended later may hold changes after the snapshot.
        for covered in frames.iter().filter(|covered| **covered <= frame) {
            batch.delete_cf(changes, covered.to_be_bytes());
        }
        self.write_state(batch)?;
        Ok(StateRoot { batches, root })
    }

    fn write_state(&self, batch: WriteBatch) -> Result<(), CommitError> {
        let written = self.recent.write_beside(batch);
        written.map_err(CommitError::of_rocks)
    }
}

/// Whether a walk along all leaves takes less time than one to each of the changed ones.
fn is_walked(changed: u64, leaves: u64) -> bool {
    changed >= LEAVES_WALKED_MIN.max(leaves / LEAVES_WALKED)
}

/// What a root is made from.
struct RootSource<'a> {
    rows: &'a StoreSnapshot,
    /// The snapshot whose log holds the actions of these rows.
    log: &'a StoreSnapshot,
    batches: u64,
    /// The last frame whose changes are in the rows.
    frame: u64,
}

/// A root in the making.
struct StateMaking<'a> {
    store: &'a Store,
    version: u64,
    /// Entries that are not written yet.
    waiting: EntryBatch<Id>,
    /// Paths and values of the written entries, if anyone asks for them.
    leaves: Option<Vec<(Hash, Hash)>>,
    /// The buffer of an entry.
    entry: Vec<u8>,
    go_on: &'a mut dyn FnMut() -> bool,
}

impl StateMaking<'_> {
    fn pause(&mut self) -> Result<(), StateError> {
        if (self.go_on)() {
            Ok(())
        } else {
            Err(StateError::Abandoned)
        }
    }

    /// The root after changes to the version `base`, which `rows` has.
    fn root_of_changes(
        &mut self,
        source: &RootSource<'_>,
        rows: &StoreSnapshot,
        base: u64,
        changes: &[ChangedEntry],
    ) -> Result<Hash, StateError> {
        let leaves = rows.estimated_rows(Table::StateEntries)?;
        if is_walked(changes.len() as u64, leaves) {
            self.walk_changes(source, changes)?;
            // With the entries that were just written.
            return self.root_of_leaves(&StoreSnapshot::take(&self.store.database));
        }
        let before = StoredVersion::walked(rows, base);
        // The id of a sequencer key is in its row.
        let ids = changes.iter().map(|ChangedEntry(id)| *id);
        let ids = ids.filter(|id| id.prefix != Prefix::Action);
        let near = NeighborLeaves::read(&before, leaves, ids, &mut || self.pause())?;
        let changed = self.changed(source, changes, &near)?;
        self.next_root(&before, &near, &changed)
    }

    /// Writes the entries of many resources that changed, on a walk along all of these.
    fn walk_changes(
        &mut self,
        source: &RootSource<'_>,
        changes: &[ChangedEntry],
    ) -> Result<(), StateError> {
        let mut reader = ResourceEntries::walking(source.rows, source.log);
        let mut walked = NearCursor::dense(source.rows.cursor(Table::Objects));
        for (count, change) in changes.iter().enumerate() {
            reader.reach(*change, &mut || self.pause())?;
            // A resource that was made after the snapshot has no entry in it.
            let entry = if change.0.prefix == Prefix::Object {
                let key = change.0.bytes;
                walked.seek(&key)?;
                let row = walked.row()?.filter(|(at, _)| *at == key);
                let entry = row.map(|(_, row)| reader.of_row(*change, row));
                entry.transpose()?.flatten()
            } else {
                reader.changed(*change)?
            };
            if let Some((id, entry)) = entry {
                self.put_entry(id, &entry)?;
            }
            if count % PAUSE_ENTRIES == 0 {
                self.pause()?;
            }
        }
        self.write_entries()
    }

    /// Writes the entries of resources that changed. Returns their paths, ascending, with the values.
    fn changed(
        &mut self,
        source: &RootSource<'_>,
        changes: &[ChangedEntry],
        near: &NeighborLeaves,
    ) -> Result<Vec<(Hash, Hash)>, StateError> {
        self.leaves = Some(Vec::with_capacity(changes.len()));
        let mut reader = ResourceEntries::new(source.rows, source.log);
        for some in changes.chunks(CHANGES_READ) {
            let mut new = Vec::new();
            for (count, change) in some.iter().enumerate() {
                if change.0.prefix != Prefix::Object {
                    if let Some((id, entry)) = reader.changed(*change)? {
                        self.put_entry(id, &entry)?;
                    }
                } else if let Some(object) = source.rows.object(change.0)? {
                    match near.serial(object.id) {
                        Some(serial) => {
                            let entry = reader.object_entry(&object, serial)?;
                            self.put_entry(object.id, &entry)?;
                        }
                        None => new.push(object),
                    }
                }
                if count % PAUSE_ENTRIES == 0 {
                    self.pause()?;
                }
            }
            let serials = reader.serials(&new)?;
            for (object, serial) in new.iter().zip(serials) {
                let entry = reader.object_entry(object, serial)?;
                self.put_entry(object.id, &entry)?;
            }
            self.pause()?;
        }
        self.write_entries()?;
        let mut leaves = self.leaves.take().unwrap_or_default();
        leaves.sort_unstable();
        leaves.dedup();
        Ok(leaves)
    }

    /// The root after changes to an earlier version; its new branches are written.
    fn next_root(
        &mut self,
        before: &StoredVersion<'_>,
        near: &NeighborLeaves,
        changes: &[(Hash, Hash)],
    ) -> Result<Hash, StateError> {
        let reads = PausingReads {
            version: before,
            near,
            go_on: RefCell::new(&mut *self.go_on),
        };
        let update = update_state(&reads, &reads, changes)?;
        self.write_branches(&update.branches)?;
        Ok(update.root)
    }

    /// Makes the first root, from all rows.
    fn all(&mut self, source: &RootSource<'_>) -> Result<Hash, StateError> {
        let at = source.rows;
        let mut reader = ResourceEntries::walking(at, source.log);
        for (table, prefix) in SOURCES {
            let mut rows = at.cursor(table);
            rows.seek_to_first();
            let mut count = 0;
            while let Some((key, row)) = rows.row()? {
                let change = ChangedEntry::of_row(prefix, key);
                reader.reach(change, &mut || self.pause())?;
                if let Some((id, entry)) = reader.of_row(change, row)? {
                    self.put_entry(id, &entry)?;
                }
                rows.advance();
                count += 1;
                if count % PAUSE_ENTRIES == 0 {
                    self.pause()?;
                }
            }
        }
        self.write_entries()?;
        let rows = StoreSnapshot::take(&self.store.database);
        self.root_of_leaves(&rows)
    }

    /// The root over all stored leaves of the version; its branches are written on the way.
    fn root_of_leaves(&mut self, rows: &StoreSnapshot) -> Result<Hash, StateError> {
        let mut builder = StateRootBuilder::keeping_branches();
        let version = StoredVersion::new(rows, self.version);
        let mut leaves = 0;
        version.each_leaf(|path: &Hash, value: &Hash| -> Result<(), StateError> {
            builder.add_leaf(path, value)?;
            leaves += 1;
            if leaves % PAUSE_ENTRIES == 0 {
                self.pause()?;
            }
            if leaves % BRANCH_LEAVES == 0 {
                self.write_branches(&builder.take_branches())?;
            }
            Ok(())
        })?;
        let (root, branches) = builder.finish();
        self.write_branches(&branches)?;
        Ok(root)
    }

    fn put_entry(&mut self, id: Id, entry: &StateEntry) -> Result<(), StateError> {
        entry.encode(&mut self.entry);
        self.waiting.push(id, &self.entry);
        if self.waiting.byte_len() >= WRITE_BYTES {
            self.write_entries()?;
        }
        Ok(())
    }

    fn write_entries(&mut self) -> Result<(), StateError> {
        let ids = self.waiting.subjects().iter();
        let texts: Vec<_> = ids.map(Id::text_bytes).collect();
        let mut paths = Vec::new();
        keccak_each(&texts, &mut paths);
        let values = self.waiting.values();
        if let Some(leaves) = &mut self.leaves {
            leaves.extend(paths.iter().copied().zip(values.iter().copied()));
        }
        let entries = self.waiting.entries().into_iter();
        let mut rows: Vec<_> = paths.iter().zip(&values).zip(entries).collect();
        rows.sort_unstable();
        let family = self.store.database.table(Table::StateEntries);
        let (mut batch, mut bytes) = (WriteBatch::default(), Vec::new());
        for ((path, value), entry) in rows {
            put_entry_row(value, entry, &mut bytes);
            batch.put_cf(family, entry_key(path, self.version), &bytes);
        }
        self.waiting.clear();
        Ok(self.store.write_state(batch)?)
    }

    fn write_branches(&mut self, branches: &[(NodePath, StoredBranch)]) -> Result<(), StateError> {
        let family = self.store.database.table(Table::StateNodes);
        for some in branches.chunks(WRITTEN_BRANCHES) {
            let mut batch = WriteBatch::default();
            for (path, branch) in some {
                batch.put_cf(family, node_key(path, self.version), branch.to_bytes());
            }
            self.store.write_state(batch)?;
            self.pause()?;
        }
        Ok(())
    }
}

/// Reads of a version that stop when the caller asks to.
struct PausingReads<'a, 'b> {
    version: &'a StoredVersion<'b>,
    near: &'a NeighborLeaves,
    go_on: RefCell<&'a mut dyn FnMut() -> bool>,
}

impl PausingReads<'_, '_> {
    fn pause(&self) -> Result<(), StateError> {
        if (self.go_on.borrow_mut())() {
            Ok(())
        } else {
            Err(StateError::Abandoned)
        }
    }
}

impl StateNodes for PausingReads<'_, '_> {
    type Error = StateError;

    fn branch(&self, path: &NodePath) -> Result<Option<StoredBranch>, StateError> {
        self.pause()?;
        Ok(self.version.branch(path)?)
    }
}

impl StateLeaves for PausingReads<'_, '_> {
    type Error = StateError;

    fn leaves(
        &self,
        first: &Hash,
        last: &Hash,
        each: &mut dyn FnMut(&Hash, &Hash),
    ) -> Result<(), StateError> {
        if let Some(leaves) = self.near.between(first, last) {
            for (path, value) in leaves {
                each(path, value);
            }
            return Ok(());
        }
        let mut leaves = 0;
        let each = |path: &Hash, value: &Hash| {
            each(path, value);
            leaves += 1;
            if leaves % PAUSE_ENTRIES == 0 {
                self.pause()?;
            }
            Ok(())
        };
        self.version.leaves_of(first, last, each)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_many_changes_are_worth_a_walk_along_all_leaves() {
        assert!(!is_walked(0, 0));
        assert!(!is_walked(LEAVES_WALKED_MIN - 1, 100));
        assert!(is_walked(LEAVES_WALKED_MIN, 100));
        assert!(is_walked(625_000, 10_000_000));
        assert!(!is_walked(624_999, 10_000_000));
    }
}

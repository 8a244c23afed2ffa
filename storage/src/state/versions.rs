//! Reads of one version's branches and leaves.

use std::cell::RefCell;

use kedge_protocol::Hash;
use kedge_protocol::state::trie::{NodePath, StateLeaves, StateNodes, StoredBranch};

use super::near::NearCursor;
use crate::codec::CodecError;
use crate::snapshot::{StoreReadError, StoreSnapshot};
use crate::tables::Table;
use crate::tables::states::{VERSION_BYTES, entry_key, node_key, split_entry_row, split_key};

/// The state after some number of batches.
pub(super) struct StoredVersion<'a> {
    rows: &'a StoreSnapshot,
    version: u64,
    nodes: RefCell<Vec<NearCursor<'a>>>,
    /// Whether each length of paths has its own cursor: the branches that a long walk visits one after the other
    /// are neighbours among those of their length. For a few branches one cursor is cheaper.
    is_walked: bool,
    entries: RefCell<NearCursor<'a>>,
}

impl<'a> StoredVersion<'a> {
    pub(super) fn new(rows: &'a StoreSnapshot, version: u64) -> Self {
        Self {
            rows,
            version,
            nodes: RefCell::default(),
            is_walked: false,
            entries: RefCell::new(NearCursor::new(rows.seeker(Table::StateEntries))),
        }
    }

    /// The same, for a walk to many changes.
    pub(super) fn walked(rows: &'a StoreSnapshot, version: u64) -> Self {
        Self {
            is_walked: true,
            entries: RefCell::new(NearCursor::new(rows.strider(Table::StateEntries))),
            ..Self::new(rows, version)
        }
    }

    /// The entry at a path: its keccak256, and it in RLP.
    pub(super) fn entry(&self, path: &Hash) -> Result<Option<(Hash, Vec<u8>)>, StoreReadError> {
        let key = entry_key(path, self.version);
        let mut entries = self.entries.borrow_mut();
        let found = row_at(&mut entries, &key, |row| {
            split_entry_row(row).map(|(value, entry)| (value, entry.to_vec()))
        })?;
        let read = found.map(|entry| {
            entry
                .ok_or_else(cut_off)
                .map_err(StoreReadError::row(Table::StateEntries, &key))
        });
        read.transpose()
    }

    /// Calls `each` with every leaf, in the order of their paths.
    pub(super) fn each_leaf<E: From<StoreReadError>>(
        &self,
        mut each: impl FnMut(&Hash, &Hash) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rows = NearCursor::new(self.rows.cursor(Table::StateEntries));
        let (first, last) = (Hash::ZERO, Hash([u8::MAX; 32]));
        self.entries_between(&mut rows, &first, &last, |path, value, _| each(path, value))
    }

    /// Calls `each` with every leaf from `first` to `last`, in the order of their paths.
    pub(super) fn leaves_of<E: From<StoreReadError>>(
        &self,
        first: &Hash,
        last: &Hash,
        mut each: impl FnMut(&Hash, &Hash) -> Result<(), E>,
    ) -> Result<(), E> {
        self.entries_of(first, last, |path, value, _| each(path, value))
    }

    /// [`Self::leaves_of`], each with its entry in RLP.
    pub(super) fn entries_of<E: From<StoreReadError>>(
        &self,
        first: &Hash,
        last: &Hash,
        each: impl FnMut(&Hash, &Hash, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.entries_between(&mut self.entries.borrow_mut(), first, last, each)
    }

    fn entries_between<E: From<StoreReadError>>(
        &self,
        rows: &mut NearCursor<'_>,
        first: &Hash,
        last: &Hash,
        mut each: impl FnMut(&Hash, &Hash, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        rows.seek(&entry_key(first, self.version))?;
        while let Some((key, row)) = rows.row()? {
            let place = split_key(key).and_then(|(path, version)| {
                let path = path.try_into().map(Hash).ok()?;
                Some((path, version))
            });
            let (path, version) = place
                .ok_or_else(|| CodecError::bytes("no key of an entry has these bytes"))
                .map_err(StoreReadError::row(Table::StateEntries, key))?;
            if path > *last {
                break;
            }
            // A leaf may have many versions: those after this one are passed together, and later those before it.
            if version > self.version {
                rows.seek(&entry_key(&path, self.version))?;
                continue;
            }
            let (value, entry) = split_entry_row(row)
                .ok_or_else(cut_off)
                .map_err(StoreReadError::row(Table::StateEntries, key))?;
            each(&path, &value, entry)?;
            rows.seek_past(&entry_key(&path, 0))?;
        }
        Ok(())
    }
}

fn cut_off() -> CodecError {
    CodecError::bytes("the row of an entry is cut off")
}

/// The row of a version: the first at or after its key, if it is about the same thing.
fn row_at<T>(
    rows: &mut NearCursor<'_>,
    key: &[u8],
    read: impl FnOnce(&[u8]) -> T,
) -> Result<Option<T>, StoreReadError> {
    rows.seek(key)?;
    let place = &key[..key.len() - VERSION_BYTES];
    let found = rows.row()?;
    let found = found.filter(|(key, _)| split_key(key).is_some_and(|(of, _)| of == place));
    Ok(found.map(|(_, value)| read(value)))
}

impl StateNodes for StoredVersion<'_> {
    type Error = StoreReadError;

    fn branch(&self, path: &NodePath) -> Result<Option<StoredBranch>, StoreReadError> {
        let key = node_key(path, self.version);
        let mut nodes = self.nodes.borrow_mut();
        let place = if self.is_walked { path.depth() } else { 0 };
        while nodes.len() <= place {
            nodes.push(if self.is_walked {
                NearCursor::dense(self.rows.strider(Table::StateNodes))
            } else {
                NearCursor::new(self.rows.seeker(Table::StateNodes))
            });
        }
        let found = row_at(&mut nodes[place], &key, StoredBranch::of_bytes)?;
        let read = found.map(|branch| {
            let no_branch = || CodecError::bytes("no branch of the state has these bytes");
            branch
                .ok_or_else(no_branch)
                .map_err(StoreReadError::row(Table::StateNodes, &key))
        });
        read.transpose()
    }
}

impl StateLeaves for StoredVersion<'_> {
    type Error = StoreReadError;

    fn leaves(
        &self,
        first: &Hash,
        last: &Hash,
        each: &mut dyn FnMut(&Hash, &Hash),
    ) -> Result<(), StoreReadError> {
        self.leaves_of(first, last, |path, value| {
            each(path, value);
            Ok(())
        })
    }
}

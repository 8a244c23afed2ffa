//! Leaves around those that changed, read in one walk: a change needs its own former entry, and the root needs the leaves
//! under the same child of a branch, which stand next to it.

use kedge_protocol::state::entry::EntryFields;
use kedge_protocol::state::{StateEntry, state_path};
use kedge_protocol::{Hash, Id, Prefix};

use super::making::StateError;
use super::versions::StoredVersion;
use crate::snapshot::StoreReadError;

/// Leaves that are held, at most. Others are read again when they are needed.
const LEAVES_MAX: usize = 1 << 20;
/// Nibbles in the number of a place, at most.
const DEPTH_MAX: u32 = 15;
/// Places that one request is compared with: the children of a branch.
const PLACES_MAX: u64 = 16;

/// Places of one depth: the leaves under one share that many nibbles.
#[derive(Clone, Copy, Debug)]
struct PlaceDepth(u32);

impl PlaceDepth {
    /// The depth at which a place has 1 to 16 of so many leaves.
    fn of(leaves: u64) -> Self {
        Self((leaves.max(1).ilog2() / 4).min(DEPTH_MAX))
    }

    fn number(self, path: &Hash) -> u64 {
        let mut first = [0; 8];
        first.copy_from_slice(&path.0[..8]);
        u64::from_be_bytes(first)
            .checked_shr(64 - 4 * self.0)
            .unwrap_or(0)
    }

    /// The first and the last path of a place.
    fn edges(self, place: u64) -> (Hash, Hash) {
        let first = place.checked_shl(64 - 4 * self.0).unwrap_or(0);
        let last = first | u64::MAX >> (4 * self.0);
        let edge = |beginning: u64, fill: u8| {
            let mut path = Hash([fill; 32]);
            path.0[..8].copy_from_slice(&beginning.to_be_bytes());
            path
        };
        (edge(first, 0), edge(last, u8::MAX))
    }
}

/// The leaves of the places in which something has changed.
pub(super) struct NeighborLeaves {
    depth: PlaceDepth,
    /// Places whose leaves are all held, ascending.
    places: Vec<u64>,
    /// In the order of their paths.
    leaves: Vec<(Hash, Hash)>,
    /// Serials of the changed objects that were there, by their paths, ascending.
    serials: Vec<(Hash, u64)>,
}

impl NeighborLeaves {
    /// Reads the places of these resources in a state of about so many leaves. `pause` is called after each small part of the
    /// work.
    ///
    /// # Errors
    /// The rows cannot be read, or `pause` refused to go on.
    pub(super) fn read(
        version: &StoredVersion<'_>,
        leaves: u64,
        ids: impl Iterator<Item = Id>,
        pause: &mut dyn FnMut() -> Result<(), StateError>,
    ) -> Result<Self, StateError> {
        let mut changed: Vec<(Hash, Id)> = Vec::new();
        for id in ids {
            changed.push((state_path(&id), id));
            pause()?;
        }
        changed.sort_unstable_by_key(|(path, _)| *path);
        let depth = PlaceDepth::of(leaves);
        let mut found = Self {
            depth,
            places: Vec::new(),
            leaves: Vec::new(),
            serials: Vec::new(),
        };
        let place = |(path, _): &(Hash, Id)| depth.number(path);
        for changed in changed.chunk_by(|one, other| place(one) == place(other)) {
            found.read_place(version, changed)?;
            pause()?;
        }
        Ok(found)
    }

    fn read_place(
        &mut self,
        version: &StoredVersion<'_>,
        changed: &[(Hash, Id)],
    ) -> Result<(), StoreReadError> {
        let ([(first, _), ..], [.., (last, _)]) = (changed, changed) else {
            return Ok(());
        };
        let place = self.depth.number(first);
        let is_held = self.leaves.len() < LEAVES_MAX;
        let (first, last) = if is_held {
            self.depth.edges(place)
        } else {
            (*first, *last)
        };
        let mut waiting = changed.iter().peekable();
        version.entries_of(&first, &last, |path, value, entry| {
            if is_held {
                self.leaves.push((*path, *value));
            }
            while waiting.next_if(|(changed, _)| changed < path).is_some() {}
            let same = waiting.next_if(|(changed, _)| changed == path);
            // The serial of an entry that cannot be read is looked up.
            if let Some((_, id)) = same.filter(|(_, id)| id.prefix == Prefix::Object)
                && let Ok(entry) = StateEntry::decode(id, entry, u64::MAX)
                && let EntryFields::Object(object) = entry.fields
            {
                self.serials.push((*path, object.serial));
            }
            Ok::<_, StoreReadError>(())
        })?;
        if is_held {
            self.places.push(place);
        }
        Ok(())
    }

    /// The serial of a changed object, which never changes; `None` for one that is new.
    pub(super) fn serial(&self, object: Id) -> Option<u64> {
        let path = state_path(&object);
        let place = self.serials.binary_search_by_key(&path, |(path, _)| *path);
        place.ok().map(|place| self.serials[place].1)
    }

    /// The leaves from `first` to `last`, both included; `None` if not all of these are held.
    pub(super) fn between(&self, first: &Hash, last: &Hash) -> Option<&[(Hash, Hash)]> {
        let (from, to) = (self.depth.number(first), self.depth.number(last));
        let is_held = |place: u64| self.places.binary_search(&place).is_ok();
        if to.checked_sub(from)? >= PLACES_MAX || !(from..=to).all(is_held) {
            return None;
        }
        let begin = self.leaves.partition_point(|(path, _)| path < first);
        let leaves = &self.leaves[begin..];
        let end = leaves.partition_point(|(path, _)| path <= last);
        Some(&leaves[..end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_divide_all_paths_and_have_one_to_sixteen_leaves() {
        for (leaves, depth) in [(0, 0), (1, 0), (15, 0), (16, 1), (255, 1), (10_000_000, 5)] {
            assert_eq!(PlaceDepth::of(leaves).0, depth, "{leaves}");
        }
        assert_eq!(PlaceDepth::of(u64::MAX).0, DEPTH_MAX);
        for depth in (0..=DEPTH_MAX).map(PlaceDepth) {
            let mut path = Hash([0xa7; 32]);
            let place = depth.number(&path);
            let (first, last) = depth.edges(place);
            assert!(first <= path && path <= last);
            assert_eq!((depth.number(&first), depth.number(&last)), (place, place));
            path = last;
            // The next path belongs to the next place.
            if let Some(byte) = path.0.iter().rposition(|byte| *byte != u8::MAX) {
                path.0[byte] += 1;
                path.0[byte + 1..].fill(0);
                assert_eq!(depth.number(&path), place + 1);
                assert_eq!(depth.edges(place + 1).0, path);
            } else {
                assert_eq!(depth.0, 0);
            }
        }
    }
}

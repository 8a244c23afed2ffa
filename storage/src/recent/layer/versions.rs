//! The versions of a row: what groups wrote to it, as long as somebody may read it.

use smallvec::{Array, SmallVec};

use super::bytes::Bytes;

/// A value: those of lists and counters are in place.
type Value = Bytes<22>;

/// What a group wrote to a row.
pub(super) struct Version {
    /// The group's number.
    group: u64,
    /// `None` deletes.
    value: Option<Value>,
}

impl Version {
    pub(super) fn new(group: u64, value: Option<&[u8]>) -> Self {
        Self {
            group,
            value: value.map(Value::from_slice),
        }
    }

    pub(super) fn value(&self) -> Option<&[u8]> {
        self.value.as_deref()
    }
}

/// The versions of a row that somebody may read, oldest first; `N` of them need no allocation.
pub(super) type Versions<const N: usize> = SmallVec<[Version; N]>;

/// A group that writes.
#[derive(Clone, Copy)]
pub(super) struct Writer<'a> {
    pub(super) group: u64,
    /// The groups, in order, as whose last the rows are being read: versions that none of them sees go.
    pub(super) read: &'a [u64],
}

impl Writer<'_> {
    /// Adds a row's newest version, and drops those that nobody reads. Returns how many bytes of values went.
    pub(super) fn push<A: Array<Item = Version>>(
        self,
        versions: &mut SmallVec<A>,
        value: Option<&[u8]>,
    ) -> usize {
        let mut freed = 0;
        let mut kept = 0;
        let mut spare = None;
        for index in 0..versions.len() {
            let next = versions
                .get(index + 1)
                .map_or(self.group, |next| next.group);
            if is_read(self.read, versions[index].group, next) {
                versions.swap(kept, index);
                kept += 1;
            } else if let Some(value) = versions[index].value.take() {
                freed += value.len();
                spare = Some(value);
            }
        }
        // Most rows keep their length: then the memory of the version that goes will do.
        let value = value.map(|value| {
            let mut own = spare.unwrap_or_default();
            own.set(value);
            own
        });
        versions.truncate(kept);
        versions.push(Version {
            group: self.group,
            value,
        });
        freed
    }
}

/// Whether somebody reads the rows as they stood after a group from `from` on and before `next`.
fn is_read(read: &[u64], from: u64, next: u64) -> bool {
    let at = read.partition_point(|group| *group < from);
    read.get(at).is_some_and(|group| *group < next)
}

/// The last version of those up to a group.
pub(super) fn seen(versions: &[Version], group: u64) -> Option<&Version> {
    versions.iter().rev().find(|version| version.group <= group)
}

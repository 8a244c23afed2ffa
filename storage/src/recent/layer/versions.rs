//! Versions of a row, kept as long as they may have a reader.

use smallvec::{Array, SmallVec};

use super::bytes::InlineBytes;

/// Value; those of lists and counters are inline.
type RowValue = InlineBytes<22>;

/// Write of a group to a row.
pub(super) struct RowVersion {
    group: u64,
    /// `None` deletes.
    value: Option<RowValue>,
}

impl RowVersion {
    pub(super) fn new(group: u64, value: Option<&[u8]>) -> Self {
        Self {
            group,
            value: value.map(RowValue::from_slice),
        }
    }

    pub(super) fn value(&self) -> Option<&[u8]> {
        self.value.as_deref()
    }
}

/// Versions of a row that may have readers, oldest first; `N` of them need no allocation.
pub(super) type RowVersions<const N: usize> = SmallVec<[RowVersion; N]>;

/// The writing group.
#[derive(Clone, Copy)]
pub(super) struct VersionWriter<'a> {
    pub(super) group: u64,
    /// Groups with readers, in order: versions that none of them sees are dropped.
    pub(super) read: &'a [u64],
}

impl VersionWriter<'_> {
    /// Adds a row's newest version, and drops the ones without a reader. Returns how many bytes of values were dropped.
    pub(super) fn push<A: Array<Item = RowVersion>>(
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
        // Most rows keep their length, so the memory of a dropped version fits.
        let value = value.map(|value| {
            let mut own = spare.unwrap_or_default();
            own.set(value);
            own
        });
        versions.truncate(kept);
        versions.push(RowVersion {
            group: self.group,
            value,
        });
        freed
    }
}

/// Whether the rows have a reader after a group from `from` on and before `next`.
fn is_read(read: &[u64], from: u64, next: u64) -> bool {
    let at = read.partition_point(|group| *group < from);
    read.get(at).is_some_and(|group| *group < next)
}

/// The last version up to a group.
pub(super) fn seen(versions: &[RowVersion], group: u64) -> Option<&RowVersion> {
    versions.iter().rev().find(|version| version.group <= group)
}

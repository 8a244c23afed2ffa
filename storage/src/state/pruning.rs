//! Versions that no kept checkpoint needs are dropped as RocksDB compacts their files, so that dropping needs no
//! further read or write.

use std::ffi::CStr;
use std::sync::Arc;

use parking_lot::RwLock;
use rocksdb::CompactionDecision;
use rocksdb::compaction_filter::CompactionFilter;
use rocksdb::compaction_filter_factory::{CompactionFilterContext, CompactionFilterFactory};

use crate::tables::states::split_key;

/// The versions that stay, and those whose roots may still be in the making.
#[derive(Clone, Default)]
pub(crate) struct KeptVersions(Arc<RwLock<Option<Arc<VersionChoice>>>>);

/// Which versions stay.
#[derive(Clone, Debug)]
struct VersionChoice {
    /// The versions whose proofs can be asked for, ascending.
    kept: Vec<u64>,
    /// What the newest root reads stays, and everything after it: the next root is made from it, and may be made more than
    /// once.
    all_from: u64,
}

impl KeptVersions {
    /// Until this is called nothing is dropped.
    pub(crate) fn set(&self, mut kept: Vec<u64>, newest: Option<u64>) {
        kept.sort_unstable();
        let all_from = newest.unwrap_or(0);
        *self.0.write() = Some(Arc::new(VersionChoice { kept, all_from }));
    }

    /// Keeps a version too, whose root is made from now on.
    pub(crate) fn add(&self, version: u64) {
        if let Some(choice) = &mut *self.0.write() {
            let VersionChoice { kept, .. } = Arc::make_mut(choice);
            kept.insert(kept.partition_point(|kept| *kept < version), version);
        }
    }

    fn get(&self) -> Option<Arc<VersionChoice>> {
        self.0.read().clone()
    }
}

impl VersionChoice {
    /// Whether the row of `version` is needed, where a row of the later version `next` follows.
    fn is_read(&self, version: u64, next: u64) -> bool {
        let first = self.kept.partition_point(|kept| *kept < version);
        next > self.all_from || self.kept.get(first).is_some_and(|kept| *kept < next)
    }
}

/// Makes a filter for each compaction.
pub(crate) struct VersionFilters(pub(crate) KeptVersions);

const NAME: &CStr = c"versions";

impl CompactionFilterFactory for VersionFilters {
    type Filter = VersionFilter;

    fn create(&mut self, _: CompactionFilterContext) -> VersionFilter {
        VersionFilter {
            kept: self.0.get(),
            place: Vec::new(),
            next: 0,
        }
    }

    fn name(&self) -> &CStr {
        NAME
    }
}

/// Passes over the rows of one compaction, in order: the versions of one thing, newest first. The newest one that a
/// compaction meets stays.
pub(crate) struct VersionFilter {
    kept: Option<Arc<VersionChoice>>,
    /// What the last row was about.
    place: Vec<u8>,
    /// The version of that row.
    next: u64,
}

impl CompactionFilter for VersionFilter {
    fn filter(&mut self, _: u32, key: &[u8], _: &[u8]) -> CompactionDecision {
        let (Some(kept), Some((place, version))) = (&self.kept, split_key(key)) else {
            return CompactionDecision::Keep;
        };
        if self.place != place {
            self.place.clear();
            self.place.extend_from_slice(place);
            self.next = version;
            return CompactionDecision::Keep;
        }
        let is_kept = kept.is_read(version, self.next);
        self.next = version;
        if is_kept {
            CompactionDecision::Keep
        } else {
            CompactionDecision::Remove
        }
    }

    fn name(&self) -> &CStr {
        NAME
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of one place that stay, where the newest root is `newest`.
    fn kept_of(kept: &[u64], newest: Option<u64>, versions: &[u64]) -> Vec<u64> {
        let versions_kept = KeptVersions::default();
        versions_kept.set(kept.to_vec(), newest);
        rows_kept(versions_kept, versions)
    }

    fn rows_kept(kept: KeptVersions, versions: &[u64]) -> Vec<u64> {
        let filters = VersionFilters(kept);
        let mut filter = VersionFilter {
            kept: filters.0.get(),
            place: Vec::new(),
            next: 0,
        };
        assert_eq!(filters.name(), filter.name());
        let stays = |version: &&u64| {
            let key = [b"place", &(!**version).to_be_bytes()[..]].concat();
            matches!(filter.filter(0, &key, b""), CompactionDecision::Keep)
        };
        versions.iter().filter(stays).copied().collect()
    }

    #[test]
    fn a_version_stays_while_a_kept_checkpoint_reads_it() {
        let kept_of = |kept: &[u64], versions: &[u64]| kept_of(kept, Some(100), versions);
        assert_eq!(kept_of(&[9], &[9, 8, 3]), [9]);
        assert_eq!(kept_of(&[9, 5], &[9, 8, 3, 1]), [9, 3]);
        assert_eq!(kept_of(&[8, 9], &[9, 8, 3]), [9, 8]);
        assert_eq!(kept_of(&[2], &[9, 8, 3]), [9]);
        assert_eq!(kept_of(&[], &[7]), [7]);
        assert_eq!(kept_of(&[20], &[12]), [12]);
    }

    #[test]
    fn from_the_newest_root_on_every_version_stays() {
        // The newest root is the base of those that are in the making.
        assert_eq!(kept_of(&[], Some(8), &[10, 9, 8, 3]), [10, 9, 8]);
        assert_eq!(kept_of(&[3], Some(5), &[9, 8, 3]), [9, 8, 3]);
        // The newest root reads an older row where nothing changed, whatever follows.
        assert_eq!(kept_of(&[20], Some(5), &[9, 4, 3]), [9, 4]);
        assert_eq!(kept_of(&[3], Some(5), &[9, 4, 3]), [9, 4, 3]);
        assert_eq!(kept_of(&[], None, &[9, 8, 3]), [9, 8, 3]);
    }

    #[test]
    fn a_version_that_is_made_later_is_kept_too() {
        let versions_kept = KeptVersions::default();
        // Everything stays.
        versions_kept.add(4);
        assert!(versions_kept.get().is_none());
        versions_kept.set(vec![7], Some(9));
        versions_kept.add(4);
        assert_eq!(rows_kept(versions_kept, &[9, 7, 6, 4, 3]), [9, 7, 4]);
    }

    #[test]
    fn nothing_is_dropped_before_the_kept_versions_are_known() {
        let mut filter = VersionFilter {
            kept: KeptVersions::default().get(),
            place: Vec::new(),
            next: 0,
        };
        for version in [9_u64, 8, 7] {
            let key = [b"place", &(!version).to_be_bytes()[..]].concat();
            let decision = filter.filter(0, &key, b"");
            assert!(matches!(decision, CompactionDecision::Keep));
        }
    }
}

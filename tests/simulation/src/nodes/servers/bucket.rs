//! Bucket: values with revisions. An answering server may lag, and two concurrent writes of one value may both succeed.

use std::collections::BTreeMap;

use bytes::Bytes;
use kedge_cluster::BucketEntry;

use super::SimulatedServers;
use crate::machine::START_MS;

/// Writes of one value this close together may both succeed, if that fault applies.
const AT_ONCE_MS: u64 = 30;
/// Limit on the lag of an answering server.
const LAG_MS_MAX: u64 = 60;

/// A value of the bucket.
pub(super) struct BucketRevision {
    key: String,
    value: Bytes,
    at_ms: u64,
}

impl SimulatedServers {
    fn entry_of(written: &BucketRevision, index: usize) -> BucketEntry {
        let created = std::time::Duration::from_millis(START_MS + written.at_ms);
        BucketEntry {
            value: Some(written.value.clone()),
            revision: index as u64 + 1,
            created: std::time::SystemTime::UNIX_EPOCH + created,
        }
    }

    /// Number of values shown to a node: the answering server may lack the newest ones.
    fn shown(&mut self, node: usize) -> usize {
        let seen = self.seen(node).1;
        if !self.lagging.chance(self.rates.lags) {
            return seen;
        }
        let late_ms = 1 + self.lagging.below(LAG_MS_MAX);
        let is_old = |written: &BucketRevision| written.at_ms + late_ms <= self.now_ms;
        self.bucket[..seen].partition_point(is_old)
    }

    pub(in crate::nodes) fn entry(&mut self, node: usize, key: &str) -> Option<BucketEntry> {
        let shown = self.shown(node);
        let seen = &self.bucket[..shown];
        let index = seen.iter().rposition(|written| written.key == key)?;
        Some(Self::entry_of(&seen[index], index))
    }

    pub(in crate::nodes) fn entries(&mut self, node: usize, prefix: &str) -> Vec<BucketEntry> {
        let shown = self.shown(node);
        let seen = &self.bucket[..shown];
        let mut newest = BTreeMap::new();
        for (index, written) in seen.iter().enumerate() {
            if written.key.starts_with(prefix) {
                newest.insert(&written.key, index);
            }
        }
        let newest = newest.into_values();
        newest
            .map(|index| Self::entry_of(&seen[index], index))
            .collect()
    }

    pub(in crate::nodes) fn put(&mut self, key: String, value: Bytes) -> u64 {
        let at_ms = self.now_ms;
        self.bucket.push(BucketRevision { key, value, at_ms });
        self.bucket.len() as u64
    }

    pub(in crate::nodes) fn update(
        &mut self,
        key: &str,
        value: Bytes,
        revision: u64,
    ) -> Option<u64> {
        let last = self.bucket.iter().rposition(|written| written.key == key);
        let is_at = last.map_or(0, |index| index as u64 + 1) == revision;
        let just_now = last.is_some_and(|index| {
            self.bucket[index].at_ms + AT_ONCE_MS > self.now_ms
                && self.bucket[..index]
                    .iter()
                    .rposition(|written| written.key == key)
                    .map_or(0, |before| before as u64 + 1)
                    == revision
        });
        let both = just_now && self.random.chance(self.rates.replaced);
        (is_at || both).then(|| self.put(key.to_owned(), value))
    }
}

//! The rows of one shard of a layer, as they are kept: in order where walks are frequent, by hash where nearly every
//! access is by whole key. A look-up in a tree of a few hundred keys misses the cache at each level.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::ops::RangeBounds;

use kedge_protocol::ids::IdMap;

use super::{Key, Range, Versions};
use crate::tables::Table;

/// What a processor fetches at once.
const CACHE_LINE_BYTES: usize = 64;
/// Lines of a value that are fetched ahead: the processor sees by itself where a walk through more leads.
const FETCHED_LINES_MAX: usize = 8;

pub(super) enum Rows {
    Ordered(BTreeMap<Key, Versions>),
    Hashed(IdMap<Key, Versions>),
}

impl Rows {
    /// None yet, for a table.
    pub(super) fn of(table: Table) -> Self {
        match table {
            Table::Objects | Table::LogBytes => Self::Hashed(IdMap::default()),
            _ => Self::Ordered(BTreeMap::new()),
        }
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<&Versions> {
        match self {
            Self::Ordered(rows) => rows.get(key),
            Self::Hashed(rows) => rows.get(key),
        }
    }

    /// Has the processor fetch a row that is about to be written, with its oldest version, whose memory the new one gets.
    pub(super) fn fetch(&self, key: &[u8]) {
        let Self::Hashed(rows) = self else { return };
        let oldest = rows.get(key).and_then(|versions| versions.first());
        let value = oldest.and_then(|oldest| oldest.value.as_deref());
        let lines = value.unwrap_or_default().chunks(CACHE_LINE_BYTES);
        for line in lines.take(FETCHED_LINES_MAX) {
            black_box(line.first());
        }
    }

    pub(super) fn get_mut(&mut self, key: &[u8]) -> Option<&mut Versions> {
        match self {
            Self::Ordered(rows) => rows.get_mut(key),
            Self::Hashed(rows) => rows.get_mut(key),
        }
    }

    pub(super) fn insert(&mut self, key: &[u8], versions: Versions) {
        let key = Key::from_slice(key);
        match self {
            Self::Ordered(rows) => rows.insert(key, versions),
            Self::Hashed(rows) => rows.insert(key, versions),
        };
    }

    /// Those of a range, in the order of keys.
    pub(super) fn range(
        &self,
        range: &Range<'_>,
    ) -> Box<dyn DoubleEndedIterator<Item = (&Key, &Versions)> + '_> {
        let bounds = (range.from, range.to);
        match self {
            Self::Ordered(rows) => Box::new(rows.range::<[u8], _>(bounds)),
            Self::Hashed(rows) => {
                let is_within = |key: &Key| RangeBounds::<[u8]>::contains(&bounds, key);
                let mut within: Vec<_> = rows.iter().filter(|(key, _)| is_within(key)).collect();
                within.sort_unstable_by_key(|(key, _)| *key);
                Box::new(within.into_iter())
            }
        }
    }
}

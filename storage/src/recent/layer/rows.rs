//! The rows of one shard of a layer, as they are kept: in order where walks are frequent, by hash where nearly every
//! access is by whole key. A look-up in a tree of a few hundred keys misses the cache at each level.

use std::collections::{BTreeMap, HashMap};
use std::ops::RangeBounds;

use super::{Key, Range, Versions};
use crate::tables::Table;

pub(super) enum Rows {
    Ordered(BTreeMap<Key, Versions>),
    Hashed(HashMap<Key, Versions>),
}

impl Rows {
    /// None yet, for a table.
    pub(super) fn of(table: Table) -> Self {
        match table {
            Table::Objects | Table::LogBytes => Self::Hashed(HashMap::new()),
            _ => Self::Ordered(BTreeMap::new()),
        }
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<&Versions> {
        match self {
            Self::Ordered(rows) => rows.get(key),
            Self::Hashed(rows) => rows.get(key),
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

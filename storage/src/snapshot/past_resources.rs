//! Objects and templates as they were in one snapshot.

use std::ops::Bound;
use std::sync::Arc;

use kedge_protocol::Id;
use kedge_protocol::resource::{Object, Template};

use super::{StoreReadError, StoreSnapshot};
use crate::recent::{KeyRange, LayerRow, RecentLayer};
use crate::tables::Table;

/// Objects and templates as they were in one snapshot. It may be held for long: of the rows in memory it holds only copies
/// of these, so that flushed layers leave; of RocksDB's rows it keeps those that were replaced since.
#[derive(Clone, Debug)]
pub struct PastResources(StoreSnapshot);

impl PastResources {
    const TABLES: [Table; 2] = [Table::Objects, Table::Templates];

    /// Copies what is in memory. `go_on` is called after each small part of the work, and ends it with `false`: then there
    /// is nothing.
    pub fn of(snapshot: &StoreSnapshot, go_on: &mut dyn FnMut() -> bool) -> Option<Self> {
        let state = &snapshot.0;
        let copy = RecentLayer::default();
        let mut group = 0;
        let mut rows: Vec<LayerRow> = Vec::new();
        for layer in state.layers.iter().rev() {
            group += 1;
            for (table, first) in Self::TABLES
                .into_iter()
                .flat_map(|table| (0..=u8::MAX).map(move |first| (table, first)))
            {
                let (from, to) = ([first], first.checked_add(1).map(|next| [next]));
                let range = KeyRange {
                    from: Bound::Included(&from[..]),
                    to: to
                        .as_ref()
                        .map_or(Bound::Unbounded, |next| Bound::Excluded(&next[..])),
                };
                layer.scan(table, &range, false, state.group, usize::MAX, &mut rows);
                let written = rows.iter();
                let written = written.map(|(key, value)| (table, &key[..], value.as_deref()));
                copy.write(written, group, &[]);
                rows.clear();
                if !go_on() {
                    return None;
                }
            }
        }
        let layers = if copy.is_empty() {
            Vec::new()
        } else {
            vec![Arc::new(copy)]
        };
        let base = Arc::clone(&state.base);
        Some(Self(StoreSnapshot::over(base, layers, group, None)))
    }

    /// The object, if it was there.
    ///
    /// # Errors
    /// The row cannot be read.
    pub fn object(&self, id: Id) -> Result<Option<Object>, StoreReadError> {
        self.0.object(id)
    }

    /// The template, if it was there.
    ///
    /// # Errors
    /// The row cannot be read.
    pub fn template(&self, id: Id) -> Result<Option<Template>, StoreReadError> {
        self.0.template(id)
    }
}

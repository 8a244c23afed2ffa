//! Walks along a table: RocksDB's rows and the recent ones in one order.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

use super::{RawRow, RowRef, StoreReadError, StoreSnapshot};
use crate::recent::{KeyRange, LayerRow, RecentLayer, RowKey};
use crate::tables::Table;

/// First and largest number of rows copied under one lock of a layer.
const SCANNED: usize = 16;
const SCANNED_MAX: usize = 1024;

/// The ends of a scan.
type ScanBounds = (Bound<RowKey>, Bound<RowKey>);

fn as_slice(bound: &Bound<RowKey>) -> Bound<&[u8]> {
    match bound {
        Bound::Included(key) => Bound::Included(key),
        Bound::Excluded(key) => Bound::Excluded(key),
        Bound::Unbounded => Bound::Unbounded,
    }
}

/// A scan of one layer's rows.
struct LayerRows<'a> {
    layer: &'a RecentLayer,
    /// The range that is not copied yet.
    bounds: ScanBounds,
    rows: VecDeque<LayerRow>,
    scanned: usize,
    is_over: bool,
}

/// A scan of the layers' rows, including deleted ones.
pub(super) struct RecentRows<'a> {
    /// Newest first.
    layers: Vec<LayerRows<'a>>,
    table: Table,
    group: u64,
    descending: bool,
    /// The next row, if it was peeked.
    next: Option<LayerRow>,
}

impl<'a> RecentRows<'a> {
    pub(super) fn new(
        layers: &'a [Arc<RecentLayer>],
        table: Table,
        group: u64,
        bounds: ScanBounds,
        descending: bool,
    ) -> Self {
        let layers = layers.iter().map(|layer| LayerRows {
            layer,
            bounds: bounds.clone(),
            rows: VecDeque::new(),
            scanned: SCANNED,
            is_over: false,
        });
        Self {
            layers: layers.collect(),
            table,
            group,
            descending,
            next: None,
        }
    }

    fn before(&self, one: &[u8], other: &[u8]) -> bool {
        is_before(one, other, self.descending) == Ordering::Less
    }

    /// The row at the scan's position.
    fn peek(&mut self) -> Option<&LayerRow> {
        if self.next.is_none() {
            self.next = self.advance();
        }
        self.next.as_ref()
    }

    fn take(&mut self) -> Option<LayerRow> {
        match self.next.take() {
            None => self.advance(),
            next => next,
        }
    }

    fn advance(&mut self) -> Option<LayerRow> {
        for layer in &mut self.layers {
            layer.fill(self.table, self.group, self.descending);
        }
        let mut first: Option<usize> = None;
        for (index, layer) in self.layers.iter().enumerate() {
            let Some((key, _)) = layer.rows.front() else {
                continue;
            };
            // For the same key the newer layer wins.
            let comes_first = first
                .and_then(|at| self.layers[at].rows.front())
                .is_none_or(|(other, _)| self.before(key, other));
            if comes_first {
                first = Some(index);
            }
        }
        let row = self.layers[first?].rows.pop_front()?;
        for layer in &mut self.layers {
            layer.rows.pop_front_if(|(key, _)| *key == row.0);
        }
        Some(row)
    }
}

impl LayerRows<'_> {
    fn fill(&mut self, table: Table, group: u64, descending: bool) {
        if !self.rows.is_empty() || self.is_over {
            return;
        }
        let range = KeyRange {
            from: as_slice(&self.bounds.0),
            to: as_slice(&self.bounds.1),
        };
        let count_max = self.scanned;
        self.layer
            .scan(table, &range, descending, group, count_max, &mut self.rows);
        self.is_over = self.rows.len() < count_max;
        self.scanned = (2 * count_max).min(SCANNED_MAX);
        if let Some((last, _)) = self.rows.back() {
            let rest = Bound::Excluded(last.clone());
            if descending {
                self.bounds.1 = rest;
            } else {
                self.bounds.0 = rest;
            }
        }
    }
}

/// Compares two keys in the direction of a scan.
fn is_before(one: &[u8], other: &[u8], descending: bool) -> Ordering {
    let order = one.cmp(other);
    if descending { order.reverse() } else { order }
}

/// RocksDB's rows and the recent ones, merged.
pub(super) struct MergedRows<'a, B: Iterator<Item = Result<RawRow, StoreReadError>>> {
    base: std::iter::Peekable<B>,
    recent: RecentRows<'a>,
}

impl<'a, B: Iterator<Item = Result<RawRow, StoreReadError>>> MergedRows<'a, B> {
    pub(super) fn new(base: B, recent: RecentRows<'a>) -> Self {
        Self {
            base: base.peekable(),
            recent,
        }
    }
}

impl<B: Iterator<Item = Result<RawRow, StoreReadError>>> Iterator for MergedRows<'_, B> {
    type Item = Result<RawRow, StoreReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let descending = self.recent.descending;
            let order = match (self.base.peek(), self.recent.peek()) {
                (_, None) | (Some(Err(_)), _) => return self.base.next(),
                (None, Some(_)) => Ordering::Greater,
                (Some(Ok((base, _))), Some((recent, _))) => is_before(base, recent, descending),
            };
            if order == Ordering::Less {
                return self.base.next();
            }
            if order == Ordering::Equal {
                // The recent row replaces RocksDB's.
                self.base.next();
            }
            if let Some((key, Some(value))) = self.recent.take() {
                return Some(Ok((key.as_slice().into(), value)));
            }
        }
    }
}

/// Walk along a table in key order. RocksDB's rows are read in place; none is copied.
pub(crate) struct TableCursor<'a> {
    snapshot: &'a StoreSnapshot,
    table: Table,
    base: rocksdb::DBRawIterator<'a>,
    recent: RecentRows<'a>,
}

impl<'a> TableCursor<'a> {
    pub(super) fn new(
        snapshot: &'a StoreSnapshot,
        table: Table,
        base: rocksdb::DBRawIterator<'a>,
    ) -> Self {
        let all = (Bound::Unbounded, Bound::Unbounded);
        Self {
            snapshot,
            table,
            base,
            recent: snapshot.recent_rows(table, all, false),
        }
    }

    /// Moves to the first row.
    pub(crate) fn seek_to_first(&mut self) {
        self.base.seek_to_first();
        self.seek_recent(Bound::Unbounded);
    }

    /// Moves to the first row whose key is at least `key`.
    pub(crate) fn seek(&mut self, key: &[u8]) {
        self.base.seek(key);
        self.seek_recent(Bound::Included(RowKey::from_slice(key)));
    }

    fn seek_recent(&mut self, from: Bound<RowKey>) {
        let bounds = (from, Bound::Unbounded);
        self.recent = self.snapshot.recent_rows(self.table, bounds, false);
        self.pass_deleted();
    }

    /// Whether the present row is a recent one, and whether RocksDB also has it.
    fn is_recent(&mut self) -> (bool, bool) {
        match (self.base.key(), self.recent.peek()) {
            (_, None) => (false, false),
            (None, Some(_)) => (true, false),
            (Some(base), Some((recent, _))) => match base.cmp(recent) {
                Ordering::Less => (false, false),
                order => (true, order == Ordering::Equal),
            },
        }
    }

    fn pass_deleted(&mut self) {
        loop {
            let (is_recent, is_in_base) = self.is_recent();
            let is_deleted =
                is_recent && self.recent.peek().is_some_and(|(_, value)| value.is_none());
            if !is_deleted {
                return;
            }
            self.recent.take();
            if is_in_base {
                self.base.next();
            }
        }
    }

    /// The present row; `None` after the last one.
    pub(crate) fn row(&mut self) -> Result<Option<RowRef<'_>>, StoreReadError> {
        if self.is_recent().0 {
            let row = self.recent.peek();
            return Ok(row.and_then(|(key, value)| Some((key.as_slice(), value.as_deref()?))));
        }
        match self.base.item() {
            Some(row) => Ok(Some(row)),
            None => self
                .base
                .status()
                .map(|()| None)
                .map_err(StoreReadError::rocks(self.snapshot.database(), self.table)),
        }
    }

    /// Moves to the next row.
    pub(crate) fn advance(&mut self) {
        let (is_recent, is_in_base) = self.is_recent();
        if is_recent {
            self.recent.take();
        }
        if (!is_recent || is_in_base) && self.base.valid() {
            self.base.next();
        }
        self.pass_deleted();
    }
}

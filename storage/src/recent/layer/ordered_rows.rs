//! Rows in key order, in blocks of neighbours. Lists grow at a few places: most rows follow the last written one, in
//! the same block, without a search or an allocation.

use std::collections::BTreeMap;
use std::ops::{Bound, RangeBounds};

use super::versions::{RowVersion, RowVersions, VersionWriter};
use super::{KeyRange, RowKey, ShardDelta};

/// Bound on the rows of a block.
const BLOCK_ROWS_MAX: usize = 32;

/// Lists write each of their rows once.
type OrderedRow = (RowKey, RowVersions<1>);
type OrderedBlock = Vec<OrderedRow>;

/// Each block under a key that is not above its first row's, and above all rows of the blocks before. The first block's
/// key is empty.
#[derive(Default)]
pub(super) struct OrderedRows(BTreeMap<RowKey, OrderedBlock>);

impl OrderedRows {
    pub(super) fn get(&self, key: &[u8]) -> Option<&[RowVersion]> {
        let (_, block) = self.0.range::<[u8], _>(up_to(key)).next_back()?;
        let at = block.binary_search_by(|(other, _)| other.as_slice().cmp(key));
        Some(&block[at.ok()?].1)
    }

    /// Writes rows that are in key order.
    pub(super) fn write(
        &mut self,
        mut rows: &[(&[u8], Option<&[u8]>)],
        writer: VersionWriter<'_>,
    ) -> ShardDelta {
        let mut written = ShardDelta::default();
        while let Some((key, _)) = rows.first() {
            let after = (Bound::Excluded(*key), Bound::Unbounded);
            let next = self.0.range::<[u8], _>(after).next();
            let end = next.map(|(end, _)| end.clone());
            let Some((_, block)) = self.0.range_mut::<[u8], _>(up_to(key)).next_back() else {
                self.0.insert(RowKey::default(), OrderedBlock::new());
                continue;
            };
            let is_here = |key: &[u8]| end.as_deref().is_none_or(|end| key < end);
            let mut upper = None;
            while let Some((key, value)) = rows.first().filter(|(key, _)| is_here(key)) {
                if !write_to(block, key, *value, writer, &mut written) {
                    upper = Some(split(block, key));
                    break;
                }
                rows = &rows[1..];
            }
            if let Some((key, upper)) = upper {
                self.0.insert(key, upper);
            }
        }
        written
    }

    /// The rows of a range, in key order.
    pub(super) fn range<'a>(
        &'a self,
        range: &KeyRange<'a>,
    ) -> impl DoubleEndedIterator<Item = (&'a [u8], &'a [RowVersion])> + use<'a> {
        let (from, to) = (range.from, range.to);
        let first = match from {
            Bound::Included(from) | Bound::Excluded(from) => {
                self.0.range::<[u8], _>(up_to(from)).next_back()
            }
            Bound::Unbounded => None,
        };
        let first = first.map_or(Bound::Unbounded, |(first, _)| Bound::Included(&**first));
        let is_empty = match (first, to) {
            (Bound::Included(first), Bound::Included(to) | Bound::Excluded(to)) => first > to,
            _ => false,
        };
        let blocks = (!is_empty).then(|| self.0.range::<[u8], _>((first, to)));
        let within = move |(_, block): (_, &'a OrderedBlock)| within(block, from, to);
        let rows = blocks.into_iter().flatten().flat_map(within);
        rows.map(|(key, versions)| (&**key, &**versions))
    }
}

fn up_to(key: &[u8]) -> impl RangeBounds<[u8]> + use<'_> {
    (Bound::Unbounded, Bound::Included(key))
}

/// The rows of a block that are in a range.
fn within<'a>(
    block: &'a OrderedBlock,
    from: Bound<&[u8]>,
    to: Bound<&[u8]>,
) -> std::slice::Iter<'a, OrderedRow> {
    let start = match from {
        Bound::Included(from) => block.partition_point(|(key, _)| &**key < from),
        Bound::Excluded(from) => block.partition_point(|(key, _)| &**key <= from),
        Bound::Unbounded => 0,
    };
    let end = match to {
        Bound::Included(to) => block.partition_point(|(key, _)| &**key <= to),
        Bound::Excluded(to) => block.partition_point(|(key, _)| &**key < to),
        Bound::Unbounded => block.len(),
    };
    block.get(start..end).unwrap_or_default().iter()
}

/// Writes a row to its block; false if it is new, and the block full.
fn write_to(
    block: &mut OrderedBlock,
    key: &[u8],
    value: Option<&[u8]>,
    writer: VersionWriter<'_>,
    written: &mut ShardDelta,
) -> bool {
    let at = match block.last() {
        Some((last, _)) if &**last >= key => {
            block.binary_search_by(|(other, _)| other.as_slice().cmp(key))
        }
        _ => Err(block.len()),
    };
    match at {
        Ok(at) => {
            let freed = writer.push(&mut block[at].1, value);
            written.replaced(value, freed);
        }
        Err(_) if block.len() >= BLOCK_ROWS_MAX => return false,
        Err(at) => {
            let version = RowVersion::new(writer.group, value);
            let row = (RowKey::from_slice(key), RowVersions::from_iter([version]));
            block.insert(at, row);
            written.added(key, value);
        }
    }
    true
}

/// Splits a full block at the row's place if that is its end, and in its middle otherwise. Returns the following block,
/// and its key.
fn split(block: &mut OrderedBlock, key: &[u8]) -> (RowKey, OrderedBlock) {
    let mut upper = OrderedBlock::with_capacity(BLOCK_ROWS_MAX);
    if block.last().is_none_or(|(last, _)| &**last >= key) {
        upper.extend(block.drain(block.len() / 2..));
    }
    let first = upper.first().map(|(first, _)| first.clone());
    (first.unwrap_or_else(|| RowKey::from_slice(key)), upper)
}

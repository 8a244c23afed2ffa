//! A layer of recent rows: what was written between two flushes, in memory, readable as it stood after any group that
//! still has a reader.

mod rows;

use std::ops::Bound;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::RwLock;
use smallvec::SmallVec;

use self::rows::Rows;
use crate::tables::Table;

/// A row's key; nearly all of them fit in without an allocation.
pub(crate) type Key = SmallVec<[u8; 24]>;
/// A row as a reader sees it: `None` where the row was deleted.
pub(crate) type Row = (Key, Option<Box<[u8]>>);

/// Bytes that a row takes besides its key and its values.
const ROW_BYTES: usize = 128;
/// One lock for each first byte of a key: ids spread over all of them, and a walk in the order of keys goes from one to
/// the next.
const SHARDS: usize = 256;
/// Rows of a shard that are written under one lock, at most: as many as the processor can fetch at once.
const RUN_MAX: usize = 16;

/// What a group wrote to a row.
struct Version {
    /// The group's number.
    group: u64,
    /// `None` deletes.
    value: Option<Box<[u8]>>,
}

/// The versions of a row that somebody may read, oldest first. Most rows have the newest one and the one before.
type Versions = SmallVec<[Version; 2]>;

type Shard = RwLock<Rows>;

/// Which keys of a walk are wanted.
pub(crate) struct Range<'a> {
    pub(crate) from: Bound<&'a [u8]>,
    pub(crate) to: Bound<&'a [u8]>,
}

impl Range<'_> {
    /// Every key.
    const ALL: Self = Self {
        from: Bound::Unbounded,
        to: Bound::Unbounded,
    };
}

/// Which shards of a table hold rows, a bit each: most walks find nothing recent, and looking into every shard would
/// cost them more than the walk.
#[derive(Default)]
struct Filled([AtomicU64; SHARDS / 64]);

impl Filled {
    /// Called under the shard's lock. A reader of the row sees it, because it learns of the row's group later.
    fn fill(&self, first: u8) {
        self.0[usize::from(first) / 64].fetch_or(1 << (first % 64), Ordering::Relaxed);
    }

    fn holds(&self, first: u8) -> bool {
        self.0[usize::from(first) / 64].load(Ordering::Relaxed) >> (first % 64) & 1 == 1
    }
}

/// Adds a row's newest version, and drops those that nobody reads. Returns how many bytes of values went.
fn push_version(versions: &mut Versions, value: Option<&[u8]>, group: u64, read: &[u64]) -> usize {
    let mut freed = 0;
    let mut kept = 0;
    let mut spare = None;
    for index in 0..versions.len() {
        let next = versions.get(index + 1).map_or(group, |next| next.group);
        if is_read(read, versions[index].group, next) {
            versions.swap(kept, index);
            kept += 1;
        } else if let Some(value) = versions[index].value.take() {
            freed += value.len();
            spare = Some(value);
        }
    }
    // Most rows keep their length: then the memory of the version that goes will do.
    let value = value.map(|value| match spare {
        Some(mut spare) if spare.len() == value.len() => {
            spare.copy_from_slice(value);
            spare
        }
        _ => Box::from(value),
    });
    versions.truncate(kept);
    versions.push(Version { group, value });
    freed
}

/// The rows of all tables that were written since the layer began.
pub(crate) struct Layer {
    shards: Vec<Shard>,
    filled: Vec<Filled>,
    bytes: AtomicUsize,
}

impl Default for Layer {
    fn default() -> Self {
        let of = |table: &Table| Shard::new(Rows::of(*table));
        let shards = Table::ALL
            .iter()
            .flat_map(|table| (0..SHARDS).map(move |_| of(table)));
        Self {
            shards: shards.collect(),
            filled: Table::ALL.iter().map(|_| Filled::default()).collect(),
            bytes: AtomicUsize::new(0),
        }
    }
}

impl Layer {
    fn shard(&self, table: Table, first: u8) -> &Shard {
        &self.shards[table as usize * SHARDS + usize::from(first)]
    }

    /// About how many bytes of memory it takes.
    pub(crate) fn len_bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len_bytes() == 0
    }

    /// Writes rows, in the order of tables and keys, for the group of this number. `read` are the groups, in order, as
    /// whose last the layer is being read: versions that none of them sees go.
    pub(crate) fn write<'r>(
        &self,
        rows: impl Iterator<Item = (Table, &'r [u8], Option<&'r [u8]>)>,
        group: u64,
        read: &[u64],
    ) {
        let mut rows = rows.peekable();
        let mut run = Vec::with_capacity(RUN_MAX);
        while let Some((table, key, value)) = rows.next() {
            let byte = first(key);
            run.push((key, value));
            while run.len() < RUN_MAX
                && let Some((_, key, value)) =
                    rows.next_if(|(next, key, _)| *next == table && first(key) == byte)
            {
                run.push((key, value));
            }
            self.write_run(table, byte, &run, group, read);
            run.clear();
        }
    }

    /// Writes rows of one shard. They lie all over the memory, so the processor is first made to fetch all of them, which
    /// takes about as long as fetching one.
    fn write_run(
        &self,
        table: Table,
        byte: u8,
        run: &[(&[u8], Option<&[u8]>)],
        group: u64,
        read: &[u64],
    ) {
        let mut rows = self.shard(table, byte).write();
        for (key, _) in run {
            rows.fetch(key);
        }
        let (mut added, mut freed, mut is_new) = (0, 0, false);
        for (key, value) in run {
            let bytes = value.map_or(0, <[u8]>::len);
            if let Some(versions) = rows.get_mut(key) {
                added += bytes;
                freed += push_version(versions, *value, group, read);
            } else {
                let value = value.map(Box::from);
                rows.insert(key, SmallVec::from_iter([Version { group, value }]));
                added += ROW_BYTES + key.len() + bytes;
                is_new = true;
            }
        }
        if is_new {
            self.filled[table as usize].fill(byte);
        }
        // First what comes, then what goes: the sum never falls below zero.
        self.bytes.fetch_add(added, Ordering::Relaxed);
        self.bytes.fetch_sub(freed, Ordering::Relaxed);
    }

    /// Gives a row, as it stood after a group, to `found`, if it was written since the layer began.
    pub(crate) fn get<T>(
        &self,
        table: Table,
        key: &[u8],
        group: u64,
        found: impl FnOnce(Option<&[u8]>) -> T,
    ) -> Option<T> {
        let shard = self.shard(table, first(key));
        let rows = shard.read();
        let version = seen(rows.get(key)?, group)?;
        Some(found(version.value.as_deref()))
    }

    /// Appends up to `count_max` rows of a range, as they stood after a group, in the order of keys or against it.
    pub(crate) fn scan(
        &self,
        table: Table,
        range: &Range<'_>,
        descending: bool,
        group: u64,
        count_max: usize,
        rows: &mut impl Extend<Row>,
    ) {
        let low = match range.from {
            Bound::Included(key) | Bound::Excluded(key) => first(key),
            Bound::Unbounded => 0,
        };
        let high = match range.to {
            Bound::Included(key) | Bound::Excluded(key) => first(key),
            Bound::Unbounded => u8::MAX,
        };
        let mut left = count_max;
        let filled = &self.filled[table as usize];
        for step in 0..=high.saturating_sub(low) {
            if left == 0 || low > high {
                return;
            }
            let byte = if descending { high - step } else { low + step };
            if !filled.holds(byte) {
                continue;
            }
            let shard = self.shard(table, byte).read();
            let mut within = shard.range(range);
            let mut take = |(key, versions): (&Key, &Versions)| {
                if let Some(version) = seen(versions, group) {
                    rows.extend([(key.clone(), version.value.clone())]);
                    left -= 1;
                }
                left > 0
            };
            if descending {
                within.rev().all(&mut take);
            } else {
                within.all(&mut take);
            }
        }
    }

    /// Every row's last write, in the order of tables and keys. Nobody writes to the layer any more.
    pub(crate) fn for_each_last(&self, mut each: impl FnMut(Table, &[u8], Option<&[u8]>)) {
        for (index, shard) in self.shards.iter().enumerate() {
            let rows = shard.read();
            for (key, versions) in rows.range(&Range::ALL) {
                if let Some(last) = versions.last() {
                    each(Table::ALL[index / SHARDS], key, last.value.as_deref());
                }
            }
        }
    }
}

fn first(key: &[u8]) -> u8 {
    key.first().copied().unwrap_or(0)
}

/// Whether somebody reads the rows as they stood after a group from `from` on and before `next`.
fn is_read(read: &[u64], from: u64, next: u64) -> bool {
    let at = read.partition_point(|group| *group < from);
    read.get(at).is_some_and(|group| *group < next)
}

/// The last version of those up to a group.
fn seen(versions: &Versions, group: u64) -> Option<&Version> {
    versions.iter().rev().find(|version| version.group <= group)
}

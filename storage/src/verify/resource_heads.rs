//! State of each resource after its last action, in bounded memory. The newest stay in memory. Once there are too many,
//! all go to a scratch database, where look-ups find them.

use std::path::{Path, PathBuf};

use kedge_protocol::ids::IdMap;
use kedge_protocol::{Hash, Id};
use rocksdb::{BlockBasedOptions, Cache, DB, Options, WriteBatch, WriteOptions};

use crate::check::StoreFault;

/// Approximate memory of an entry.
const ENTRY_BYTES: usize = 128;
/// Bytes of a stored entry.
const ROW_BYTES: usize = 49;

/// A resource's state after its last action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ResourceHead {
    pub(super) version: u64,
    pub(super) integrity: Hash,
    pub(super) sequence: u64,
    /// Whether an action named it; a registration creates an organization with its wallet before an action names it.
    pub(super) is_acted_on: bool,
}

/// State before a resource's first action.
pub(super) const NOTHING: ResourceHead = ResourceHead {
    version: 0,
    integrity: Hash::ZERO,
    sequence: 0,
    is_acted_on: false,
};

impl ResourceHead {
    fn row(&self) -> [u8; ROW_BYTES] {
        let mut row = [0; ROW_BYTES];
        row[..8].copy_from_slice(&self.version.to_be_bytes());
        row[8..40].copy_from_slice(&self.integrity.0);
        row[40..48].copy_from_slice(&self.sequence.to_be_bytes());
        row[48] = u8::from(self.is_acted_on);
        row
    }

    fn read(row: &[u8]) -> Option<Self> {
        let (version, rest) = row.split_first_chunk()?;
        let (integrity, rest) = rest.split_first_chunk()?;
        let (sequence, rest) = rest.split_first_chunk()?;
        Some(Self {
            version: u64::from_be_bytes(*version),
            integrity: Hash(*integrity),
            sequence: u64::from_be_bytes(*sequence),
            is_acted_on: *rest.first()? == 1,
        })
    }
}

/// The states of all resources.
pub(super) struct ResourceHeads<'a> {
    recent: IdMap<Id, ResourceHead>,
    bounds: Option<&'a (usize, PathBuf)>,
    older: Option<DB>,
}

impl<'a> ResourceHeads<'a> {
    /// Uses about this much memory, and a folder in the directory for the rest. Without bounds everything is in memory.
    pub(super) fn new(bounds: Option<&'a (usize, PathBuf)>) -> Self {
        Self {
            recent: IdMap::default(),
            bounds,
            older: None,
        }
    }

    pub(super) fn get(&self, id: Id) -> Result<Option<ResourceHead>, StoreFault> {
        if let Some(known) = self.recent.get(&id) {
            return Ok(Some(*known));
        }
        let Some(older) = &self.older else {
            return Ok(None);
        };
        let Some(row) = older.get_pinned(key(id)).map_err(failed)? else {
            return Ok(None);
        };
        let damaged = || StoreFault::Scratch(format!("the standing of {id} is damaged"));
        ResourceHead::read(&row).ok_or_else(damaged).map(Some)
    }

    pub(super) fn put(&mut self, id: Id, standing: ResourceHead) -> Result<(), StoreFault> {
        self.recent.insert(id, standing);
        let Some((memory_bytes, scratch)) = self.bounds else {
            return Ok(());
        };
        // The other half is the database's.
        if self.recent.len() * ENTRY_BYTES < memory_bytes / 2 {
            return Ok(());
        }
        let older = match &mut self.older {
            Some(older) => older,
            None => self.older.insert(open(scratch, *memory_bytes)?),
        };
        let mut batch = WriteBatch::default();
        for (id, standing) in self.recent.drain() {
            batch.put(key(id), standing.row());
        }
        let mut options = WriteOptions::default();
        options.disable_wal(true);
        older.write_opt(batch, &options).map_err(failed)
    }
}

fn key(id: Id) -> [u8; 17] {
    let mut key = [id.prefix as u8; 17];
    key[1..].copy_from_slice(&id.bytes);
    key
}

fn failed(error: rocksdb::Error) -> StoreFault {
    StoreFault::Scratch(error.into_string())
}

/// Opens the scratch database.
fn open(scratch: &Path, memory_bytes: usize) -> Result<DB, StoreFault> {
    let mut blocks = BlockBasedOptions::default();
    blocks.set_block_cache(&Cache::new_lru_cache(memory_bytes / 4));
    blocks.set_cache_index_and_filter_blocks(true);
    // Most look-ups are for new resources, which are absent.
    blocks.set_bloom_filter(10.0, false);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_block_based_table_factory(&blocks);
    options.set_write_buffer_size((memory_bytes / 8).max(1 << 20));
    options.set_max_write_buffer_number(2);
    options.set_max_open_files(256);
    options.set_compression_type(rocksdb::DBCompressionType::None);
    DB::open(&options, scratch.join("standings")).map_err(failed)
}

#[cfg(test)]
mod tests {
    use kedge_protocol::Prefix;

    use super::*;

    fn id(number: u32) -> Id {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        Id {
            prefix: Prefix::Object,
            bytes,
        }
    }

    // Holds invariant 242.
    #[test]
    fn what_left_memory_is_found_again_in_its_newest_form() {
        let scratch = tempfile::tempdir().unwrap();
        let bounds = (64 * ENTRY_BYTES, scratch.path().to_owned());
        let mut standings = ResourceHeads::new(Some(&bounds));
        let of = |number: u32, version: u64| ResourceHead {
            version,
            integrity: Hash([number as u8; 32]),
            sequence: u64::from(number) + 1,
            is_acted_on: number.is_multiple_of(2),
        };
        for version in 1..=3 {
            for number in 0..100 {
                let before = standings.get(id(number)).unwrap();
                assert_eq!(before, (version > 1).then(|| of(number, version - 1)));
                standings.put(id(number), of(number, version)).unwrap();
            }
        }
        assert!(standings.older.is_some());
        assert_eq!(standings.get(id(100)).unwrap(), None);
    }
}

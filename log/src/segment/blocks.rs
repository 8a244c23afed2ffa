//! A small cache of decompressed blocks, shared by all readers of a log.

use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::error::ReadError;

/// A decompressed block.
pub(crate) type Block = Arc<Vec<u8>>;

/// The first frame of the segment, and the block's number in it.
type BlockKey = (u64, u32);

#[derive(Clone)]
struct Bytes;

impl Weighter<BlockKey, Block> for Bytes {
    fn weight(&self, _: &BlockKey, block: &Block) -> u64 {
        block.len() as u64
    }
}

/// Decompressed blocks, up to so many bytes.
pub(crate) struct BlockCache(Cache<BlockKey, Block, Bytes>);

impl BlockCache {
    pub(crate) fn new(bytes: u64) -> Self {
        // The estimate only sizes the table.
        let items = (bytes / (256 * 1024)).max(8) as usize;
        Self(Cache::with_weighter(items, bytes, Bytes))
    }

    pub(crate) fn get_or_read(
        &self,
        segment: u64,
        block: u32,
        read: impl FnOnce() -> Result<Block, ReadError>,
    ) -> Result<Block, ReadError> {
        self.0.get_or_insert_with(&(segment, block), read)
    }
}

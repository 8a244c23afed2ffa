//! Decompressed blocks: a small cache shared by all readers of a log, and the last blocks of a sequential reader.

use std::sync::Arc;

use quick_cache::Weighter;
use quick_cache::sync::Cache;

use crate::error::LogReadError;

type SegmentBlock = Arc<Vec<u8>>;

/// First frame of the segment, and the block's number in it.
type BlockKey = (u64, u32);

#[derive(Clone)]
struct BlockWeighter;

impl Weighter<BlockKey, SegmentBlock> for BlockWeighter {
    fn weight(&self, _: &BlockKey, block: &SegmentBlock) -> u64 {
        block.len() as u64
    }
}

/// A cache of decompressed blocks.
pub(crate) trait BlockSource {
    /// Passes the bytes of a block to `each`. On a miss, `read` first puts them into a buffer.
    fn show<T>(
        &mut self,
        segment: u64,
        block: u32,
        read: impl FnOnce(&mut Vec<u8>) -> Result<(), LogReadError>,
        each: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, LogReadError>;
}

/// Shared cache of decompressed blocks, bounded by their bytes.
pub(crate) struct BlockCache(Cache<BlockKey, SegmentBlock, BlockWeighter>);

impl BlockCache {
    pub(crate) fn new(bytes: u64) -> Self {
        // Only sizes the table.
        let items = (bytes / (256 * 1024)).max(8) as usize;
        Self(Cache::with_weighter(items, bytes, BlockWeighter))
    }
}

impl BlockSource for &BlockCache {
    fn show<T>(
        &mut self,
        segment: u64,
        block: u32,
        read: impl FnOnce(&mut Vec<u8>) -> Result<(), LogReadError>,
        each: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, LogReadError> {
        let found = self.0.get_or_insert_with(&(segment, block), || {
            let mut bytes = Vec::new();
            read(&mut bytes).map(|()| Arc::new(bytes))
        });
        found.map(|block| each(&block))
    }
}

/// The last two blocks of a reader, because a frame's header may cross the edge between them. The buffers are reused.
#[derive(Default)]
pub(crate) struct LastBlocks([BlockBuffer; 2]);

#[derive(Default)]
struct BlockBuffer {
    key: Option<BlockKey>,
    bytes: Vec<u8>,
}

impl BlockSource for &mut LastBlocks {
    fn show<T>(
        &mut self,
        segment: u64,
        block: u32,
        read: impl FnOnce(&mut Vec<u8>) -> Result<(), LogReadError>,
        each: impl FnOnce(&[u8]) -> T,
    ) -> Result<T, LogReadError> {
        let key = Some((segment, block));
        let [last, before] = &mut self.0;
        if before.key == key {
            return Ok(each(&before.bytes));
        }
        if last.key != key {
            std::mem::swap(last, before);
            last.key = None;
            read(&mut last.bytes)?;
            last.key = key;
        }
        Ok(each(&last.bytes))
    }
}

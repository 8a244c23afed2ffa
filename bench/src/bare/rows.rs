//! A RocksDB row per action, as in the server's first version.

use std::path::Path;

use rocksdb::{DB, DBCompressionType, Options, WriteBatch, WriteOptions};

use super::log::{BareStorage, ChainedRequest};
use crate::error::BenchResult;

/// Size of the memtable.
const MEMTABLE_BYTES: usize = 128 * 1024 * 1024;

pub(super) struct RowStorage {
    db: DB,
    group: WriteBatch,
    row: Vec<u8>,
}

impl RowStorage {
    pub(super) fn open(path: &Path) -> BenchResult<Self> {
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_error_if_exists(true);
        options.set_write_buffer_size(MEMTABLE_BYTES);
        options.set_max_write_buffer_number(4);
        options.set_compression_type(DBCompressionType::None);
        options.set_bytes_per_sync(1024 * 1024);
        Ok(Self {
            db: DB::open(&options, path)?,
            group: WriteBatch::default(),
            row: Vec::new(),
        })
    }
}

impl BareStorage for RowStorage {
    fn add(&mut self, request: &ChainedRequest<'_>) -> BenchResult<()> {
        let entry = request.entry;
        let actions = entry.texts.iter().zip(&request.heads[1..]);
        for (sequence, (texts, head)) in (request.first_sequence..).zip(actions) {
            let row = &mut self.row;
            row.clear();
            row.extend_from_slice(&head.0);
            row.extend_from_slice(&request.timestamp_ms.to_be_bytes());
            if sequence == request.first_sequence {
                // With the texts, this is enough to check the signature again.
                row.extend_from_slice(&entry.signature.0);
                row.extend_from_slice(&entry.salt_seed.0);
                row.extend_from_slice(&entry.head.nonce.to_be_bytes());
                row.extend_from_slice(&entry.head.deadline_s.to_be_bytes());
            }
            // Target and payload, and the text between.
            let start = texts.target.start.min(texts.payload.start);
            let end = texts.target.end.max(texts.payload.end);
            row.extend_from_slice(&entry.body[start..end]);
            self.group.put(sequence.to_be_bytes(), &row);
        }
        Ok(())
    }

    fn sync(&mut self) -> BenchResult<()> {
        let mut durable = WriteOptions::default();
        durable.set_sync(true);
        Ok(self
            .db
            .write_opt(std::mem::take(&mut self.group), &durable)?)
    }
}

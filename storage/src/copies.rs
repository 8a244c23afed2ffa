//! Copies of a store: a whole one of a store that is open, and single tables for one that is made
//! again.

use std::path::Path;

use rocksdb::WriteBatch;
use rocksdb::checkpoint::Checkpoint;

use crate::snapshot::{ReadError, Snapshot};
use crate::store::{CommitError, Store};
use crate::tables::Table;
use crate::tables::meta::INDEXED_KEY;

/// Bytes that are gathered before they are written.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

/// Why a copy was not made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CopyError {
    /// The source cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The copy cannot be written.
    #[error(transparent)]
    Write(#[from] CommitError),
    /// The store gives no copy of itself.
    #[error("the store could not be copied: {0}")]
    Store(String),
}

impl Store {
    /// Makes a consistent copy at `path`, which must not be there, while commits continue. Table files
    /// are linked where `path` is on the same file system: they never change.
    pub fn copy_to(&self, path: &Path) -> Result<(), CopyError> {
        let failed = |error: rocksdb::Error| CopyError::Store(error.into_string());
        Checkpoint::new(self.database.raw())
            .and_then(|checkpoint| checkpoint.create_checkpoint(path))
            .map_err(failed)
    }

    /// Takes all rows of a table as another store has them; gives how many. Nothing is synced before
    /// [`Store::close`].
    pub fn take_table(&self, from: &Snapshot, table: Table) -> Result<u64, CopyError> {
        let family = self.database.table(table);
        let mut batch = WriteBatch::default();
        let mut count = 0;
        let write = |batch| {
            let written = self.database.raw().write(batch);
            written.map_err(|error| CopyError::Store(error.into_string()))
        };
        for row in from.raw_rows(table) {
            let (key, value) = row?;
            // How far this store's own index of actions reaches is for it to say.
            if table == Table::Meta && *key == *INDEXED_KEY {
                continue;
            }
            batch.put_cf(family, key, value);
            count += 1;
            if batch.size_in_bytes() >= BATCH_BYTES {
                write(std::mem::take(&mut batch))?;
            }
        }
        write(batch)?;
        Ok(count)
    }
}

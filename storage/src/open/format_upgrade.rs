//! Upgrade of a store in place. It runs before the store's rows are used, and a crash meanwhile leaves the earlier format,
//! whose upgrade begins again.

use rocksdb::{FlushOptions, WriteBatch};

use crate::codec;
use crate::recent::row_writes;
use crate::rocks::RocksDatabase;
use crate::snapshot::{StoreReadError, StoreSnapshot};
use crate::tables::meta::FORMAT_KEY;
use crate::tables::objects::{TEMPLATE_LISTS, serial_row};
use crate::tables::{FORMAT_VERSION, FORMAT_WITHOUT_SERIALS, FORMAT_WITHOUT_STATE, Table};

/// Rows of one write.
const ROWS: usize = 10_000;

/// Why a store was not upgraded.
#[derive(Debug, thiserror::Error)]
pub(super) enum UpgradeError {
    #[error(transparent)]
    Read(#[from] StoreReadError),
    #[error(transparent)]
    Write(#[from] rocksdb::Error),
}

/// Upgrades a store of an earlier format. The caller has checked that it can be upgraded.
pub(super) fn upgrade(
    database: &RocksDatabase,
    snapshot: &StoreSnapshot,
) -> Result<(), UpgradeError> {
    let format = snapshot.get_number(Table::Meta, FORMAT_KEY)?;
    let objects = match format {
        Some(FORMAT_WITHOUT_SERIALS) => {
            tracing::info!("the store is upgraded: its objects get their serials");
            add_serials(database, snapshot)?
        }
        // Opening it for writing has made the missing tables.
        Some(FORMAT_WITHOUT_STATE) => 0,
        _ => return Ok(()),
    };
    let mut batch = WriteBatch::default();
    let meta = database.table(Table::Meta);
    batch.put_cf(meta, FORMAT_KEY, FORMAT_VERSION.to_be_bytes());
    database.raw().write_opt(batch, &row_writes())?;
    let mut options = FlushOptions::default();
    options.set_wait(true);
    database.raw().flush_cfs_opt(&database.tables(), &options)?;
    tracing::info!(objects, "the store is upgraded");
    Ok(())
}

/// Writes each object's serial into its template's list: its place there, because a list is in the order of mints and no
/// object leaves it. Returns the number of objects.
fn add_serials(database: &RocksDatabase, snapshot: &StoreSnapshot) -> Result<u64, UpgradeError> {
    let lists = database.table(Table::ObjectIndex);
    let (mut template, mut serial) = ([0; 16], 0);
    let mut batch = WriteBatch::default();
    let (mut objects, table) = (0, Table::ObjectIndex);
    let mut rows = snapshot.cursor(table);
    rows.seek(&[TEMPLATE_LISTS]);
    while let Some((key, value)) = rows.row()? {
        let (Some((&TEMPLATE_LISTS, rest)), Some(id)) = (key.split_first(), value.first_chunk())
        else {
            break;
        };
        let of = codec::leading_id(rest).map_err(StoreReadError::row(table, key))?;
        serial = if of == template { serial + 1 } else { 1 };
        template = of;
        batch.put_cf(lists, key, serial_row(id, serial));
        objects += 1;
        if batch.len() >= ROWS {
            database
                .raw()
                .write_opt(std::mem::take(&mut batch), &row_writes())?;
        }
        rows.advance();
    }
    database.raw().write_opt(batch, &row_writes())?;
    Ok(objects)
}

//! The store: RocksDB behind typed tables, one write a commit group, snapshots for readers, and an
//! opening that trusts nothing it has not recomputed.

mod check;
mod codec;
mod group;
mod high_water;
pub mod metric_definitions;
mod open;
mod read;
mod rocks;
mod snapshot;
mod store;
mod tables;
pub mod verify;

pub use check::Fault;
pub use codec::CodecError;
pub use group::{Group, SideWrite};
pub use high_water::{HighWater, HighWaterError, Released};
pub use open::OpenError;
pub use read::{Page, PlacedAction};
pub use snapshot::{RawRow, ReadError, Snapshot};
pub use store::{CommitError, Mode, Options, Store};
pub use tables::Table;
pub use tables::accounts::SessionRow;
pub use tables::anchors::{AnchorRow, AnchorStatus};
pub use tables::meta::LogHead;
pub use tables::objects::ObjectIndex;

//! The store: a log in files, the rows that follow from it in RocksDB through typed tables, snapshots for readers, and
//! an opening that trusts only data that it has recomputed.
//!
//! - [`Store::begin`] checks that the log is whole and returns the frames whose rows are missing; the caller, which
//!   knows the rules, applies them; [`StoreOpening::finish`] then recomputes the last batches, compares them with the head
//!   and with the high-water mark of released headers, and reports faults and their remedies.
//! - A [`WriteGroup`] gathers the writes of one commit. [`Store::append`] puts it into the log, [`Store::sync_through`]
//!   makes that durable, and [`Store::apply`] then writes the rows and returns a [`StoreSnapshot`] with them. A step that a
//!   full disk refuses can be retried.
//! - [`Store::release`] advances the mark, after the commit and before headers leave. Without a path for it the mark is
//!   in the data directory: there it shows lost writes, but not that the whole directory is an old copy.
//! - [`verify`](mod@verify) walks a whole store; a caller that knows the rules replays meanwhile.
//!
//! RocksDB's types stay inside, and so does the row layout: other crates see protocol types.

mod action_index;
mod check;
mod codec;
mod contents;
mod copies;
mod creation_lock;
mod group;
mod high_water;
mod live_files;
mod mark_check;
pub mod metric_definitions;
mod open;
mod read;
mod recent;
mod rocks;
mod sealing;
mod segment_archive;
mod shared_log;
mod snapshot;
mod state;
mod store;
mod tables;
mod upkeep;
pub mod verify;

pub use check::StoreFault;
pub use codec::CodecError;
pub use contents::{CONTENTS_FOLDER, content_path};
pub use copies::{LogCopy, StoreCopyError};
pub use group::{NamedResource, SideWrite, WriteGroup};
pub use high_water::{HighWater, HighWaterError, HighWaterMark, ReleasedHead};
pub use kedge_log::frame::FrameError;
pub use kedge_log::{
    FileLog, KeyId, Log, LogOptions, LogPosition, LogUsage, SideEntry, SideKeys, StoredFrame,
};
pub use mark_check::MissingMark;
pub use open::{ARCHIVED_LIST, StoreOpenError, StoreOpening};
pub use read::{
    ActionReader, IndexedObject, ListWindow, ListedObject, LoggedRequest, PlacedAction,
    PropertyRange, RowPage,
};
pub use rocks::table_files_max;
pub use sealing::SealError;
pub use snapshot::{PastResources, RawRow, StoreReadError, StoreSnapshot};
pub use state::{ResourceEntries, StateError, StateRoot};
pub use store::{CommitError, LogReplicator, Store, StoreAccess, StoreMode, StoreOptions};
pub use tables::Table;
pub use tables::accounts::{SessionRow, UsageRow};
pub use tables::anchors::{AnchorProgress, AnchorRow};
pub use tables::deliveries::{DeliveryPause, DeliveryRow, DeliveryStatus, OutboxRow};
pub use tables::events::EventRow;
pub use tables::meta::LogHead;
pub use tables::objects::{ObjectIndex, ObjectOrigin};
pub use tables::records::{IdempotencyRow, SecretRow};
pub use tables::residue::{IdempotencyResidue, ResourceRow};
#[doc(hidden)]
pub use tables::round_trip::rewritten;
pub use tables::row::StoredResource;

//! Converts the log to the rows of the store. [`apply`] makes the rows, and [`catch_up`] opens a store whose rows lack
//! the log's end. The engine's committer makes the same rows with [`resource_rows`], which writes a resource, and
//! [`log_bytes`], which counts a request's bytes. A start, a restore, a rebuild and a verification do this without an
//! engine.

pub mod apply;
pub mod catch_up;
pub mod events;
pub mod frame_hashes;
pub mod log_bytes;
mod resource_count;
pub mod resource_rows;

pub use resource_count::held;

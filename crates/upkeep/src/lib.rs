//! Copies, checks and repairs of a data directory: `backup` and `archive` of a running server, `verify` and `rebuild`
//! of one that is stopped, the keys that side entries are sealed with (`side_keys`), and who may read all of it
//! (`private`).

pub mod archive;
pub mod backup;
pub mod bounds;
pub mod private;
pub mod rebuild;
pub mod side_keys;
pub mod verify;

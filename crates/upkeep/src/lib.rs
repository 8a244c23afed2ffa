//! Maintenance of a data directory: `backup` and `archive` of a running server, `verify` and `rebuild` of a stopped
//! one, state proofs and folds of a log without a server (`prove`, `fold`), the keys of sealed side entries (`side_keys`), and file permissions (`private_files`).

pub mod archive;
pub mod backup;
pub mod bounds;
pub mod fold;
pub mod private_files;
pub mod prove;
pub mod rebuild;
pub mod side_keys;
pub mod verify;

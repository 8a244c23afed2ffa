//! Tests of the store: a real RocksDB on a real disk, a log with valid signatures.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(
    clippy::case_sensitive_file_extension_comparisons,
    reason = "RocksDB names its files in lower case"
)]

mod abandoned_frames;
mod action_index;
mod bond_answers;
mod corruption;
mod disk_full;
mod expiry;
mod forging;
mod id_files;
mod lists;
mod log_first;
mod mark;
mod opening;
mod plain_trie;
mod reading;
mod records;
mod replay;
mod segments;
mod sequencer_keys;
mod state;
mod state_model;
mod state_versions;
mod state_walks;
mod support;
mod verifying;

//! The protocol against its test vectors and its document, and what its checks refuse.

#![allow(clippy::unwrap_used, reason = "a test file: a panic is the failure")]

mod chain_vectors;
#[path = "../support/checks.rs"]
mod checks;
mod documented;
mod eip712_vectors;
mod evidence;
#[path = "../support/export.rs"]
mod export;
mod exports;
#[path = "../support/faults.rs"]
mod faults;
mod file_vectors;
mod hidden_word;
mod id_maps;
mod key_proofs;
mod openings;
mod possession_vectors;
#[path = "../support/requests.rs"]
mod requests;
#[path = "../support/signed_log.rs"]
mod signed_log;
mod spec_vectors;
mod state_answers;
#[path = "../support/state_draw.rs"]
mod state_draw;
mod state_faults;
mod state_hands;
mod state_honesty;
mod state_judge;
mod state_misses;
#[path = "../support/state_model.rs"]
mod state_model;
#[path = "../support/state_proofs.rs"]
mod state_proofs;
#[path = "../support/state_scene.rs"]
mod state_scene;
mod state_trie;
mod state_vectors;
mod tlog_faults;
mod tlog_forgeries;
#[path = "../support/tlog_scene.rs"]
mod tlog_scene;
mod tlog_vectors;
mod tree_vectors;

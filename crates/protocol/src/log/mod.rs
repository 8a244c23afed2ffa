//! Layers 2 and 3, the log: the hash chain, batches and checkpoints, the trees over them, and the keys that sign them.

pub mod batch;
pub mod chain;
pub mod checkpoint;
pub mod key_proof;
pub mod log_tree;
pub mod merkle;
pub mod sequencer_keys;

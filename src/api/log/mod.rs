//! The log: batches, anchors, checkpoints and the keys that signed them.

pub mod anchors;
pub mod batches;
pub mod rows;
pub mod sequencer_key_view;
pub mod sequencer_keys;
pub mod views;

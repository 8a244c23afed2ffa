//! Rows of signed checkpoints with a root of the state, by the number of their batches.

/// The number of batches.
pub(crate) fn checkpoint_key(batches: u64) -> [u8; 8] {
    batches.to_be_bytes()
}

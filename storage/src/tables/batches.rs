//! Keys of the log tree's nodes.

/// Level ‖ index.
pub(crate) fn node_key(level: u32, index: u64) -> [u8; 9] {
    let mut key = [0; 9];
    key[0] = u8::try_from(level).expect("a tree over u64-many leaves has 64 levels");
    key[1..].copy_from_slice(&index.to_be_bytes());
    key
}

//! Keys of the state's entries and branches. The version stands last in a key and inverted, so that a version's row is the
//! first one at or after its key.

use kedge_protocol::Hash;
use kedge_protocol::state::trie::NodePath;

pub(crate) const VERSION_BYTES: usize = 8;
/// Ends a branch's path, whose bytes are nibbles.
const PATH_END: u8 = 0xff;

/// Path ‖ version.
pub(crate) fn entry_key(path: &Hash, version: u64) -> [u8; 40] {
    let mut key = [0; 40];
    key[..32].copy_from_slice(&path.0);
    key[32..].copy_from_slice(&(!version).to_be_bytes());
    key
}

/// Writes the row of an entry: its keccak256 ‖ the entry. A walk along the leaves then hashes none of them.
pub(crate) fn put_entry_row(value: &Hash, entry: &[u8], row: &mut Vec<u8>) {
    row.clear();
    row.extend_from_slice(&value.0);
    row.extend_from_slice(entry);
}

/// The keccak256 of an entry, and the entry, in its row.
pub(crate) fn split_entry_row(row: &[u8]) -> Option<(Hash, &[u8])> {
    let (value, entry) = row.split_first_chunk::<32>()?;
    Some((Hash(*value), entry))
}

/// Nibbles ‖ end ‖ version.
pub(crate) fn node_key(path: &NodePath, version: u64) -> Vec<u8> {
    let mut key = path.to_bytes();
    key.push(PATH_END);
    key.extend_from_slice(&(!version).to_be_bytes());
    key
}

/// What a key is about, and its version.
pub(crate) fn split_key(key: &[u8]) -> Option<(&[u8], u64)> {
    let (place, version) = key.split_last_chunk::<VERSION_BYTES>()?;
    Some((place, !u64::from_be_bytes(*version)))
}

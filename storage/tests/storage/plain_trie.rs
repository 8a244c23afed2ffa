//! The Merkle-Patricia trie of the yellow paper (appendix D), written plainly: all leaves at a time, nothing stored.

use kedge_protocol::Hash;
use kedge_protocol::hash::keccak_parts;
use kedge_protocol::state::EMPTY_STATE_ROOT;

pub(crate) fn nibbles(path: &Hash) -> Vec<u8> {
    path.0
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .collect()
}

/// The root of a trie, as the yellow paper says it, with nothing stored.
pub(crate) fn plain_root(leaves: &[(Vec<u8>, Hash)]) -> Hash {
    if leaves.is_empty() {
        return EMPTY_STATE_ROOT;
    }
    plain_node(leaves, 0)
}

/// The hash of the node over these leaves, which share `depth` nibbles. No node is below 32 bytes.
fn plain_node(leaves: &[(Vec<u8>, Hash)], depth: usize) -> Hash {
    if let [(path, value)] = leaves {
        return hashed(&[text(&compact(&path[depth..], 2)), text(&value.0)]);
    }
    let (first, last) = (&leaves[0].0, &leaves[leaves.len() - 1].0);
    let shared = (depth..64).take_while(|place| first[*place] == last[*place]);
    let end = depth + shared.count();
    if end > depth {
        let below = plain_node(leaves, end);
        return hashed(&[text(&compact(&first[depth..end], 0)), text(&below.0)]);
    }
    let mut items = vec![vec![0x80]; 17];
    for child in leaves.chunk_by(|one, other| one.0[depth] == other.0[depth]) {
        items[usize::from(child[0].0[depth])] = text(&plain_node(child, depth + 1).0);
    }
    hashed(&items)
}

/// Nibbles in compact form.
fn compact(nibbles: &[u8], flag: u8) -> Vec<u8> {
    let (odd, pairs) = nibbles.split_at(nibbles.len() % 2);
    let first = odd
        .first()
        .map_or(flag << 4, |nibble| (flag + 1) << 4 | nibble);
    let pairs = pairs.chunks(2).map(|pair| pair[0] << 4 | pair[1]);
    std::iter::once(first).chain(pairs).collect()
}

/// A text of at most 55 bytes in RLP.
fn text(bytes: &[u8]) -> Vec<u8> {
    match bytes {
        [byte] if *byte < 0x80 => vec![*byte],
        bytes => [&[0x80 + bytes.len() as u8], bytes].concat(),
    }
}

/// The hash of a list in RLP.
fn hashed(items: &[Vec<u8>]) -> Hash {
    let body = items.concat();
    let length = (body.len() as u64).to_be_bytes();
    let length = &length[body.len().leading_zeros() as usize / 8..];
    let header = match body.len() {
        0..56 => vec![0xc0 + body.len() as u8],
        _ => [&[0xf7 + length.len() as u8], length].concat(),
    };
    keccak_parts(&[&header, &body])
}

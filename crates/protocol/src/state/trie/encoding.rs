//! The bytes of nodes: RLP (yellow paper, appendix B) of lists of two or seventeen texts, with paths in compact form
//! (appendix C).

use std::ops::Range;

use crate::Hash;
use crate::lanes::keccak_each;

/// In the first nibble of a leaf's path, against that of an extension (yellow paper, appendix C).
pub(super) const LEAF_FLAG: u8 = 0x20;
/// The flag of a path with an odd number of nibbles, whose first shares the byte of the flag.
const ODD_FLAG: u8 = 0x10;
/// The head of an RLP text of 32 bytes.
const HASH_HEAD: u8 = 0x80 + 32;
/// RLP of an empty text.
const EMPTY: u8 = 0x80;
/// Bytes up to which one byte is the whole head of an RLP text or list.
const SHORT_MAX: usize = 55;

/// Bytes of a branch with all children.
const BRANCH_BYTES_MAX: usize = 3 + 16 * 33 + 1;

/// Nodes in RLP, one after the other.
#[derive(Default)]
pub(super) struct NodeBatch {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl NodeBatch {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn end(&mut self) {
        self.ends.push(self.bytes.len());
    }

    fn push_list_head(&mut self, payload: usize) {
        if payload <= SHORT_MAX {
            self.bytes.push(0xc0 + payload as u8);
        } else if let Ok(short) = u8::try_from(payload) {
            self.bytes.extend([0xf8, short]);
        } else {
            self.bytes.push(0xf9);
            self.bytes.extend((payload as u16).to_be_bytes());
        }
    }

    fn push_hash(&mut self, hash: &Hash) {
        self.bytes.push(HASH_HEAD);
        self.bytes.extend(hash.0);
    }

    /// A leaf or an extension, with these nibbles of a path.
    pub(super) fn push_short(&mut self, path: &Hash, nibbles: Range<usize>, flag: u8, item: &Hash) {
        let bytes = nibbles.len() / 2 + 1;
        // A single byte of a compact path is below 0x80, and its own RLP.
        let head = usize::from(bytes > 1);
        self.push_list_head(head + bytes + 33);
        if bytes > 1 {
            self.bytes.push(EMPTY + bytes as u8);
        }
        let mut place = nibbles.start;
        if nibbles.len().is_multiple_of(2) {
            self.bytes.push(flag);
        } else {
            self.bytes.push(flag | ODD_FLAG | nibble_at(path, place));
            place += 1;
        }
        if place.is_multiple_of(2) {
            self.bytes
                .extend(&path.0[place / 2..nibbles.end.div_ceil(2)]);
        } else {
            let pairs = path.0[place / 2..]
                .windows(2)
                .take((nibbles.end - place) / 2);
            self.bytes
                .extend(pairs.map(|pair| pair[0] << 4 | pair[1] >> 4));
        }
        self.push_hash(item);
        self.end();
    }

    pub(super) fn push_branch(&mut self, children: &[Hash; 16], state_mask: u16) {
        self.bytes.reserve(BRANCH_BYTES_MAX);
        self.push_list_head(17 + 32 * state_mask.count_ones() as usize);
        for (digit, child) in children.iter().enumerate() {
            if state_mask >> digit & 1 == 1 {
                self.push_hash(child);
            } else {
                self.bytes.push(EMPTY);
            }
        }
        self.bytes.push(EMPTY);
        self.end();
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = &[u8]> {
        let begins = std::iter::once(&0).chain(&self.ends);
        let places = begins.zip(&self.ends);
        places.map(|(begin, end)| &self.bytes[*begin..*end])
    }

    /// The nodes' bytes together.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(super) fn hashes(&self) -> Vec<Hash> {
        let mut hashes = Vec::new();
        keccak_each(&self.nodes().collect::<Vec<_>>(), &mut hashes);
        hashes
    }
}

/// How many nibbles two paths have in common at their beginning.
pub(super) fn shared_nibbles(one: &Hash, other: &Hash) -> usize {
    let pairs = one.0.iter().zip(&other.0);
    let equal = pairs.take_while(|(one, other)| one == other).count();
    let half = one.0.get(equal).zip(other.0.get(equal));
    let is_half_equal = half.is_some_and(|(one, other)| one >> 4 == other >> 4);
    2 * equal + usize::from(is_half_equal)
}

pub(super) fn nibble_at(path: &Hash, place: usize) -> u8 {
    let byte = path.0[place / 2];
    if place.is_multiple_of(2) {
        byte >> 4
    } else {
        byte & 15
    }
}

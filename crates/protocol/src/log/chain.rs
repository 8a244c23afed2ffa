//! The hash chain (layer 2): the hashes of actions, and how each extends the last.

use serde::{Deserialize, Serialize};

use crate::action::ActionWords;
use crate::address::Address;
use crate::hash::{Hash, keccak, keccak_parts, sha256};
use crate::lanes::keccak_each;
use crate::signature::Signature;

/// keccak(keccak(signature) ‖ salt): binds an action to the signature without revealing it.
pub fn authority(signature: &Signature, salt: &Hash) -> Hash {
    authority_of_hash(&keccak(&signature.0), salt)
}

/// Like [`authority`], from the signature's hash: a request hashes it once.
pub fn authority_of_hash(signature_hash: &Hash, salt: &Hash) -> Hash {
    join(signature_hash, salt)
}

/// SHA-256 over the five words of an action.
pub fn content(words: &ActionWords, signer: &Address, authority: &Hash) -> Hash {
    sha256(&content_preimage(words, signer, authority))
}

/// Preimage of [`content`].
pub(crate) fn content_preimage(
    words: &ActionWords,
    signer: &Address,
    authority: &Hash,
) -> [u8; 160] {
    let mut preimage = [0; 160];
    preimage[..32].copy_from_slice(&words.kind.0);
    preimage[32..64].copy_from_slice(&words.target.0);
    preimage[64..96].copy_from_slice(&words.payload.0);
    preimage[96..128].copy_from_slice(&signer.to_word());
    preimage[128..].copy_from_slice(&authority.0);
    preimage
}

/// A resource's next integrity: keccak(previous ‖ content); the first extends 32 zero bytes.
pub fn next_integrity(previous: &Hash, content: &Hash) -> Hash {
    join(previous, content)
}

/// First integrity of the `index`-th resource that an action makes. For the first resource it is keccak(32 zero bytes ‖
/// content); each further one starts from keccak(content ‖ u32 index), so no two resources share a value that a leaf
/// can extend.
pub fn first_integrity(content: &Hash, index: u32) -> Hash {
    if index == 0 {
        return next_integrity(&Hash::ZERO, content);
    }
    let own = keccak_parts(&[&content.0, &index.to_be_bytes()]);
    next_integrity(&Hash::ZERO, &own)
}

/// The log's next head: keccak(previous head ‖ leaf).
pub fn next_head(previous: &Hash, leaf: &Hash) -> Hash {
    join(previous, leaf)
}

/// The heads after several batches, each given as the head before it and its leaves. One chain is hashed step by step;
/// several are hashed in parallel.
pub fn heads_after(batches: &[(Hash, &[Hash])]) -> Vec<Hash> {
    let mut heads: Vec<Hash> = batches.iter().map(|(before, _)| *before).collect();
    let mut open: Vec<usize> = (0..batches.len()).collect();
    let mut preimages = Vec::with_capacity(batches.len());
    let mut hashes = Vec::with_capacity(batches.len());
    for step in 0.. {
        open.retain(|batch| step < batches[*batch].1.len());
        if open.is_empty() {
            break;
        }
        preimages.clear();
        preimages.extend(
            open.iter()
                .map(|batch| joined(&heads[*batch], &batches[*batch].1[step])),
        );
        hashes.clear();
        keccak_each(&preimages, &mut hashes);
        for (batch, hash) in open.iter().zip(&hashes) {
            heads[*batch] = *hash;
        }
    }
    heads
}

fn join(left: &Hash, right: &Hash) -> Hash {
    keccak(&joined(left, right))
}

/// Two hashes concatenated, ready for hashing.
pub(crate) fn joined(left: &Hash, right: &Hash) -> [u8; 64] {
    let mut preimage = [0; 64];
    preimage[..32].copy_from_slice(&left.0);
    preimage[32..].copy_from_slice(&right.0);
    preimage
}

/// The next integrities of many resources, each from its previous integrity and the action's content.
pub fn next_integrities<'a>(links: impl Iterator<Item = (&'a Hash, &'a Hash)>) -> Vec<Hash> {
    let preimages: Vec<_> = links
        .map(|(previous, content)| joined(previous, content))
        .collect();
    let mut hashes = Vec::with_capacity(preimages.len());
    keccak_each(&preimages, &mut hashes);
    hashes
}

/// Preimage of a leaf hash.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogLeaf {
    /// The action's sequence in the log, from 1, without gaps.
    pub sequence: u64,
    /// When the action was placed, Unix milliseconds; never decreases.
    pub timestamp_ms: u64,
    /// The action's content.
    pub content: Hash,
    /// The resource's integrity after this action.
    pub integrity: Hash,
}

impl LogLeaf {
    /// keccak(0x00 ‖ u64 sequence ‖ u64 timestamp_ms ‖ content ‖ integrity).
    pub fn hash(&self) -> Hash {
        keccak(&self.preimage())
    }

    /// The hashes of many leaves, in order.
    pub fn hash_each(leaves: &[Self]) -> Vec<Hash> {
        let preimages: Vec<_> = leaves.iter().map(Self::preimage).collect();
        let mut hashes = Vec::with_capacity(leaves.len());
        keccak_each(&preimages, &mut hashes);
        hashes
    }

    fn preimage(&self) -> [u8; 81] {
        let mut preimage = [0; 81];
        preimage[1..9].copy_from_slice(&self.sequence.to_be_bytes());
        preimage[9..17].copy_from_slice(&self.timestamp_ms.to_be_bytes());
        preimage[17..49].copy_from_slice(&self.content.0);
        preimage[49..].copy_from_slice(&self.integrity.0);
        preimage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_side_by_side_are_those_of_each_batch_alone() {
        let leaf = |number: u8| keccak(&[number]);
        let leaves: Vec<Hash> = (0..40).map(leaf).collect();
        for counts in [&[][..], &[0], &[3], &[9, 1, 4, 9, 0, 2, 40, 7, 7, 11, 1]] {
            let batches: Vec<(Hash, &[Hash])> = (100..)
                .zip(counts)
                .map(|(number, count)| (leaf(number), &leaves[40 - count..]))
                .collect();
            let alone = batches.iter().map(|(before, leaves)| {
                leaves
                    .iter()
                    .fold(*before, |head, leaf| next_head(&head, leaf))
            });
            assert_eq!(heads_after(&batches), alone.collect::<Vec<_>>());
        }
    }
}

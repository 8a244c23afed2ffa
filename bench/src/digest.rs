//! Action hashes of a whole request, side by side: what a signer and whoever checks a signature need
//! alike, and nothing besides.

use std::sync::LazyLock;

use kedge_protocol::Hash;
use kedge_protocol::action::{ACTION_TYPE, ActionWords};
use kedge_protocol::hash::keccak;
use kedge_protocol::lanes::keccak_each;

static ACTION_TYPEHASH: LazyLock<Hash> = LazyLock::new(|| keccak(ACTION_TYPE.as_bytes()));

/// hashStruct(Action) of each action of a request, salted from its seed.
pub(crate) fn action_hashes(words: &[ActionWords], seed: &Hash) -> Vec<Hash> {
    let mut salts = Vec::with_capacity(words.len());
    let preimages: Vec<[u8; 34]> = (0..words.len() as u16)
        .map(|index| {
            let mut preimage = [0; 34];
            preimage[..32].copy_from_slice(&seed.0);
            preimage[32..].copy_from_slice(&index.to_be_bytes());
            preimage
        })
        .collect();
    keccak_each(&preimages, &mut salts);
    let preimages: Vec<[u8; 160]> = words
        .iter()
        .zip(&salts)
        .map(|(words, salt)| {
            let parts = [
                *ACTION_TYPEHASH,
                words.kind,
                words.target,
                words.payload,
                *salt,
            ];
            let mut preimage = [0; 160];
            for (place, part) in preimage.chunks_exact_mut(32).zip(parts) {
                place.copy_from_slice(&part.0);
            }
            preimage
        })
        .collect();
    let mut hashes = Vec::with_capacity(words.len());
    keccak_each(&preimages, &mut hashes);
    hashes
}

#[cfg(test)]
mod tests {
    use kedge_protocol::action::{Kind, salt};

    use super::*;

    #[test]
    fn side_by_side_is_one_by_one() {
        let words: Vec<ActionWords> = (0..21)
            .map(|number| ActionWords::of(&Kind::Update, &format!("obj_{number}"), b"{}"))
            .collect();
        let seed = Hash([7; 32]);
        for count in [0, 1, 2, 8, 21] {
            let one_by_one: Vec<Hash> = (0..)
                .zip(&words[..count])
                .map(|(index, words)| words.action_hash(&salt(&seed, index)))
                .collect();
            assert_eq!(action_hashes(&words[..count], &seed), one_by_one);
        }
    }
}

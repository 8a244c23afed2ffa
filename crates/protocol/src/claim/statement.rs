//! The statement of a claim, with the numbering that the circuit, the contract and every verifier share.

use serde::{Deserialize, Serialize};

use crate::hash::{keccak_parts, sha256};
use crate::{Address, Hash};

/// Number of the circuit's public inputs.
pub const INPUTS: usize = 13;
/// Number of words that a claim may disclose: kind, target, payload, signer.
pub const WORDS_DISCLOSABLE: usize = 4;

/// Which words are disclosed: bit 0 kind, 1 target, 2 payload, 3 signer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DisclosureMask(u8);

impl DisclosureMask {
    /// The mask with these bits; `None` if a bit above the fourth is set.
    pub fn new(bits: u8) -> Option<Self> {
        (bits >> WORDS_DISCLOSABLE == 0).then_some(Self(bits))
    }

    /// Whether the word at this place is disclosed.
    pub fn discloses(self, word: usize) -> bool {
        self.0 >> word & 1 == 1
    }

    /// The mask as a number, for the circuit.
    pub fn bits(self) -> u8 {
        self.0
    }
}

/// The five words of an action's content.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct ClaimOpening {
    /// keccak256 of the kind, the target and the payload, and the signer's word.
    pub disclosable: [Hash; WORDS_DISCLOSABLE],
    /// keccak(keccak(signature) ‖ salt). Never disclosed, because it hides the others.
    pub authority: Hash,
}

impl ClaimOpening {
    /// The five words, in the order of the content's preimage.
    pub fn words(&self) -> [Hash; WORDS_DISCLOSABLE + 1] {
        let [kind, target, payload, signer] = self.disclosable;
        [kind, target, payload, signer, self.authority]
    }

    /// SHA-256 over the five words.
    pub fn content(&self) -> Hash {
        let mut preimage = [0; 32 * (WORDS_DISCLOSABLE + 1)];
        for (part, word) in preimage
            .as_chunks_mut::<32>()
            .0
            .iter_mut()
            .zip(self.words())
        {
            *part = word.0;
        }
        sha256(&preimage)
    }
}

/// Binds a proof to one contract, account and purpose, so that no other account can use it and the claimant cannot use
/// it elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimBinding {
    /// The contract that resolves the claim.
    pub resolver: Address,
    /// The account that sends it.
    pub claimant: Address,
    /// Purpose of the claim: a word from an arbiter or the claimant.
    pub purpose: Hash,
}

impl ClaimBinding {
    /// keccak(domain separator ‖ resolver ‖ claimant ‖ purpose).
    pub fn context(&self, domain_separator: &Hash) -> Hash {
        keccak_parts(&[
            &domain_separator.0,
            &self.resolver.0,
            &self.claimant.0,
            &self.purpose.0,
        ])
    }
}

/// The public side of a claim's proof.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClaimStatement {
    /// The action's content.
    pub content: Hash,
    /// The disclosed words.
    pub mask: DisclosureMask,
    /// The words; zero where they are hidden.
    pub words: [Hash; WORDS_DISCLOSABLE],
    /// [`ClaimBinding::context`] of the proof.
    pub context: Hash,
}

impl ClaimStatement {
    /// The statement that an opened action has these words.
    pub fn of(opening: &ClaimOpening, mask: DisclosureMask, context: Hash) -> Self {
        let mut words = opening.disclosable;
        for (place, word) in words.iter_mut().enumerate() {
            if !mask.discloses(place) {
                *word = Hash::ZERO;
            }
        }
        Self {
            content: opening.content(),
            mask,
            words,
            context,
        }
    }

    /// The circuit's public inputs: every word as two numbers, its high half first.
    pub fn numbers(&self) -> [u128; INPUTS] {
        let mut numbers = [0; INPUTS];
        let mut set = |place: usize, word: &Hash| {
            let halves = word.0.as_chunks::<16>().0;
            numbers[place] = u128::from_be_bytes(halves[0]);
            numbers[place + 1] = u128::from_be_bytes(halves[1]);
        };
        set(0, &self.content);
        for (place, word) in self.words.iter().enumerate() {
            set(3 + 2 * place, word);
        }
        set(INPUTS - 2, &self.context);
        numbers[2] = u128::from(self.mask.bits());
        numbers
    }

    /// The public inputs as words, in the form of `KedgeClaims.inputsOf`.
    pub fn inputs(&self) -> [Hash; INPUTS] {
        self.numbers().map(|number| {
            let mut input = Hash::ZERO;
            input.0[16..].copy_from_slice(&number.to_be_bytes());
            input
        })
    }

    /// The public inputs as decimal texts, in the form of snarkjs' `public.json`.
    pub fn decimals(&self) -> [String; INPUTS] {
        self.numbers().map(|number| number.to_string())
    }
}

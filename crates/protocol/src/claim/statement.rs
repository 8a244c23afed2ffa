//! What a claim states, as the circuit, the contract and every verifier number it.

use serde::{Deserialize, Serialize};

use crate::hash::{keccak_parts, sha256};
use crate::{Address, Hash};

/// Public inputs of the circuit.
pub const INPUTS: usize = 13;
/// Words that a claim may disclose: kind, target, payload, signer.
pub const WORDS_DISCLOSABLE: usize = 4;

/// Which words are disclosed: bit 0 kind, 1 target, 2 payload, 3 signer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mask(u8);

impl Mask {
    /// The mask with these bits; `None` if a bit above the fourth is set.
    pub fn new(bits: u8) -> Option<Self> {
        (bits >> WORDS_DISCLOSABLE == 0).then_some(Self(bits))
    }

    /// Whether the word at this place is disclosed.
    pub fn discloses(self, word: usize) -> bool {
        self.0 >> word & 1 == 1
    }

    /// The bits.
    pub fn bits(self) -> u8 {
        self.0
    }
}

/// The five words of an action's content.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Opening {
    /// keccak256 of the kind, the target and the payload, and the signer's word.
    pub disclosable: [Hash; WORDS_DISCLOSABLE],
    /// keccak(keccak(signature) ‖ salt). Never disclosed, because it hides the others.
    pub authority: Hash,
}

impl Opening {
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

/// What a proof is bound to: nobody else can use it, nor its claimant elsewhere.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Binding {
    /// The contract that resolves the claim.
    pub resolver: Address,
    /// The account that sends it.
    pub claimant: Address,
    /// What the claim is for: a word from an arbiter or the claimant.
    pub purpose: Hash,
}

impl Binding {
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

/// The circuit's public side.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statement {
    /// The action's content.
    pub content: Hash,
    /// Which words are disclosed.
    pub mask: Mask,
    /// The words; zero where they are hidden.
    pub words: [Hash; WORDS_DISCLOSABLE],
    /// What the proof is bound to.
    pub context: Hash,
}

impl Statement {
    /// The statement that an opened action has these words.
    pub fn of(opening: &Opening, mask: Mask, context: Hash) -> Self {
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

    /// The same as words, as `KedgeClaims.inputsOf` makes them.
    pub fn inputs(&self) -> [Hash; INPUTS] {
        self.numbers().map(|number| {
            let mut input = Hash::ZERO;
            input.0[16..].copy_from_slice(&number.to_be_bytes());
            input
        })
    }

    /// The same as decimal texts: snarkjs' `public.json`.
    pub fn decimals(&self) -> [String; INPUTS] {
        self.numbers().map(|number| number.to_string())
    }
}

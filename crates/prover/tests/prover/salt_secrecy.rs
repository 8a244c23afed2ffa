//! Secrecy of the salt: an attacker who knows everything else about an action cannot tell which of two payloads it has.

use std::collections::BTreeSet;

use kedge_protocol::action::{ActionWords, Kind};
use kedge_protocol::chain::{self, LogLeaf};
use kedge_protocol::hash::keccak;
use kedge_protocol::{Address, Hash};
use kedge_prover::claim::{ClaimOpening, ClaimStatement, DisclosureMask};

const PAYLOADS: [&str; 2] = [r#"{"vote":"no"}"#, r#"{"vote":"yes"}"#];

/// A request of two actions; the second is secret.
struct Request {
    signer: Address,
    signature_hash: Hash,
    seed: Hash,
}

impl Request {
    fn salt(&self, index: u16) -> Hash {
        kedge_protocol::action::salt(&self.seed, index)
    }

    fn words(payload: &str) -> ActionWords {
        ActionWords::of(
            &Kind::Update,
            "obj_4e0hc1syk28xe6n56twwn7yswx",
            payload.as_bytes(),
        )
    }

    fn content(&self, payload: &str, salt: &Hash) -> Hash {
        let authority = chain::authority_of_hash(&self.signature_hash, salt);
        chain::content(&Self::words(payload), &self.signer, &authority)
    }

    /// Public values of the secret action: its leaf, its hash within the request (shown by a neighbour's authorship
    /// proof), and the inputs of a claim that discloses all but the payload.
    fn seen(&self, payload: &str, salt: &Hash) -> Vec<Hash> {
        let words = Self::words(payload);
        let content = self.content(payload, salt);
        let integrity = chain::next_integrity(&Hash::ZERO, &content);
        let leaf = LogLeaf {
            sequence: 2,
            timestamp_ms: 3,
            content,
            integrity,
        };
        let opening = ClaimOpening {
            disclosable: [
                words.kind,
                words.target,
                words.payload,
                Hash(self.signer.to_word()),
            ],
            authority: chain::authority_of_hash(&self.signature_hash, salt),
        };
        assert_eq!(opening.content(), content);
        let mask = DisclosureMask::new(0b1011).unwrap();
        let statement = ClaimStatement::of(&opening, mask, keccak(b"context"));
        let mut seen = vec![leaf.hash(), content, words.action_hash(salt)];
        seen.extend(statement.inputs());
        seen
    }
}

// Holds invariant 75.
#[test]
fn a_hidden_word_cannot_be_guessed() {
    let request = Request {
        signer: Address([7; 20]),
        signature_hash: keccak(b"the signature, shown with a neighbour"),
        seed: keccak(b"nobody but the signer has it"),
    };
    let secret = request.seen(PAYLOADS[1], &request.salt(1));
    // Any computation needs a salt. Values shown by the neighbour's proof, and guesses, are tried as salts: none yields
    // a visible value that depends on the payload.
    let neighbours = [
        request.salt(0),
        Hash::ZERO,
        request.signature_hash,
        keccak(&request.salt(0).0),
        kedge_protocol::action::salt(&request.salt(0), 1),
    ];
    let public: BTreeSet<Hash> = request
        .seen(PAYLOADS[0], &request.salt(0))
        .into_iter()
        .filter(|hash| secret.contains(hash))
        .collect();
    let hidden: Vec<&Hash> = secret
        .iter()
        .filter(|hash| !public.contains(hash))
        .collect();
    // Leaf, content and action hash, and the halves of the content.
    assert_eq!(hidden.len(), 5);
    for payload in PAYLOADS {
        for salt in &neighbours {
            let computed = request.seen(payload, salt);
            assert!(
                hidden.iter().all(|hash| !computed.contains(hash)),
                "{payload} with {salt}"
            );
        }
    }
    // With the salt the payload is found, so this test can fail.
    let computed = request.seen(PAYLOADS[1], &request.salt(1));
    assert!(hidden.iter().all(|hash| computed.contains(hash)));
    // No input is a function of the payload alone: another salt changes every value that is not public.
    let other = request.seen(PAYLOADS[1], &keccak(b"another salt"));
    assert!(hidden.iter().all(|hash| !other.contains(hash)));
}

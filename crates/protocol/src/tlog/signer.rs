//! Private keys of notes: a log's and a witness's. Signatures are deterministic, so that all nodes of a log make the same
//! note.

use std::fmt;

use ed25519_dalek::Signer as _;
use ml_dsa::{MlDsa44, Seed};

use super::checkpoint::SignedTlogCheckpoint;
use super::key::{NoteAlgorithm, NoteVerifier, SequencerVerifier, VerifierError};
use super::note::{NoteBody, NoteLine, SignedNote, is_name};
use super::origin::TlogOrigin;
use crate::Address;

/// A private key that signs notes under one name. Never printed: `Debug` shows only the verifier key.
pub struct NoteSigner {
    verifier: NoteVerifier,
    key: NotePrivateKey,
}

enum NotePrivateKey {
    Ed25519(Box<ed25519_dalek::SigningKey>),
    MlDsa44(Box<ml_dsa::ExpandedSigningKey<MlDsa44>>),
}

impl NoteSigner {
    /// The key that follows from a seed: RFC 8032's, or the one of FIPS 204's key generation.
    ///
    /// # Errors
    /// The name is empty, or holds a space or a `+`.
    pub fn from_seed(
        name: &str,
        algorithm: NoteAlgorithm,
        seed: &[u8; 32],
    ) -> Result<Self, VerifierError> {
        if !is_name(name) {
            return Err(VerifierError::Form);
        }
        let (key, public) = match algorithm {
            NoteAlgorithm::Ed25519 | NoteAlgorithm::TimedEd25519 => {
                let key = ed25519_dalek::SigningKey::from_bytes(seed);
                let public = key.verifying_key().to_bytes().to_vec();
                (NotePrivateKey::Ed25519(Box::new(key)), public)
            }
            NoteAlgorithm::MlDsa44 => {
                let key = ml_dsa::ExpandedSigningKey::from_seed(&Seed::from(*seed));
                let public = key.verifying_key().encode().to_vec();
                (NotePrivateKey::MlDsa44(Box::new(key)), public)
            }
        };
        let mut material = vec![algorithm.type_byte()];
        material.extend_from_slice(&public);
        Ok(Self {
            verifier: NoteVerifier::of_material(name, material)?,
            key,
        })
    }

    /// The key that verifies its lines.
    pub fn verifier(&self) -> &NoteVerifier {
        &self.verifier
    }

    /// Signs a note; deterministic (RFC 8032, FIPS 204 with `rnd` zero). A log signs at time zero, a witness names the
    /// time, Unix seconds; plain Ed25519 names none. `None` for a time above 2^63 − 1, or a name or an origin longer
    /// than ML-DSA's message can hold.
    pub fn sign(&self, body: &NoteBody, timestamp_s: u64) -> Option<NoteLine> {
        i64::try_from(timestamp_s).ok()?;
        let (name, algorithm) = (self.verifier.name(), self.verifier.algorithm());
        let message = algorithm.message(name, timestamp_s, body)?;
        let mut signature = match algorithm {
            NoteAlgorithm::Ed25519 => Vec::new(),
            NoteAlgorithm::TimedEd25519 | NoteAlgorithm::MlDsa44 => {
                timestamp_s.to_be_bytes().to_vec()
            }
        };
        match &self.key {
            NotePrivateKey::Ed25519(key) => signature.extend(key.sign(&message).to_bytes()),
            NotePrivateKey::MlDsa44(key) => {
                signature.extend(key.sign_deterministic(&message, &[]).ok()?.encode());
            }
        }
        Some(NoteLine {
            name: name.to_owned(),
            key_id: self.verifier.key_id(),
            signature,
        })
    }
}

impl fmt::Debug for NoteSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NoteSigner({})", self.verifier)
    }
}

/// The two keys of a log that sign its notes in addition to the sequencer.
#[derive(Debug)]
pub struct LogSigner {
    origin: TlogOrigin,
    signers: [NoteSigner; 2],
}

impl LogSigner {
    /// The keys that follow from two seeds.
    ///
    /// # Errors
    /// Never for an origin that was read or made.
    pub fn from_seeds(
        origin: TlogOrigin,
        ed25519: &[u8; 32],
        ml_dsa: &[u8; 32],
    ) -> Result<Self, VerifierError> {
        let name = origin.as_str();
        let signers = [
            NoteSigner::from_seed(name, NoteAlgorithm::Ed25519, ed25519)?,
            NoteSigner::from_seed(name, NoteAlgorithm::MlDsa44, ml_dsa)?,
        ];
        Ok(Self { origin, signers })
    }

    /// The keys that verify the two lines, in their order.
    pub fn verifiers(&self) -> [&NoteVerifier; 2] {
        self.signers.each_ref().map(NoteSigner::verifier)
    }

    /// The note of what the sequencer signed: the lines of Ed25519, of ML-DSA and of the sequencer `key`. `None` if
    /// ML-DSA finds no signature, which its parameters practically exclude.
    pub fn note(&self, signed: &SignedTlogCheckpoint, key: Address) -> Option<SignedNote> {
        let body = NoteBody {
            origin: self.origin.to_string(),
            size: signed.checkpoint.batches,
            root: signed.checkpoint.root,
        };
        let [ed25519, ml_dsa] = &self.signers;
        let sequencer = SequencerVerifier {
            origin: self.origin.clone(),
            key,
        };
        let lines = vec![
            ed25519.sign(&body, 0)?,
            ml_dsa.sign(&body, 0)?,
            sequencer.line(signed),
        ];
        Some(SignedNote { body, lines })
    }
}

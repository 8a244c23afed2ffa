//! Keys that verify notes: their text (C2SP signed-note), signatures of logs, and cosignatures of witnesses
//! (C2SP tlog-cosignature).

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ml_dsa::{EncodedVerifyingKey, MlDsa44};

use super::checkpoint::SignedTlogCheckpoint;
use super::note::{KEY_ID_BYTES, NoteBody, NoteLine, is_name};
use super::origin::TlogOrigin;
use crate::Address;
use crate::hash::sha256;

/// What stands before the address in the key of the sequencer's line: 0xff says that C2SP assigned no type.
const SEQUENCER_TYPE: &[u8] = b"\xffkedge-tlog-v1";
/// The label of a message that ML-DSA cosigns.
const SUBTREE_LABEL: &[u8] = b"subtree/v1\n\0";
/// Bytes of the time at the start of a cosignature.
const TIMESTAMP_BYTES: usize = 8;

/// A signature's algorithm, and whether it names a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoteAlgorithm {
    /// Ed25519 over the text of a note: a log's.
    Ed25519,
    /// Ed25519 over a time and the text: a witness's.
    TimedEd25519,
    /// ML-DSA-44 (FIPS 204) over a time, origin, size and root: a log's or a witness's.
    MlDsa44,
}

impl NoteAlgorithm {
    /// The byte that C2SP assigned to the algorithm.
    pub fn type_byte(self) -> u8 {
        match self {
            Self::Ed25519 => 0x01,
            Self::TimedEd25519 => 0x04,
            Self::MlDsa44 => 0x06,
        }
    }

    fn of_type_byte(byte: u8) -> Option<Self> {
        let all = [Self::Ed25519, Self::TimedEd25519, Self::MlDsa44];
        all.into_iter().find(|one| one.type_byte() == byte)
    }

    /// What a signer with this name signs at a time in Unix seconds, which plain Ed25519 leaves out. `None` for a name or
    /// an origin that ML-DSA's message cannot hold: empty, or longer than 255 bytes.
    pub fn message(self, name: &str, timestamp_s: u64, body: &NoteBody) -> Option<Vec<u8>> {
        match self {
            Self::Ed25519 => Some(body.to_string().into_bytes()),
            Self::TimedEd25519 => {
                Some(format!("cosignature/v1\ntime {timestamp_s}\n{body}").into_bytes())
            }
            Self::MlDsa44 => cosigned_message(name, timestamp_s, body),
        }
    }
}

/// `cosigned_message` of C2SP tlog-cosignature for a whole tree; `None` for a name or an origin that is empty or has
/// more than 255 bytes.
fn cosigned_message(name: &str, timestamp_s: u64, body: &NoteBody) -> Option<Vec<u8>> {
    let prefixed = |text: &str| {
        let length = u8::try_from(text.len()).ok().filter(|length| *length > 0);
        Some([&[length?], text.as_bytes()].concat())
    };
    let parts: [&[u8]; 7] = [
        SUBTREE_LABEL,
        &prefixed(name)?,
        &timestamp_s.to_be_bytes(),
        &prefixed(&body.origin)?,
        &0u64.to_be_bytes(),
        &body.size.to_be_bytes(),
        &body.root.0,
    ];
    Some(parts.concat())
}

/// Id of a key: the first bytes of SHA-256(name ‖ newline ‖ type and key).
fn key_id(name: &str, material: &[u8]) -> [u8; KEY_ID_BYTES] {
    let hash = sha256(&[name.as_bytes(), b"\n", material].concat());
    let mut id = [0; KEY_ID_BYTES];
    id.copy_from_slice(&hash.0[..KEY_ID_BYTES]);
    id
}

/// `<name>+<id>+<base64 of type and key>`.
fn write_verifier(f: &mut fmt::Formatter<'_>, name: &str, material: &[u8]) -> fmt::Result {
    let id = const_hex::encode(key_id(name, material));
    write!(f, "{name}+{id}+{}", STANDARD.encode(material))
}

/// The key of the log's own line: it verifies what a sequencer key signed, so it changes with that key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SequencerVerifier {
    /// The log's origin.
    pub origin: TlogOrigin,
    /// The sequencer key's address.
    pub key: Address,
}

impl SequencerVerifier {
    fn material(&self) -> Vec<u8> {
        [SEQUENCER_TYPE, &self.key.0].concat()
    }

    /// The id in the lines of this key.
    pub fn key_id(&self) -> [u8; KEY_ID_BYTES] {
        key_id(self.origin.as_str(), &self.material())
    }

    /// The line of this key: history ‖ r ‖ s ‖ v. The root is in the note's text.
    pub(super) fn line(&self, signed: &SignedTlogCheckpoint) -> NoteLine {
        NoteLine {
            name: self.origin.to_string(),
            key_id: self.key_id(),
            signature: [&signed.checkpoint.history.0[..], &signed.signature.0].concat(),
        }
    }
}

/// The verifier key as text.
impl fmt::Display for SequencerVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_verifier(f, self.origin.as_str(), &self.material())
    }
}

/// Why a text is not a verifier key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum VerifierError {
    /// Not a name, eight lower-case hexadecimal digits and a base64 text, with a `+` between them.
    #[error("a verifier key is <name>+<id>+<base64>")]
    Form,
    /// An algorithm other than Ed25519 and ML-DSA-44.
    #[error("the key's type is unknown")]
    Type,
    /// The bytes are not a public key of their type.
    #[error("the bytes are not a public key of their type")]
    Key,
    /// The id does not follow from name and key.
    #[error("the key's id does not follow from its name and its bytes")]
    Id,
}

/// A key that verifies signature lines of one name and one id.
#[derive(Clone)]
pub struct NoteVerifier {
    name: String,
    /// The type's byte and the public key.
    material: Vec<u8>,
    algorithm: NoteAlgorithm,
    key: NotePublicKey,
}

#[derive(Clone)]
enum NotePublicKey {
    Ed25519(ed25519_dalek::VerifyingKey),
    MlDsa44(Box<ml_dsa::VerifyingKey<MlDsa44>>),
}

impl NoteVerifier {
    pub(super) fn of_material(name: &str, material: Vec<u8>) -> Result<Self, VerifierError> {
        let (type_byte, bytes) = material.split_first().ok_or(VerifierError::Form)?;
        let algorithm = NoteAlgorithm::of_type_byte(*type_byte).ok_or(VerifierError::Type)?;
        let key = match algorithm {
            NoteAlgorithm::Ed25519 | NoteAlgorithm::TimedEd25519 => {
                let bytes = bytes.try_into().map_err(|_| VerifierError::Key)?;
                let key = ed25519_dalek::VerifyingKey::from_bytes(bytes);
                NotePublicKey::Ed25519(key.map_err(|_| VerifierError::Key)?)
            }
            NoteAlgorithm::MlDsa44 => {
                let bytes = EncodedVerifyingKey::<MlDsa44>::try_from(bytes);
                let key = ml_dsa::VerifyingKey::decode(&bytes.map_err(|_| VerifierError::Key)?);
                NotePublicKey::MlDsa44(Box::new(key))
            }
        };
        Ok(Self {
            name: name.to_owned(),
            material,
            algorithm,
            key,
        })
    }

    /// The name in the key's lines.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The id in the key's lines.
    pub fn key_id(&self) -> [u8; KEY_ID_BYTES] {
        key_id(&self.name, &self.material)
    }

    /// What the key signs.
    pub fn algorithm(&self) -> NoteAlgorithm {
        self.algorithm
    }

    /// The public key without its type: the same bytes under two names are one key.
    pub fn public_key(&self) -> &[u8] {
        &self.material[1..]
    }

    /// Whether the line is one of this key's.
    pub(super) fn is_of(&self, line: &NoteLine) -> bool {
        line.name == self.name && line.key_id == self.key_id()
    }

    /// Checks a line of this key; returns the time that it names, Unix seconds, zero where it names none. `None` if the
    /// signature does not hold.
    pub(super) fn verify(&self, body: &NoteBody, signature: &[u8]) -> Option<u64> {
        let (timestamp_s, signature) = match self.algorithm {
            NoteAlgorithm::Ed25519 => (0, signature),
            NoteAlgorithm::TimedEd25519 | NoteAlgorithm::MlDsa44 => {
                let (time, signature) = signature.split_first_chunk::<TIMESTAMP_BYTES>()?;
                let timestamp_s = u64::from_be_bytes(*time);
                (i64::try_from(timestamp_s).is_ok()).then_some((timestamp_s, signature))?
            }
        };
        let message = self.algorithm.message(&self.name, timestamp_s, body)?;
        let holds = match &self.key {
            NotePublicKey::Ed25519(key) => {
                let signature = ed25519_dalek::Signature::from_slice(signature).ok()?;
                key.verify_strict(&message, &signature).is_ok()
            }
            NotePublicKey::MlDsa44(key) => {
                let signature = ml_dsa::Signature::<MlDsa44>::try_from(signature).ok()?;
                key.verify_with_context(&message, &[], &signature)
            }
        };
        holds.then_some(timestamp_s)
    }
}

impl FromStr for NoteVerifier {
    type Err = VerifierError;

    fn from_str(text: &str) -> Result<Self, VerifierError> {
        let parts: Vec<&str> = text.splitn(3, '+').collect();
        let [name, id, encoded] = parts[..] else {
            return Err(VerifierError::Form);
        };
        let is_id = id.len() == 2 * KEY_ID_BYTES && !id.bytes().any(|c| c.is_ascii_uppercase());
        if !is_name(name) || !is_id {
            return Err(VerifierError::Form);
        }
        let id = const_hex::decode(id).map_err(|_| VerifierError::Form)?;
        let material = STANDARD.decode(encoded);
        let verifier = Self::of_material(name, material.map_err(|_| VerifierError::Form)?)?;
        if verifier.key_id() != *id {
            return Err(VerifierError::Id);
        }
        Ok(verifier)
    }
}

/// The verifier key as text.
impl fmt::Display for NoteVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_verifier(f, &self.name, &self.material)
    }
}

impl fmt::Debug for NoteVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

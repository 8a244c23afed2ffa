//! Checking a note of a Kedge log: the sequencer's line, and the line of every known key.

use std::collections::BTreeSet;

use super::checkpoint::{SignedTlogCheckpoint, TlogCheckpoint};
use super::key::{NoteVerifier, SequencerVerifier};
use super::note::{NoteError, NoteLine, SignedNote};
use super::origin::{TlogOrigin, TlogOriginError};
use crate::eip712::Domain;
use crate::hash::Hash;
use crate::signature::{Signature, SignatureError};
use crate::{Address, BatchKeys};

/// Bytes of the sequencer's line: history ‖ r ‖ s ‖ v.
const SEQUENCER_LINE_BYTES: usize = 97;

/// Why a note is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoteRefusal {
    /// The bytes are no note.
    #[error(transparent)]
    Form(#[from] NoteError),
    /// The note is another log's.
    #[error("the note's origin: {0}")]
    Origin(#[from] TlogOriginError),
    /// Not exactly one line has the id of the key of the last batch.
    #[error("the note has {0} lines of the sequencer key of its last batch; it needs one")]
    SequencerLines(usize),
    /// The sequencer's line is not history ‖ r ‖ s ‖ v with v 27 or 28.
    #[error("the sequencer's line is not {SEQUENCER_LINE_BYTES} bytes that end with 27 or 28")]
    SequencerForm,
    /// The sequencer's signature recovers to no key.
    #[error("the sequencer's line: {0}")]
    Signature(#[from] SignatureError),
    /// Another key signed.
    #[error("the sequencer's line was signed by {found}, not by the sequencer key {expected}")]
    OtherSequencer {
        /// The key of the last batch.
        expected: Address,
        /// The key that signed.
        found: Address,
    },
    /// The signature of a known key does not hold.
    #[error("the line of the known key {0} does not hold")]
    KnownKey(String),
}

/// Whom a reader trusts.
pub struct NoteTrust<'a, K: BatchKeys> {
    /// The log's domain.
    pub domain: Domain,
    /// The sequencer's keys.
    pub keys: &'a K,
    /// The log's other keys, and those of witnesses.
    pub verifiers: &'a [NoteVerifier],
}

/// A known key's line that holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoteCosignature {
    /// The name of the log or of the witness.
    pub name: String,
    /// The key's id.
    pub key_id: [u8; 4],
    /// When the line was made, Unix seconds, as its signer says; zero where it names no time.
    pub timestamp_s: u64,
}

/// A note that was checked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenedNote {
    /// The log's origin.
    pub origin: TlogOrigin,
    /// What the sequencer signed: evidence, if it is false.
    pub signed: SignedTlogCheckpoint,
    /// The lines of known keys, the log's own among them, in their order.
    pub cosignatures: Vec<NoteCosignature>,
}

impl OpenedNote {
    /// The names of the witnesses that cosigned and named a time. Keys of one name are one witness, and a log is none of
    /// its own witnesses.
    pub fn witnesses(&self) -> BTreeSet<&str> {
        let cosignatures = self.cosignatures.iter();
        cosignatures
            .filter(|one| one.timestamp_s > 0 && one.name != self.origin.as_str())
            .map(|one| one.name.as_str())
            .collect()
    }
}

impl<K: BatchKeys> NoteTrust<'_, K> {
    /// Reads and checks a note: exactly one line of the sequencer key of its last batch, which holds, and no line of a
    /// known key that fails. Other lines are ignored, whatever their name.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn open(&self, bytes: &[u8]) -> Result<OpenedNote, NoteRefusal> {
        self.check(&SignedNote::parse(bytes)?)
    }

    /// Checks a note that was read.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn check(&self, note: &SignedNote) -> Result<OpenedNote, NoteRefusal> {
        let origin = TlogOrigin::parse(&note.body.origin, &self.domain)?;
        let signed = self.signed(&origin, note)?;
        Ok(OpenedNote {
            origin,
            signed,
            cosignatures: self.known_lines(note)?,
        })
    }

    /// The lines of known keys, which all must hold. A note that another log key alone signed is no note of this log,
    /// but a reason to look: two such notes of one size with two roots are shown together.
    ///
    /// # Errors
    /// A known key's line does not hold.
    pub fn known_lines(&self, note: &SignedNote) -> Result<Vec<NoteCosignature>, NoteRefusal> {
        let mut found = Vec::new();
        for line in &note.lines {
            let Some(verifier) = self.verifiers.iter().find(|key| key.is_of(line)) else {
                continue;
            };
            // Two nodes of a log make the same line: it names no time.
            let is_allowed = |time: &u64| *time == 0 || line.name != note.body.origin;
            let timestamp_s = verifier.verify(&note.body, &line.signature);
            let timestamp_s = timestamp_s.filter(is_allowed);
            found.push(NoteCosignature {
                name: line.name.clone(),
                key_id: line.key_id,
                timestamp_s: timestamp_s
                    .ok_or_else(|| NoteRefusal::KnownKey(verifier.to_string()))?,
            });
        }
        Ok(found)
    }

    fn signed(
        &self,
        origin: &TlogOrigin,
        note: &SignedNote,
    ) -> Result<SignedTlogCheckpoint, NoteRefusal> {
        let batches = note.body.size;
        let expected = self.keys.key_of_checkpoint(batches);
        let key_id = SequencerVerifier {
            origin: origin.clone(),
            key: expected,
        }
        .key_id();
        let is_ours = |line: &&NoteLine| line.name == note.body.origin && line.key_id == key_id;
        let ours: Vec<&NoteLine> = note.lines.iter().filter(is_ours).collect();
        let [line] = ours[..] else {
            return Err(NoteRefusal::SequencerLines(ours.len()));
        };
        let (history, signature) = read_sequencer_line(&line.signature)?;
        let checkpoint = TlogCheckpoint {
            batches,
            root: note.body.root,
            history,
        };
        let found = signature.recover(&checkpoint.digest(&self.domain.separator()))?;
        if found != expected {
            return Err(NoteRefusal::OtherSequencer { expected, found });
        }
        Ok(SignedTlogCheckpoint {
            checkpoint,
            signature,
        })
    }
}

fn read_sequencer_line(bytes: &[u8]) -> Result<(Hash, Signature), NoteRefusal> {
    let bytes: &[u8; SEQUENCER_LINE_BYTES] =
        bytes.try_into().map_err(|_| NoteRefusal::SequencerForm)?;
    let (history, signature) = bytes
        .split_first_chunk()
        .ok_or(NoteRefusal::SequencerForm)?;
    let signature: [u8; 65] = signature
        .try_into()
        .map_err(|_| NoteRefusal::SequencerForm)?;
    if !matches!(signature[64], 27 | 28) {
        return Err(NoteRefusal::SequencerForm);
    }
    Ok((Hash(*history), Signature::from_bytes(signature)?))
}

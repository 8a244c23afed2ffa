//! The body of `add-checkpoint` (C2SP tlog-witness): what a log sends to a witness.

use std::fmt;

use super::note::{NoteError, SignedNote, decimal, hash_of_line, line_of_hash};
use crate::Hash;
use crate::limits::NOTE_BYTES_MAX;

/// Hashes of a consistency proof that a witness takes.
const PROOF_HASHES_MAX: usize = 63;

/// Why bytes are not the body of `add-checkpoint`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointSubmissionError {
    /// No `old` line with a decimal number, or no empty line after the proof.
    #[error("not a line `old` with a size, a proof and an empty line")]
    Form,
    /// The proof has a line that is no hash, or more hashes than a witness takes.
    #[error("the proof is not at most {PROOF_HASHES_MAX} hashes in base64, one a line")]
    Proof,
    /// No note follows.
    #[error("the note: {0}")]
    Note(#[from] NoteError),
}

/// A note, and the proof that it extends what the witness has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckpointSubmission {
    /// The size of the log that the witness has; 0 for a new log.
    pub old_size: u64,
    /// The consistency proof (RFC 6962) from that size; empty for 0 and for an equal size.
    pub proof: Vec<Hash>,
    /// The note, with the log's own lines alone.
    pub note: SignedNote,
}

impl CheckpointSubmission {
    /// What is sent: of the note's lines only the log's own, because a witness takes few bytes.
    pub fn new(old_size: u64, proof: Vec<Hash>, mut note: SignedNote) -> Self {
        let origin = &note.body.origin;
        note.lines.retain(|line| line.name == *origin);
        Self {
            old_size,
            proof,
            note,
        }
    }

    /// Reads a body. Checks neither the proof nor a signature.
    ///
    /// # Errors
    /// The bytes have another form.
    pub fn parse(bytes: &[u8]) -> Result<Self, CheckpointSubmissionError> {
        let text = std::str::from_utf8(bytes).map_err(|_| CheckpointSubmissionError::Form)?;
        let (head, note) = text
            .split_once("\n\n")
            .ok_or(CheckpointSubmissionError::Form)?;
        let mut lines = head.split('\n');
        let old_size = lines.next().and_then(|line| line.strip_prefix("old "));
        let old_size = old_size
            .and_then(decimal)
            .ok_or(CheckpointSubmissionError::Form)?;
        if bytes.len() > 2 * NOTE_BYTES_MAX {
            return Err(CheckpointSubmissionError::Form);
        }
        let proof: Option<Vec<Hash>> = lines.map(hash_of_line).collect();
        Ok(Self {
            old_size,
            proof: proof
                .filter(|proof| proof.len() <= PROOF_HASHES_MAX)
                .ok_or(CheckpointSubmissionError::Proof)?,
            note: SignedNote::parse(note.as_bytes())?,
        })
    }
}

/// The body.
impl fmt::Display for CheckpointSubmission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "old {}", self.old_size)?;
        for hash in &self.proof {
            writeln!(f, "{}", line_of_hash(hash))?;
        }
        write!(f, "\n{}", self.note)
    }
}

//! `.tlog-proof` files (C2SP tlog-proof): that a note covers a batch. The header's encoding travels as `extra`, so a
//! reader needs nothing else.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::note::{NoteError, SignedNote, decimal, hash_of_line, line_of_hash};
use super::trust::{NoteRefusal, NoteTrust, OpenedNote};
use crate::batch::{BATCH_ENCODING_BYTES, BatchHeader};
use crate::limits::{NOTE_BYTES_MAX, TREE_LEVELS_MAX};
use crate::merkle::{ProofError, TreeHash};
use crate::{BatchKeys, Hash};

/// The first line of a file.
const FIRST_LINE: &str = "c2sp.org/tlog-proof@v1";

/// Why a file proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlogProofError {
    /// The first line is another one, or lines are missing.
    #[error("not a file that begins with {FIRST_LINE:?}")]
    Form,
    /// The second line is not the base64 of a header's encoding.
    #[error("the second line is not `extra` with the {BATCH_ENCODING_BYTES} bytes of a header")]
    Extra,
    /// The third line is not the number of the header.
    #[error("the third line is not `index` with the header's number")]
    Index,
    /// The path has a line that is no hash, or more hashes than a tree has levels.
    #[error("the path is not hashes in base64, one a line")]
    Path,
    /// The file holds no note.
    #[error("the note: {0}")]
    Note(#[from] NoteError),
    /// The note is refused.
    #[error("the note: {0}")]
    Refused(#[from] NoteRefusal),
    /// The path does not lead to the note's root.
    #[error("the path to the note's root: {0}")]
    Inclusion(#[from] ProofError),
}

/// A proof that a note covers a batch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlogProof {
    /// The batch's header; its number is the entry's index.
    pub header: BatchHeader,
    /// The path from its leaf to the note's root.
    pub path: Vec<Hash>,
    /// The note.
    pub note: SignedNote,
}

impl TlogProof {
    /// Reads a file; [`check`](Self::check) checks it.
    ///
    /// # Errors
    /// The bytes have another form.
    pub fn parse(bytes: &[u8]) -> Result<Self, TlogProofError> {
        let most = 2 * NOTE_BYTES_MAX;
        let text = std::str::from_utf8(bytes).map_err(|_| TlogProofError::Form)?;
        let (head, note) = text.split_once("\n\n").ok_or(TlogProofError::Form)?;
        let mut lines = head.split('\n');
        if bytes.len() > most || lines.next() != Some(FIRST_LINE) {
            return Err(TlogProofError::Form);
        }
        let extra = lines.next().and_then(|line| line.strip_prefix("extra "));
        let header = extra.and_then(read_extra).ok_or(TlogProofError::Extra)?;
        let index = lines.next().and_then(|line| line.strip_prefix("index "));
        if index.and_then(decimal) != Some(header.number) {
            return Err(TlogProofError::Index);
        }
        let path: Option<Vec<Hash>> = lines.map(hash_of_line).collect();
        Ok(Self {
            header,
            path: path
                .filter(|path| path.len() <= TREE_LEVELS_MAX)
                .ok_or(TlogProofError::Path)?,
            note: SignedNote::parse(note.as_bytes())?,
        })
    }

    /// Checks the note, and that it covers the header.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn check<K: BatchKeys>(
        &self,
        trust: &NoteTrust<'_, K>,
    ) -> Result<OpenedNote, TlogProofError> {
        let note = trust.check(&self.note)?;
        let leaf = TreeHash::Sha256.leaf(&self.header.encoding());
        let body = &self.note.body;
        let index = self.header.number;
        TreeHash::Sha256.verify_proof(&body.root, body.size, &[index], &[leaf], &self.path)?;
        Ok(note)
    }
}

fn read_extra(encoded: &str) -> Option<BatchHeader> {
    let bytes = STANDARD.decode(encoded).ok()?;
    BatchHeader::of_encoding(bytes.as_slice().try_into().ok()?)
}

/// The file.
impl fmt::Display for TlogProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let extra = STANDARD.encode(self.header.encoding());
        writeln!(
            f,
            "{FIRST_LINE}\nextra {extra}\nindex {}",
            self.header.number
        )?;
        for hash in &self.path {
            writeln!(f, "{}", line_of_hash(hash))?;
        }
        write!(f, "\n{}", self.note)
    }
}

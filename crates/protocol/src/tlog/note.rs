//! Signed notes (C2SP signed-note, tlog-checkpoint): three lines of text, an empty line, and signature lines. Reading is
//! strict, so that a note has one spelling.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::Hash;
use crate::limits::{NOTE_BYTES_MAX, NOTE_LINES_MAX};

/// What each signature line begins with: an em dash and a space.
const DASH: &str = "— ";
/// Bytes of a key id.
pub(super) const KEY_ID_BYTES: usize = 4;

/// Why bytes are not a note of a log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// More than [`NOTE_BYTES_MAX`] bytes.
    #[error("the note has {0} bytes; the limit is {NOTE_BYTES_MAX}")]
    TooLong(usize),
    /// Not UTF-8, or with control characters other than the newline.
    #[error("a note is UTF-8 without control characters")]
    Characters,
    /// No empty line, or nothing that ends with a newline after it.
    #[error("a note is a text, an empty line and signature lines, each with its newline")]
    Shape,
    /// The text has not exactly three lines: the note has extension lines, or lacks one.
    #[error("the text of the note has three lines")]
    Lines,
    /// The size is not a decimal number without leading zeros, at most 2^64 − 1.
    #[error("the size is not a decimal number")]
    Size,
    /// The log is empty, and an empty log has no note.
    #[error("an empty log has no note")]
    Empty,
    /// The root is not the base64 of 32 bytes.
    #[error("the root is not the base64 of 32 bytes")]
    Root,
    /// A signature line has another form.
    #[error("signature line {0} has another form")]
    Signature(usize),
    /// More than [`NOTE_LINES_MAX`] signature lines.
    #[error("more than {NOTE_LINES_MAX} signature lines")]
    TooMany,
}

/// The text of a note.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoteBody {
    /// The origin, as it stands there.
    pub origin: String,
    /// How many entries the log has: its batches. Not zero in a note that was read.
    pub size: u64,
    /// The root of the SHA-256 tree over them.
    pub root: Hash,
}

impl NoteBody {
    fn parse(text: &str) -> Result<Self, NoteError> {
        let lines: Vec<&str> = text.split('\n').collect();
        let [origin, size, root] = lines[..] else {
            return Err(NoteError::Lines);
        };
        if origin.is_empty() {
            return Err(NoteError::Lines);
        }
        let size = decimal(size).ok_or(NoteError::Size)?;
        if size == 0 {
            return Err(NoteError::Empty);
        }
        Ok(Self {
            origin: origin.to_owned(),
            size,
            root: hash_of_line(root).ok_or(NoteError::Root)?,
        })
    }
}

/// The three lines, each with its newline: what Ed25519 signs.
impl fmt::Display for NoteBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let root = STANDARD.encode(self.root.0);
        write!(f, "{}\n{}\n{root}\n", self.origin, self.size)
    }
}

/// A signature line: `— <name> <base64 of key id ‖ signature>`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoteLine {
    /// The signer's name; the log's own lines have its origin there.
    pub name: String,
    /// The key's id; together with the name, it identifies the key.
    pub key_id: [u8; KEY_ID_BYTES],
    /// What follows the id; not empty.
    pub signature: Vec<u8>,
}

impl NoteLine {
    /// Reads a line, without its newline.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let (name, encoded) = line.strip_prefix(DASH)?.split_once(' ')?;
        let decoded = STANDARD.decode(encoded).ok()?;
        let (key_id, signature) = decoded.split_first_chunk()?;
        if !is_name(name) || signature.is_empty() {
            return None;
        }
        Some(Self {
            name: name.to_owned(),
            key_id: *key_id,
            signature: signature.to_vec(),
        })
    }
}

/// The line without its newline.
impl fmt::Display for NoteLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = self.key_id.to_vec();
        bytes.extend_from_slice(&self.signature);
        write!(f, "{DASH}{} {}", self.name, STANDARD.encode(bytes))
    }
}

/// A note as it stands; [`NoteTrust`](super::NoteTrust) checks it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SignedNote {
    /// The text.
    pub body: NoteBody,
    /// The signature lines, in their order.
    pub lines: Vec<NoteLine>,
}

impl SignedNote {
    /// Reads a note. Checks no signature.
    ///
    /// # Errors
    /// The bytes have another form.
    pub fn parse(bytes: &[u8]) -> Result<Self, NoteError> {
        if bytes.len() > NOTE_BYTES_MAX {
            return Err(NoteError::TooLong(bytes.len()));
        }
        let text = std::str::from_utf8(bytes).map_err(|_| NoteError::Characters)?;
        if text.bytes().any(|byte| byte < b' ' && byte != b'\n') {
            return Err(NoteError::Characters);
        }
        let (body, lines) = text.rsplit_once("\n\n").ok_or(NoteError::Shape)?;
        let lines = lines.strip_suffix('\n').ok_or(NoteError::Shape)?;
        let body = NoteBody::parse(body)?;
        if lines.split('\n').count() > NOTE_LINES_MAX {
            return Err(NoteError::TooMany);
        }
        let read = |(at, line)| NoteLine::parse(line).ok_or(NoteError::Signature(at));
        let lines = lines.split('\n').enumerate().map(read);
        Ok(Self {
            body,
            lines: lines.collect::<Result<_, _>>()?,
        })
    }
}

/// The whole note, as it is served.
impl fmt::Display for SignedNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.body)?;
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// Whether a key may have the name: not empty, no Unicode space and no `+`.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c == '+')
}

/// A decimal number without sign and leading zeros.
pub(super) fn decimal(text: &str) -> Option<u64> {
    let is_plain = text == "0" || !text.starts_with('0');
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    (is_plain && is_digits).then(|| text.parse().ok())?
}

/// The base64 of a hash.
pub(super) fn line_of_hash(hash: &Hash) -> String {
    STANDARD.encode(hash.0)
}

/// The hash whose base64 a line is.
pub(super) fn hash_of_line(line: &str) -> Option<Hash> {
    let bytes = STANDARD.decode(line).ok()?;
    Hash::try_from(bytes).ok()
}

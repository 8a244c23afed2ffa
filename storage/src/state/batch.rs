//! Entries in one buffer, so that many are hashed side by side and written together.

use kedge_protocol::Hash;
use kedge_protocol::lanes::keccak_each;

/// Entries that wait, each with what it is about.
pub(super) struct EntryBatch<T> {
    subjects: Vec<T>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl<T> EntryBatch<T> {
    pub(super) const fn new() -> Self {
        Self {
            subjects: Vec::new(),
            bytes: Vec::new(),
            ends: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, subject: T, entry: &[u8]) {
        self.subjects.push(subject);
        self.bytes.extend_from_slice(entry);
        self.ends.push(self.bytes.len());
    }

    /// Bytes of all entries together.
    pub(super) fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    pub(super) fn clear(&mut self) {
        self.subjects.clear();
        self.bytes.clear();
        self.ends.clear();
    }

    pub(super) fn subjects(&self) -> &[T] {
        &self.subjects
    }

    /// The entries, in the order of their arrival.
    pub(super) fn entries(&self) -> Vec<&[u8]> {
        let begins = std::iter::once(&0).chain(&self.ends);
        let places = begins.zip(&self.ends);
        places
            .map(|(begin, end)| &self.bytes[*begin..*end])
            .collect()
    }

    /// keccak256 of each entry, in the order of their arrival.
    pub(super) fn values(&self) -> Vec<Hash> {
        let mut values = Vec::new();
        keccak_each(&self.entries(), &mut values);
        values
    }
}

//! Side entries: writes that the hash chain does not cover, such as password hashes and sessions. They are encrypted,
//! because segments are copied, archived and replicated: a segment alone must reveal nothing.
//!
//! ```text
//! section: u16 parts ‖ parts
//! part:    u64 key id ‖ 16 bytes salt ‖ u64 count ‖ u32 length ‖ AES-256-GCM of the entries, and its tag
//! ```
//!
//! A part is encrypted under a key derived from the named key and the salt (HKDF-SHA256), with the count as nonce. A
//! new salt is drawn whenever the log is opened and whenever the key changes, and every sealing raises the count. So a
//! nonce never repeats under one key, even where a torn frame is cut off and its number is used again, or a log
//! continues from an old copy. The log's identity, the frame's number, the part's index and the key's id are associated
//! data: a part opens nowhere else. Today all entries are one part. The format has room for one part per subject, each
//! under its own key.

use std::collections::BTreeMap;
use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::hkdf;
use kedge_protocol::Hash;

use crate::bytes::FieldReader;
use crate::env::Env;

/// The key that sealed a part. Numbers are never reused.
pub type KeyId = u64;

const SALT_BYTES: usize = 16;
const TAG_BYTES: usize = 16;
/// Size of a part without its entries.
const PART_BYTES: usize = 8 + SALT_BYTES + 8 + 4 + TAG_BYTES;
const INFO: &[u8] = b"kedge side entries 1";
/// Stands in place of a value's length for a deleted row.
const DELETED: u32 = u32::MAX;

/// A write to a table that the hash chain does not cover.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SideEntry {
    /// The table's permanent number.
    pub table: u16,
    pub key: Vec<u8>,
    pub value: Option<Vec<u8>>,
}

/// Why side entries cannot be sealed or opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SideError {
    /// None of the given keys has the id that sealed them.
    #[error("the side entries are sealed under key {0}, which is missing")]
    NoKey(KeyId),
    /// The key does not open them: it is a different key with this id, or the bytes are damaged.
    #[error("the side entries cannot be opened with key {0}")]
    Closed(KeyId),
    /// The bytes are not a section of side entries.
    #[error("the side entries are damaged: {0}")]
    Damaged(&'static str),
    /// Sealing failed.
    #[error("the side entries cannot be sealed: {0}")]
    Seal(&'static str),
}

/// Keys that open side entries. The newest one also seals them.
#[derive(Clone, Default)]
pub struct SideKeys {
    keys: BTreeMap<KeyId, [u8; 32]>,
}

impl fmt::Debug for SideKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.keys.keys()).finish()
    }
}

impl SideKeys {
    /// No keys: side entries can be neither sealed nor opened.
    pub fn none() -> Self {
        Self::default()
    }

    /// One key, which seals and opens.
    pub fn one(id: KeyId, key: [u8; 32]) -> Self {
        let mut keys = Self::none();
        keys.add(id, key);
        keys
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Adds a key. The one with the highest id seals.
    pub fn add(&mut self, id: KeyId, key: [u8; 32]) {
        self.keys.insert(id, key);
    }

    pub fn ids(&self) -> impl Iterator<Item = KeyId> {
        self.keys.keys().copied()
    }

    pub fn newest(&self) -> Option<KeyId> {
        self.keys.keys().next_back().copied()
    }

    fn derived(&self, id: KeyId, salt: &[u8; SALT_BYTES]) -> Result<LessSafeKey, SideError> {
        let key = self.keys.get(&id).ok_or(SideError::NoKey(id))?;
        let derived = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(key);
        let derived = derived.expand(&[INFO], &AES_256_GCM);
        let key = derived.map_err(|_| SideError::Seal("the key cannot be derived"))?;
        Ok(LessSafeKey::new(UnboundKey::from(key)))
    }

    pub(crate) fn open(
        &self,
        identity: &Hash,
        number: u64,
        section: &[u8],
    ) -> Result<Vec<SideEntry>, SideError> {
        let mut entries = Vec::new();
        for (place, part) in (0..).zip(parts(section)?) {
            let id = part.key;
            let key = self.derived(id, &part.salt)?;
            let mut opened = part.sealed.to_vec();
            let aad = Aad::from(associated(identity, number, place, id));
            let plain = key.open_in_place(nonce(part.count), aad, &mut opened);
            let plain = plain.map_err(|_| SideError::Closed(id))?;
            read_entries(plain, &mut entries)
                .ok_or(SideError::Damaged("an entry ends too early"))?;
        }
        Ok(entries)
    }
}

/// A sealed part of a section.
struct SidePart<'a> {
    key: KeyId,
    salt: [u8; SALT_BYTES],
    count: u64,
    sealed: &'a [u8],
}

fn parts(section: &[u8]) -> Result<Vec<SidePart<'_>>, SideError> {
    let early = || SideError::Damaged("the section ends too early");
    let mut fields = FieldReader(section);
    let count = fields.u16().ok_or_else(early)?;
    let mut part = || {
        let (key, salt, count) = (fields.u64()?, fields.array()?, fields.u64()?);
        let length = fields.u32()?;
        let sealed = fields.take(length as usize)?;
        Some(SidePart {
            key,
            salt,
            count,
            sealed,
        })
    };
    let parts: Option<Vec<_>> = (0..count).map(|_| part()).collect();
    let parts = parts.ok_or_else(early)?;
    if fields.0.is_empty() {
        Ok(parts)
    } else {
        Err(SideError::Damaged("bytes are left over"))
    }
}

/// Ids of the keys that sealed a section.
pub(crate) fn keys_of(section: &[u8]) -> Result<Vec<KeyId>, SideError> {
    Ok(parts(section)?.iter().map(|part| part.key).collect())
}

/// Seals side entries under one key and salt: from the opening of the log, or a change of the key, to the next.
pub(crate) struct SideSealer {
    identity: Hash,
    id: KeyId,
    salt: [u8; SALT_BYTES],
    key: LessSafeKey,
    count: u64,
}

impl SideSealer {
    /// `None` if there is no key to seal with.
    pub(crate) fn new(
        env: &dyn Env,
        identity: Hash,
        keys: &SideKeys,
    ) -> std::io::Result<Option<Self>> {
        let Some((&id, _)) = keys.keys.last_key_value() else {
            return Ok(None);
        };
        let mut salt = [0; SALT_BYTES];
        env.random(&mut salt)?;
        let key = keys.derived(id, &salt).map_err(std::io::Error::other)?;
        Ok(Some(Self {
            identity,
            id,
            salt,
            key,
            count: 0,
        }))
    }

    pub(crate) fn id(&self) -> KeyId {
        self.id
    }

    pub(crate) fn seal(
        &mut self,
        number: u64,
        entries: &[SideEntry],
        out: &mut Vec<u8>,
    ) -> Result<(), SideError> {
        // The count is raised first, so that no failure can reuse a nonce.
        let count = self.count;
        self.count += 1;
        let mut plain = Vec::with_capacity(sealed_bytes_max(entries));
        for entry in entries {
            write_entry(&mut plain, entry)?;
        }
        let aad = Aad::from(associated(&self.identity, number, 0, self.id));
        self.key
            .seal_in_place_append_tag(nonce(count), aad, &mut plain)
            .map_err(|_| SideError::Seal("the cipher refuses them"))?;
        let length =
            u32::try_from(plain.len()).map_err(|_| SideError::Seal("they are too long"))?;
        out.reserve(2 + PART_BYTES + plain.len());
        out.extend_from_slice(&1u16.to_be_bytes());
        out.extend_from_slice(&self.id.to_be_bytes());
        out.extend_from_slice(&self.salt);
        out.extend_from_slice(&count.to_be_bytes());
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(&plain);
        Ok(())
    }
}

/// Upper bound of the entries' size once sealed.
pub(crate) fn sealed_bytes_max(entries: &[SideEntry]) -> usize {
    let bytes = |entry: &SideEntry| 10 + entry.key.len() + entry.value.as_ref().map_or(0, Vec::len);
    2 + PART_BYTES + entries.iter().map(bytes).sum::<usize>()
}

fn nonce(count: u64) -> Nonce {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&count.to_be_bytes());
    Nonce::assume_unique_for_key(nonce)
}

fn associated(identity: &Hash, number: u64, part: u16, id: KeyId) -> [u8; 50] {
    let mut data = [0; 50];
    data[..32].copy_from_slice(&identity.0);
    data[32..40].copy_from_slice(&number.to_be_bytes());
    data[40..42].copy_from_slice(&part.to_be_bytes());
    data[42..].copy_from_slice(&id.to_be_bytes());
    data
}

fn write_entry(out: &mut Vec<u8>, entry: &SideEntry) -> Result<(), SideError> {
    let length = |bytes: &[u8]| {
        let length = u32::try_from(bytes.len())
            .ok()
            .filter(|length| *length < DELETED);
        length.ok_or(SideError::Seal("an entry is too long"))
    };
    out.extend_from_slice(&entry.table.to_be_bytes());
    out.extend_from_slice(&length(&entry.key)?.to_be_bytes());
    out.extend_from_slice(&entry.key);
    match &entry.value {
        None => out.extend_from_slice(&DELETED.to_be_bytes()),
        Some(value) => {
            out.extend_from_slice(&length(value)?.to_be_bytes());
            out.extend_from_slice(value);
        }
    }
    Ok(())
}

fn read_entries(plain: &[u8], entries: &mut Vec<SideEntry>) -> Option<()> {
    let mut fields = FieldReader(plain);
    while !fields.0.is_empty() {
        let table = fields.u16()?;
        let length = fields.u32()?;
        let key = fields.take(length as usize)?.to_vec();
        let value = match fields.u32()? {
            DELETED => None,
            length => Some(fields.take(length as usize)?.to_vec()),
        };
        entries.push(SideEntry { table, key, value });
    }
    Some(())
}

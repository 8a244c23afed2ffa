//! The tables: one column family each, with its keys and rows. Names, key kinds and row numbers are permanent. Numbers
//! in keys are big-endian, so that byte order is number order.

pub(crate) mod accounts;
pub(crate) mod anchors;
pub(crate) mod batches;
mod catalogue;
pub(crate) mod deliveries;
pub(crate) mod events;
pub(crate) mod meta;
pub(crate) mod objects;
pub(crate) mod properties;
pub(crate) mod records;
pub(crate) mod residue;
pub(crate) mod round_trip;
pub(crate) mod row;
pub(crate) mod sequencer_keys;
pub(crate) mod templates;
#[cfg(test)]
mod tests;

use kedge_protocol::limits::NONCE_WINDOW;
use kedge_protocol::{Address, Hash, Id, Prefix};

pub use catalogue::Table;
pub(crate) use catalogue::{FORMAT_VERSION, TableShape, lookup};

/// The first bytes of a key as a number that sorts like the key; for equal numbers the whole keys decide.
pub(crate) fn first_8(key: &[u8]) -> u64 {
    let mut first = [0; 8];
    let count = key.len().min(8);
    first[..count].copy_from_slice(&key[..count]);
    u64::from_be_bytes(first)
}

/// Kind ‖ text.
pub(crate) fn kind_key(kind: u8, rest: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(1 + rest.len());
    key.push(kind);
    key.extend_from_slice(rest);
    key
}

/// Kind ‖ id ‖ text: a name within a resource.
pub(crate) fn name_key(kind: u8, within: &Id, name: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(17 + name.len());
    key.push(kind);
    key.extend_from_slice(&within.bytes);
    key.extend_from_slice(name.as_bytes());
    key
}

/// Kind ‖ id ‖ number: an entry in a resource's list.
pub(crate) fn list_key(kind: u8, of: &Id, number: u64) -> [u8; 25] {
    let mut key = [0; 25];
    key[0] = kind;
    key[1..17].copy_from_slice(&of.bytes);
    key[17..].copy_from_slice(&number.to_be_bytes());
    key
}

/// Kind ‖ organization ‖ digest of evidence.
pub(crate) fn evidence_key(organization: &Id, digest: &Hash) -> Vec<u8> {
    let mut key = Vec::with_capacity(1 + 16 + 32);
    key.push(lookup::DISPUTE_OF_EVIDENCE);
    key.extend_from_slice(&organization.bytes);
    key.extend_from_slice(&digest.0);
    key
}

/// Kind ‖ context of a claim.
pub(crate) fn claim_key(context: &Hash) -> Vec<u8> {
    kind_key(lookup::DISPUTE_OF_CLAIM, &context.0)
}

/// Template ‖ 1.
pub(crate) fn burned_key(template: &Id) -> [u8; 17] {
    let mut key = [1; 17];
    key[..16].copy_from_slice(&template.bytes);
    key
}

/// Slots for the sequences of spent nonces: more than the window is wide, so that no two nonces of one window share
/// one.
const SPENT_SLOTS: u64 = 2 * NONCE_WINDOW;

/// Signer ‖ slot of a nonce.
pub(crate) fn spent_key(signer: &Address, nonce: u64) -> [u8; 22] {
    let mut key = [0; 22];
    key[..20].copy_from_slice(&signer.0);
    key[20..].copy_from_slice(&((nonce % SPENT_SLOTS) as u16).to_be_bytes());
    key
}

/// Nonce ‖ sequence.
pub(crate) fn spent_row(nonce: u64, sequence: u64) -> [u8; 16] {
    let mut row = [0; 16];
    row[..8].copy_from_slice(&nonce.to_be_bytes());
    row[8..].copy_from_slice(&sequence.to_be_bytes());
    row
}

/// Expiry of a row, Unix seconds, and the rest of the row.
pub(crate) fn expiry(row: &[u8]) -> Option<(u64, &[u8])> {
    let (seconds, rest) = row.split_first_chunk()?;
    Some((u64::from_be_bytes(*seconds), rest))
}

/// An identifier whose prefix follows from its table.
pub(crate) fn id(prefix: Prefix, bytes: [u8; 16]) -> Id {
    Id { prefix, bytes }
}

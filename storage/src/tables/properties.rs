//! Index over objects' properties: template ‖ property ‖ ordered value ‖ creation sequence → object. The rules
//! (`rules`) encode values as bytes that sort like the values and of which none is a prefix of another. The table is
//! state: `verify` compares it with a replay.

use kedge_protocol::Id;

/// Bytes of a key before the value.
pub(crate) const VALUE_AT: usize = 17;

/// Template ‖ path ‖ the first bytes of the rest.
pub(crate) fn value_key(template: &Id, path: u8, rest: &[u8]) -> Vec<u8> {
    let mut key = Vec::with_capacity(VALUE_AT + rest.len() + 8);
    key.extend_from_slice(&template.bytes);
    key.push(path);
    key.extend_from_slice(rest);
    key
}

/// Template ‖ path ‖ value ‖ creation sequence.
pub(crate) fn key(template: &Id, path: u8, value: &[u8], created_sequence: u64) -> Vec<u8> {
    let mut key = value_key(template, path, value);
    key.extend_from_slice(&created_sequence.to_be_bytes());
    key
}

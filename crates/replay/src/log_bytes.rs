//! Bytes that a request adds to its organization's quota. They depend only on the record and on the results of its
//! actions. So the committer, which counts them in the group that writes them, and a replay come to the same numbers
//! (table `log_bytes`). They approximate the size of the request in the log and in the store.

use kedge_protocol::record::RequestRecord;
use kedge_protocol::resource::Object;
use kedge_rules::index::IndexChange;
use kedge_rules::resource_state::ResourceState;

/// A request's head, signature and places, without its actions.
const REQUEST_BYTES: usize = 256;
/// An action's resource, place in that resource's history and leaf, without its texts.
const ACTION_BYTES: usize = 128;
/// An action that failed.
const FAILED_BYTES: usize = 34;
/// A resource's identifiers, trace and places in lists, without its texts.
const RESOURCE_BYTES: usize = 384;
/// An entry in the index of properties, without its value.
const INDEX_ENTRY_BYTES: usize = 64;

/// Bytes of a request's record.
pub fn of_request(record: &RequestRecord<'_>) -> i64 {
    let actions = record.actions.iter().map(|action| {
        let disclosed = action.disclosed.as_ref().map_or(0, |text| text.len());
        ACTION_BYTES + action.target.len() + action.payload.len() + disclosed
    });
    let failed = record.failed.len() * FAILED_BYTES;
    signed(REQUEST_BYTES + actions.sum::<usize>() + failed)
}

/// Bytes of new entries in the index of properties.
pub fn of_index(changes: &[IndexChange]) -> usize {
    let entries = changes.iter();
    entries
        .map(|change| INDEX_ENTRY_BYTES + change.after.len())
        .sum()
}

/// Bytes of a new object.
pub fn of_new_object(object: &Object, index_bytes: usize) -> i64 {
    signed(RESOURCE_BYTES + object.properties.len() + index_bytes)
}

/// Difference in bytes of an object's change.
pub fn of_change(before: &str, after: &str) -> i64 {
    signed(after.len()) - signed(before.len())
}

/// Bytes of other resources. The texts of new ones are in the payload; variations have more.
pub fn of_resources(are_new: bool, images: &[ResourceState], payload: &str) -> i64 {
    if are_new {
        return signed(images.len() * RESOURCE_BYTES + payload.len());
    }
    let variations = images.iter().map(|image| match image {
        ResourceState::Variation(variation) => RESOURCE_BYTES + variation.properties.len(),
        _ => 0,
    });
    signed(variations.sum())
}

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

//! What a request adds to its organization's part of the log: the bytes that its quota covers. They follow from the
//! record and from what its actions make, and from nothing else. So the committer, which counts them in the group that
//! writes them, and a replay come to the same numbers (table `log_bytes`). These are about what the log and the rows of
//! the store take.

use kedge_protocol::record::RequestRecord;
use kedge_protocol::resource::Object;
use kedge_rules::image::Image;
use kedge_rules::index::IndexChange;

/// Of a request: its head, signature and places, in addition to its actions.
const REQUEST_BYTES: usize = 256;
/// Of an action: its resource, its place in that resource's history and its leaf, in addition to its texts.
const ACTION_BYTES: usize = 128;
/// Of an action that failed.
const FAILED_BYTES: usize = 34;
/// Of a resource: its identifiers, trace and places in lists, in addition to its texts.
const RESOURCE_BYTES: usize = 384;
/// Of an entry in the index of properties, in addition to its value.
const INDEX_ENTRY_BYTES: usize = 64;

/// What a request's record adds.
pub fn of_request(record: &RequestRecord<'_>) -> i64 {
    let actions = record.actions.iter().map(|action| {
        let disclosed = action.disclosed.as_ref().map_or(0, |text| text.len());
        ACTION_BYTES + action.target.len() + action.payload.len() + disclosed
    });
    let failed = record.failed.len() * FAILED_BYTES;
    signed(REQUEST_BYTES + actions.sum::<usize>() + failed)
}

/// What the entries of the index of properties add.
pub fn of_index(changes: &[IndexChange]) -> usize {
    let entries = changes.iter();
    entries
        .map(|change| INDEX_ENTRY_BYTES + change.after.len())
        .sum()
}

/// What a new object adds.
pub fn of_new_object(object: &Object, index_bytes: usize) -> i64 {
    signed(RESOURCE_BYTES + object.properties.len() + index_bytes)
}

/// What a change of an object adds or removes.
pub fn of_change(before: &str, after: &str) -> i64 {
    signed(after.len()) - signed(before.len())
}

/// What other resources add. The texts of new ones are those of the payload; variations have more.
pub fn of_resources(are_new: bool, images: &[Image], payload: &str) -> i64 {
    if are_new {
        return signed(images.len() * RESOURCE_BYTES + payload.len());
    }
    let variations = images.iter().map(|image| match image {
        Image::Variation(variation) => RESOURCE_BYTES + variation.properties.len(),
        _ => 0,
    });
    signed(variations.sum())
}

fn signed(bytes: usize) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

//! Faults of a change that leaves of the log explain: two entries of one resource, and leaves that lead from the
//! integrity of the first to that of the second.

use super::entries::of_one_id;
use super::shown::{LeafWords, ShownEntry, ShownLeaf, all_opened, leads};
use crate::action::Kind;
use crate::state::entry::{EntryFields, StateEntry, TemplateEntry};

/// False owner: an object's organization, template or variation changed, its version grew by another number than
/// leaves, or its owner changed and no leaf can be a transfer.
pub fn false_owner(first: &ShownEntry, second: &ShownEntry, leaves: &[ShownLeaf]) -> bool {
    let Some((before, after)) = led(first, second, leaves) else {
        return false;
    };
    let (EntryFields::Object(one), EntryFields::Object(other)) = (&before.fields, &after.fields)
    else {
        return false;
    };
    grew_otherwise(before, after, leaves)
        || one.organization_id != other.organization_id
        || one.template_id != other.template_id
        || one.variation_id != other.variation_id
        || (one.owner_id != other.owner_id
            && all_opened(leaves, |words| !words.is_kind(&Kind::Transfer)))
}

/// Hidden change: an object's properties, or what `template.update` changes of a template, and every leaf is opened and
/// of a kind that does not change it.
pub fn hidden_change(first: &ShownEntry, second: &ShownEntry, leaves: &[ShownLeaf]) -> bool {
    let Some((before, after)) = led(first, second, leaves) else {
        return false;
    };
    match (&before.fields, &after.fields) {
        (EntryFields::Object(one), EntryFields::Object(other)) => {
            let kinds = [Kind::Update, Kind::SetAttributes, Kind::DeleteAttributes];
            one.properties_hash != other.properties_hash && none_of(leaves, &kinds)
        }
        (EntryFields::Template(one), EntryFields::Template(other)) => {
            let is_changed = updated_fields(one) != updated_fields(other);
            is_changed && none_of(leaves, &[Kind::TemplateUpdate])
        }
        _ => false,
    }
}

/// False keys: two lists of a wallet's keys, neither empty, which grew by other than the keys that the leaves, all
/// opened, add less those that they remove; or by more new keys than they add.
pub fn false_keys(first: &ShownEntry, second: &ShownEntry, leaves: &[ShownLeaf]) -> bool {
    let Some((before, after)) = led(first, second, leaves) else {
        return false;
    };
    let (EntryFields::Wallet(one), EntryFields::Wallet(other)) = (&before.fields, &after.fields)
    else {
        return false;
    };
    if one.keys.is_empty() || other.keys.is_empty() || !all_opened(leaves, |_| true) {
        return false;
    }
    let count = |kind: &Kind| {
        let words = leaves.iter().filter_map(|leaf| leaf.words.as_ref());
        words.filter(|words| words.is_kind(kind)).count()
    };
    let (added, removed) = (count(&Kind::WalletKeyAdd), count(&Kind::WalletKeyRemove));
    let new = other.keys.iter().filter(|key| !one.keys.contains(key));
    other.keys.len() + removed != one.keys.len() + added || new.count() > added
}

/// False version: an entry of any type whose version grew by another number than leaves.
pub fn false_version(first: &ShownEntry, second: &ShownEntry, leaves: &[ShownLeaf]) -> bool {
    led(first, second, leaves).is_some_and(|(before, after)| grew_otherwise(before, after, leaves))
}

/// The two entries of one id, if the leaves lead from the first to the second.
fn led<'a>(
    first: &'a ShownEntry,
    second: &'a ShownEntry,
    leaves: &[ShownLeaf],
) -> Option<(&'a StateEntry, &'a StateEntry)> {
    let (before, after) = of_one_id(first, second)?;
    (leads(&before.integrity, leaves) == Some(after.integrity)).then_some((before, after))
}

fn grew_otherwise(before: &StateEntry, after: &StateEntry, leaves: &[ShownLeaf]) -> bool {
    before.version.checked_add(leaves.len() as u64) != Some(after.version)
}

fn none_of(leaves: &[ShownLeaf], kinds: &[Kind]) -> bool {
    let is_other = |words: &LeafWords| !kinds.iter().any(|kind| words.is_kind(kind));
    all_opened(leaves, is_other)
}

/// The fields that only `template.update` changes.
fn updated_fields(template: &TemplateEntry) -> impl PartialEq + '_ {
    (
        template.public_access,
        template.properties_hash,
        template.schema_hash,
        &template.rules,
    )
}

//! Faults that checkpoints and their entries show without the log.

use super::shown::{HeldEntry, ShownEntry, StatePoint};
use crate::resource::ObjectStatus;
use crate::state::entry::{EntryFields, StateEntry, TemplateEntry};
use crate::{Address, Hash};

/// Unrooted checkpoint: no root above a checkpoint that has one.
pub fn unrooted_checkpoint(rooted: &StatePoint, unrooted: &StatePoint) -> bool {
    rooted.is_rooted && !unrooted.is_rooted && unrooted.batches > rooted.batches
}

/// Malformed state: the bytes under an id are not an entry of its type.
pub fn malformed_state(shown: &ShownEntry) -> bool {
    shown.point.is_rooted && shown.held == HeldEntry::Malformed
}

/// Rewritten state: between two checkpoints in this order, an entry went away, came up with an age that it did not
/// have, changed without an action, or fell back.
pub fn rewritten_state(first: &ShownEntry, second: &ShownEntry) -> bool {
    if first.id != second.id || first.point.batches >= second.point.batches {
        return false;
    }
    if first.entry().is_some() && second.is_absent() {
        return true;
    }
    let Some(after) = second.entry() else {
        return false;
    };
    let is_of_then = after.sequence <= first.point.sequence;
    let Some(before) = first.entry() else {
        return first.is_absent() && is_of_then;
    };
    is_of_then && steps(before) != steps(after)
        || after.version < before.version
        || after.sequence < before.sequence
}

/// Lone step: of version, sequence and integrity some agree and some differ, or the version grew by more than the
/// sequence. The order of the entries does not matter.
pub fn lone_step(first: &ShownEntry, second: &ShownEntry) -> bool {
    let Some((one, other)) = of_one_id(first, second) else {
        return false;
    };
    let same = [
        one.version == other.version,
        one.sequence == other.sequence,
        one.integrity == other.integrity,
    ];
    let is_lone = same.contains(&true) && same.contains(&false);
    let (low, high) = if one.version <= other.version {
        (one, other)
    } else {
        (other, one)
    };
    let grown = high.version - low.version;
    is_lone || grown > high.sequence.saturating_sub(low.sequence)
}

/// Two-faced state: one id and one integrity, the first checkpoint not after the second, and a difference that no
/// action of another resource explains.
pub fn two_faced_state(first: &ShownEntry, second: &ShownEntry) -> bool {
    let Some((before, after)) = in_order(first, second) else {
        return false;
    };
    if before.integrity != after.integrity {
        return false;
    }
    if steps(before) != steps(after) {
        return true;
    }
    match (&before.fields, &after.fields) {
        (EntryFields::Wallet(one), EntryFields::Wallet(other)) => {
            one.organization_id != other.organization_id
                || one.address != other.address
                || (one.keys != other.keys && !other.keys.is_empty())
        }
        (EntryFields::Template(one), EntryFields::Template(other)) => {
            counts_fell(one, other) || without_counts(one) != without_counts(other)
        }
        (one, other) => one != other,
    }
}

/// Changed constant: entries of one id, the first checkpoint not after the second, differ in what never changes, a
/// template's count fell, or what had ended changed.
pub fn changed_constant(first: &ShownEntry, second: &ShownEntry) -> bool {
    let Some((before, after)) = in_order(first, second) else {
        return false;
    };
    let is_same = steps(before) == steps(after);
    match (&before.fields, &after.fields) {
        (EntryFields::Object(one), EntryFields::Object(other)) => {
            one.organization_id != other.organization_id
                || one.template_id != other.template_id
                || one.variation_id != other.variation_id
                || one.serial != other.serial
                || (one.status == ObjectStatus::Burned && before != after)
        }
        (EntryFields::Wallet(one), EntryFields::Wallet(other)) => {
            one.organization_id != other.organization_id
                || one.address != other.address
                || (one.keys.is_empty() && !(is_same && other.keys.is_empty()))
        }
        (EntryFields::Template(one), EntryFields::Template(other)) => {
            one.organization_id != other.organization_id
                || one.max_supply != other.max_supply
                || other.variation_count < one.variation_count
                || counts_fell(one, other)
        }
        (EntryFields::ApiKey(one), EntryFields::ApiKey(other)) => {
            one.organization_id != other.organization_id || (one.deleted && before != after)
        }
        (EntryFields::Webhook(one), EntryFields::Webhook(other)) => {
            one.organization_id != other.organization_id || (one.deleted && before != after)
        }
        (EntryFields::Organization {}, EntryFields::Organization {}) => false,
        _ => before != after,
    }
}

/// Twin state: two ids have one integrity, at any two checkpoints.
pub fn twin_state(first: &ShownEntry, second: &ShownEntry) -> bool {
    match (first.entry(), second.entry()) {
        (Some(one), Some(other)) => first.id != second.id && one.integrity == other.integrity,
        _ => false,
    }
}

/// False address: at one checkpoint an object's owner address is not its owner's, or its organization not its
/// template's; or, at any two, two wallets share an address.
pub fn false_address(first: &ShownEntry, second: &ShownEntry) -> bool {
    if let (Some((_, one)), Some((_, other))) = (first.wallet(), second.wallet()) {
        let has = |address: &Address| *address == other.address || other.keys.contains(address);
        return first.id != second.id && (has(&one.address) || one.keys.iter().any(has));
    }
    let Some((_, object)) = first.object() else {
        return false;
    };
    if first.point.batches != second.point.batches {
        return false;
    }
    if let Some((_, wallet)) = second.wallet() {
        return object.owner_id == second.id && object.owner_address != wallet.address;
    }
    second.template().is_some_and(|(_, template)| {
        object.template_id == second.id && object.organization_id != template.organization_id
    })
}

/// Oversupply: a serial above what its template counts or allows at the same checkpoint; two objects of one template
/// with one serial; or a bound that changed.
pub fn oversupply(first: &ShownEntry, second: &ShownEntry) -> bool {
    if let (Some((_, one)), Some((_, other))) = (first.template(), second.template()) {
        return first.id == second.id && one.max_supply != other.max_supply;
    }
    let Some((_, object)) = first.object() else {
        return false;
    };
    if let Some((_, other)) = second.object() {
        return first.id != second.id
            && object.template_id == other.template_id
            && object.serial == other.serial;
    }
    second.template().is_some_and(|(_, template)| {
        let most = template.max_supply.unwrap_or(u64::MAX);
        object.template_id == second.id
            && first.point.batches == second.point.batches
            && object.serial > template.minted_count.min(most)
    })
}

/// The two entries, if both are of one id.
pub(super) fn of_one_id<'a>(
    first: &'a ShownEntry,
    second: &'a ShownEntry,
) -> Option<(&'a StateEntry, &'a StateEntry)> {
    let entries = first.entry().zip(second.entry());
    entries.filter(|_| first.id == second.id)
}

/// The two entries of one id, if the first checkpoint is not after the second.
fn in_order<'a>(
    first: &'a ShownEntry,
    second: &'a ShownEntry,
) -> Option<(&'a StateEntry, &'a StateEntry)> {
    let is_ordered = first.point.batches <= second.point.batches;
    of_one_id(first, second).filter(|_| is_ordered)
}

/// What each action on a resource changes.
fn steps(entry: &StateEntry) -> (u64, u64, Hash) {
    (entry.version, entry.sequence, entry.integrity)
}

fn counts_fell(before: &TemplateEntry, after: &TemplateEntry) -> bool {
    after.minted_count < before.minted_count || after.burned_count < before.burned_count
}

/// The template without the counts that change without its version.
fn without_counts(template: &TemplateEntry) -> TemplateEntry {
    TemplateEntry {
        minted_count: 0,
        burned_count: 0,
        ..template.clone()
    }
}

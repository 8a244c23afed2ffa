//! RFC 7396's merge of two texts. Both are walked a fixed number of times, whatever their depth, and members are found
//! by an index, so a merge takes time in proportion to its bytes (and the logarithm of a patch's members).

use std::borrow::Cow;

use smallvec::SmallVec;

use super::name_index::NameIndex;
use super::scan::{self, JsonScan};
use super::{compact, quoted};

/// Effect of a patch on one value.
pub(super) enum PatchChange<'a> {
    /// Replaces the value; `null` removes it.
    Value(&'a str),
    /// Merges into the value.
    Members(Vec<PatchMember<'a>>),
}

/// A member of a patch, with its key.
pub(super) type PatchMember<'a> = (Cow<'a, str>, PatchChange<'a>);

impl<'a> PatchChange<'a> {
    /// Reads a patch that is acceptable JSON, in one pass.
    pub(super) fn of(patch: &'a str) -> Self {
        // Most patches of a value are no objects.
        if !patch.trim_ascii_start().starts_with('{') {
            return Self::Value(patch);
        }
        let read = scan::change(patch);
        debug_assert!(read.is_some(), "a patch is acceptable JSON");
        read.unwrap_or(Self::Value(patch))
    }
}

/// RFC 7396's merge of `patch` into `target`, both texts that [`super::check`] accepted. Untouched values keep their
/// exact text; new members follow the old ones. A patch that is no object replaces the target.
pub fn merge(target: &str, patch: &str) -> String {
    let mut out = with_room(target, patch, String::new());
    match PatchChange::of(patch) {
        PatchChange::Value(value) => out.push_str(&compact(value)),
        PatchChange::Members(changes) => merge_whole(&mut out, target, &changes),
    }
    out
}

/// [`merge`] with the only member of `patch`, which must be an object under `key`, if [`super::check`] accepts all of
/// `patch`. `None` in other cases, and if this fast path cannot decide. The result reuses `memory` if that
/// has a suitable size.
pub(crate) fn merge_only(target: &str, patch: &str, key: &str, memory: String) -> Option<String> {
    let members = scan::members_of_only(patch, key)?.0.into_iter();
    let changes: SmallVec<[PatchMember<'_>; 8]> = members
        .map(|(key, value)| (key, PatchChange::of(value)))
        .collect();
    let mut out = with_room(target, patch, memory);
    merge_whole(&mut out, target, &changes);
    Some(out)
}

/// Allocates the result of a merge. Most merges replace values, so the sum of both sizes would be too much for as long
/// as the result is kept. `memory` is reused, unless it is too small or far too large.
fn with_room(target: &str, patch: &str, mut memory: String) -> String {
    let room = target.len().max(patch.len());
    if (room..=2 * room).contains(&memory.capacity()) {
        memory.clear();
        return memory;
    }
    String::with_capacity(room)
}

/// Merges an object into a whole text. A text that is no object counts as an empty one.
fn merge_whole(out: &mut String, target: &str, changes: &[PatchMember<'_>]) {
    let mut scan = JsonScan::of(target);
    if scan.is_at_object() && merge_members(out, Some(&mut scan), changes).is_some() {
        return;
    }
    out.clear();
    let merged = merge_members(out, None, changes);
    debug_assert!(merged.is_some(), "only reading a target can fail");
}

/// Merges members into the object at the target's position, if there is one. `None` if it is not acceptable JSON.
fn merge_members(
    out: &mut String,
    target: Option<&mut JsonScan<'_>>,
    changes: &[PatchMember<'_>],
) -> Option<()> {
    let mut used: SmallVec<[bool; 16]> = SmallVec::from_elem(false, changes.len());
    out.push('{');
    let empty_len = out.len();
    if let Some(target) = target {
        let places = NameIndex::of(changes, |(name, _)| name.as_ref());
        target.each_member(|target, key| {
            let Some(place) = places.find(&key) else {
                push_key(out, empty_len, &key);
                out.push_str(&compact(target.passed_value()?));
                return Some(());
            };
            used[place] = true;
            match &changes[place].1 {
                PatchChange::Value("null") => target.pass_value(),
                change => {
                    push_key(out, empty_len, &key);
                    merge_value(out, target, change)
                }
            }
        })?;
    }
    for ((key, change), used) in changes.iter().zip(used) {
        if used || matches!(change, PatchChange::Value("null")) {
            continue;
        }
        push_key(out, empty_len, key);
        match change {
            PatchChange::Value(value) => out.push_str(&compact(value)),
            PatchChange::Members(changes) => merge_members(out, None, changes)?,
        }
    }
    out.push('}');
    Some(())
}

/// Merges a change into the value at the target's position, and passes over the value.
fn merge_value(
    out: &mut String,
    target: &mut JsonScan<'_>,
    change: &PatchChange<'_>,
) -> Option<()> {
    match change {
        PatchChange::Members(changes) if target.is_at_object() => {
            merge_members(out, Some(target), changes)
        }
        PatchChange::Members(changes) => {
            target.pass_value()?;
            merge_members(out, None, changes)
        }
        PatchChange::Value(value) => {
            target.pass_value()?;
            out.push_str(&compact(value));
            Some(())
        }
    }
}

#[expect(
    clippy::ptr_arg,
    reason = "whether a key is borrowed says whether it had escapes"
)]
fn push_key(out: &mut String, empty_len: usize, key: &Cow<'_, str>) {
    if out.len() > empty_len {
        out.push(',');
    }
    match key {
        // A slice of the text without escapes, so it needs none.
        Cow::Borrowed(key) => {
            out.push('"');
            out.push_str(key);
            out.push('"');
        }
        Cow::Owned(key) => out.push_str(&quoted(key)),
    }
    out.push(':');
}

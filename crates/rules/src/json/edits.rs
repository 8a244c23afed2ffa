//! Many changes of an object's text in a row. A change takes time in proportion to its own size, not to the object's;
//! the object is written once at the end. The text is the same as after one change at a time.

use std::collections::BTreeMap;

use super::merge::{PatchChange, PatchMember};
use super::scan::JsonScan;
use super::{compact, quoted};

/// An object being changed.
#[derive(Clone, Default, Debug)]
pub(crate) struct JsonEdits {
    /// Members by their places, which rise in the order of the text.
    members: BTreeMap<u64, (String, EditValue)>,
    places: BTreeMap<String, u64>,
    /// The place of the next new member.
    next: u64,
}

#[derive(Clone, Debug)]
enum EditValue {
    /// Text as it was sent, without white space.
    Text(String),
    /// Object that was merged into.
    Object(JsonEdits),
}

impl JsonEdits {
    /// Parses an object; other values count as an empty one.
    pub(crate) fn of(text: &str) -> Self {
        let mut edits = Self::default();
        let mut scan = JsonScan::of(text);
        if scan.is_at_object() {
            let read = scan.each_member(|scan, key| {
                let value = compact(scan.passed_value()?).into_owned();
                edits.put(&key, EditValue::Text(value));
                Some(())
            });
            debug_assert!(read.is_some(), "properties are JSON");
        }
        edits
    }

    /// Merges a patch (RFC 7396). A patch that is no object changes nothing.
    pub(crate) fn merge(&mut self, patch: &str) {
        if let PatchChange::Members(changes) = PatchChange::of(patch) {
            self.merge_members(&changes);
        }
    }

    /// Sets a member to an unmodified value.
    pub(crate) fn set(&mut self, key: &str, value: &str) {
        self.put(key, EditValue::Text(compact(value).into_owned()));
    }

    /// Removes a member.
    pub(crate) fn remove(&mut self, key: &str) {
        if let Some(place) = self.places.remove(key) {
            self.members.remove(&place);
        }
    }

    /// Writes the object.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        out.push('{');
        let empty_len = out.len();
        for (key, value) in self.members.values() {
            if out.len() > empty_len {
                out.push(',');
            }
            out.push_str(&quoted(key));
            out.push(':');
            match value {
                EditValue::Text(text) => out.push_str(text),
                EditValue::Object(inner) => inner.write(out),
            }
        }
        out.push('}');
    }

    fn put(&mut self, key: &str, value: EditValue) {
        let place = self.places.get(key).copied().unwrap_or(self.next);
        if place == self.next {
            self.places.insert(key.to_owned(), place);
            self.next += 1;
        }
        self.members.insert(place, (key.to_owned(), value));
    }

    fn merge_members(&mut self, changes: &[PatchMember<'_>]) {
        for (key, change) in changes {
            match change {
                PatchChange::Value("null") => self.remove(key),
                PatchChange::Value(value) => self.set(key, value),
                PatchChange::Members(changes) => self.merge_into(key, changes),
            }
        }
    }

    /// Merges into a member, which becomes an object if it is none.
    fn merge_into(&mut self, key: &str, changes: &[PatchMember<'_>]) {
        let place = self.places.get(key).copied();
        let known = place.and_then(|place| self.members.get_mut(&place));
        let mut inner = match known.map(|(_, value)| value) {
            Some(EditValue::Object(inner)) => return inner.merge_members(changes),
            Some(EditValue::Text(text)) => Self::of(text),
            None => Self::default(),
        };
        inner.merge_members(changes);
        self.put(key, EditValue::Object(inner));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::merge;
    use super::super::tests::value;
    use super::*;

    proptest! {
        // Holds invariant 10.
        #[test]
        fn many_changes_give_what_they_give_one_by_one(
            target in value(),
            patches in prop::collection::vec(value(), 1..6),
        ) {
            let target = if target.is_object() { target.to_string() } else { "{}".to_owned() };
            let patches: Vec<String> = patches
                .iter()
                .filter(|patch| patch.is_object())
                .map(ToString::to_string)
                .collect();
            let mut edits = JsonEdits::of(&target);
            for patch in &patches {
                edits.merge(patch);
            }
            let one_by_one = patches.iter().fold(merge(&target, "{}"), |text, patch| merge(&text, patch));
            prop_assert_eq!(edits.text(), one_by_one);
        }
    }

    // Holds invariant 220.
    /// A hundred thousand changes of a large object take about as long as writing it a few times.
    #[test]
    fn a_change_takes_a_time_in_proportion_to_itself() {
        let members: Vec<String> = (0..50_000).map(|i| format!("\"k{i}\":1")).collect();
        let mut edits = JsonEdits::of(&format!("{{{}}}", members.join(",")));
        let begun = std::time::Instant::now();
        for i in 0..100_000 {
            edits.merge(&format!("{{\"k{i}\":null,\"o\":{{\"n{i}\":1}}}}"));
        }
        assert!(edits.text().starts_with("{\"o\":{\"n0\":1,"));
        assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
    }

    #[test]
    fn what_was_removed_is_kept_nowhere() {
        let mut edits = JsonEdits::of(r#"{"kept":1}"#);
        for i in 0..10_000 {
            edits.set(&format!("k{i}"), "1");
            edits.remove(&format!("k{i}"));
            edits.merge(r#"{"same":1}"#);
            edits.merge(r#"{"same":null}"#);
        }
        assert_eq!((edits.members.len(), edits.places.len()), (1, 1));
        assert_eq!(edits.text(), r#"{"kept":1}"#);
    }
}

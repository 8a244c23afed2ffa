//! Places inside an object's properties, and reading several of them in one pass.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The keys that lead to a value, from the outside in.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PropertyPath(pub Vec<String>);

/// Several paths combined, so that one pass over a text finds all their values.
#[derive(Clone, Default, Debug)]
pub struct PathTree {
    branches: Vec<Branch>,
    count: usize,
}

#[derive(Clone, Debug)]
struct Branch {
    key: String,
    /// The path that ends here.
    slot: Option<usize>,
    below: Vec<Branch>,
}

impl PathTree {
    /// A tree of these paths. A path that occurs twice is found only at its last place.
    pub fn new<'p>(paths: impl IntoIterator<Item = &'p PropertyPath>) -> Self {
        let mut tree = Self::default();
        for path in paths {
            add(&mut tree.branches, &path.0, tree.count);
            tree.count += 1;
        }
        tree
    }

    /// The texts of the values at the paths, in the order of the paths. `properties` must be JSON; only objects are
    /// entered.
    pub fn pick<'a>(&self, properties: &'a str) -> Vec<Option<&'a str>> {
        let mut found = vec![None; self.count];
        pick_into(&self.branches, properties, &mut found);
        found
    }
}

fn add(branches: &mut Vec<Branch>, keys: &[String], slot: usize) {
    let Some((first, rest)) = keys.split_first() else {
        return;
    };
    let place = branches.iter().position(|branch| branch.key == *first);
    let place = place.unwrap_or_else(|| {
        branches.push(Branch {
            key: first.clone(),
            slot: None,
            below: Vec::new(),
        });
        branches.len() - 1
    });
    if rest.is_empty() {
        branches[place].slot = Some(slot);
    } else {
        add(&mut branches[place].below, rest, slot);
    }
}

fn pick_into<'a>(branches: &[Branch], text: &'a str, found: &mut [Option<&'a str>]) {
    if branches.is_empty() || !text.starts_with('{') {
        return;
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let picked = deserializer.deserialize_map(Pick { branches, found });
    debug_assert!(picked.is_ok(), "properties are JSON: {picked:?}");
}

struct Pick<'t, 'a> {
    branches: &'t [Branch],
    found: &'t mut [Option<&'a str>],
}

impl<'a> Visitor<'a> for Pick<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut members: A) -> Result<(), A::Error> {
        while let Some(branch) = members.next_key_seed(Wanted(self.branches))? {
            let Some(branch) = branch else {
                members.next_value::<IgnoredAny>()?;
                continue;
            };
            let value: &'a RawValue = members.next_value()?;
            if let Some(slot) = branch.slot {
                self.found[slot] = Some(value.get());
            }
            pick_into(&branch.below, value.get(), self.found);
        }
        Ok(())
    }
}

/// Reads a key and finds its branch.
struct Wanted<'t>(&'t [Branch]);

impl<'a, 't> DeserializeSeed<'a> for Wanted<'t> {
    type Value = Option<&'t Branch>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'t> Visitor<'_> for Wanted<'t> {
    type Value = Option<&'t Branch>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().find(|branch| branch.key == key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(keys: &[&str]) -> PropertyPath {
        PropertyPath(keys.iter().map(|key| (*key).to_owned()).collect())
    }

    #[test]
    fn values_are_found_where_the_paths_lead() {
        let text = r#"{"a":{"b":1.50,"c":{"d":"x"}},"a.b":2,"\u00e4":[1],"n":null,"b":{"b":3}}"#;
        let cases = [
            (path(&["a", "b"]), Some("1.50")),
            (path(&["a", "c", "d"]), Some("\"x\"")),
            (path(&["a", "c"]), Some(r#"{"d":"x"}"#)),
            (path(&["a.b"]), Some("2")),
            (path(&["ä"]), Some("[1]")),
            (path(&["ä", "0"]), None),
            (path(&["n"]), Some("null")),
            (path(&["n", "a"]), None),
            (path(&["b"]), Some(r#"{"b":3}"#)),
            (path(&["d"]), None),
        ];
        let tree = PathTree::new(cases.iter().map(|(path, _)| path));
        let found = tree.pick(text);
        for (i, (path, expected)) in cases.iter().enumerate() {
            assert_eq!(found[i], *expected, "{path:?}");
            let alone = PathTree::new([path]).pick(text);
            assert_eq!(alone, [*expected], "{path:?}");
        }
        assert_eq!(tree.pick("{}"), vec![None; cases.len()]);
        assert_eq!(PathTree::default().pick(text), Vec::<Option<&str>>::new());
    }
}

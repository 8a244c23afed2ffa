//! Paths inside an object's properties, read several at a time in one pass.

use crate::json::JsonScan;

/// The keys that lead to a value, outermost first.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PropertyPath(pub Vec<String>);

/// Several paths combined, so that one pass over a text finds all their values.
#[derive(Clone, Default, Debug)]
pub struct PathTree {
    branches: Vec<PathBranch>,
    count: usize,
}

#[derive(Clone, Debug)]
struct PathBranch {
    key: String,
    /// Index of the path that ends here.
    slot: Option<usize>,
    below: Vec<PathBranch>,
}

impl PathTree {
    /// Builds the tree. A repeated path is found only at its last index.
    pub fn new<'p>(paths: impl IntoIterator<Item = &'p PropertyPath>) -> Self {
        let mut tree = Self::default();
        for path in paths {
            add(&mut tree.branches, &path.0, tree.count);
            tree.count += 1;
        }
        sort(&mut tree.branches);
        tree
    }

    /// Texts of the values at the paths, in the order of the paths. `properties` must be JSON; only objects are
    /// entered.
    pub fn pick<'a>(&self, properties: &'a str) -> Vec<Option<&'a str>> {
        let mut found = vec![None; self.count];
        let mut scan = JsonScan::of(properties);
        if !self.branches.is_empty() && scan.is_at_object() {
            let picked = pick_into(&self.branches, &mut scan, &mut found);
            debug_assert!(picked.is_some(), "properties are JSON");
        }
        found
    }
}

fn add(branches: &mut Vec<PathBranch>, keys: &[String], slot: usize) {
    let Some((first, rest)) = keys.split_first() else {
        return;
    };
    let place = branches.iter().position(|branch| branch.key == *first);
    let place = place.unwrap_or_else(|| {
        branches.push(PathBranch {
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

/// Sorts the branches of each level, for binary search.
fn sort(branches: &mut [PathBranch]) {
    branches.sort_unstable_by(|one, other| one.key.cmp(&other.key));
    for branch in branches {
        sort(&mut branch.below);
    }
}

/// Walks an object once, including nested ones.
fn pick_into<'a>(
    branches: &[PathBranch],
    scan: &mut JsonScan<'a>,
    found: &mut [Option<&'a str>],
) -> Option<()> {
    scan.each_member(|scan, key| {
        let place = branches.binary_search_by(|branch| branch.key.as_str().cmp(&key));
        let Ok(place) = place else {
            return scan.pass_value();
        };
        let PathBranch { slot, below, .. } = &branches[place];
        let value = scan.passed(|scan| {
            if below.is_empty() || !scan.is_at_object() {
                scan.pass_value()
            } else {
                pick_into(below, scan, found)
            }
        })?;
        if let Some(slot) = slot {
            found[*slot] = Some(value);
        }
        Some(())
    })
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

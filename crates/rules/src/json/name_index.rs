//! Index of an object's members by name.

/// Larger lists are indexed: comparing a name with each item is faster only for few items.
const FEW_ITEMS_MAX: usize = 16;

/// Positions of names in a list. Finding all members of one object in another takes n log n steps, never n times m.
pub(crate) struct NameIndex<'n, T, N> {
    items: &'n [T],
    name: N,
    /// Sorted names with their positions; empty for a short list.
    sorted: Vec<(&'n str, usize)>,
}

impl<'n, T, N: Fn(&'n T) -> &'n str> NameIndex<'n, T, N> {
    pub(crate) fn of(items: &'n [T], name: N) -> Self {
        let mut sorted = Vec::new();
        if items.len() > FEW_ITEMS_MAX {
            let named = items.iter().enumerate();
            sorted.extend(named.map(|(place, item)| (name(item), place)));
            sorted.sort_unstable();
        }
        Self {
            items,
            name,
            sorted,
        }
    }

    pub(crate) fn find(&self, wanted: &str) -> Option<usize> {
        if self.items.len() <= FEW_ITEMS_MAX {
            let mut items = self.items.iter();
            return items.position(|item| (self.name)(item) == wanted);
        }
        let found = self
            .sorted
            .binary_search_by(|(name, _)| (*name).cmp(wanted));
        Some(self.sorted[found.ok()?].1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_where_they_stand_among_few_and_many() {
        for count in [0, 1, FEW_ITEMS_MAX, FEW_ITEMS_MAX + 1, 1_000] {
            let names: Vec<String> = (0..count).map(|i| format!("n{}", i * 7 % 1_009)).collect();
            let places = NameIndex::of(&names, String::as_str);
            for (place, name) in names.iter().enumerate() {
                assert_eq!(places.find(name), Some(place), "{name} of {count}");
            }
            assert_eq!(places.find("m"), None);
            assert_eq!(places.find(""), None);
        }
    }
}

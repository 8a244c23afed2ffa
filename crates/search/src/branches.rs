//! Filters in disjunctive form: a match satisfies all literals of one branch. `or` makes several branches, `not` moves
//! down to the conditions. A part that would exceed 32 branches stays a single literal, which does not narrow the
//! search and is tested on each object.

use super::filter::{FilterNode, SearchCondition, SearchFilter};

/// Limit of branches. Each is planned, and its entries are counted, separately.
const BRANCHES_MAX: usize = 32;

/// A part of a filter, possibly negated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Literal<'a> {
    node: &'a FilterNode,
    pub(super) negated: bool,
}

impl<'a> Literal<'a> {
    /// The condition, if the part is one.
    pub(super) fn condition(&self) -> Option<&'a SearchCondition> {
        match self.node {
            FilterNode::Is(condition) => Some(condition),
            _ => None,
        }
    }
}

type SearchBranches<'a> = Vec<Vec<Literal<'a>>>;

/// The branches of a filter; empty if nothing can match.
pub(super) fn of(filter: &SearchFilter) -> SearchBranches<'_> {
    branches(&filter.root, false)
}

/// The conditions outside of any `or` and `not`, which every match satisfies.
pub(super) fn of_conjunction(filter: &SearchFilter) -> Vec<Literal<'_>> {
    let mut found = Vec::new();
    add_conjuncts(&filter.root, &mut found);
    found
}

fn add_conjuncts<'a>(node: &'a FilterNode, found: &mut Vec<Literal<'a>>) {
    match node {
        FilterNode::And(nodes) => nodes.iter().for_each(|node| add_conjuncts(node, found)),
        FilterNode::Is(_) => found.push(Literal {
            node,
            negated: false,
        }),
        FilterNode::Or(_) | FilterNode::Not(_) => {}
    }
}

fn branches(node: &FilterNode, negated: bool) -> SearchBranches<'_> {
    match (node, negated) {
        (FilterNode::Is(_), _) => vec![vec![Literal { node, negated }]],
        (FilterNode::Not(inner), _) => branches(inner, !negated),
        (FilterNode::And(nodes), false) | (FilterNode::Or(nodes), true) => all_of(nodes, negated),
        (FilterNode::Or(nodes), false) | (FilterNode::And(nodes), true) => {
            let each = nodes.iter().flat_map(|node| branches(node, negated));
            let found: SearchBranches<'_> = each.take(BRANCHES_MAX + 1).collect();
            if found.len() > BRANCHES_MAX {
                return vec![vec![Literal { node, negated }]];
            }
            found
        }
    }
}

/// The branches of a conjunction.
fn all_of(nodes: &[FilterNode], negated: bool) -> SearchBranches<'_> {
    let mut parts: Vec<(&FilterNode, SearchBranches<'_>)> = nodes
        .iter()
        .map(|node| (node, branches(node, negated)))
        .collect();
    // The smallest parts first, so that beyond the limit the widest stay single literals.
    parts.sort_by_key(|(_, part)| part.len());
    let mut found: SearchBranches<'_> = vec![Vec::new()];
    for (node, part) in parts {
        if found.len() * part.len() > BRANCHES_MAX {
            let whole = Literal { node, negated };
            for branch in &mut found {
                branch.push(whole);
            }
            continue;
        }
        found = found
            .iter()
            .flat_map(|branch| part.iter().map(|more| [branch.as_slice(), more].concat()))
            .collect();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn is(number: usize) -> String {
        format!(r#"{{"field":"properties.p","op":"eq","value":{number}}}"#)
    }

    fn shape(json: &str) -> Vec<Vec<bool>> {
        let filter = parse::filter(json).unwrap();
        let literals = |branch: &Vec<Literal<'_>>| branch.iter().map(|l| l.negated).collect();
        of(&filter).iter().map(literals).collect()
    }

    #[test]
    fn not_goes_down_to_the_conditions() {
        let (one, two) = (is(1), is(2));
        let cases: [(String, &[&[bool]]); 6] = [
            (format!(r#"{{"or":[{one},{two}]}}"#), &[&[false], &[false]]),
            (
                format!(r#"{{"not":{{"or":[{one},{two}]}}}}"#),
                &[&[true, true]],
            ),
            (
                format!(r#"{{"not":{{"and":[{one},{two}]}}}}"#),
                &[&[true], &[true]],
            ),
            (format!(r#"{{"not":{{"not":{one}}}}}"#), &[&[false]]),
            (r#"{"or":[]}"#.to_owned(), &[]),
            (r#"{"and":[]}"#.to_owned(), &[&[]]),
        ];
        for (json, expected) in cases {
            assert_eq!(shape(&json), expected, "{json}");
        }
    }

    #[test]
    fn there_are_never_too_many() {
        let many = |count: usize| (0..count).map(is).collect::<Vec<_>>().join(",");
        let wide = |count| format!(r#"{{"or":[{}]}}"#, many(count));
        assert_eq!(shape(&wide(BRANCHES_MAX)).len(), BRANCHES_MAX);
        assert_eq!(shape(&wide(BRANCHES_MAX + 1)).len(), 1);
        let both = format!(
            r#"{{"and":[{},{},{}]}}"#,
            wide(BRANCHES_MAX),
            is(0),
            wide(4)
        );
        let found = shape(&both);
        assert_eq!((found.len(), found[0].len()), (4, 3));
    }
}

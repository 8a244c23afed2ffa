//! Cases of faults shown by leaves.

use kedge_protocol::Hash;
use kedge_protocol::chain::{LogLeaf, next_integrity};
use kedge_protocol::evidence::{Evidence, HeaderEvidence, LeafEvidence};

use super::{BENT, Draft, Table, signed};

/// Adds these cases to the table.
pub(super) fn add(table: &mut Table<'_>) {
    broken_leaf(table);
    falling_time(table);
    broken_chain(table);
    replayed_content(table);
    forked_integrity(table);
}

fn leaf(draft: &Draft, index: u32) -> LeafEvidence {
    draft.leaf(index, signed(draft))
}

fn broken_leaf(table: &mut Table<'_>) {
    let log = table.log;
    let case = |action| Evidence::BrokenLeaf { action };
    let bend = |bend: fn(&mut LogLeaf)| leaf(&log.batch(2).clone().with_leaf(1, bend), 1);
    table.proves(
        "a sequence of another place",
        case(bend(|leaf| leaf.sequence += 1)),
    );
    table.proves(
        "a time after the seal",
        case(bend(|leaf| leaf.timestamp_ms += 1_000)),
    );
    table.refuses(
        "a leaf at its place",
        "NoFault",
        case(leaf(log.batch(2), 1)),
    );
    let mut moved = bend(|leaf| leaf.sequence += 1);
    moved.index = 2;
    table.refuses("a path of another place", "PathLeadsElsewhere", case(moved));
    let mut beyond = leaf(log.batch(0), 0);
    beyond.index = 1;
    table.refuses(
        "a place beyond the batch",
        "PathLeadsElsewhere",
        case(beyond),
    );
    let mut other = leaf(log.batch(2), 1);
    other.leaf.timestamp_ms += 1_000;
    table.refuses(
        "a leaf that the batch lacks",
        "PathLeadsElsewhere",
        case(other),
    );
}

fn falling_time(table: &mut Table<'_>) {
    let log = table.log;
    let late = log.batch(1).clone();
    let late = late.with_leaf(0, |leaf| leaf.timestamp_ms += 40);
    let case = |earlier, later| Evidence::FallingTime { earlier, later };
    let later = log.batch(2).leaf(0, log.anchored(2, 3));
    table.proves(
        "a later action with an earlier time",
        case(leaf(&late, 0), later),
    );
    let same = log.batch(2).clone();
    let time_ms = same.leaves[0].timestamp_ms;
    let same = same.with_leaf(1, |leaf| leaf.timestamp_ms = time_ms);
    table.refuses(
        "the same time",
        "NoFault",
        case(leaf(&same, 0), leaf(&same, 1)),
    );
    let swapped = case(leaf(log.batch(2), 1), leaf(log.batch(2), 0));
    table.refuses("actions in the other order", "NoFault", swapped);
}

fn broken_chain(table: &mut Table<'_>) {
    let log = table.log;
    let case = |batch, leaves| Evidence::BrokenChain { batch, leaves };
    let bent = log.batch(BENT);
    let leaves = bent.leaf_hashes();
    table.proves(
        "an anchored head of other leaves",
        case(log.anchored(BENT, 6), leaves.clone()),
    );
    table.proves(
        "a signed head of other leaves",
        case(signed(bent), leaves.clone()),
    );
    let honest = log.batch(2);
    let true_head = case(signed(honest), honest.leaf_hashes());
    table.refuses("a true head", "NoFault", true_head);
    let fewer = case(signed(bent), leaves[1..].to_vec());
    table.refuses("a leaf is missing", "PathLeadsElsewhere", fewer);
    let mut swapped = leaves;
    swapped.swap(0, 1);
    table.refuses(
        "leaves in another order",
        "PathLeadsElsewhere",
        case(signed(bent), swapped),
    );
    let nothing = honest.clone().with(|header| header.count = 0);
    table.refuses(
        "no leaves",
        "PathLeadsElsewhere",
        case(signed(&nothing), Vec::new()),
    );
}

fn replayed_content(table: &mut Table<'_>) {
    let log = table.log;
    let content = log.batch(1).leaves[0].content;
    let again = log.batch(5).clone();
    let again = again.with_leaf(1, |leaf| leaf.content = content);
    let case = |second| Evidence::ReplayedContent {
        first: log.batch(1).leaf(0, log.anchored(1, 3)),
        second,
    };
    table.proves("one content at two sequences", case(leaf(&again, 1)));
    table.refuses("two contents", "NoFault", case(leaf(log.batch(5), 1)));
    table.refuses("one action twice", "NoFault", case(leaf(log.batch(1), 0)));
    let unsigned = LeafEvidence {
        batch: HeaderEvidence {
            header: again.header,
            standing: table.honest(5).standing,
        },
        ..leaf(&again, 1)
    };
    table.refuses("in a batch that nobody signed", "NotSigned", case(unsigned));
}

fn forked_integrity(table: &mut Table<'_>) {
    let log = table.log;
    let resource = log.batch(1).leaves[0];
    let previous = resource.integrity;
    // The resource's next action is three sequences later; another action extends the same integrity.
    let next = leaf(log.batch(2), 1);
    let fork = log.batch(5).clone().with_leaf(0, |leaf| {
        leaf.integrity = next_integrity(&previous, &leaf.content);
    });
    let case = |second, previous| Evidence::ForkedIntegrity {
        first: next.clone(),
        second,
        previous,
    };
    table.proves(
        "two actions extend one integrity",
        case(leaf(&fork, 0), previous),
    );
    table.refuses("one action twice", "NoFault", case(next.clone(), previous));
    let other = case(leaf(log.batch(5), 0), previous);
    table.refuses("an action of another resource", "NoFault", other);
    let first = log.batch(1);
    let beginnings = Evidence::ForkedIntegrity {
        first: leaf(log.batch(0), 0),
        second: leaf(first, 0),
        previous: Hash::ZERO,
    };
    table.refuses("two resources begin", "NoFault", beginnings);
}

//! The state's trie against `alloy-trie`'s own proofs, changed proofs, and roots made step by step against roots made
//! from scratch.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::convert::Infallible;
use std::sync::Arc;

use alloy_trie::proof::{ProofRetainer, verify_proof};
use alloy_trie::{HashBuilder, Nibbles};
use kedge_protocol::hash::{keccak, keccak_parts};
use kedge_protocol::state::trie::{
    NodePath, ProvenPlace, StateLeaves, StateNodes, StateRootBuilder, StateTrieError, StoredBranch,
    breaks_trie, prove_state, prove_state_at, update_state,
};
use kedge_protocol::state::{EMPTY_STATE_ROOT, StateProof, state_path};
use kedge_protocol::{Hash, Id, Prefix};

/// A generator of numbers that gives the same ones for the same seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(crate) fn hash(&mut self) -> Hash {
        keccak(&self.next().to_be_bytes())
    }

    /// 32 bytes, for less than a hash costs.
    pub(crate) fn word(&mut self) -> Hash {
        let mut word = [0; 32];
        for part in word.chunks_exact_mut(8) {
            part.copy_from_slice(&self.next().to_be_bytes());
        }
        Hash(word)
    }
}

fn id(number: u64) -> Id {
    Id::of_hash(Prefix::Object, &keccak(&number.to_be_bytes()))
}

/// Any entry: the trie holds its hash alone.
fn entry(number: u64) -> Vec<u8> {
    keccak_parts(&[b"entry", &number.to_be_bytes()]).0.repeat(3)
}

/// The root and the proofs that `alloy-trie` makes for all keys, and for as many absent ones.
fn proofs_of(count: u64) -> (Hash, Vec<StateProof>) {
    let leaves: BTreeMap<Hash, Hash> = (0..count)
        .map(|number| (state_path(&id(number)), keccak(&entry(number))))
        .collect();
    let targets = (0..2 * count.max(1)).map(|number| Nibbles::unpack(state_path(&id(number)).0));
    let retainer: ProofRetainer = targets.collect();
    let mut builder = HashBuilder::default().with_proof_retainer(retainer);
    for (path, value) in &leaves {
        builder.add_leaf(Nibbles::unpack(path.0), &value.0);
    }
    let root = Hash(builder.root().0);
    let retained = builder.take_proof_nodes();
    let proof = |number| {
        let target = Nibbles::unpack(state_path(&id(number)).0);
        let nodes = retained.matching_nodes_sorted(&target).into_iter();
        StateProof {
            key: id(number),
            entry: if number < count {
                entry(number)
            } else {
                Vec::new()
            },
            nodes: if count == 0 {
                Vec::new()
            } else {
                nodes.map(|(_, node)| node.to_vec()).collect()
            },
        }
    };
    (root, (0..2 * count.max(1)).map(proof).collect())
}

/// Each way to change a proof by one byte, node or position.
fn changed(proof: &StateProof, dice: &mut Dice) -> Vec<StateProof> {
    let mut all = Vec::new();
    let mut with = |change: &mut dyn FnMut(&mut StateProof)| {
        let mut other = proof.clone();
        change(&mut other);
        if other != *proof {
            all.push(other);
        }
    };
    for index in 0..proof.nodes.len() {
        with(&mut |other| drop(other.nodes.remove(index)));
        with(&mut |other| other.nodes.insert(index, other.nodes[index].clone()));
        with(&mut |other| other.nodes.swap(index, 0));
        with(&mut |other| other.nodes.truncate(index));
        for _ in 0..4 {
            let (byte, bit) = (dice.next() as usize, dice.below(8));
            with(&mut |other| {
                let node = &mut other.nodes[index];
                let byte = byte % node.len();
                node[byte] ^= 1 << bit;
            });
        }
        with(&mut |other| other.nodes[index].push(0));
        with(&mut |other| other.nodes[index].truncate(31));
    }
    with(&mut |other| other.nodes.push(vec![0xc0]));
    with(&mut |other| other.entry.push(1));
    with(&mut |other| other.entry.truncate(40));
    with(&mut |other| {
        other.entry = if other.entry.is_empty() {
            vec![1]
        } else {
            Vec::new()
        }
    });
    all
}

#[test]
fn proofs_of_another_library_hold_and_changed_ones_do_not() {
    let mut dice = Dice(1);
    let (mut held, mut refused) = (0, 0);
    for count in (0..40).chain([100, 333, 2_000]) {
        let (root, proofs) = proofs_of(count);
        let absent_from = count as usize;
        for (number, proof) in proofs.iter().enumerate() {
            assert_eq!(proof.verify(&root), Ok(()), "{count} keys, key {number}");
            assert_eq!(proof.entry.is_empty(), number >= absent_from);
            held += 1;
            if count > 100 && number % 97 != 0 {
                continue;
            }
            for other in changed(proof, &mut dice) {
                assert!(other.verify(&root).is_err(), "{count} keys, {other:?}");
                refused += 1;
            }
            let other = &proofs[(number + 1) % proofs.len()];
            let swapped = StateProof {
                key: other.key,
                ..proof.clone()
            };
            // An absence can have the same nodes under another key.
            if !proof.entry.is_empty() {
                assert!(swapped.verify(&root).is_err());
            }
        }
    }
    assert!(held > 5_000 && refused > 20_000, "{held} {refused}");
}

/// Branches and leaves in memory.
#[derive(Default)]
struct MemoryState {
    branches: BTreeMap<NodePath, StoredBranch>,
    leaves: BTreeMap<Hash, Hash>,
    reads: std::cell::Cell<usize>,
}

impl StateNodes for MemoryState {
    type Error = Infallible;

    fn branch(&self, path: &NodePath) -> Result<Option<StoredBranch>, Infallible> {
        assert_eq!(NodePath::of_bytes(&path.to_bytes()), Some(*path));
        Ok(self.branches.get(path).cloned())
    }
}

impl StateLeaves for MemoryState {
    type Error = Infallible;

    fn leaves(
        &self,
        first: &Hash,
        last: &Hash,
        each: &mut dyn FnMut(&Hash, &Hash),
    ) -> Result<(), Infallible> {
        for (path, value) in self.leaves.range(*first..=*last) {
            self.reads.set(self.reads.get() + 1);
            each(path, value);
        }
        Ok(())
    }
}

impl MemoryState {
    /// Applies a batch; the leaves change before or after the root is made.
    fn apply(&mut self, batch: &BTreeMap<Hash, Hash>, leaves_first: bool) -> Hash {
        if leaves_first {
            self.leaves.extend(batch);
        }
        let changes: Vec<(Hash, Hash)> = batch.iter().map(|(p, v)| (*p, *v)).collect();
        let update = update_state(self, self, &changes).unwrap();
        for (path, branch) in update.branches {
            assert_eq!(
                StoredBranch::of_bytes(&branch.to_bytes()).as_ref(),
                Some(&branch)
            );
            self.branches.insert(path, branch);
        }
        self.leaves.extend(batch);
        update.root
    }

    fn rebuilt(&self) -> (Hash, BTreeMap<NodePath, StoredBranch>) {
        let mut builder = StateRootBuilder::keeping_branches();
        let mut branches = BTreeMap::new();
        for (count, (path, value)) in self.leaves.iter().enumerate() {
            builder.add_leaf(path, value).unwrap();
            if count % 7 == 0 {
                branches.extend(builder.take_branches());
            }
        }
        let (root, rest) = builder.finish();
        branches.extend(rest);
        (root, branches)
    }
}

/// A path near others: it shares a prefix of any length with one that is there, so that extensions of every length and
/// branches at every depth come up.
fn path_near(state: &MemoryState, dice: &mut Dice) -> Hash {
    let mut path = dice.hash();
    if !state.leaves.is_empty() && dice.below(2) == 0 {
        let place = dice.below(state.leaves.len());
        let near = state.leaves.keys().nth(place).unwrap();
        let nibbles = if dice.below(3) == 0 {
            1 + dice.below(63)
        } else {
            1 + dice.below(4)
        };
        for nibble in 0..nibbles {
            let mask = if nibble % 2 == 0 { 0xf0 } else { 0x0f };
            path.0[nibble / 2] = path.0[nibble / 2] & !mask | near.0[nibble / 2] & mask;
        }
    }
    path
}

#[test]
fn a_root_made_step_by_step_is_the_root_rebuilt() {
    let (mut batches, mut proofs) = (0, 0);
    for seed in 0..120 {
        let mut dice = Dice(seed);
        let mut state = MemoryState::default();
        let places = PlaceMemory::default();
        for _ in 0..12 {
            let size = match dice.below(4) {
                0 => 0,
                1 => 1,
                2 => 1 + dice.below(12),
                _ => 1 + dice.below(120),
            };
            let mut batch = BTreeMap::new();
            for _ in 0..size {
                let old = state.leaves.len();
                let path = if old > 0 && dice.below(3) == 0 {
                    *state.leaves.keys().nth(dice.below(old)).unwrap()
                } else {
                    path_near(&state, &mut dice)
                };
                batch.insert(path, dice.hash());
            }
            let leaves_first = dice.below(2) == 0;
            let root = state.apply(&batch, leaves_first);
            let (expected, branches) = state.rebuilt();
            assert_eq!(root, expected, "seed {seed}");
            fit(&state.branches, &branches);
            batches += 1;
            proofs += check_proofs(&state, root, &places, &mut dice);
        }
    }
    assert!(batches == 1_440 && proofs > 5_000, "{batches} {proofs}");
}

/// Two ways to one state store the same branches. Either may leave out hashes of children, but none differs.
fn fit(ones: &BTreeMap<NodePath, StoredBranch>, others: &BTreeMap<NodePath, StoredBranch>) {
    assert!(ones.keys().eq(others.keys()));
    for (path, one) in ones {
        let other = &others[path];
        assert_eq!(
            (one.state_mask, one.tree_mask),
            (other.state_mask, other.tree_mask)
        );
        let (of_one, of_other) = (hashes_of(one), hashes_of(other));
        for (digit, hash) in &of_one {
            let same = of_other.get(digit).is_none_or(|other| other == hash);
            assert!(same, "{path:?}, child {digit}");
        }
    }
}

/// The stored hashes of a branch, by the nibbles of its children.
fn hashes_of(branch: &StoredBranch) -> BTreeMap<u8, Hash> {
    let digits = (0..16).filter(|digit| branch.hash_mask >> digit & 1 == 1);
    digits.zip(branch.hashes.iter().copied()).collect()
}

/// The root and the stored branches that `alloy-trie` makes of leaves.
fn made_by_alloy(leaves: &BTreeMap<Hash, Hash>) -> (Hash, BTreeMap<NodePath, StoredBranch>) {
    let mut builder = HashBuilder::default().with_updates(true);
    for (path, value) in leaves {
        builder.add_leaf(Nibbles::unpack(path.0), &value.0);
    }
    let root = Hash(builder.root().0);
    let (_, branches) = builder.split();
    let branches = branches.into_iter().map(|(path, node)| {
        let branch = StoredBranch {
            state_mask: node.state_mask.get(),
            tree_mask: node.tree_mask.get(),
            hash_mask: node.hash_mask.get(),
            hashes: node.hashes.iter().map(|hash| Hash(hash.0)).collect(),
        };
        (NodePath::of_bytes(&path.to_vec()).unwrap(), branch)
    });
    (root, branches.collect())
}

#[test]
fn roots_and_branches_are_those_of_another_library() {
    let (mut made, mut whole, mut partial) = (0, 0, 0);
    // Above 2,048 leaves the builder divides them.
    let sizes = (0..200).chain([
        2_047, 2_048, 2_049, 4_095, 4_096, 4_097, 8_191, 8_193, 20_000,
    ]);
    for (seed, size) in sizes.enumerate() {
        let mut dice = Dice(1_000 + seed as u64);
        let mut state = MemoryState::default();
        let near_share = if size > 1_000 { 64 } else { 2 };
        while state.leaves.len() < size {
            let path = if dice.below(near_share) == 0 {
                path_near(&state, &mut dice)
            } else {
                dice.word()
            };
            state.leaves.insert(path, dice.word());
        }
        let ((root, branches), (expected, of_alloy)) =
            (state.rebuilt(), made_by_alloy(&state.leaves));
        assert_eq!(root, expected, "seed {seed}");
        fit(&branches, &of_alloy);
        for (path, branch) in &branches {
            assert_eq!(of_alloy[path].hash_mask & !branch.hash_mask, 0, "{path:?}");
            let lacks = branch.state_mask & !branch.hash_mask;
            *(if lacks == 0 { &mut whole } else { &mut partial }) += 1;
        }
        made += 1;
    }
    assert_eq!(made, 209);
    // Only branches at the edge of a group lack the hashes of leaves.
    assert!(whole > 20 * partial && partial > 50, "{whole} {partial}");
}

type PlaceMemory = RefCell<HashMap<(NodePath, Hash), Arc<ProvenPlace>>>;

/// Proofs made from the stored branches, held against `alloy-trie`'s check and, for paths of ids, ours. Places of earlier
/// states make no difference.
fn check_proofs(state: &MemoryState, root: Hash, places: &PlaceMemory, dice: &mut Dice) -> usize {
    let mut paths: BTreeSet<Hash> = (0..3).map(|_| path_near(state, dice)).collect();
    paths.extend((0..3).map(|_| state_path(&id(dice.next()))));
    for _ in 0..3.min(state.leaves.len()) {
        let place = dice.below(state.leaves.len());
        paths.insert(*state.leaves.keys().nth(place).unwrap());
    }
    let paths: Vec<Hash> = paths.into_iter().collect();
    let made = prove_state(state, state, &paths).unwrap().unwrap();
    assert_eq!(made.root, root);
    let remembered = prove_state_at(state, state, &root, &paths, places).unwrap();
    for ((path, proof), nodes) in paths.iter().zip(remembered.unwrap()).zip(&made.nodes) {
        assert_eq!(proof.nodes, *nodes);
        assert_eq!(proof.value.as_ref(), state.leaves.get(path), "{path}");
    }
    let retainer: ProofRetainer = paths.iter().map(|path| Nibbles::unpack(path.0)).collect();
    let mut builder = HashBuilder::default().with_proof_retainer(retainer);
    for (path, value) in &state.leaves {
        builder.add_leaf(Nibbles::unpack(path.0), &value.0);
    }
    assert_eq!(builder.root().0, root.0);
    let retained = builder.take_proof_nodes();
    for (path, nodes) in paths.iter().zip(&made.nodes) {
        if !state.leaves.is_empty() {
            let expected = retained.matching_nodes_sorted(&Nibbles::unpack(path.0));
            let expected: Vec<_> = expected.iter().map(|(_, node)| node.to_vec()).collect();
            assert_eq!(*nodes, expected, "{path}");
        }
        let value = state.leaves.get(path).map(|value| value.0.to_vec());
        let nodes_of_alloy: Vec<_> = nodes.iter().map(|node| node.clone().into()).collect();
        let key = Nibbles::unpack(path.0);
        let checked = verify_proof(root.0.into(), key, value, nodes_of_alloy.iter());
        assert!(checked.is_ok(), "{checked:?}");
        assert!(!breaks_trie(&root, path, nodes));
    }
    paths.len()
}

#[test]
fn proofs_from_stored_branches_hold() {
    let mut state = MemoryState::default();
    let mut root = EMPTY_STATE_ROOT;
    let mut checked = 0;
    for round in 0..20_u64 {
        let batch = (0..100).map(|i| {
            (
                state_path(&id(100 * round + i)),
                keccak(&entry(100 * round + i)),
            )
        });
        root = state.apply(&batch.collect(), round % 2 == 0);
        let mut ids: Vec<Id> = (0..40).map(|i| id(i * 101 % (200 * (round + 1)))).collect();
        ids.sort_by_key(state_path);
        ids.dedup();
        let paths: Vec<Hash> = ids.iter().map(state_path).collect();
        let made = prove_state(&state, &state, &paths).unwrap().unwrap();
        for (key, nodes) in ids.iter().zip(made.nodes) {
            let number = (0..10_000).find(|number| id(*number) == *key).unwrap();
            let is_held = number < 100 * (round + 1);
            let proof = StateProof {
                key: *key,
                entry: if is_held { entry(number) } else { Vec::new() },
                nodes,
            };
            assert_eq!(proof.verify(&root), Ok(()), "round {round}, {key}");
            checked += 1;
        }
    }
    assert!(checked > 700, "{checked}");
    // Proofs and changes read the leaves of one child, or of a place with a few leaves alone, and not those of neighbors.
    state.reads.set(0);
    for number in 0..200 {
        let path = state_path(&id(number));
        assert!(prove_state(&state, &state, &[path]).unwrap().is_some());
    }
    assert!(state.reads.get() < 600, "{}", state.reads.get());
    state.reads.set(0);
    for number in 0..200 {
        let one = [(state_path(&id(number)), Hash::ZERO)];
        assert_ne!(state.apply(&one.into_iter().collect(), false), root);
    }
    assert!(state.reads.get() < 600, "{}", state.reads.get());
}

#[test]
fn remembered_places_give_the_proofs_of_their_own_root_alone() {
    let mut state = MemoryState::default();
    let places = PlaceMemory::default();
    let batch = |value: u8| {
        let leaves = (0..2_000).map(|number| (state_path(&id(number)), Hash([value; 32])));
        leaves.collect::<BTreeMap<Hash, Hash>>()
    };
    let first = state.apply(&batch(1), true);
    let mut paths = [state_path(&id(7)), state_path(&id(8))];
    paths.sort_unstable();
    let prove = |state: &MemoryState, root: &Hash, paths: &[Hash]| {
        let proofs = prove_state_at(state, state, root, paths, &places).unwrap();
        proofs.map(|proofs| -> Vec<_> { proofs.into_iter().map(|proof| proof.nodes).collect() })
    };
    let proven = prove(&state, &first, &paths[..1]);
    assert!(proven.is_some());
    let remembered = places.borrow().len();
    // Branches that were read are not read again.
    let branches = std::mem::take(&mut state.branches);
    assert_eq!(prove(&state, &first, &paths[..1]), proven);
    state.branches = branches;
    let second = state.apply(&batch(2), true);
    // The rows give another root now, and its leaves are not taken for those of the first one.
    for path in &paths {
        assert_eq!(prove(&state, &first, std::slice::from_ref(path)), None);
    }
    assert_eq!(places.borrow().len(), remembered);
    let plain = prove_state(&state, &state, &paths).unwrap().unwrap();
    assert_eq!(prove(&state, &second, &paths), Some(plain.nodes));
}

// Holds invariant 272.
#[test]
fn proofs_are_not_made_where_branches_or_leaves_are_lost() {
    let mut state = MemoryState::default();
    let mut batch = BTreeMap::new();
    while batch.len() < 2_000 {
        batch.insert(state_path(&id(batch.len() as u64)), Hash::ZERO);
    }
    let root = state.apply(&batch, true);
    let (mut refused, mut missed) = (0, 0);
    let mut dice = Dice(5);
    for path in batch.keys().step_by(40) {
        let places: Vec<NodePath> = state.branches.keys().copied().collect();
        for lost in places.iter().filter(|place| place.depth() < 4) {
            let digits: Vec<u8> = (0..64)
                .map(|place| {
                    let byte = path.0[place / 2];
                    if place % 2 == 0 { byte >> 4 } else { byte & 15 }
                })
                .collect();
            if !digits.starts_with(&lost.to_bytes()) {
                continue;
            }
            let branch = state.branches.remove(lost).unwrap();
            let made = prove_state(&state, &state, &[*path]).unwrap();
            if lost.depth() > 0 {
                assert_eq!(made, None);
                missed += 1;
            } else {
                // The leaves alone give the same.
                assert_eq!(made.unwrap().root, root);
            }
            // A hash that is stored alone is believed, and then contradicts the branch above.
            let mut older = branch.clone();
            let hashed = (0..16).filter(|digit| older.hash_mask >> digit & 1 == 1);
            let places = hashed.zip(0..older.hashes.len());
            let mut stored = places.filter(|(digit, _)| older.tree_mask >> digit & 1 == 1);
            if let Some((_, place)) = stored.next() {
                older.hashes[place] = dice.word();
                state.branches.insert(*lost, older);
                let made = prove_state(&state, &state, &[*path]).unwrap();
                assert!(made.is_none_or(|made| made.root != root));
                refused += 1;
            }
            state.branches.insert(*lost, branch);
        }
    }
    assert!(missed > 50 && refused > 50, "{missed} {refused}");
}

#[test]
fn paths_must_rise() {
    let state = MemoryState::default();
    let (low, high) = (Hash([1; 32]), Hash([2; 32]));
    for wrong in [[high, low], [low, low]] {
        let changes = wrong.map(|path| (path, Hash::ZERO));
        let refused = update_state(&state, &state, &changes);
        assert!(matches!(refused, Err(StateTrieError::Order(_))));
        assert!(prove_state(&state, &state, &wrong).is_err());
        let mut builder = StateRootBuilder::default();
        assert!(builder.add_leaf(&wrong[0], &Hash::ZERO).is_ok());
        assert!(builder.add_leaf(&wrong[1], &Hash::ZERO).is_err());
    }
    assert_eq!(
        update_state(&state, &state, &[]).unwrap().root,
        EMPTY_STATE_ROOT
    );
    let none = prove_state(&state, &state, &[low]).unwrap().unwrap();
    assert_eq!(
        (none.root, none.nodes),
        (EMPTY_STATE_ROOT, vec![Vec::new()])
    );
}

#[test]
fn stored_bytes_that_are_no_branch_are_refused() {
    let branch = StoredBranch {
        state_mask: 0b1011,
        tree_mask: 0b0001,
        hash_mask: 0b1001,
        hashes: vec![keccak(b"one"), keccak(b"two")],
    };
    let bytes = branch.to_bytes();
    assert_eq!(StoredBranch::of_bytes(&bytes), Some(branch));
    for cut in 0..bytes.len() {
        assert_eq!(StoredBranch::of_bytes(&bytes[..cut]), None);
    }
    for (place, value) in [(1, 0b0001), (3, 0b0100), (5, 0b0001), (5, 0b1101)] {
        let mut other = bytes.clone();
        other[place] = value;
        assert_eq!(StoredBranch::of_bytes(&other), None, "{place}");
    }
    assert_eq!(NodePath::of_bytes(&[16]), None);
    assert_eq!(NodePath::of_bytes(&[0; 65]), None);
    assert!(NodePath::of_bytes(&[15; 64]).is_some());
}

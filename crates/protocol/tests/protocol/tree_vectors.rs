//! Checks batch trees, the log tree and their proofs against `vectors/trees.json`, which an independent script made by
//! RFC 9162's recursive definition.

use std::collections::HashMap;
use std::convert::Infallible;

use kedge_protocol::Hash;
use kedge_protocol::hash::{keccak, keccak_parts};
use kedge_protocol::log_tree::{self, TreeFrontier, TreeNodes};
use kedge_protocol::merkle::{BatchTree, ProofError, verify_consistency, verify_proof};
use serde_json::Value;

fn vectors() -> Value {
    serde_json::from_str(include_str!("../../vectors/trees.json")).unwrap()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn hash(value: &Value) -> Hash {
    value.as_str().unwrap().parse().unwrap()
}

fn hashes(value: &Value) -> Vec<Hash> {
    list(value).iter().map(hash).collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn batch_leaves(count: u64) -> Vec<Hash> {
    (0..count)
        .map(|i| keccak_parts(&[&[0], &i.to_be_bytes()]))
        .collect()
}

/// One hash over many proofs, each preceded by its length.
fn digest_of(proofs: &[Vec<Hash>]) -> Hash {
    let mut bytes = Vec::new();
    for proof in proofs {
        bytes.extend_from_slice(&u32::try_from(proof.len()).unwrap().to_be_bytes());
        for hash in proof {
            bytes.extend_from_slice(&hash.0);
        }
    }
    keccak(&bytes)
}

/// The index sets that `all_multiproofs` covers.
fn index_sets(size: u64) -> Vec<Vec<u64>> {
    let (half, last) = (size / 2, size - 1);
    let pick = |wanted: &dyn Fn(u64) -> bool| (0..size).filter(|&i| wanted(i)).collect::<Vec<_>>();
    let sets = [
        pick(&|_| true),
        pick(&|i| i == 0 || i == last),
        pick(&|i| i % 2 == 0),
        pick(&|i| i % 2 == 1),
        pick(&|i| i < half),
        pick(&|i| i >= half),
        pick(&|i| i + 1 >= last),
        pick(&|i| i * 7919 % 11 < 3),
    ];
    let mut unique: Vec<Vec<u64>> = Vec::new();
    for set in sets {
        if !set.is_empty() && !unique.contains(&set) {
            unique.push(set);
        }
    }
    unique
}

fn prove(tree: &BatchTree, indices: &[u64]) -> Vec<Hash> {
    let indices: Vec<usize> = indices.iter().map(|&i| i as usize).collect();
    tree.proof(&indices)
}

#[test]
fn batch_trees() {
    for entry in list(&vectors()["batch_trees"]) {
        let size = number(&entry["size"]);
        let leaves = batch_leaves(size);
        let tree = BatchTree::new(&leaves);
        assert_eq!((tree.leaves(), tree.count()), (&*leaves, leaves.len()));
        assert_eq!(tree.root(), hash(&entry["root"]), "size {size}");

        let paths: Vec<_> = (0..size).map(|i| prove(&tree, &[i])).collect();
        for (index, path) in entry["paths"].as_object().unwrap() {
            assert_eq!(
                paths[index.parse::<usize>().unwrap()],
                hashes(path),
                "size {size}"
            );
        }
        assert_eq!(digest_of(&paths), hash(&entry["all_paths"]), "size {size}");
        for entry in list(&entry["multiproofs"]) {
            let indices: Vec<_> = list(&entry["indices"]).iter().map(number).collect();
            assert_eq!(
                prove(&tree, &indices),
                hashes(&entry["proof"]),
                "size {size}"
            );
        }

        let sets = index_sets(size);
        let proofs: Vec<_> = sets.iter().map(|set| prove(&tree, set)).collect();
        assert_eq!(
            digest_of(&proofs),
            hash(&entry["all_multiproofs"]),
            "size {size}"
        );
        for (set, proof) in sets.iter().zip(&proofs) {
            let chosen: Vec<_> = set.iter().map(|&i| leaves[i as usize]).collect();
            assert_eq!(
                verify_proof(&tree.root(), size, set, &chosen, proof),
                Ok(())
            );
        }
    }
}

/// The stored nodes of a log tree.
struct Stored(HashMap<(u32, u64), Hash>);

impl TreeNodes for Stored {
    type Error = Infallible;

    fn node(&self, level: u32, index: u64) -> Result<Hash, Infallible> {
        Ok(self.0[&(level, index)])
    }
}

#[test]
fn log_trees() {
    let mut frontier = TreeFrontier::default();
    let mut nodes = Stored(HashMap::new());
    let mut roots = Vec::new();
    let mut leaves = Vec::new();
    for entry in list(&vectors()["log_trees"]) {
        let size = number(&entry["size"]);
        assert_eq!(frontier.size(), size);
        let root = frontier.root();
        assert_eq!(root, hash(&entry["root"]), "size {size}");
        assert_eq!(log_tree::root(&nodes, size), Ok(root));
        assert_eq!(TreeFrontier::load(size, &nodes), Ok(frontier.clone()));
        let peaks = frontier.peaks().to_vec();
        assert_eq!(
            TreeFrontier::of_peaks(size, peaks.clone()),
            Some(frontier.clone())
        );
        let more = [&peaks[..], &[Hash::ZERO]].concat();
        assert_eq!(TreeFrontier::of_peaks(size, more), None);
        if let Some((_, fewer)) = peaks.split_last() {
            assert_eq!(TreeFrontier::of_peaks(size, fewer.to_vec()), None);
        }
        roots.push(root);

        let path = |i| log_tree::inclusion_path(&nodes, i, size).unwrap();
        let paths: Vec<_> = (0..size).map(path).collect();
        assert_eq!(digest_of(&paths), hash(&entry["all_paths"]), "size {size}");
        assert_eq!(
            paths.last().cloned().unwrap_or_default(),
            hashes(&entry["last_path"])
        );
        for (i, path) in paths.iter().enumerate() {
            assert_eq!(
                verify_proof(&root, size, &[i as u64], &[leaves[i]], path),
                Ok(())
            );
        }
        let grown = |from| log_tree::consistency_path(&nodes, from, size).unwrap();
        let proofs: Vec<_> = (1..=size).map(grown).collect();
        assert_eq!(
            digest_of(&proofs),
            hash(&entry["all_consistency"]),
            "size {size}"
        );
        for (from, proof) in entry["consistency"].as_object().unwrap() {
            assert_eq!(proofs[from.parse::<usize>().unwrap() - 1], hashes(proof));
        }
        for (from, proof) in (1..=size).zip(&proofs) {
            assert_eq!(
                verify_consistency(from, size, &roots[from as usize], &root, proof),
                Ok(())
            );
        }

        let leaf = log_tree::leaf(&keccak(&size.to_be_bytes()));
        leaves.push(leaf);
        for node in frontier.append(leaf) {
            nodes.0.insert((node.level, node.index), node.hash);
        }
    }
}

#[test]
fn bad_proofs_are_refused() {
    let refuse = &vectors()["must_refuse"];
    for entry in list(&refuse["paths"]) {
        let index = entry["index"].as_str().unwrap().parse().unwrap();
        let result = verify_proof(
            &hash(&entry["root"]),
            number(&entry["size"]),
            &[index],
            &[hash(&entry["leaf"])],
            &hashes(&entry["proof"]),
        );
        assert!(result.is_err(), "accepted: {}", entry["why"]);
    }
    for entry in list(&refuse["multiproofs"]) {
        let indices: Vec<_> = list(&entry["indices"]).iter().map(number).collect();
        let result = verify_proof(
            &hash(&entry["root"]),
            number(&entry["size"]),
            &indices,
            &hashes(&entry["leaves"]),
            &hashes(&entry["proof"]),
        );
        assert!(result.is_err(), "accepted: {}", entry["why"]);
    }
    for entry in list(&refuse["consistency"]) {
        let result = verify_consistency(
            number(&entry["from"]),
            number(&entry["to"]),
            &hash(&entry["first"]),
            &hash(&entry["second"]),
            &hashes(&entry["proof"]),
        );
        assert!(result.is_err(), "accepted: {}", entry["why"]);
    }
}

/// A second leaf at the same index would count as proven by the first one.
#[test]
fn a_proof_names_each_index_once() {
    let leaves = batch_leaves(2);
    let root = BatchTree::new(&leaves).root();
    let forged = keccak(b"no leaf of the tree");
    for (index, sibling) in [(0, 1), (1, 0)] {
        let proven = [leaves[index], forged];
        let result = verify_proof(
            &root,
            2,
            &[index as u64; 2],
            &proven,
            &[leaves[sibling], forged],
        );
        assert_eq!(result, Err(ProofError::Indices));
    }
}

#[test]
fn a_consistency_proof_of_too_many_hashes_is_refused() {
    let root = keccak(b"root");
    for (from, to) in [(1, 2), (3, 3), (3, 7), (u64::MAX - 1, u64::MAX)] {
        for hashes in [65, 66, 128, 129, 1_000] {
            let proof = vec![Hash::ZERO; hashes];
            let result = verify_consistency(from, to, &root, &root, &proof);
            assert_eq!(result, Err(ProofError::TooLong), "{from} to {to}");
        }
    }
}

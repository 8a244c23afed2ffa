//! Checks the protocol against vectors made by an independent implementation: `vectors/spec.json`.

use std::convert::Infallible;

use kedge_protocol::action::{ActionWords, Kind, RequestHead, salt};
use kedge_protocol::batch::BatchHeader;
use kedge_protocol::chain::{self, LogLeaf};
use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::eip712::Domain;
use kedge_protocol::hash::{Hash, keccak_parts};
use kedge_protocol::log_tree::{self, TreeFrontier, TreeNodes};
use kedge_protocol::merkle::{BatchTree, empty_root, verify_consistency, verify_proof};
use kedge_protocol::signature::{Signature, SigningKey};
use kedge_protocol::{Address, Id, Prefix};
use serde_json::Value;

fn spec() -> Value {
    serde_json::from_str(include_str!("../../vectors/spec.json")).unwrap()
}

fn hash(value: &Value) -> Hash {
    value.as_str().unwrap().parse().unwrap()
}

fn hashes(value: &Value) -> Vec<Hash> {
    value.as_array().unwrap().iter().map(hash).collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn domain(spec: &Value) -> Domain {
    Domain {
        chain_id: number(&spec["domain"]["chainId"]),
        verifying_contract: spec["domain"]["verifyingContract"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap(),
    }
}

fn key(spec: &Value, name: &str) -> SigningKey {
    let bytes: Hash = hash(&spec["keys"][name]["private"]);
    let key = SigningKey::from_bytes(&bytes.0).unwrap();
    assert_eq!(
        key.address().to_string(),
        spec["keys"][name]["address"].as_str().unwrap()
    );
    key
}

/// The stored nodes of a log tree.
#[derive(Default)]
struct Memory(std::collections::HashMap<(u32, u64), Hash>);

impl TreeNodes for Memory {
    type Error = Infallible;

    fn node(&self, level: u32, index: u64) -> Result<Hash, Infallible> {
        Ok(self.0[&(level, index)])
    }
}

fn grow(leaves: impl IntoIterator<Item = Hash>) -> (TreeFrontier, Memory) {
    let mut frontier = TreeFrontier::default();
    let mut memory = Memory::default();
    for leaf in leaves {
        for node in frontier.append(leaf) {
            memory.0.insert((node.level, node.index), node.hash);
        }
    }
    (frontier, memory)
}

/// Hashes a request's message; returns its struct hash and the words and salts of its actions.
fn read_request(request: &Value) -> (RequestHead, Vec<(ActionWords, Hash)>) {
    let message = &request["message"];
    let seed = hash(&request["salt_seed"]);
    let actions = message["actions"]
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
        .map(|(i, action)| {
            let text = |name: &str| action[name].as_str().unwrap();
            let kind = Kind::of_text(text("kind")).unwrap();
            let salt = salt(&seed, i as u16);
            assert_eq!(salt, hash(&action["salt"]));
            (
                ActionWords::of(&kind, text("target"), text("payload").as_bytes()),
                salt,
            )
        })
        .collect();
    let head = RequestHead {
        signer: message["signer"].as_str().unwrap().parse().unwrap(),
        nonce: number(&message["nonce"]),
        deadline_s: number(&message["deadline"]),
        atomic: message["atomic"].as_bool().unwrap(),
    };
    (head, actions)
}

#[test]
fn requests_are_hashed_and_signed() {
    let spec = spec();
    let separator = domain(&spec).separator();
    assert_eq!(separator, hash(&spec["domain_separator"]));
    for request in spec["requests"].as_array().unwrap() {
        let (head, actions) = read_request(request);
        let action_hashes: Vec<Hash> = actions
            .iter()
            .map(|(words, salt)| words.action_hash(salt))
            .collect();
        assert_eq!(action_hashes, hashes(&request["action_hashes"]));
        assert_eq!(
            head.struct_hash(&action_hashes),
            hash(&request["struct_hash"])
        );
        let digest = head.digest(&separator, &action_hashes);
        assert_eq!(digest, hash(&request["digest"]));
        let signature: Signature = request["signature"].as_str().unwrap().parse().unwrap();
        assert_eq!(signature.recover(&digest), Ok(head.signer));
        let signer = if head.signer == key(&spec, "alice").address() {
            "alice"
        } else {
            "bob"
        };
        assert_eq!(key(&spec, signer).sign(&digest), signature);
    }
}

// Holds invariant 9.
#[test]
fn records_chain() {
    let spec = spec();
    let mut head = domain(&spec).separator();
    let mut integrities = std::collections::HashMap::new();
    let mut records = spec["records"].as_array().unwrap().iter();
    for request in spec["requests"].as_array().unwrap() {
        let (request_head, actions) = read_request(request);
        let signature: Signature = request["signature"].as_str().unwrap().parse().unwrap();
        for (words, salt) in actions {
            let record = records.next().unwrap();
            assert_eq!(salt, hash(&record["salt"]));
            let authority = chain::authority(&signature, &salt);
            let content = chain::content(&words, &request_head.signer, &authority);
            assert_eq!(content, hash(&record["content"]));
            let resource: Id = record["resource"].as_str().unwrap().parse().unwrap();
            let previous = integrities.get(&resource).copied();
            if previous.is_none() {
                assert_eq!(resource, Id::made_by(resource.prefix, &content, 0));
            }
            let integrity = chain::next_integrity(&previous.unwrap_or_default(), &content);
            assert_eq!(integrity, hash(&record["integrity"]));
            integrities.insert(resource, integrity);
            let leaf = LogLeaf {
                sequence: number(&record["sequence"]),
                timestamp_ms: number(&record["timestamp_ms"]),
                content,
                integrity,
            }
            .hash();
            assert_eq!(leaf, hash(&record["leaf"]));
            head = chain::next_head(&head, &leaf);
            assert_eq!(head, hash(&record["head"]));
        }
    }
    assert!(records.next().is_none());
}

// Holds invariant 107.
#[test]
fn resources_of_one_action_start_apart() {
    let vector = &spec()["second_resources"];
    let content = hash(&vector["content"]);
    let firsts = hashes(&vector["integrity"]);
    assert_eq!(firsts.len(), 4);
    for (index, first) in (0..).zip(&firsts) {
        assert_eq!(chain::first_integrity(&content, index), *first, "{index}");
    }
}

fn header(message: &Value) -> BatchHeader {
    BatchHeader {
        number: number(&message["number"]),
        first_sequence: number(&message["firstSequence"]),
        count: number(&message["count"]) as u32,
        previous_head: hash(&message["previousHead"]),
        head: hash(&message["head"]),
        root: hash(&message["root"]),
        history: hash(&message["history"]),
        state: hash(&message["state"]),
        sealed_at_ms: number(&message["sealedAt"]),
    }
}

// Holds invariant 9.
#[test]
fn batches_are_fingerprinted_and_signed() {
    let spec = spec();
    let separator = domain(&spec).separator();
    let leaves: Vec<Hash> = spec["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| hash(&record["leaf"]))
        .collect();
    let mut log = TreeFrontier::default();
    for batch in spec["batches"].as_array().unwrap() {
        let header = header(&batch["message"]);
        let first = header.first_sequence as usize - 1;
        let own = &leaves[first..first + header.count as usize];
        let tree = BatchTree::new(own);
        assert_eq!(tree.root(), header.root);
        assert_eq!(log.root(), header.history);
        assert_eq!(header.hash(), hash(&batch["batch_hash"]));
        assert_eq!(header.digest(&separator), hash(&batch["digest"]));
        let signed = header.sign(&separator, &key(&spec, "sequencer"));
        assert_eq!(
            signed.signature.to_string(),
            batch["signature"].as_str().unwrap()
        );
        assert_eq!(signed.id().to_string(), batch["id"].as_str().unwrap());
        for (i, path) in batch["paths"].as_array().unwrap().iter().enumerate() {
            assert_eq!(tree.proof(&[i]), hashes(path));
        }
        for (indices, proof) in batch["multiproofs"].as_object().unwrap() {
            let indices: Vec<usize> = indices.split(',').map(|i| i.parse().unwrap()).collect();
            let proof = hashes(proof);
            assert_eq!(tree.proof(&indices), proof);
            let wide: Vec<u64> = indices.iter().map(|&i| i as u64).collect();
            let chosen: Vec<Hash> = indices.iter().map(|&i| own[i]).collect();
            let count = u64::from(header.count);
            assert_eq!(
                verify_proof(&header.root, count, &wide, &chosen, &proof),
                Ok(())
            );
        }
        log.append(log_tree::leaf(&header.hash()));
    }
}

#[test]
fn checkpoint_is_signed_and_covers_the_batches() {
    let spec = spec();
    let vector = &spec["checkpoint"];
    let message = &vector["message"];
    let checkpoint = Checkpoint {
        batches: number(&message["batches"]),
        sequence: number(&message["sequence"]),
        head: hash(&message["head"]),
        history: hash(&message["history"]),
        state: hash(&message["state"]),
        issued_at_ms: number(&message["issuedAt"]),
    };
    let separator = domain(&spec).separator();
    assert_eq!(checkpoint.digest(&separator), hash(&vector["digest"]));
    let signed = checkpoint.sign(&separator, &key(&spec, "sequencer"));
    assert_eq!(
        signed.signature.to_string(),
        vector["signature"].as_str().unwrap()
    );

    let batch_leaves: Vec<Hash> = spec["batches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|batch| log_tree::leaf(&hash(&batch["batch_hash"])))
        .collect();
    let (frontier, nodes) = grow(batch_leaves.iter().copied());
    assert_eq!(frontier.root(), checkpoint.history);
    for (i, path) in vector["batch_paths"].as_array().unwrap().iter().enumerate() {
        let Ok(own) = log_tree::inclusion_path(&nodes, i as u64, 4);
        assert_eq!(own, hashes(path));
    }
    for (sizes, proof) in vector["consistency"].as_object().unwrap() {
        let (from, to) = sizes.split_once(',').unwrap();
        let (from, to): (u64, u64) = (from.parse().unwrap(), to.parse().unwrap());
        let Ok(own) = log_tree::consistency_path(&nodes, from, to);
        assert_eq!(own, hashes(proof), "{sizes}");
        let (Ok(first), Ok(second)) = (log_tree::root(&nodes, from), log_tree::root(&nodes, to));
        assert_eq!(verify_consistency(from, to, &first, &second, &own), Ok(()));
    }
}

fn formula_leaf(i: u64) -> Hash {
    keccak_parts(&[&[0], &i.to_be_bytes()])
}

#[test]
fn trees_of_many_sizes() {
    let spec = spec();
    for tree in spec["trees"].as_array().unwrap() {
        let size = number(&tree["size"]);
        let (frontier, nodes) = grow((0..size).map(formula_leaf));
        let root = hash(&tree["root"]);
        assert_eq!(frontier.root(), root);
        assert_eq!(frontier.size(), size);
        let Ok(loaded) = TreeFrontier::load(size, &nodes);
        assert_eq!(loaded, frontier);
        for (index, path) in tree["path_of"].as_object().unwrap() {
            let index: u64 = index.parse().unwrap();
            let path = hashes(path);
            let Ok(own) = log_tree::inclusion_path(&nodes, index, size);
            assert_eq!(own, path);
            assert_eq!(
                verify_proof(&root, size, &[index], &[formula_leaf(index)], &path),
                Ok(())
            );
        }
        for (from, proof) in tree["consistency_from"].as_object().unwrap() {
            let from: u64 = from.parse().unwrap();
            let Ok(own) = log_tree::consistency_path(&nodes, from, size);
            assert_eq!(own, hashes(proof), "{from} to {size}");
            let Ok(first) = log_tree::root(&nodes, from);
            assert_eq!(verify_consistency(from, size, &first, &root, &own), Ok(()));
        }
    }
}

// Holds invariant 9.
#[test]
fn what_must_be_refused_is() {
    let spec = spec();
    let (frontier, _) = grow((0..5).map(formula_leaf));
    let root = frontier.root();
    for case in spec["must_refuse"]["multiproofs"].as_array().unwrap() {
        let indices: Vec<u64> = case["indices"]
            .as_array()
            .unwrap()
            .iter()
            .map(number)
            .collect();
        let result = verify_proof(
            &root,
            5,
            &indices,
            &hashes(&case["leaves"]),
            &hashes(&case["proof"]),
        );
        assert!(result.is_err(), "{}", case["why"]);
    }
    for case in spec["must_refuse"]["paths"].as_array().unwrap() {
        let result = verify_proof(
            &root,
            number(&case["size"]),
            &[number(&case["index"])],
            &[hash(&case["leaf"])],
            &hashes(&case["proof"]),
        );
        assert!(result.is_err(), "{}", case["why"]);
    }
    for case in spec["must_refuse"]["consistency"].as_array().unwrap() {
        let result = verify_consistency(
            number(&case["from"]),
            number(&case["to"]),
            &hash(&case["first"]),
            &hash(&case["second"]),
            &hashes(&case["proof"]),
        );
        assert!(result.is_err(), "{}", case["why"]);
    }
}

#[test]
fn the_empty_log_has_the_hash_of_nothing() {
    assert_eq!(TreeFrontier::default().root(), empty_root());
    assert_eq!(
        Id::made_by(Prefix::Object, &Hash::ZERO, 0).prefix,
        Prefix::Object
    );
    assert_eq!(Address::ZERO.to_string(), format!("0x{}", "0".repeat(40)));
}

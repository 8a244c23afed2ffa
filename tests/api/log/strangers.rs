//! Proofs of a real server's state, read by `alloy-trie`, which knows nothing of Kedge.

use alloy_trie::Nibbles;
use alloy_trie::proof::verify_proof;
use kedge_protocol::hash::keccak;
use kedge_protocol::state::StateProof;
use kedge_protocol::{Hash, Id, Prefix};

use super::state::{bytes, nodes_of};
use crate::harness::{Caller, Server};

const COUNT: usize = 1_000;
const BATCH: usize = 500;

/// Mints as many objects, which the newest checkpoint covers.
async fn minted(server: &Server, caller: &Caller) -> Vec<Id> {
    let template = caller.new_template(server, "ticket").await;
    let mint = ("mint", template.as_str(), "{}");
    let mut ids = Vec::new();
    for _ in 0..COUNT / BATCH {
        let made = caller.bus(server, &vec![mint; BATCH], true).await;
        let made = made.expect(200).body;
        let results = made["results"].as_array().unwrap().iter();
        ids.extend(
            results.map(|result| result["object_id"].as_str().unwrap().parse::<Id>().unwrap()),
        );
    }
    ids
}

/// The server's proofs of these ids; all of them must be under this root.
async fn served(server: &Server, caller: &Caller, root: &Hash, ids: &[Id]) -> Vec<StateProof> {
    let mut proofs = Vec::new();
    for id in ids {
        let path = format!("/objects/{id}/state-proof");
        let answer = server.get(&path, Some(&caller.token)).await.expect(200);
        let answer = answer.body;
        let state = &answer["checkpoint"]["checkpoint"]["state"];
        assert_eq!(state.as_str().unwrap().parse::<Hash>().unwrap(), *root);
        proofs.push(StateProof {
            key: *id,
            entry: bytes(&answer["entry"]),
            nodes: nodes_of(&answer),
        });
    }
    proofs
}

/// Whether `alloy-trie` finds under the root what the proof states.
fn is_found(root: &Hash, proof: &StateProof) -> bool {
    let path = Nibbles::unpack(keccak(proof.key.to_string().as_bytes()).0);
    let value = (!proof.entry.is_empty()).then(|| keccak(&proof.entry).0.to_vec());
    let nodes: Vec<_> = proof.nodes.iter().map(|node| node.clone().into()).collect();
    verify_proof(root.0.into(), path, value, nodes.iter()).is_ok()
}

fn flip(bytes: &mut [u8], dice: &Hash) {
    let place = usize::from(u16::from_be_bytes([dice.0[1], dice.0[2]])) % bytes.len();
    bytes[place] ^= 1 << (dice.0[3] % 8);
}

/// The proof with a change that no reader may overlook, whatever it thinks of nodes that it does not need.
fn changed(proof: &StateProof, number: usize, present: &[StateProof]) -> StateProof {
    let dice = keccak(&number.to_be_bytes());
    let mut other = proof.clone();
    let place = usize::from(dice.0[0]) % proof.nodes.len();
    let last = proof.nodes.len() - 1;
    match number / 2 % 5 {
        0 if proof.entry.is_empty() => other.entry.clone_from(&present[number].entry),
        0 => flip(&mut other.entry, &dice),
        1 => other.key = present[(number + 1) % COUNT].key,
        2 => flip(&mut other.nodes[place], &dice),
        3 => drop(other.nodes.remove(place)),
        _ => {
            let mut leaves = present.iter().map(|one| one.nodes.last().unwrap());
            let another = leaves.find(|leaf| **leaf != proof.nodes[last]);
            other.nodes[last].clone_from(another.unwrap());
        }
    }
    other
}

// Holds invariant 266.
#[tokio::test]
async fn another_library_finds_what_the_proofs_state_and_nothing_else() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let ids = minted(&server, &ann).await;
    let checkpoint = server.newest_checkpoint().await;
    let root: Hash = checkpoint["checkpoint"]["state"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    let present = served(&server, &ann, &root, &ids).await;
    let never = |number: usize| Id::of_hash(Prefix::Object, &keccak(&number.to_be_bytes()));
    let never: Vec<Id> = (0..COUNT).map(never).collect();
    let absent = served(&server, &ann, &root, &never).await;
    assert_eq!((present.len(), absent.len()), (COUNT, COUNT));
    for (proofs, is_absent) in [(&present, false), (&absent, true)] {
        for proof in proofs {
            assert_eq!(proof.entry.is_empty(), is_absent, "{proof:?}");
            assert!(is_found(&root, proof), "{proof:?}");
            assert_eq!(proof.verify(&root), Ok(()), "{proof:?}");
        }
    }
    for number in 0..COUNT {
        let good = if number % 2 == 0 { &present } else { &absent };
        let other = changed(&good[number], number, &present);
        assert!(!is_found(&root, &other), "{other:?}");
        assert!(other.verify(&root).is_err(), "{other:?}");
    }
}

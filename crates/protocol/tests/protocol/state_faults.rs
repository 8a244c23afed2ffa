//! The faults of the state against their vectors: `vectors/state-faults.json`. Every verdict is counted.

use std::collections::BTreeMap;

use kedge_protocol::chain::{LogLeaf, next_integrity};
use kedge_protocol::state::faults::{
    self, FalseEntryEvidence, LeafWords, ShownEntry, ShownLeaf, StatePoint, TrespassEvidence,
};
use kedge_protocol::{Address, Hash, Id};
use serde_json::Value;

fn hash(value: &Value) -> Hash {
    value.as_str().unwrap().parse().unwrap()
}

fn point(value: &Value) -> StatePoint {
    StatePoint {
        batches: value["batches"].as_u64().unwrap(),
        sequence: value["sequence"].as_u64().unwrap(),
        is_rooted: value["root"].as_bool().unwrap(),
    }
}

fn entry(value: &Value) -> ShownEntry {
    let bytes = const_hex::decode(value["entry"].as_str().unwrap()).unwrap();
    let id: Id = value["id"].as_str().unwrap().parse().unwrap();
    ShownEntry::read(point(&value["checkpoint"]), id, &bytes)
}

fn leaf(value: &Value) -> ShownLeaf {
    let leaf = LogLeaf {
        sequence: value["sequence"].as_u64().unwrap(),
        timestamp_ms: value["timestamp_ms"].as_u64().unwrap(),
        content: hash(&value["content"]),
        integrity: hash(&value["integrity"]),
    };
    assert_eq!(leaf.hash(), hash(&value["leaf"]));
    let previous = hash(&value["previous"]);
    if previous != Hash::ZERO {
        assert_eq!(next_integrity(&previous, &leaf.content), leaf.integrity);
    }
    let words = value["words"].as_array().map(|words| {
        let signer = hash(&words[3]);
        assert_eq!(signer.0[..12], [0; 12]);
        LeafWords {
            kind: hash(&words[0]),
            target: hash(&words[1]),
            payload: hash(&words[2]),
            signer: Address(signer.0[12..].try_into().unwrap()),
            authority: hash(&words[4]),
        }
    });
    if let Some(words) = words {
        assert_eq!(words.content(), leaf.content);
    }
    ShownLeaf { leaf, words }
}

fn leaves(value: &Value) -> Vec<ShownLeaf> {
    value.as_array().unwrap().iter().map(leaf).collect()
}

fn convicts(fault: &str, evidence: &Value) -> bool {
    let shown = |name: &str| entry(&evidence[name]);
    let optional = |name: &str| (!evidence[name].is_null()).then(|| shown(name));
    let kind = evidence["kind"].as_str();
    let leaf = || leaf(&evidence["leaf"]);
    match fault {
        "malformed state" => faults::malformed_state(&shown("entry")),
        "unrooted checkpoint" => {
            faults::unrooted_checkpoint(&point(&evidence["first"]), &point(&evidence["second"]))
        }
        "stale state" => faults::stale_state(&shown("entry"), &leaf()),
        "false entry" => {
            let to = evidence["to"].as_str().and_then(|to| to.parse().ok());
            let further = FalseEntryEvidence {
                kind,
                to: to.as_ref(),
                wallet: None,
            };
            faults::false_entry(&shown("entry"), &leaf(), &further)
        }
        "missing state" => faults::missing_state(&shown("entry"), &leaf(), kind.unwrap()),
        "rewritten state" => faults::rewritten_state(&shown("first"), &shown("second")),
        "two-faced state" => faults::two_faced_state(&shown("first"), &shown("second")),
        "twin state" => faults::twin_state(&shown("first"), &shown("second")),
        "false address" => faults::false_address(&shown("object"), &shown("wallet")),
        "false owner" => {
            let leaves = leaves(&evidence["leaves"]);
            faults::false_owner(&shown("first"), &shown("second"), &leaves)
        }
        "trespass" => faults::trespass(&TrespassEvidence {
            object: &shown("object"),
            template: &shown("template"),
            leaves: &leaves(&evidence["leaves"]),
            leaf: &leaf(),
            kind,
            wallet: optional("wallet").as_ref(),
        }),
        "foreign hand" => {
            faults::foreign_hand(&shown("entry"), &leaf(), optional("wallet").as_ref())
        }
        "ghost member" => faults::ghost_member(&leaf(), &shown("wallet")),
        "oversupply: template" => faults::oversupply(&shown("object"), &shown("template")),
        "oversupply: serial" | "oversupply: max_supply" => {
            faults::oversupply(&shown("first"), &shown("second"))
        }
        other => panic!("{other}"),
    }
}

// Holds invariant 253.
#[test]
fn verdicts_are_those_of_the_vectors() {
    let file: Value =
        serde_json::from_str(include_str!("../../vectors/state-faults.json")).unwrap();
    let mut counts = BTreeMap::new();
    for vector in file["vectors"].as_array().unwrap() {
        let fault = vector["fault"].as_str().unwrap();
        let verdict = match vector["verdict"].as_str().unwrap() {
            "convict" => true,
            "refuse" => false,
            other => panic!("{other}"),
        };
        assert_eq!(
            convicts(fault, &vector["evidence"]),
            verdict,
            "{}",
            vector["name"]
        );
        *counts.entry((fault.to_owned(), verdict)).or_insert(0) += 1;
    }
    assert_eq!(counts.len(), 32, "each fault, convicted and refused");
    let convicted: u32 = counts.iter().filter(|(key, _)| key.1).map(|(_, n)| n).sum();
    let refused: u32 = counts
        .iter()
        .filter(|(key, _)| !key.1)
        .map(|(_, n)| n)
        .sum();
    assert_eq!((convicted, refused), (51, 93));
}

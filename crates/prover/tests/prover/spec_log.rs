//! The log of the protocol's vectors: its proof files, and claims about its actions.

use std::collections::HashMap;
use std::sync::OnceLock;

use kedge_protocol::chain::authority;
use kedge_protocol::eip712::Domain;
use kedge_protocol::hash::keccak;
use kedge_protocol::proof::ProofFile;
use kedge_protocol::signature::Signature;
use kedge_protocol::{Address, Hash};
use kedge_prover::claim::{ClaimBinding, ClaimDisclosure, ClaimFile, DisclosureMask, prove};
use kedge_prover::groth16::ProvingKey;
use kedge_prover::keys;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// First contract deployed by an account of the contracts' tests.
pub(crate) const RESOLVER: &str = "0x8464135c8f25da09e49bc8782676a84730c318bc";
pub(crate) const CLAIMANT: &str = "0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc";

pub(crate) fn spec() -> Value {
    serde_json::from_str(include_str!("../../../protocol/vectors/spec.json")).unwrap()
}

fn read<T: DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap()
}

pub(crate) fn domain() -> Domain {
    let domain = &spec()["domain"];
    Domain {
        chain_id: domain["chainId"].as_u64().unwrap(),
        verifying_contract: read(&domain["verifyingContract"]),
    }
}

pub(crate) fn sequencer() -> Address {
    read(&spec()["keys"]["sequencer"]["address"])
}

/// The proof files of all actions, in the order of their records.
pub(crate) fn proof_files() -> Vec<ProofFile> {
    let spec = spec();
    let requests = spec["requests"].as_array().unwrap();
    let actions = requests.iter().flat_map(|request| {
        let message = &request["message"];
        let actions = message["actions"].as_array().unwrap().iter();
        actions.map(move |action| (request, message, action))
    });
    let mut batch = 0;
    let mut leaf_index = 0;
    let mut integrities: HashMap<String, Value> = HashMap::new();
    let records = spec["records"].as_array().unwrap().iter();
    records
        .zip(actions)
        .map(|(record, (request, message, action))| {
            if leaf_index == spec["batches"][batch]["message"]["count"].as_u64().unwrap() {
                (batch, leaf_index) = (batch + 1, 0);
            }
            let signature: Signature = read(&request["signature"]);
            let salt: Hash = read(&action["salt"]);
            let integrity = record["integrity"].clone();
            let previous = integrities
                .insert(record["resource"].to_string(), integrity.clone())
                .unwrap_or_else(|| json!(Hash::ZERO));
            let file = json!({
                "version": 1, "domain": domain(), "sequencer": sequencer(),
                "action": {
                    "kind": action["kind"], "target": action["target"], "payload": action["payload"],
                    "signer": message["signer"], "authority": authority(&signature, &salt),
                },
                "leaf": {
                    "sequence": record["sequence"], "timestamp_ms": record["timestamp_ms"],
                    "content": record["content"], "previous_integrity": previous, "integrity": integrity,
                },
                "inclusion": {
                    "leaf_index": leaf_index, "path": spec["batches"][batch]["paths"][leaf_index as usize],
                },
                "batch": batch_of(&spec["batches"][batch]),
                "anchor": anchor_of(&spec["checkpoint"], batch),
            });
            leaf_index += 1;
            read(&file)
        })
        .collect()
}

fn batch_of(batch: &Value) -> Value {
    let message = &batch["message"];
    json!({"header": {
        "number": message["number"], "first_sequence": message["firstSequence"],
        "count": message["count"], "previous_head": message["previousHead"], "head": message["head"],
        "root": message["root"], "history": message["history"], "state": message["state"],
        "sealed_at_ms": message["sealedAt"],
    }, "signature": batch["signature"]})
}

fn anchor_of(checkpoint: &Value, batch: usize) -> Value {
    let message = &checkpoint["message"];
    json!({
        "checkpoint": {"checkpoint": {
            "batches": message["batches"], "sequence": message["sequence"], "head": message["head"],
            "history": message["history"], "state": message["state"], "issued_at_ms": message["issuedAt"],
        }, "signature": checkpoint["signature"]},
        "path": checkpoint["batch_paths"][batch], "contract": spec()["domain"]["verifyingContract"],
        "transaction_hash": null, "block_number": null,
    })
}

/// The development key, built once.
pub(crate) fn proving_key() -> &'static ProvingKey {
    static KEY: OnceLock<ProvingKey> = OnceLock::new();
    KEY.get_or_init(|| keys::dev_insecure_proving().unwrap())
}

pub(crate) fn binding(purpose: &str) -> ClaimBinding {
    ClaimBinding {
        resolver: RESOLVER.parse().unwrap(),
        claimant: CLAIMANT.parse().unwrap(),
        purpose: keccak(purpose.as_bytes()),
    }
}

/// A claim about a record, proved now.
pub(crate) fn claim(record: usize, mask: u8) -> ClaimFile {
    let file = &proof_files()[record];
    file.verify(&domain(), &sequencer()).unwrap();
    let choice = ClaimDisclosure {
        mask: DisclosureMask::new(mask).unwrap(),
        hashes_only: false,
    };
    let binding = binding(&format!("claim {record}, mask {mask}"));
    prove(proving_key(), file, choice, binding).unwrap()
}

//! Layer 1 and the signed records against vectors made by viem and checked by eth-account:
//! `vectors/eip712.json`.

use kedge_protocol::action::{ActionWords, RequestHead, salt};
use kedge_protocol::batch::BatchHeader;
use kedge_protocol::chain::authority;
use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::eip712::Domain;
use kedge_protocol::hash::{Hash, keccak};
use kedge_protocol::signature::{Signature, SigningKey};
use serde_json::Value;

fn vectors() -> Value {
    serde_json::from_str(include_str!("../../vectors/eip712.json")).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn hash(value: &Value) -> Hash {
    text(value).parse().unwrap()
}

fn number(value: &Value) -> u64 {
    text(value).parse().unwrap()
}

fn domain(vectors: &Value, entry: &Value) -> Domain {
    let domain = &vectors["domains"][entry["domain"].as_u64().unwrap() as usize];
    Domain {
        chain_id: number(&domain["chainId"]),
        verifying_contract: text(&domain["verifyingContract"]).parse().unwrap(),
    }
}

fn key(vectors: &Value, name: &str) -> SigningKey {
    let key = SigningKey::from_bytes(&hash(&vectors["keys"][name]["private"]).0).unwrap();
    assert_eq!(
        key.address().to_string(),
        text(&vectors["keys"][name]["address"])
    );
    key
}

/// Texts are hashed as they are: some vectors hold kinds that no endpoint accepts yet.
fn action_hashes(message: &Value) -> Vec<Hash> {
    list(&message["actions"])
        .iter()
        .map(|action| {
            let part = |name: &str| keccak(text(&action[name]).as_bytes());
            let words = ActionWords {
                kind: part("kind"),
                target: part("target"),
                payload: part("payload"),
            };
            words.action_hash(&hash(&action["salt"]))
        })
        .collect()
}

fn head(message: &Value) -> RequestHead {
    RequestHead {
        signer: text(&message["signer"]).parse().unwrap(),
        nonce: number(&message["nonce"]),
        deadline_s: number(&message["deadline"]),
        atomic: message["atomic"].as_bool().unwrap(),
    }
}

#[test]
fn domains() {
    let vectors = vectors();
    for (i, entry) in list(&vectors["domains"]).iter().enumerate() {
        let separator = domain(&vectors, &serde_json::json!({ "domain": i })).separator();
        assert_eq!(separator, hash(&entry["separator"]));
    }
}

#[test]
fn requests() {
    let vectors = vectors();
    assert!(list(&vectors["requests"]).len() >= 40);
    for entry in list(&vectors["requests"]) {
        let label = text(&entry["label"]);
        let message = &entry["message"];
        let seed = hash(&entry["salt_seed"]);
        for (i, action) in list(&message["actions"]).iter().enumerate() {
            assert_eq!(salt(&seed, i as u16), hash(&action["salt"]), "{label}");
        }
        let hashes = action_hashes(message);
        let expected: Vec<_> = list(&entry["action_hashes"]).iter().map(hash).collect();
        assert_eq!(hashes, expected, "{label}");

        let head = head(message);
        assert_eq!(
            head.struct_hash(&hashes),
            hash(&entry["struct_hash"]),
            "{label}"
        );
        let digest = head.digest(&domain(&vectors, entry).separator(), &hashes);
        assert_eq!(digest, hash(&entry["digest"]), "{label}");

        let signature = key(&vectors, text(&entry["signer"])).sign(&digest);
        assert_eq!(signature.to_string(), text(&entry["signature"]), "{label}");
        assert_eq!(signature.recover(&digest), Ok(head.signer), "{label}");
        for (action, expected) in list(&message["actions"])
            .iter()
            .zip(list(&entry["authorities"]))
        {
            assert_eq!(
                authority(&signature, &hash(&action["salt"])),
                hash(expected),
                "{label}"
            );
        }
    }
}

#[test]
fn headers_and_checkpoints() {
    let vectors = vectors();
    let sequencer = key(&vectors, "sequencer");
    for entry in list(&vectors["headers"]) {
        let message = &entry["message"];
        let header = BatchHeader {
            number: number(&message["number"]),
            first_sequence: number(&message["firstSequence"]),
            count: u32::try_from(message["count"].as_u64().unwrap()).unwrap(),
            previous_head: hash(&message["previousHead"]),
            head: hash(&message["head"]),
            root: hash(&message["root"]),
            history: hash(&message["history"]),
            state: hash(&message["state"]),
            sealed_at_ms: number(&message["sealedAt"]),
        };
        let separator = domain(&vectors, entry).separator();
        assert_eq!(header.hash(), hash(&entry["struct_hash"]));
        assert_eq!(header.digest(&separator), hash(&entry["digest"]));
        let signed = header.sign(&separator, &sequencer);
        assert_eq!(signed.signature.to_string(), text(&entry["signature"]));
    }
    for entry in list(&vectors["checkpoints"]) {
        let message = &entry["message"];
        let checkpoint = Checkpoint {
            batches: number(&message["batches"]),
            sequence: number(&message["sequence"]),
            head: hash(&message["head"]),
            history: hash(&message["history"]),
            state: hash(&message["state"]),
            issued_at_ms: number(&message["issuedAt"]),
        };
        let separator = domain(&vectors, entry).separator();
        assert_eq!(checkpoint.hash(), hash(&entry["struct_hash"]));
        assert_eq!(checkpoint.digest(&separator), hash(&entry["digest"]));
        let signed = checkpoint.sign(&separator, &sequencer);
        assert_eq!(signed.signature.to_string(), text(&entry["signature"]));
    }
}

#[test]
fn both_spellings_of_v_are_one() {
    for entry in list(&vectors()["spellings"]) {
        let signature: Signature = text(&entry["received"]).parse().unwrap();
        assert_eq!(signature.to_string(), text(&entry["kept"]));
        assert_eq!(keccak(&signature.0), hash(&entry["kept_hash"]));
    }
}

/// A signature holds if it can be read and recovers to the message's signer.
fn holds(vectors: &Value, entry: &Value) -> bool {
    let Ok(signature) = text(&entry["signature"]).parse::<Signature>() else {
        return false;
    };
    let head = head(&entry["message"]);
    let separator = domain(vectors, entry).separator();
    let digest = head.digest(&separator, &action_hashes(&entry["message"]));
    signature.recover(&digest) == Ok(head.signer)
}

#[test]
fn bad_signatures_are_refused() {
    let vectors = vectors();
    assert!(holds(&vectors, &vectors["must_refuse"]["good"]));
    for entry in list(&vectors["must_refuse"]["refused"]) {
        assert!(!holds(&vectors, entry), "accepted: {}", text(&entry["why"]));
    }
}

//! Checks a whole log against `vectors/chain.json`: contents, ids, the chain, headers, receipts and proof files, as an
//! independent script computed them.

use std::collections::HashMap;

use kedge_protocol::action::{ActionWords, RequestHead};
use kedge_protocol::batch::{BatchHeader, SignedBatch};
use kedge_protocol::chain::{self, LogLeaf};
use kedge_protocol::checkpoint::{Checkpoint, SignedCheckpoint};
use kedge_protocol::claim::{ClaimOpening, ClaimStatement, DisclosureMask};
use kedge_protocol::eip712::Domain;
use kedge_protocol::hash::{Hash, keccak};
use kedge_protocol::log_tree;
use kedge_protocol::merkle::{verify_consistency, verify_proof};
use kedge_protocol::receipt::{BatchReceipt, RECEIPT_VERSION, Receipt, ReceiptAction, ReceiptLeaf};
use kedge_protocol::signature::Signature;
use kedge_protocol::{Address, Id, Prefix};
use serde_json::Value;

fn vectors() -> Value {
    serde_json::from_str(include_str!("../../vectors/chain.json")).unwrap()
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

fn hashes(value: &Value) -> Vec<Hash> {
    list(value).iter().map(hash).collect()
}

fn number(value: &Value) -> u64 {
    text(value).parse().unwrap()
}

fn small(value: &Value) -> u32 {
    u32::try_from(value.as_u64().unwrap()).unwrap()
}

fn domain(vectors: &Value) -> Domain {
    Domain {
        chain_id: number(&vectors["domain"]["chainId"]),
        verifying_contract: text(&vectors["domain"]["verifyingContract"])
            .parse()
            .unwrap(),
    }
}

fn sequencer(vectors: &Value) -> Address {
    text(&vectors["keys"]["sequencer"]["address"])
        .parse()
        .unwrap()
}

fn words(action: &Value) -> ActionWords {
    let part = |name: &str| keccak(text(&action[name]).as_bytes());
    ActionWords {
        kind: part("kind"),
        target: part("target"),
        payload: part("payload"),
    }
}

fn signed_batch(entry: &Value) -> SignedBatch {
    let message = &entry["message"];
    SignedBatch {
        header: BatchHeader {
            number: number(&message["number"]),
            first_sequence: number(&message["firstSequence"]),
            count: small(&message["count"]),
            previous_head: hash(&message["previousHead"]),
            head: hash(&message["head"]),
            root: hash(&message["root"]),
            history: hash(&message["history"]),
            state: hash(&message["state"]),
            sealed_at_ms: number(&message["sealedAt"]),
        },
        signature: text(&entry["signature"]).parse().unwrap(),
    }
}

fn signed_checkpoint(entry: &Value) -> SignedCheckpoint {
    let message = &entry["message"];
    SignedCheckpoint {
        checkpoint: Checkpoint {
            batches: number(&message["batches"]),
            sequence: number(&message["sequence"]),
            head: hash(&message["head"]),
            history: hash(&message["history"]),
            state: hash(&message["state"]),
            issued_at_ms: number(&message["issuedAt"]),
        },
        signature: text(&entry["signature"]).parse().unwrap(),
    }
}

#[test]
fn requests_recover_to_their_signers() {
    let vectors = vectors();
    let separator = domain(&vectors).separator();
    assert_eq!(separator, hash(&vectors["domain_separator"]));
    for request in list(&vectors["requests"]) {
        let message = &request["message"];
        let action_hashes: Vec<_> = list(&message["actions"])
            .iter()
            .map(|action| words(action).action_hash(&hash(&action["salt"])))
            .collect();
        assert_eq!(action_hashes, hashes(&request["action_hashes"]));
        let head = RequestHead {
            signer: text(&message["signer"]).parse().unwrap(),
            nonce: number(&message["nonce"]),
            deadline_s: number(&message["deadline"]),
            atomic: message["atomic"].as_bool().unwrap(),
        };
        let signature: Signature = text(&request["signature"]).parse().unwrap();
        let digest = head.digest(&separator, &action_hashes);
        assert_eq!(digest, hash(&request["digest"]));
        assert_eq!(signature.recover(&digest), Ok(head.signer));
    }
}

// Holds invariant 107.
#[test]
fn records_follow_from_their_requests() {
    let vectors = vectors();
    let mut head = domain(&vectors).separator();
    let mut standing = HashMap::new();
    for record in list(&vectors["records"]) {
        let request = &vectors["requests"][record["request"].as_u64().unwrap() as usize];
        let action = &request["message"]["actions"][record["index"].as_u64().unwrap() as usize];
        let signature: Signature = text(&request["signature"]).parse().unwrap();
        let signer = text(&request["message"]["signer"]).parse().unwrap();
        let authority = chain::authority(&signature, &hash(&action["salt"]));
        assert_eq!(authority, hash(&record["authority"]));
        let content = chain::content(&words(action), &signer, &authority);
        assert_eq!(content, hash(&record["content"]));
        assert_eq!(
            Id::of_hash(Prefix::Action, &content).to_string(),
            text(&record["id"])
        );
        for made in list(&record["made"]) {
            let prefix = Prefix::of_text(text(&made["prefix"])).unwrap();
            let id = Id::made_by(prefix, &content, small(&made["index"]));
            assert_eq!(id.to_string(), text(&made["id"]));
            if let Some(first) = made.get("integrity") {
                let computed = chain::first_integrity(&content, small(&made["index"]));
                assert_eq!(computed, hash(first));
                standing.insert(text(&made["id"]), computed);
            }
        }
        let resource = text(&record["resource"]);
        let previous = hash(&record["previous_integrity"]);
        let is_made = list(&record["made"])
            .iter()
            .any(|made| made["id"] == resource);
        let before = if is_made {
            Hash::ZERO
        } else {
            standing[resource]
        };
        assert_eq!(previous, before, "what {resource} stood at");
        standing.insert(resource, hash(&record["integrity"]));
        let integrity = chain::next_integrity(&hash(&record["previous_integrity"]), &content);
        assert_eq!(integrity, hash(&record["integrity"]));
        let leaf = LogLeaf {
            sequence: number(&record["sequence"]),
            timestamp_ms: number(&record["timestamp_ms"]),
            content,
            integrity,
        };
        assert_eq!(leaf.hash(), hash(&record["leaf"]));
        head = chain::next_head(&head, &leaf.hash());
        assert_eq!(head, hash(&record["head"]));
    }
}

#[test]
fn every_record_has_a_receipt() {
    let vectors = vectors();
    for record in list(&vectors["records"]) {
        let batch = &vectors["batches"][record["batch"].as_u64().unwrap() as usize];
        let receipt = Receipt {
            version: RECEIPT_VERSION,
            domain: domain(&vectors),
            leaf: ReceiptLeaf {
                sequence: number(&record["sequence"]),
                timestamp_ms: number(&record["timestamp_ms"]),
                content: hash(&record["content"]),
                previous_integrity: hash(&record["previous_integrity"]),
                integrity: hash(&record["integrity"]),
            },
            leaf_index: small(&record["leaf_index"]),
            path: hashes(&record["path"]),
            batch: signed_batch(batch),
        };
        assert_eq!(receipt.batch.id().to_string(), text(&batch["id"]));
        assert_eq!(
            receipt.verify(&domain(&vectors), &sequencer(&vectors)),
            Ok(())
        );
    }
}

#[test]
fn every_request_has_a_receipt() {
    let vectors = vectors();
    for (i, request) in list(&vectors["requests"]).iter().enumerate() {
        let records: Vec<_> = list(&vectors["records"])
            .iter()
            .filter(|record| record["request"].as_u64() == Some(i as u64))
            .collect();
        let action = |record: &&Value| ReceiptAction {
            index: small(&record["index"]),
            sequence: number(&record["sequence"]),
            timestamp_ms: number(&record["timestamp_ms"]),
            leaf_index: small(&record["leaf_index"]),
            previous_integrity: hash(&record["previous_integrity"]),
        };
        let receipt = BatchReceipt {
            version: RECEIPT_VERSION,
            domain: domain(&vectors),
            batch: signed_batch(&vectors["batches"][request["batch"].as_u64().unwrap() as usize]),
            actions: records.iter().map(action).collect(),
            proof: hashes(&request["multiproof"]),
        };
        let contents: Vec<_> = records
            .iter()
            .map(|record| hash(&record["content"]))
            .collect();
        let sequencer = sequencer(&vectors);
        assert_eq!(
            receipt.verify(&domain(&vectors), &sequencer, &contents),
            Ok(())
        );
        let mut other = contents.clone();
        other[0] = Hash::ZERO;
        assert!(
            receipt
                .verify(&domain(&vectors), &sequencer, &other)
                .is_err()
        );
    }
}

#[test]
fn checkpoints_hold_their_batches() {
    let vectors = vectors();
    let separator = domain(&vectors).separator();
    for entry in list(&vectors["checkpoints"]) {
        let SignedCheckpoint {
            checkpoint,
            signature,
        } = signed_checkpoint(entry);
        assert_eq!(checkpoint.hash(), hash(&entry["struct_hash"]));
        assert_eq!(
            checkpoint.anchor_id().to_string(),
            text(&entry["anchor_id"])
        );
        let digest = checkpoint.digest(&separator);
        assert_eq!(signature.recover(&digest), Ok(sequencer(&vectors)));
        for (i, path) in list(&entry["batch_paths"]).iter().enumerate() {
            let leaf = log_tree::leaf(&signed_batch(&vectors["batches"][i]).header.hash());
            let path = hashes(path);
            let result = verify_proof(
                &checkpoint.history,
                checkpoint.batches,
                &[i as u64],
                &[leaf],
                &path,
            );
            assert_eq!(result, Ok(()));
        }
    }
}

#[test]
fn the_log_only_grows() {
    let vectors = vectors();
    let headers: Vec<_> = list(&vectors["batches"])
        .iter()
        .map(|batch| signed_batch(batch).header)
        .collect();
    let root_of = |size: u64| {
        let mut frontier = log_tree::TreeFrontier::default();
        for header in &headers[..size as usize] {
            assert_eq!(frontier.root(), header.history);
            frontier.append(log_tree::leaf(&header.hash()));
        }
        frontier.root()
    };
    for entry in list(&vectors["consistency"]) {
        let (from, to) = (
            entry["from"].as_u64().unwrap(),
            entry["to"].as_u64().unwrap(),
        );
        let proof = hashes(&entry["proof"]);
        assert_eq!(
            verify_consistency(from, to, &root_of(from), &root_of(to), &proof),
            Ok(())
        );
    }
}

#[test]
fn ids() {
    let ids = &vectors()["ids"];
    for entry in list(&ids["text"]) {
        let id: Id = text(&entry["id"]).parse().unwrap();
        assert_eq!(
            kedge_protocol::hash::to_hex(&id.bytes),
            text(&entry["bytes"])
        );
        assert_eq!(id.to_string(), text(&entry["id"]));
    }
    for made in list(&ids["made"]) {
        let prefix = Prefix::of_text(text(&made["prefix"])).unwrap();
        let id = Id::made_by(prefix, &hash(&ids["content"]), small(&made["index"]));
        assert_eq!(id.to_string(), text(&made["id"]));
    }
    for bad in list(&ids["must_refuse"]) {
        assert!(text(bad).parse::<Id>().is_err(), "accepted: {bad}");
    }
}

/// The statement of a claim about a record: its content is that of the opened words, and undisclosed words are zero.
#[test]
fn records_open_to_their_words() {
    let vectors = vectors();
    for record in list(&vectors["records"]) {
        let request = &vectors["requests"][record["request"].as_u64().unwrap() as usize];
        let action = &request["message"]["actions"][record["index"].as_u64().unwrap() as usize];
        let ActionWords {
            kind,
            target,
            payload,
        } = words(action);
        let signer: Address = text(&request["message"]["signer"]).parse().unwrap();
        let opening = ClaimOpening {
            disclosable: [kind, target, payload, Hash(signer.to_word())],
            authority: hash(&record["authority"]),
        };
        let content = hash(&record["content"]);
        assert_eq!(opening.content(), content);

        let context = keccak(b"context");
        for bits in 0..16u8 {
            let mask = DisclosureMask::new(bits).unwrap();
            let disclosed: Vec<bool> = (0..4).map(|word| mask.discloses(word)).collect();
            assert_eq!(disclosed, [1, 2, 4, 8].map(|bit| bits & bit != 0));
            let statement = ClaimStatement::of(&opening, mask, context);
            assert_eq!(statement.content, content);
            let shown = |word: usize| disclosed[word].then_some(opening.disclosable[word]);
            let words = [0, 1, 2, 3].map(|word| shown(word).unwrap_or(Hash::ZERO));
            assert_eq!(statement.words, words);

            // Every word is two numbers, its high half first; the mask is one.
            let halves = |word: &Hash| {
                let number = |half: &[u8]| u128::from_be_bytes(half.try_into().unwrap());
                [number(&word.0[..16]), number(&word.0[16..])]
            };
            let words = words.iter().flat_map(halves);
            let numbers: Vec<u128> = halves(&content)
                .into_iter()
                .chain([u128::from(bits)])
                .chain(words)
                .chain(halves(&context))
                .collect();
            assert_eq!(statement.numbers()[..], numbers);
            let decimals: Vec<String> = numbers.iter().map(u128::to_string).collect();
            assert_eq!(statement.decimals()[..], decimals);
            for (input, number) in statement.inputs().iter().zip(numbers) {
                assert_eq!(halves(input), [0, number]);
            }
        }
    }
    assert_eq!(DisclosureMask::new(16), None);
}

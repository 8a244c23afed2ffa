//! The log of `chain.json` as files of its readers: receipts, proof files, anchors.

use kedge_protocol::action::ActionWords;
use kedge_protocol::batch::{BatchHeader, SignedBatch};
use kedge_protocol::chain::{self, LogLeaf};
use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::eip712::Domain;
use kedge_protocol::hash::keccak;
use kedge_protocol::receipt::ReceiptLeaf;
use kedge_protocol::signature::{Signature, SigningKey};
use kedge_protocol::{Address, Hash};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

const VECTORS: &str = include_str!("../../../crates/protocol/vectors/chain.json");

/// A number that the vectors hold as a decimal string or as a number.
fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .or_else(|| value.as_str()?.parse().ok())
        .unwrap()
}

fn read<T: DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).unwrap()
}

/// The vectors' log.
pub(crate) struct Log(Value);

impl Log {
    pub(crate) fn read() -> Self {
        Self(serde_json::from_str(VECTORS).unwrap())
    }

    pub(crate) fn domain(&self) -> Domain {
        let domain = &self.0["domain"];
        Domain {
            chain_id: number(&domain["chainId"]),
            verifying_contract: read(&domain["verifyingContract"]),
        }
    }

    /// A key of the vectors: alice, bob, carol or sequencer.
    pub(crate) fn key(&self, name: &str) -> SigningKey {
        let secret: Hash = read(&self.0["keys"][name]["private"]);
        SigningKey::from_bytes(&secret.0).unwrap()
    }

    pub(crate) fn sequencer(&self) -> Address {
        read(&self.0["keys"]["sequencer"]["address"])
    }

    fn record(&self, sequence: u64) -> &Value {
        let place = usize::try_from(sequence - 1).unwrap();
        let record = &self.0["records"][place];
        assert_eq!(number(&record["sequence"]), sequence);
        record
    }

    fn request(&self, record: &Value) -> &Value {
        &self.0["requests"][number(&record["request"]) as usize]
    }

    /// The number of the batch that holds an action.
    pub(crate) fn batch_of(&self, sequence: u64) -> u64 {
        number(&self.record(sequence)["batch"])
    }

    pub(crate) fn batch(&self, batch: u64) -> SignedBatch {
        let batch = &self.0["batches"][batch as usize];
        let message = &batch["message"];
        SignedBatch {
            header: BatchHeader {
                number: number(&message["number"]),
                first_sequence: number(&message["firstSequence"]),
                count: read(&message["count"]),
                previous_head: read(&message["previousHead"]),
                head: read(&message["head"]),
                root: read(&message["root"]),
                history: read(&message["history"]),
                state: read(&message["state"]),
                sealed_at_ms: number(&message["sealedAt"]),
            },
            signature: read(&batch["signature"]),
        }
    }

    fn leaf(record: &Value) -> ReceiptLeaf {
        ReceiptLeaf {
            sequence: number(&record["sequence"]),
            timestamp_ms: number(&record["timestamp_ms"]),
            content: read(&record["content"]),
            previous_integrity: read(&record["previous_integrity"]),
            integrity: read(&record["integrity"]),
        }
    }

    pub(crate) fn receipt(&self, sequence: u64) -> Value {
        let record = self.record(sequence);
        json!({"version": 1, "domain": self.domain(), "leaf": Self::leaf(record),
               "leaf_index": record["leaf_index"], "path": record["path"],
               "batch": self.batch(number(&record["batch"]))})
    }

    /// The receipt of all actions of a request, and the contents of the ones that were sent.
    pub(crate) fn receipts(&self, request: u64) -> (Value, Vec<Hash>) {
        let records = self.0["records"].as_array().unwrap().iter();
        let done = records.filter(|record| number(&record["request"]) == request);
        let actions: Vec<Value> = done
            .map(|record| {
                json!({"index": record["index"], "sequence": number(&record["sequence"]),
                       "timestamp_ms": number(&record["timestamp_ms"]),
                       "leaf_index": record["leaf_index"],
                       "previous_integrity": record["previous_integrity"]})
            })
            .collect();
        let request = &self.0["requests"][request as usize];
        let receipt = json!({"version": 1, "domain": self.domain(),
            "batch": self.batch(number(&request["batch"])), "actions": actions,
            "proof": request["multiproof"]});
        (receipt, Self::contents(request))
    }

    /// The contents of all actions of a request, failed ones included, as computed by their sender.
    fn contents(request: &Value) -> Vec<Hash> {
        let signature: Signature = read(&request["signature"]);
        let signer: Address = read(&request["message"]["signer"]);
        let actions = request["message"]["actions"].as_array().unwrap().iter();
        let content = |action: &Value| {
            let text = |name: &str| keccak(action[name].as_str().unwrap().as_bytes());
            let words = ActionWords {
                kind: text("kind"),
                target: text("target"),
                payload: text("payload"),
            };
            let authority = chain::authority(&signature, &read(&action["salt"]));
            chain::content(&words, &signer, &authority)
        };
        actions.map(content).collect()
    }

    /// The inclusion form of an action's proof file, with the anchor over `batches` batches if any.
    pub(crate) fn proof(&self, sequence: u64, batches: Option<u64>) -> Value {
        let record = self.record(sequence);
        let request = self.request(record);
        let action = &request["message"]["actions"][number(&record["index"]) as usize];
        let batch = number(&record["batch"]);
        json!({"version": 1, "domain": self.domain(), "sequencer": self.sequencer(),
            "action": {"kind": action["kind"], "target": action["target"], "payload": action["payload"],
                       "signer": request["message"]["signer"], "authority": record["authority"]},
            "leaf": Self::leaf(record),
            "inclusion": {"leaf_index": record["leaf_index"], "path": record["path"]},
            "batch": self.batch(batch),
            "anchor": batches.map(|batches| self.anchor(batch, batches))})
    }

    /// The authorship form.
    pub(crate) fn proof_of_author(&self, sequence: u64, batches: Option<u64>) -> Value {
        let record = self.record(sequence);
        let request = self.request(record);
        let message = &request["message"];
        let index = number(&record["index"]) as usize;
        let mut file = self.proof(sequence, batches);
        file["authorship"] = json!({"signature": request["signature"], "nonce": message["nonce"],
            "deadline": number(&message["deadline"]), "atomic": message["atomic"], "index": index,
            "salt": message["actions"][index]["salt"], "action_hashes": request["action_hashes"]});
        file
    }

    fn checkpoint(&self, batches: u64) -> &Value {
        let checkpoints = self.0["checkpoints"].as_array().unwrap().iter();
        let mut found = checkpoints.filter(|found| number(&found["message"]["batches"]) == batches);
        found.next().unwrap()
    }

    pub(crate) fn message(&self, batches: u64) -> Checkpoint {
        let message = &self.checkpoint(batches)["message"];
        Checkpoint {
            batches: number(&message["batches"]),
            sequence: number(&message["sequence"]),
            head: read(&message["head"]),
            history: read(&message["history"]),
            state: read(&message["state"]),
            issued_at_ms: number(&message["issuedAt"]),
        }
    }

    fn anchor(&self, batch: u64, batches: u64) -> Value {
        json!({"checkpoint": {"checkpoint": self.message(batches),
                              "signature": self.checkpoint(batches)["signature"]},
            "path": self.batch_path(batch, batches), "contract": self.domain().verifying_contract,
            "transaction_hash": null, "block_number": null})
    }

    /// The path from a batch to the history of the checkpoint over `batches` batches.
    pub(crate) fn batch_path(&self, batch: u64, batches: u64) -> Vec<Hash> {
        read(&self.checkpoint(batches)["batch_paths"][batch as usize])
    }

    /// The checkpoints in the order in which the contract accepts them.
    pub(crate) fn anchors(&self) -> Vec<Value> {
        let mut before = 0;
        let checkpoints = self.0["checkpoints"].as_array().unwrap().iter();
        checkpoints
            .map(|checkpoint| {
                let batches = number(&checkpoint["message"]["batches"]);
                let proofs = self.0["consistency"].as_array().unwrap().iter();
                let mut between = proofs.filter(|proof| {
                    number(&proof["from"]) == before && number(&proof["to"]) == batches
                });
                let proof = between
                    .next()
                    .map_or(json!([]), |found| found["proof"].clone());
                before = batches;
                json!({"checkpoint": self.message(batches), "signature": checkpoint["signature"],
                       "proof": proof})
            })
            .collect()
    }

    /// Signs a checkpoint as the sequencer.
    pub(crate) fn signed_checkpoint(&self, checkpoint: Checkpoint) -> Value {
        json!(checkpoint.sign(&self.domain().separator(), &self.key("sequencer")))
    }

    /// Signs a header as the sequencer, although no anchored history holds it.
    pub(crate) fn signed(&self, header: BatchHeader) -> Value {
        json!(header.sign(&self.domain().separator(), &self.key("sequencer")))
    }

    /// The header of a batch of one action, as the sequencer might have sealed it.
    pub(crate) fn header_over(leaf: &ReceiptLeaf) -> BatchHeader {
        let root = LogLeaf {
            sequence: leaf.sequence,
            timestamp_ms: leaf.timestamp_ms,
            content: leaf.content,
            integrity: leaf.integrity,
        }
        .hash();
        BatchHeader {
            number: 11,
            first_sequence: leaf.sequence,
            count: 1,
            previous_head: keccak(b"the head before"),
            head: chain::next_head(&keccak(b"the head before"), &root),
            root,
            history: keccak(b"the history before"),
            state: Hash::ZERO,
            sealed_at_ms: leaf.timestamp_ms,
        }
    }
}

//! Verification of receipts and proof files from the vectors' log.

use kedge_protocol::Address;
use kedge_protocol::eip712::Domain;
use kedge_prover::claim::{ClaimBinding, ClaimDisclosure, DisclosureMask, prove};
use kedge_prover::keys;
use serde_json::{Value, json};

use super::*;

const VECTORS: &str = include_str!("../../../protocol/vectors/chain.json");

/// The vectors' record with this sequence, as a receipt.
struct Case {
    vectors: Value,
    record: Value,
}

fn number(value: &Value) -> u64 {
    value
        .as_u64()
        .or_else(|| value.as_str()?.parse().ok())
        .unwrap()
}

impl Case {
    fn new(sequence: u64) -> Self {
        let vectors: Value = serde_json::from_str(VECTORS).unwrap();
        let records = vectors["records"].as_array().unwrap();
        let record = records
            .iter()
            .find(|record| number(&record["sequence"]) == sequence)
            .unwrap()
            .clone();
        Self { vectors, record }
    }

    fn trust(&self) -> CliTrust {
        let domain: Domain = serde_json::from_value(self.domain()).unwrap();
        let sequencer: Address =
            serde_json::from_value(self.vectors["keys"]["sequencer"]["address"].clone()).unwrap();
        CliTrust::given(domain, sequencer)
    }

    fn domain(&self) -> Value {
        let domain = &self.vectors["domain"];
        json!({"chain_id": number(&domain["chainId"]), "verifying_contract": domain["verifyingContract"]})
    }

    fn leaf(&self) -> Value {
        let record = &self.record;
        json!({"sequence": number(&record["sequence"]), "timestamp_ms": number(&record["timestamp_ms"]),
               "content": record["content"], "previous_integrity": record["previous_integrity"],
               "integrity": record["integrity"]})
    }

    fn batch(&self) -> Value {
        let batch = &self.vectors["batches"][number(&self.record["batch"]) as usize];
        let message = &batch["message"];
        json!({"header": {
            "number": number(&message["number"]), "first_sequence": number(&message["firstSequence"]),
            "count": message["count"], "previous_head": message["previousHead"], "head": message["head"],
            "root": message["root"], "history": message["history"], "state": message["state"],
            "sealed_at_ms": number(&message["sealedAt"])}, "signature": batch["signature"]})
    }

    fn receipt(&self) -> Value {
        json!({"version": 1, "domain": self.domain(), "leaf": self.leaf(),
               "leaf_index": self.record["leaf_index"], "path": self.record["path"], "batch": self.batch()})
    }

    fn proof(&self) -> Value {
        let request = &self.vectors["requests"][number(&self.record["request"]) as usize];
        let action = &request["message"]["actions"][number(&self.record["index"]) as usize];
        let checkpoint = self.vectors["checkpoints"]
            .as_array()
            .unwrap()
            .last()
            .unwrap();
        let message = &checkpoint["message"];
        json!({"version": 1, "domain": self.domain(), "sequencer": self.vectors["keys"]["sequencer"]["address"],
            "action": {"kind": action["kind"], "target": action["target"], "payload": action["payload"],
                       "signer": request["message"]["signer"], "authority": self.record["authority"]},
            "leaf": self.leaf(), "batch": self.batch(),
            "inclusion": {"leaf_index": self.record["leaf_index"], "path": self.record["path"]},
            "anchor": {"checkpoint": {"checkpoint": {
                    "batches": number(&message["batches"]), "sequence": number(&message["sequence"]),
                    "head": message["head"], "history": message["history"], "state": message["state"],
                    "issued_at_ms": number(&message["issuedAt"])}, "signature": checkpoint["signature"]},
                "path": checkpoint["batch_paths"][number(&self.record["batch"]) as usize],
                "contract": self.vectors["domain"]["verifyingContract"],
                "transaction_hash": null, "block_number": null}})
    }
}

fn value<'a>(rows: &'a VerifyRows, name: &str) -> &'a Value {
    &rows.iter().find(|(known, _)| *known == name).unwrap().1
}

#[tokio::test]
async fn receipts_alone_and_inside_an_answer() {
    let case = Case::new(3);
    let content: Hash = serde_json::from_value(case.record["content"].clone()).unwrap();
    let trust = case.trust();
    let answer = json!({"id": "obj_…", "receipt": case.receipt()});
    for text in [case.receipt().to_string(), answer.to_string()] {
        let rows = check_receipt(&text, &[content], &trust).await.unwrap();
        assert_eq!(*value(&rows, "action"), case.record["id"]);
        assert_eq!(*value(&rows, "content compared"), json!(true));
    }
    let text = case.receipt().to_string();
    let other = check_receipt(&text, &[Hash::ZERO], &trust).await;
    assert_eq!(other.unwrap_err().code(), 1);
    let many = check_receipt(&text, &[content, content], &trust).await;
    assert_eq!(many.unwrap_err().code(), 2);
}

#[tokio::test]
async fn changed_receipts_and_files_of_other_logs_are_refused() {
    let case = Case::new(3);
    let mut changed = case.receipt();
    changed["leaf"]["timestamp_ms"] = json!(1);
    let refused = check_receipt(&changed.to_string(), &[], &case.trust()).await;
    assert_eq!(refused.unwrap_err().code(), 1);
    let other_log = CliTrust::given(
        Domain {
            chain_id: 1,
            verifying_contract: Address::ZERO,
        },
        Address::ZERO,
    );
    let refused = check_receipt(&case.receipt().to_string(), &[], &other_log).await;
    assert!(refused.unwrap_err().message().contains("a different log"));
}

#[tokio::test]
async fn proof_files() {
    let case = Case::new(3);
    let read = |value: Value| serde_json::from_value::<ProofFile>(value).unwrap();
    let rows = check_proof(&read(case.proof()), &case.trust())
        .await
        .unwrap();
    assert_eq!(*value(&rows, "signature checked"), json!(false));
    assert!(value(&rows, "anchored").as_str().unwrap().contains("--rpc"));
    let mut forged = case.proof();
    forged["action"]["payload"] = json!("{}");
    assert_eq!(
        check_proof(&read(forged), &case.trust())
            .await
            .unwrap_err()
            .code(),
        1
    );
    let mut unknown_member = case.proof();
    unknown_member["more"] = json!(1);
    assert!(parse::<ProofFile>(&unknown_member.to_string(), "a proof file").is_err());
}

#[tokio::test]
async fn claims() {
    let case = Case::new(3);
    let proof: ProofFile = serde_json::from_value(case.proof()).unwrap();
    let key = keys::dev_insecure_proving().unwrap();
    let choice = ClaimDisclosure {
        mask: DisclosureMask::new(0b0101).unwrap(),
        hashes_only: false,
    };
    let binding = ClaimBinding {
        resolver: Address([1; 20]),
        claimant: Address([2; 20]),
        purpose: Hash([3; 32]),
    };
    let made = prove(&key, &proof, choice, binding).unwrap();
    let rows = claim::check(&made, keys::dev_insecure(), &case.trust())
        .await
        .unwrap();
    let action = &proof.action;
    assert_eq!(*value(&rows, "kind"), json!(action.kind));
    assert_eq!(*value(&rows, "payload"), json!(action.payload));
    assert_eq!(*value(&rows, "target"), json!("hidden"));
    assert_eq!(*value(&rows, "signer"), json!("hidden"));
    let mut stolen = made;
    stolen.binding.claimant = Address([4; 20]);
    let refused = claim::check(&stolen, keys::dev_insecure(), &case.trust()).await;
    assert_eq!(refused.unwrap_err().code(), 1);
}

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

/// A signed state with one template, proven, with the texts of its entry.
fn state_answer() -> (Value, CliTrust) {
    use kedge_protocol::checkpoint::Checkpoint;
    use kedge_protocol::hash::keccak;
    use kedge_protocol::signature::SigningKey;
    use kedge_protocol::state::entry::{EntryFields, TemplateEntry};
    use kedge_protocol::state::trie::StateRootBuilder;
    use kedge_protocol::state::{StateAnswer, StateEntry, StateProof, StateTexts, state_path};

    let id = |prefix| Id::of_hash(prefix, &keccak(b"one"));
    let template = TemplateEntry {
        organization_id: id(Prefix::Organization),
        public_access: true,
        max_supply: Some(3),
        minted_count: 1,
        burned_count: 0,
        variation_count: 0,
        properties_hash: keccak(b"{}"),
        schema_hash: keccak(b""),
        rules: Vec::new(),
    };
    let entry = StateEntry {
        version: 1,
        sequence: 4,
        integrity: keccak(b"integrity"),
        fields: EntryFields::Template(template),
    };
    let key = id(Prefix::Template);
    let (path, value) = (state_path(&key), keccak(&entry.to_bytes()));
    let mut builder = StateRootBuilder::default();
    builder.add_leaf(&path, &value).unwrap();
    let checkpoint = Checkpoint {
        batches: 2,
        sequence: 5,
        head: keccak(b"head"),
        history: keccak(b"history"),
        state: builder.finish().0,
        issued_at_ms: 1_790_000_000_000,
    };
    let domain = Domain {
        chain_id: 31337,
        verifying_contract: Address([7; 20]),
    };
    let signer = SigningKey::from_bytes(&[5; 32]).unwrap();
    let signed = checkpoint.sign(&domain.separator(), &signer);
    // The only node of the trie: a leaf with the whole path.
    let leaf = [&[0xf8, 0x43, 0xa1, 0x20], &path.0[..], &[0xa0], &value.0].concat();
    let proof = StateProof {
        key,
        entry: entry.to_bytes(),
        nodes: vec![leaf],
    };
    let texts = StateTexts {
        properties: Some("{}".to_owned()),
        schema: Some(String::new()),
        rules: Some(Vec::new()),
        name: None,
    };
    let answer = StateAnswer::new(proof, texts, (signed, None)).unwrap();
    let answer = serde_json::to_value(answer).unwrap();
    (answer, CliTrust::given(domain, signer.address()))
}

/// The template of a state proof, as an answer shows it.
fn template_of(answer: &Value) -> Value {
    let mut item = answer["fields"].clone();
    let members = item.as_object_mut().unwrap();
    let integrity = members.remove("integrity").unwrap();
    for name in ["properties_hash", "schema_hash", "rules"] {
        members.remove(name).unwrap();
    }
    members.insert("integrity_hash".to_owned(), integrity);
    members.insert("id".to_owned(), answer["key"].clone());
    members.insert("name".to_owned(), json!("ticket"));
    members.insert("properties".to_owned(), json!({}));
    members.insert("schema".to_owned(), Value::Null);
    members.insert("actions".to_owned(), json!([]));
    members.insert("created_at".to_owned(), json!("2026-09-01T00:00:00Z"));
    item
}

/// The list of one proof.
fn list_of(answer: &Value) -> Value {
    let mut proof = answer.clone();
    let members = proof.as_object_mut().unwrap();
    let (checkpoint, anchor) = (members.remove("checkpoint"), members.remove("anchor"));
    let nodes = members.insert("nodes".to_owned(), json!([0]));
    json!({"checkpoint": checkpoint, "anchor": anchor, "nodes": nodes, "proofs": [proof]})
}

#[tokio::test]
async fn state_proofs_alone_in_an_answer_and_in_a_list() {
    let (answer, trust) = state_answer();
    let template = template_of(&answer);
    let mut inside = template.clone();
    inside["state_proof"] = answer.clone();
    for text in [answer.to_string(), inside.to_string()] {
        let rows = state::check(&text, &trust).await.unwrap();
        assert_eq!(*value(&rows, "key"), answer["key"]);
        assert_eq!(*value(&rows, "version"), json!(1));
        assert_eq!(*value(&rows, "fields"), answer["fields"]);
        let texts = value(&rows, "texts checked");
        assert_eq!(*texts, json!("properties, schema, rules"));
        assert_eq!(*value(&rows, "after sequence"), json!(5));
        assert_eq!(
            *value(&rows, "anchored"),
            json!("no: the proof has no anchor yet")
        );
    }
    let rows = state::check(&inside.to_string(), &trust).await.unwrap();
    assert_eq!(*value(&rows, "not proven"), json!("created_at, name"));
    let list = list_of(&answer);
    let page = json!({"items": [template], "has_more": false, "state_proofs": list});
    for list in [&list, &page] {
        let rows = state::check(&list.to_string(), &trust).await.unwrap();
        assert_eq!(*value(&rows, "proofs"), json!(1));
        assert_eq!(*value(&rows, "keys"), json!([answer["key"]]));
        assert_eq!(*value(&rows, "present"), json!(1));
    }
    let rows = state::check(&page.to_string(), &trust).await.unwrap();
    let unproven = "created_at, name, that the list is complete";
    assert_eq!(*value(&rows, "not proven"), json!(unproven));
}

// Holds invariant 271.
#[tokio::test]
async fn items_that_are_not_what_their_proofs_show_are_refused() {
    let (answer, trust) = state_answer();
    let refusal = async |text: String| {
        let refused = state::check(&text, &trust).await.unwrap_err();
        assert_eq!(refused.code(), 1);
        refused.message().to_owned()
    };
    let template = template_of(&answer);
    for (name, lie) in [
        ("id", json!("tpl_5yrzzxc7r7qyrbt578rhejqh4m")),
        ("organization_id", answer["key"].clone()),
        ("public_access", json!(false)),
        ("max_supply", json!("4")),
        ("max_supply", Value::Null),
        ("minted_count", json!(2)),
        ("burned_count", json!(1)),
        ("variation_count", json!(1)),
        ("version", json!(2)),
        ("sequence", json!(5)),
        ("integrity_hash", answer["fields"]["schema_hash"].clone()),
        ("properties", json!({"later": true})),
        ("schema", json!({})),
        ("actions", json!([{"kind": "burn", "who": "owner"}])),
    ] {
        let mut item = template.clone();
        item[name] = lie;
        let page = json!({"items": [&item], "state_proofs": list_of(&answer)});
        item["state_proof"] = answer.clone();
        let expected = format!("{name} of the item");
        let message = refusal(item.to_string()).await;
        assert!(message.contains(&expected), "{message}");
        let message = refusal(page.to_string()).await;
        assert!(message.starts_with("item 0: "), "{message}");
        assert!(message.contains(&expected), "{message}");
        item.as_object_mut().unwrap().remove(name);
        // Without the schema the item says that there is none, which the proof shows.
        if name != "schema" {
            let message = refusal(item.to_string()).await;
            assert!(message.contains(&expected), "{message}");
        }
    }
}

// Holds invariant 271.
#[tokio::test]
async fn answers_whose_items_and_proofs_do_not_belong_together_are_refused() {
    let (answer, trust) = state_answer();
    let (template, list) = (template_of(&answer), list_of(&answer));
    for (file, expected) in [
        (
            json!({"items": [], "state_proofs": list}),
            "0 items and 1 proofs",
        ),
        (
            json!({"items": [template, template], "state_proofs": list}),
            "2 items and 1 proofs",
        ),
        (json!({"items": [null], "state_proofs": list}), "malformed"),
        (json!({"state_proofs": list}), "no items"),
        (json!({"items": null, "state_proofs": list}), "no items"),
        (json!({"items": [template]}), "the list has no proofs"),
        (template.clone(), "the item has no proof"),
        (
            json!({"items": [template], "state_proof": answer, "state_proofs": list}),
            "of an item and of a list",
        ),
    ] {
        let refused = state::check(&file.to_string(), &trust).await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.code(), 1);
        let message = refused.message();
        assert!(message.contains(expected), "{message}");
    }
}

#[tokio::test]
async fn changed_state_proofs_are_refused_with_what_differs() {
    let (answer, trust) = state_answer();
    for (pointer, value, expected) in [
        ("/fields/minted_count", json!(2), "fields.minted_count"),
        ("/texts/schema", json!("{}"), "texts.schema"),
        ("/present", json!(false), "`present`"),
        ("/nodes", json!([]), "ends before its path"),
        ("/checkpoint/checkpoint/sequence", json!(9), "signed by"),
        ("/anchor", json!(1), "not a state proof"),
    ] {
        let mut changed = answer.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        let refused = state::check(&changed.to_string(), &trust).await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.code(), 1);
        let message = refused.message();
        assert!(message.contains(expected), "{pointer}: {message}");
    }
}

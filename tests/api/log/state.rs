//! Proofs of the state, over HTTP: verified by the protocol's own reader, with the texts that the entry's hashes bind.

use kedge_protocol::checkpoint::{Checkpoint, SignedCheckpoint};
use kedge_protocol::hash::keccak;
use kedge_protocol::state::{EntryFields, StateEntry, StateProof};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::{Caller, Server};

/// The proof in an answer, checked against its signed checkpoint.
fn checked(server: &Server, answer: &Value) -> Option<StateEntry> {
    let signed: SignedCheckpoint = serde_json::from_value(answer["checkpoint"].clone()).unwrap();
    let digest = signed.checkpoint.digest(&server.domain.separator());
    assert_eq!(signed.signature.recover(&digest).unwrap(), server.sequencer);
    read(answer, &signed.checkpoint, nodes_of(answer))
}

pub(super) fn nodes_of(answer: &Value) -> Vec<Vec<u8>> {
    let nodes = answer["nodes"].as_array().unwrap().iter();
    nodes.map(bytes).collect()
}

pub(super) fn bytes(text: &Value) -> Vec<u8> {
    const_hex::decode(&text.as_str().unwrap()[2..]).unwrap()
}

fn read(answer: &Value, checkpoint: &Checkpoint, nodes: Vec<Vec<u8>>) -> Option<StateEntry> {
    let proof = StateProof {
        key: answer["key"].as_str().unwrap().parse().unwrap(),
        entry: bytes(&answer["entry"]),
        nodes,
    };
    let entry = proof.read(checkpoint).unwrap();
    assert_eq!(answer["present"], json!(entry.is_some()));
    let fields = entry
        .as_ref()
        .map(|entry| serde_json::to_value(entry).unwrap());
    assert_eq!(answer["fields"], fields.unwrap_or(Value::Null));
    entry
}

fn hash_of(text: &Value) -> kedge_protocol::Hash {
    keccak(text.as_str().unwrap().as_bytes())
}

/// The path with what the caller has seen, so that a checkpoint covers it.
async fn seen(server: &Server, path: &str) -> String {
    let mark = if path.contains('?') { '&' } else { '?' };
    format!(
        "{path}{mark}min_sequence={}&wait=60",
        server.sequence().await
    )
}

async fn proof(server: &Server, caller: &Caller, path: &str) -> Value {
    let path = seen(server, path).await;
    server
        .get(&path, Some(&caller.token))
        .await
        .expect(200)
        .body
}

// Holds invariant 263.
#[tokio::test]
async fn every_resource_has_an_entry_that_its_readers_can_prove() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let eve = Caller::register(&server, "eve@example.com").await;
    let template = ann.new_template(&server, "ticket").await;
    let object = ann.new_object(&server, &template).await;
    let second = ann.new_object(&server, &template).await;

    let answer = proof(&server, &ann, &format!("/objects/{second}/state-proof")).await;
    let entry = checked(&server, &answer).unwrap();
    let EntryFields::Object(fields) = entry.fields else {
        panic!("{entry:?}");
    };
    assert_eq!(fields.serial, 2);
    assert_eq!(
        hash_of(&answer["texts"]["properties"]),
        fields.properties_hash
    );
    let shown = server
        .get(&format!("/objects/{second}"), Some(&ann.token))
        .await
        .body;
    assert_eq!(shown["integrity_hash"], json!(entry.integrity));

    let answer = proof(&server, &ann, &format!("/templates/{template}/state-proof")).await;
    let Some(StateEntry {
        fields: EntryFields::Template(fields),
        ..
    }) = checked(&server, &answer)
    else {
        panic!("{answer}");
    };
    assert_eq!((fields.minted_count, fields.burned_count), (2, 0));
    assert_eq!(hash_of(&answer["texts"]["schema"]), fields.schema_hash);

    let me = server
        .get("/wallets/me", Some(&ann.token))
        .await
        .expect(200)
        .body;
    for of in [&me["id"], &me["organization_id"], &json!(object)] {
        let path = format!("/state/{}", of.as_str().unwrap());
        let answer = proof(&server, &ann, &path).await;
        assert!(checked(&server, &answer).is_some(), "{path}");
        // Who may not see it learns nothing, at no checkpoint.
        let first = answer["checkpoint"]["checkpoint"]["batches"]
            .as_u64()
            .unwrap();
        for path in [path.clone(), format!("{path}?checkpoint={first}")] {
            server
                .get(&path, Some(&eve.token))
                .await
                .refused(404, "RESOURCE_NOT_FOUND");
        }
    }
    let nothing = "obj_5yrzzxc7r7qyrbt578rhejqh4m";
    for path in [
        format!("/objects/{nothing}/state-proof"),
        format!("/state/{nothing}"),
    ] {
        let answer = proof(&server, &eve, &path).await;
        assert_eq!(checked(&server, &answer), None);
    }
}

/// Checks that the refusal of a checkpoint names one that is proven. The one over no batches never is.
async fn nearest_is_proven(server: &Server, caller: &Caller, (path, batches): (&str, u64)) {
    let asked = format!("{path}?checkpoint={batches}");
    let answer = server.get(&asked, Some(&caller.token)).await;
    if answer.status == 200 {
        return;
    }
    answer.refused(410, "GONE");
    let nearest = &answer.body["body"]["nearest_checkpoint"];
    let message = answer.body["body"]["message"].as_str().unwrap();
    assert!(
        message.ends_with(&format!(" is over {nearest}")),
        "{message}"
    );
    let named = format!("{path}?checkpoint={nearest}");
    server.get(&named, Some(&caller.token)).await.expect(200);
}

// Holds invariant 264.
#[tokio::test]
async fn an_older_checkpoint_proves_what_was_then() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = ann.new_template(&server, "ticket").await;
    let early = server.newest_checkpoint().await["checkpoint"]["batches"].clone();
    let object = ann.new_object(&server, &template).await;
    let path = format!("/objects/{object}/state-proof");
    let first = proof(&server, &ann, &path).await;
    let batches = first["checkpoint"]["checkpoint"]["batches"]
        .as_u64()
        .unwrap();
    for n in 0..3 {
        ann.action(
            &server,
            (
                "update",
                &object,
                &json!({"properties": {"n": n}}).to_string(),
            ),
        )
        .await
        .expect(201);
    }
    let now = proof(&server, &ann, &path).await;
    let at = |answer: &Value| checked(&server, answer).unwrap().version;
    assert_eq!((at(&first), at(&now)), (1, 4));
    let again = format!("{path}?checkpoint={batches}");
    let again = server.get(&again, Some(&ann.token)).await.expect(200).body;
    assert_eq!(again["entry"], first["entry"]);
    assert_eq!(again["texts"], first["texts"]);
    assert_eq!(at(&again), 1);
    // It was not there before it was minted.
    let before = format!("{path}?checkpoint={early}");
    let before = server.get(&before, Some(&ann.token)).await.expect(200).body;
    assert_eq!(checked(&server, &before), None);
    let empty = format!("{path}?checkpoint=0");
    server
        .get(&empty, Some(&ann.token))
        .await
        .refused(410, "GONE");
    for batches in [0, 1, 99_999_999] {
        nearest_is_proven(&server, &ann, (&path, batches)).await;
    }
    // A kept checkpoint never covers a later sequence.
    let seen = first["checkpoint"]["checkpoint"]["sequence"]
        .as_u64()
        .unwrap();
    let covers = |sequence| format!("{path}?checkpoint={batches}&min_sequence={sequence}");
    let refused = server.get(&covers(seen + 1), Some(&ann.token)).await;
    refused.refused(409, "SEQUENCE_NOT_REACHED");
    let covered = server.get(&covers(seen), Some(&ann.token)).await;
    assert_eq!(covered.expect(200).body["entry"], first["entry"]);
}

#[tokio::test]
async fn items_come_with_their_proofs() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = ann.new_template(&server, "ticket").await;
    let mut objects = Vec::new();
    for _ in 0..5 {
        objects.push(ann.new_object(&server, &template).await);
    }
    let item = proof(
        &server,
        &ann,
        &format!("/objects/{}?prove=true", objects[0]),
    )
    .await;
    let entry = checked(&server, &item["state_proof"]).unwrap();
    assert_eq!(item["version"], json!(entry.version));
    let of = proof(&server, &ann, &format!("/templates/{template}?prove=true")).await;
    assert!(checked(&server, &of["state_proof"]).is_some());
    assert_eq!(of["minted_count"], 5);

    let page = proof(&server, &ann, "/objects?prove=true&limit=3").await;
    let proofs = &page["state_proofs"];
    let signed: SignedCheckpoint = serde_json::from_value(proofs["checkpoint"].clone()).unwrap();
    let common = nodes_of(proofs);
    let items = page["items"].as_array().unwrap();
    assert_eq!(items.len(), 3);
    for (item, shown) in items.iter().zip(proofs["proofs"].as_array().unwrap()) {
        assert_eq!(item["id"], shown["key"]);
        let places = shown["nodes"].as_array().unwrap().iter();
        let nodes = places.map(|place| common[place.as_u64().unwrap() as usize].clone());
        let entry = read(shown, &signed.checkpoint, nodes.collect()).unwrap();
        assert_eq!(item["sequence"], json!(entry.sequence));
        let EntryFields::Object(fields) = entry.fields else {
            panic!("{entry:?}");
        };
        assert_eq!(
            hash_of(&shown["texts"]["properties"]),
            fields.properties_hash
        );
    }
    for list in ["/templates", &format!("/templates/{template}/variations")] {
        let page = proof(&server, &ann, &format!("{list}?prove=true")).await;
        let proofs = page["state_proofs"]["proofs"].as_array().unwrap();
        assert_eq!(proofs.len(), page["items"].as_array().unwrap().len());
    }
    let many = "/objects?prove=true&limit=101";
    server
        .get(many, Some(&ann.token))
        .await
        .refused(400, "VALIDATION_ERROR");
}

/// Runs `kedge verify state` on an answer; returns its report, or its objection.
fn verify(server: &Server, answer: &Value) -> Result<Value, String> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("answer.json");
    std::fs::write(&file, answer.to_string()).unwrap();
    let domain = &server.domain;
    let domain = format!("{}:{}", domain.chain_id, domain.verifying_contract);
    let mut command = crate::program::kedge();
    command
        .args(["verify", "state", "--json"])
        .arg(&file)
        .args(["--domain", &domain])
        .args(["--sequencer", &server.sequencer.to_string()]);
    let output = command.output().unwrap();
    if output.status.success() {
        return Ok(serde_json::from_slice(&output.stdout).unwrap());
    }
    assert_eq!(output.status.code(), Some(1));
    Err(String::from_utf8(output.stderr).unwrap())
}

/// Another value of the same type.
fn another(value: &Value) -> Value {
    match value {
        Value::Null => json!("0"),
        Value::Bool(value) => json!(!value),
        Value::Number(number) => json!(number.as_u64().unwrap() + 1),
        Value::String(text) => json!(format!("{text}0")),
        Value::Array(values) => json!([values.as_slice(), &[json!({})]].concat()),
        Value::Object(members) => {
            let mut members = members.clone();
            members.insert("another".to_owned(), json!(1));
            Value::Object(members)
        }
    }
}

/// A proven list: the command line takes it as it is, and no change of it.
async fn check_list(server: &Server, caller: &Caller, list: &str) {
    let page = proof(server, caller, &format!("{list}?prove=true")).await;
    let report = verify(server, &page).unwrap();
    let items = page["items"].as_array().unwrap();
    let ids: Vec<&Value> = items.iter().map(|item| &item["id"]).collect();
    assert_eq!(report["keys"], json!(ids));
    let mut lies = vec![
        json!([]),
        json!([&items[..], &items[..]].concat()),
        another(&page["items"]),
    ];
    if items.len() > 1 {
        lies.push(items.iter().rev().cloned().collect());
    }
    for lie in lies {
        let mut changed = page.clone();
        changed["items"] = lie;
        verify(server, &changed).unwrap_err();
    }
    for (name, value) in items[0].as_object().unwrap() {
        if report["not_proven"].as_str().unwrap().contains(name) {
            continue;
        }
        let mut changed = page.clone();
        changed["items"][0][name] = another(value);
        let refused = verify(server, &changed).unwrap_err();
        assert!(refused.contains(name), "{refused}");
    }
    for name in ["items", "state_proofs"] {
        let mut changed = page.clone();
        changed.as_object_mut().unwrap().remove(name);
        verify(server, &changed).unwrap_err();
    }
}

// Holds invariant 271.
#[tokio::test]
async fn the_command_line_takes_what_the_server_shows_and_no_changed_item() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let body = json!({
        "name": "ticket",
        "properties": {"seats": [{"row": 1.50}], "größe": "\u{e9}"},
        "schema": {"type": "object"},
        "max_supply": "9",
        "actions": [
            {"kind": "x.stamp", "who": "owner", "schema": {"required": ["gate"]}},
            {"kind": "mint", "who": "anyone"},
        ],
    });
    let template = ann.template(&server, &body).await.expect(201).body;
    let template = template["id"].as_str().unwrap().to_owned();
    let body = json!({"variations": [{"name": "gold"}, {"name": "silver"}]}).to_string();
    let path = format!("/templates/{template}/variations");
    let kind = ("template.variations", template.as_str());
    ann.change(&server, ("POST", &path), kind, &body)
        .await
        .expect(201);
    let object = ann.new_object(&server, &template).await;
    ann.new_object(&server, &template).await;

    for (path, unproven) in [
        (format!("/objects/{object}"), "created_at, updated_at"),
        (
            format!("/templates/{template}"),
            "created_at, description, name, updated_at",
        ),
    ] {
        let item = proof(&server, &ann, &format!("{path}?prove=true")).await;
        let report = verify(&server, &item).unwrap();
        assert_eq!(report["key"], item["id"]);
        assert_eq!(report["not_proven"], json!(unproven));
        for name in item.as_object().unwrap().keys() {
            if name == "state_proof" || unproven.contains(name) {
                continue;
            }
            let mut changed = item.clone();
            changed[name] = another(&item[name]);
            let refused = verify(&server, &changed).unwrap_err();
            assert!(refused.contains(name), "{refused}");
        }
    }
    for list in ["/objects", "/templates", &path] {
        check_list(&server, &ann, list).await;
    }
}

// A template is changed while none of its objects lives: its proof is of the texts at the checkpoint.
#[tokio::test]
async fn a_past_template_is_shown_as_it_was() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = ann.new_template(&server, "ticket").await;
    let path = format!("/templates/{template}/state-proof");
    let first = proof(&server, &ann, &path).await;
    let batches = first["checkpoint"]["checkpoint"]["batches"]
        .as_u64()
        .unwrap();
    let body = json!({"properties": {"later": true}, "schema": {"type": "object"}}).to_string();
    let target = format!("/templates/{template}");
    let kind = ("template.update", template.as_str());
    ann.change(&server, ("PATCH", &target), kind, &body)
        .await
        .expect(200);
    let now = proof(&server, &ann, &path).await;
    assert_ne!(now["texts"], first["texts"]);
    let again = format!("{path}?checkpoint={batches}");
    let again = server.get(&again, Some(&ann.token)).await.expect(200).body;
    assert_eq!(
        (&again["texts"], &again["fields"]),
        (&first["texts"], &first["fields"])
    );
}

// Holds invariant 261.
#[tokio::test]
async fn reads_that_wait_do_not_hold_up_the_end() {
    let mut server = Server::start_with(&["checkpoint_interval_s=50"]).await;
    while server.get("/checkpoint", None).await.status != 200 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let ask =
        "GET /checkpoint?at_least=9000000000000000&wait=60 HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let mut waiting = Vec::new();
    for _ in 0..5 {
        let address = server.url.strip_prefix("http://").unwrap();
        let mut connection = TcpStream::connect(address).await.unwrap();
        connection.write_all(ask.as_bytes()).await.unwrap();
        waiting.push(connection);
    }
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let ended = tokio::task::spawn_blocking(move || (server.terminate(), server));
    for mut connection in waiting {
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
        assert!(answer.contains("the server is stopping"), "{answer}");
    }
    let (code, _server) = ended.await.unwrap();
    assert_eq!(code, Some(0));
}

// Holds invariant 261.
#[tokio::test]
async fn no_request_starts_a_root() {
    let server = Server::start_with(&["checkpoint_interval_s=3600"]).await;
    // A new log has its first one once the contract has named its key.
    while server.get("/checkpoint", None).await.status != 200 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = ann.new_template(&server, "ticket").await;
    let seen = server.sequence().await;
    let begun = std::time::Instant::now();
    let path = format!("/templates/{template}/state-proof?min_sequence={seen}&wait=60");
    let answer = server.get(&path, Some(&ann.token)).await;
    let message = answer.body["body"]["message"].to_string();
    answer.refused(409, "SEQUENCE_NOT_REACHED");
    let after_s: u64 = answer.header("retry-after").parse().unwrap();
    assert!((3_000..=3_600).contains(&after_s), "{after_s}");
    assert!(
        message.contains("the next checkpoint is due at 2"),
        "{message}"
    );
    let path = format!("/checkpoint?at_least={seen}&wait=60");
    server
        .get(&path, None)
        .await
        .refused(409, "SEQUENCE_NOT_REACHED");
    // What the log itself has not reached is waited for as little.
    let ahead = seen + 1_000;
    for path in [
        format!("/templates/{template}/state-proof?min_sequence={ahead}&wait=60"),
        format!("/state/{template}?min_sequence={ahead}&wait=60"),
        format!("/templates/{template}?prove=true&min_sequence={ahead}&wait=60"),
        format!("/templates?prove=true&min_sequence={ahead}&wait=60"),
    ] {
        let answer = server.get(&path, Some(&ann.token)).await;
        answer.refused(409, "SEQUENCE_NOT_REACHED");
        let after_s: u64 = answer.header("retry-after").parse().unwrap();
        assert!(after_s > 3_000, "{path}: {after_s}");
    }
    assert!(
        begun.elapsed().as_secs() < 30,
        "it waited for what is not due"
    );
    let newest = server.get("/checkpoint", None).await.expect(200).body;
    assert!(newest["checkpoint"]["sequence"].as_u64().unwrap() < seen);
}

// Holds invariant 262.
#[tokio::test]
async fn an_anchor_does_not_wait_for_the_interval_of_checkpoints() {
    let server = Server::start_with(&["checkpoint_interval_s=3600"]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = ann.new_template(&server, "ticket").await;
    let newest = server
        .get("/batches?order=desc&limit=1", None)
        .await
        .expect(200)
        .body;
    let number = newest["items"][0]["number"].as_u64().unwrap();
    server.admin("anchor-now");
    let anchors = server
        .get("/anchors?order=desc&limit=1", None)
        .await
        .expect(200)
        .body;
    let anchor = &anchors["items"][0];
    assert!(anchor["last_batch"].as_u64().unwrap() >= number, "{anchor}");
    assert_ne!(anchor["state"], json!(kedge_protocol::Hash::ZERO));
    let path = format!("/templates/{template}/state-proof");
    let answer = server.get(&path, Some(&ann.token)).await.expect(200).body;
    assert!(checked(&server, &answer).is_some());
    assert_eq!(answer["checkpoint"]["checkpoint"]["state"], anchor["state"]);
}

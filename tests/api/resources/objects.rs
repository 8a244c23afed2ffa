//! Templates, objects, the bus, receipts and proofs: the main path.

use kedge_protocol::Hash;
use kedge_protocol::proof::ProofFile;
use kedge_protocol::receipt::{BatchReceipt, Receipt};
use serde_json::{Value, json};

use crate::harness::{Caller, Server, Signed};

/// Checks that an outsider does not learn that the object exists.
async fn unseen_by_others(server: &Server, id: &str) {
    let eve = Caller::register(server, "eve@example.com").await;
    let path = format!("/objects/{id}");
    let unseen = server.get(&path, Some(&eve.token)).await;
    unseen.refused(404, "RESOURCE_NOT_FOUND");
    assert_eq!(unseen.body["body"]["resource"], "object");
    assert_eq!(unseen.body["body"]["id"], id);
}

#[tokio::test]
async fn an_object_from_mint_to_transfer() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let template = json!({ "name": "ticket", "properties": { "seat": 1, "price": 1.50 } });
    let template_id = ann.template(&server, &template).await.expect(201).body["id"].clone();

    let minted = ann
        .mint(
            &server,
            &json!({ "template_id": template_id, "properties": { "seat": 2 } }),
        )
        .await;
    let minted = minted.expect(201);
    let receipt: Receipt = serde_json::from_value(minted.body["receipt"].clone()).unwrap();
    receipt.verify(&server.domain, &server.sequencer).unwrap();
    assert_eq!(
        minted.body["properties"],
        json!({ "seat": 2, "price": 1.50 })
    );
    assert_eq!(minted.body["version"], 1);
    let id = minted.body["id"].as_str().unwrap();
    let path = format!("/objects/{id}");

    let read = server.get(&path, Some(&ann.token)).await.expect(200);
    for member in [
        "id",
        "properties",
        "integrity_hash",
        "sequence",
        "created_at",
        "owner_id",
    ] {
        assert_eq!(read.body[member], minted.body[member], "{member}");
    }
    let known = [
        ann.bearer(),
        ("if-none-match", read.header("etag").to_owned()),
    ];
    assert_eq!(server.call("GET", &path, &known, "").await.status, 304);

    let patch = r#"{"properties": {"seat": null, "row": "B"}}"#;
    let patched = ann
        .change(&server, ("PATCH", &path), ("update", id), patch)
        .await
        .expect(200);
    assert_eq!(
        patched.body["properties"],
        json!({ "price": 1.50, "row": "B" })
    );
    assert_eq!(patched.body["created_at"], minted.body["created_at"]);
    assert_eq!(server.call("GET", &path, &known, "").await.status, 200);

    let transfer = format!("{path}/transfer");
    let body = json!({ "to": bob.wallet_id }).to_string();
    let moved = ann
        .change(&server, ("POST", &transfer), ("transfer", id), &body)
        .await
        .expect(200);
    assert_eq!(moved.body["owner_id"], bob.wallet_id.as_str());
    server.get(&path, Some(&bob.token)).await.expect(200);
    unseen_by_others(&server, id).await;
    // Ann can no longer change what is Bob's.
    let late = ann
        .change(&server, ("PATCH", &path), ("update", id), patch)
        .await;
    late.refused(403, "FORBIDDEN");

    let history = server
        .get(&format!("{path}/history"), Some(&bob.token))
        .await
        .expect(200);
    let actions = history.body["items"].as_array().unwrap().iter();
    let kinds: Vec<&Value> = actions.map(|action| &action["action_type"]).collect();
    assert_eq!(kinds, ["transfer", "update", "mint"]);
    assert_eq!(history.body["pruned_before"], json!(null));
}

#[tokio::test]
async fn a_batch_has_one_receipt_and_every_action_a_proof() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template_id = ann.new_template(&server, "ticket").await;
    let mints: Vec<Signed<'_>> = vec![("mint", &template_id, r#"{ "properties": {"n": 1} }"#); 500];
    let answer = ann.bus(&server, &mints, false).await.expect(200);
    let results = answer.body["results"].as_array().unwrap();
    assert_eq!(results.len(), 500);
    let contents: Vec<Hash> = results
        .iter()
        .map(|result| result["content"].as_str().unwrap().parse().unwrap())
        .collect();
    let receipt: BatchReceipt = serde_json::from_value(answer.body["receipt"].clone()).unwrap();
    receipt
        .verify(&server.domain, &server.sequencer, &contents)
        .unwrap();
    assert!(receipt.proof.is_empty(), "500 actions fill their batch");
    assert_eq!(answer.header("x-nonce-highest"), "3");

    let id = results[321]["id"].as_str().unwrap();
    let action = server
        .get(&format!("/ebus/actions/{id}"), Some(&ann.token))
        .await
        .expect(200);
    for member in [
        "leaf",
        "head",
        "sequence",
        "batch_id",
        "leaf_index",
        "content",
        "payload",
    ] {
        assert_eq!(action.body[member], results[321][member], "{member}");
    }
    let receipt: Receipt = serde_json::from_value(action.body["receipt"].clone()).unwrap();
    receipt.verify(&server.domain, &server.sequencer).unwrap();
    for (form, authorship) in [("inclusion", false), ("authorship", true)] {
        let path = format!("/ebus/actions/{id}/proof?form={form}");
        let file = server.get(&path, Some(&ann.token)).await.expect(200).body;
        let file: ProofFile = serde_json::from_value(file).unwrap();
        let shown = file.verify(&server.domain, &server.sequencer).unwrap();
        assert_eq!(shown.authorship, authorship);
    }
    let eve = Caller::register(&server, "eve@example.com").await;
    let path = format!("/ebus/actions/{id}/proof");
    server
        .get(&path, Some(&eve.token))
        .await
        .refused(404, "RESOURCE_NOT_FOUND");
}

#[tokio::test]
async fn refused_actions_leave_the_others_alone_unless_atomic() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template_id = ann.new_template(&server, "ticket").await;
    let object_id = ann.new_object(&server, &template_id).await;
    let actions: [Signed<'_>; 4] = [
        ("update", &object_id, r#"{"properties": {"a": 1}}"#),
        ("update", &object_id, r#"{"properties": {"a": 1}, "b": 2}"#),
        ("lock", "obj_00000000000000000000000000", "{}"),
        ("lock", &object_id, "{}"),
    ];
    let before = server.sequence().await;
    let atomic = ann.bus(&server, &actions, true).await;
    atomic.refused(422, "STATE_VIOLATION");
    assert_eq!(atomic.body["body"]["index"], 1);
    let inner = &atomic.body["body"]["error"];
    assert_eq!(inner["code"], "VALIDATION_ERROR");
    assert_eq!(
        inner["body"]["errors"][0]["pointer"],
        "/actions/1/payload/b"
    );
    assert_eq!(server.sequence().await, before);

    let answer = ann.bus(&server, &actions, false).await.expect(200);
    let results = answer.body["results"].as_array().unwrap();
    assert_eq!(results[0]["object_version"], 2);
    assert_eq!(results[1]["error"]["code"], "VALIDATION_ERROR");
    assert_eq!(results[2]["error"]["code"], "RESOURCE_NOT_FOUND");
    assert_eq!(results[3]["object_version"], 3);
    let receipt: BatchReceipt = serde_json::from_value(answer.body["receipt"].clone()).unwrap();
    let indices: Vec<u32> = receipt.actions.iter().map(|action| action.index).collect();
    assert_eq!(indices, [0, 3]);
    let contents = [0, 3].map(|i: usize| results[i]["content"].as_str().unwrap().parse().unwrap());
    receipt
        .verify(&server.domain, &server.sequencer, &contents)
        .unwrap();
    assert_eq!(server.sequence().await, before + 2);

    let minimal = [("prefer", "return=minimal".to_owned())];
    let unlock: [Signed<'_>; 1] = [("unlock", &object_id, "{}")];
    let answer = ann
        .bus_with(&server, &unlock, false, &minimal)
        .await
        .expect(200);
    assert_eq!(answer.header("preference-applied"), "return=minimal");
    let result = answer.body["results"][0].as_object().unwrap();
    let members: Vec<&str> = result.keys().map(String::as_str).collect();
    assert_eq!(members, ["leaf_index", "object_version", "sequence"]);

    let nothing = ann
        .bus(&server, &[("lock", "obj_x", "{}")], false)
        .await
        .expect(200);
    assert_eq!(nothing.body["receipt"], json!(null));
    let locked = ann
        .action(&server, ("lock", &object_id, "{}"))
        .await
        .expect(201);
    assert_eq!(locked.body["object_id"], object_id.as_str());
    ann.action(&server, ("lock", &object_id, "{}"))
        .await
        .refused(422, "STATE_VIOLATION");
}

#[tokio::test]
async fn variations_are_made_all_or_none() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template_id = ann.new_template(&server, "ticket").await;
    let path = format!("/templates/{template_id}/variations");
    let make = |body: Value| {
        let (ann, server, path, template_id) = (&ann, &server, &path, &template_id);
        async move {
            let action = ("template.variations", template_id.as_str());
            ann.change(server, ("POST", path), action, &body.to_string())
                .await
        }
    };
    let made = make(json!({ "variations": [{ "name": "gold" }, { "name": "silver" }] })).await;
    let made = made.expect(201);
    assert_eq!(made.body["items"][1]["index"], 1);
    assert_eq!(made.body["template"]["variation_count"], 2);
    make(json!({ "name": "bronze", "properties": { "metal": "bronze" } }))
        .await
        .expect(201);
    make(json!({ "variations": [] }))
        .await
        .refused(400, "VALIDATION_ERROR");
    let bad = make(json!({ "variations": [{ "name": "a" }, { "name": "" }] })).await;
    bad.refused(400, "VALIDATION_ERROR");
    assert_eq!(
        bad.body["body"]["errors"][0]["pointer"],
        "/variations/1/name"
    );
    let listed = server.get(&path, Some(&ann.token)).await.expect(200);
    assert_eq!(listed.body["items"].as_array().unwrap().len(), 3);

    let variation_id = listed.body["items"][2]["id"].clone();
    let body = json!({ "template_id": template_id, "variation_id": variation_id });
    let minted = ann.mint(&server, &body).await.expect(201);
    assert_eq!(minted.body["properties"], json!({ "metal": "bronze" }));
    let template = server
        .get(&format!("/templates/{template_id}"), Some(&ann.token))
        .await
        .expect(200);
    assert_eq!(template.body["minted_count"], 1);
    assert_eq!(template.body["burned_count"], 0);
    let twice = ann.template(&server, &json!({ "name": "ticket" })).await;
    twice.refused(409, "CONFLICT");
}

//! Templates: schemas, rights and supply over HTTP.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::harness::{Answer, Caller, Server, Signed};

impl Caller {
    pub(crate) async fn patch_template(&self, server: &Server, id: &str, body: &Value) -> Answer {
        let path = format!("/templates/{id}");
        let signed = ("template.update", id);
        self.change(server, ("PATCH", &path), signed, &body.to_string())
            .await
    }

    async fn variations(&self, server: &Server, id: &str, body: &str) -> Answer {
        let path = format!("/templates/{id}/variations");
        let signed = ("template.variations", id);
        self.change(server, ("POST", &path), signed, body).await
    }
}

/// Checks that the first violation of a refused request has this pointer.
#[track_caller]
fn refused_at(answer: &Answer, pointer: &str) {
    answer.refused(400, "VALIDATION_ERROR");
    let errors = &answer.body["body"]["errors"];
    assert_eq!(errors[0]["pointer"], pointer, "{}", answer.body);
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

// Holds invariant 32.
#[tokio::test]
async fn schemas_are_enforced_with_pointers() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = |schema: Value| {
        json!({
            "name": "seat",
            "properties": { "hall": "north" },
            "schema": schema,
            "actions": [{ "kind": "x.open", "who": "owner", "schema": { "required": ["gate"] } }],
        })
    };
    let bad = template(json!({ "properties": { "n": { "type": "number!" } } }));
    refused_at(
        &ann.template(&server, &bad).await,
        "/schema/properties/n/type",
    );
    let remote = template(json!({ "$ref": "https://example.com/schema.json" }));
    refused_at(&ann.template(&server, &remote).await, "/schema/$ref");
    let schema = json!({
        "required": ["n"],
        "properties": { "n": { "type": "integer", "minimum": 1, "x-index": true } },
    });
    let made = ann.template(&server, &template(schema.clone())).await;
    let made = made.expect(201);
    assert_eq!(made.body["schema"], schema);
    let template_id = text(&made.body["id"]);

    let mint = |properties: Value| json!({ "template_id": template_id, "properties": properties });
    let lacks = ann.mint(&server, &mint(json!({}))).await;
    refused_at(&lacks, "/properties/n");
    assert_eq!(lacks.body["body"]["errors"][0]["code"], "required");
    let minted = ann.mint(&server, &mint(json!({ "n": 1 }))).await;
    let id = text(&minted.expect(201).body["id"]);
    let path = format!("/objects/{id}");
    let patch = |body: &'static str| {
        let signed = ("update", id.as_str());
        ann.change(&server, ("PATCH", &path), signed, body)
    };
    refused_at(&patch(r#"{"properties":{"n":0}}"#).await, "/properties/n");
    patch(r#"{"properties":{"n":7}}"#).await.expect(200);

    // On the bus the payload is a part of the body, so its errors have pointers into the body.
    let open = ann.action(&server, ("x.open", &id, r#"{"door":1}"#)).await;
    refused_at(&open, "/payload/gate");
    let set = r#"{"attributes":{"n":"seven"}}"#;
    let actions: [Signed<'_>; 3] = [
        ("x.open", &id, r#"{"gate":1}"#),
        ("set_attributes", &id, set),
        ("delete_attributes", &id, r#"{"attributes":["n"]}"#),
    ];
    let batch = ann.bus(&server, &actions, false).await.expect(200);
    let error = |index: usize| &batch.body["results"][index]["error"]["body"]["errors"][0];
    assert_eq!(batch.body["results"][0]["object_version"], 3);
    assert_eq!(
        error(1)["pointer"],
        "/actions/1/payload/properties/n",
        "{}",
        batch.body
    );
    assert_eq!(error(2)["code"], "required");
    let object = server.get(&path, Some(&ann.token)).await.expect(200);
    assert_eq!(
        object.body["properties"],
        json!({ "hall": "north", "n": 7 })
    );
    assert_eq!(object.body["version"], 3);
}

#[tokio::test]
async fn a_template_changes_until_something_is_minted() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let id = ann.new_template(&server, "first").await;
    ann.new_template(&server, "taken").await;
    let twice = ann.template(&server, &json!({ "name": "taken" })).await;
    twice.refused(409, "CONFLICT");
    let path = format!("/templates/{id}");
    let before = server.get(&path, Some(&ann.token)).await.expect(200);

    let change =
        json!({ "name": "second", "schema": { "required": ["n"] }, "public_access": true });
    let changed = ann.patch_template(&server, &id, &change).await.expect(200);
    assert_eq!(changed.body["name"], "second");
    assert_eq!(changed.body["version"], 2);
    assert_eq!(changed.body["created_at"], before.body["created_at"]);
    assert!(changed.body["receipt"].is_object());
    let known = [
        ann.bearer(),
        ("if-none-match", before.header("etag").to_owned()),
    ];
    let after = server.call("GET", &path, &known, "").await.expect(200);
    assert_eq!(after.body["schema"], json!({ "required": ["n"] }));

    let taken = ann
        .patch_template(&server, &id, &json!({ "name": "taken" }))
        .await;
    taken.refused(409, "CONFLICT");
    let wrong = json!({ "schema": { "minimum": "1" } });
    refused_at(
        &ann.patch_template(&server, &id, &wrong).await,
        "/schema/minimum",
    );
    refused_at(
        &ann.patch_template(&server, &id, &json!({ "max_supply": 1 }))
            .await,
        "/max_supply",
    );
    // Bob sees it, because it is public, but it is not his.
    let foreign = bob.patch_template(&server, &id, &json!({})).await;
    foreign.refused(403, "FORBIDDEN");
    // The old name is free again, and the new schema applies immediately.
    ann.new_template(&server, "first").await;
    let mint = |properties: Value| json!({ "template_id": id, "properties": properties });
    refused_at(&ann.mint(&server, &mint(json!({}))).await, "/properties/n");
    ann.mint(&server, &mint(json!({ "n": 1 })))
        .await
        .expect(201);
    let late = ann
        .patch_template(&server, &id, &json!({ "name": "third" }))
        .await;
    late.refused(422, "STATE_VIOLATION");
}

#[tokio::test]
async fn variations_are_made_all_or_none() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let id = ann.new_template(&server, "ticket").await;
    let path = format!("/templates/{id}/variations");
    for (bad, pointer) in [
        (
            r#"{"variations":[{"name":"a"},{"name":"b"},{"name":""}]}"#,
            "/variations/2/name",
        ),
        (
            r#"{"variations":[{"name":"a"},{"name":"b","properties":[]}]}"#,
            "/variations/1/properties",
        ),
        (r#"{"variations":[{"name":"a"},["b",{}]]}"#, "/variations/1"),
        (r#"{"variations":[]}"#, "/variations"),
    ] {
        refused_at(&ann.variations(&server, &id, bad).await, pointer);
    }
    let list = server.get(&path, Some(&ann.token)).await.expect(200);
    assert_eq!(list.body["items"], json!([]));
    let good = r#"{"variations":[{"name":"a"},{"name":"b","properties":{"n":2}}]}"#;
    let made = ann.variations(&server, &id, good).await.expect(201);
    assert_eq!(made.body["template"]["variation_count"], 2);
    let list = server.get(&path, Some(&ann.token)).await.expect(200);
    assert_eq!(list.body["items"], made.body["items"]);
    let rules = json!({ "name": "rules", "actions": [["x.a", "owner", null]] });
    ann.template(&server, &rules)
        .await
        .refused(400, "VALIDATION_ERROR");
}

#[tokio::test]
async fn custom_kinds_are_for_those_whom_the_template_names() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let eve = Caller::register(&server, "eve@example.com").await;
    let template = json!({
        "name": "ticket",
        "public_access": true,
        "actions": [
            { "kind": "x.owner", "who": "owner" },
            { "kind": "x.issuer", "who": "issuer" },
            { "kind": "x.anyone", "who": "anyone" },
        ],
    });
    let template_id = text(&ann.template(&server, &template).await.expect(201).body["id"]);
    let mint = json!({ "template_id": template_id, "to": bob.wallet_id });
    let id = text(&ann.mint(&server, &mint).await.expect(201).body["id"]);
    for (kind, may) in [
        ("x.owner", [false, true, false]),
        ("x.issuer", [true, false, false]),
        ("x.anyone", [true, true, true]),
        ("x.unnamed", [false, false, false]),
    ] {
        for (caller, may) in [&ann, &bob, &eve].into_iter().zip(may) {
            let done = caller.action(&server, (kind, &id, "{}")).await;
            if may {
                assert_eq!(done.expect(201).body["action_type"], kind);
            } else {
                done.refused(403, "FORBIDDEN");
            }
        }
    }
    // Kinds of other resources are not allowed on the bus, whatever the signer.
    let dotted = ann.action(&server, ("template.update", &id, "{}")).await;
    refused_at(&dotted, "/action_type");
}

#[tokio::test]
async fn a_supply_is_exact_for_many_clients_and_refusals() {
    const SUPPLY: usize = 40;
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = json!({
        "name": "limited",
        "max_supply": SUPPLY,
        "public_access": true,
        "schema": { "properties": { "n": { "type": "integer" } } },
        "actions": [{ "kind": "mint", "who": "anyone" }],
    });
    let id = text(&ann.template(&server, &template).await.expect(201).body["id"]);
    let mut callers = Vec::new();
    for number in 0..8 {
        let email = format!("caller{number}@example.com");
        callers.push(Caller::register(&server, &email).await);
    }
    // 8 × 6 × 3 mints are requested, a third of which the schema refuses. An atomic request with one of these, or one
    // that no longer fits, releases everything that was reserved for it.
    let (good, bad) = (r#"{"properties":{"n":1}}"#, r#"{"properties":{"n":"1"}}"#);
    let server = Arc::new(server);
    let mut work = JoinSet::new();
    for (number, caller) in callers.into_iter().enumerate() {
        let (server, id) = (Arc::clone(&server), id.clone());
        work.spawn(async move {
            let mut minted = 0;
            for round in 0..6 {
                let middle = if round % 2 == 0 { bad } else { good };
                let mints: [Signed<'_>; 3] = [
                    ("mint", &id, good),
                    ("mint", &id, middle),
                    ("mint", &id, good),
                ];
                let atomic = (number + round) % 3 == 0;
                let answer = caller.bus(&server, &mints, atomic).await;
                if atomic && answer.status == 422 {
                    continue;
                }
                let answer = answer.expect(200);
                let results = answer.body["results"].as_array().unwrap();
                let done = |result: &&Value| result["sequence"].is_u64();
                minted += results.iter().filter(done).count();
            }
            minted
        });
    }
    let minted: usize = work.join_all().await.into_iter().sum();
    let template = server
        .get(&format!("/templates/{id}"), Some(&ann.token))
        .await;
    assert_eq!(template.expect(200).body["minted_count"], minted);
    // Single mints use up what the atomic requests left over; then nothing is left.
    for _ in minted..SUPPLY {
        let body = json!({ "template_id": id, "properties": { "n": 2 } });
        ann.mint(&server, &body).await.expect(201);
    }
    let over = ann.mint(&server, &json!({ "template_id": id })).await;
    over.refused(422, "STATE_VIOLATION");
    let path = format!("/objects?template_id={id}&limit=1000");
    let list = server.get(&path, Some(&ann.token)).await.expect(200);
    assert_eq!(list.body["items"].as_array().unwrap().len(), SUPPLY);
}

/// Of two objects of a template, both burned.
async fn counts_are_shown(server: &Server, reader: &Caller, template: &str, objects: [&str; 2]) {
    for (path, member, wanted) in [
        (format!("/templates/{template}"), "burned_count", 2),
        (format!("/objects/{}", objects[0]), "serial", 1),
        (format!("/objects/{}", objects[1]), "serial", 2),
    ] {
        let read = server.get(&path, Some(&reader.token)).await.expect(200);
        assert_eq!(read.body[member], wanted, "{path}");
    }
}

// Holds invariants 138, 255.
#[tokio::test]
async fn a_template_is_edited_again_when_its_objects_are_burned() {
    let mut server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let schema = json!({ "properties": { "n": { "type": "integer", "x-index": true } } });
    let body =
        json!({ "name": "ticket", "properties": { "n": 1 }, "schema": schema, "max_supply": 3 });
    let id = text(&ann.template(&server, &body).await.expect(201).body["id"]);
    let (one, two) = (
        ann.new_object(&server, &id).await,
        ann.new_object(&server, &id).await,
    );
    let edit = json!({ "properties": { "n": 2 }, "description": "second edition" });
    let refused = ann.patch_template(&server, &id, &edit).await;
    refused.refused(422, "STATE_VIOLATION");
    ann.action(&server, ("burn", &one, "{}")).await.expect(201);
    let refused = ann.patch_template(&server, &id, &edit).await;
    refused.refused(422, "STATE_VIOLATION");
    ann.action(&server, ("update", &two, r#"{"properties":{"m":1}}"#))
        .await
        .expect(201);
    let burned = ann.action(&server, ("burn", &two, "{}")).await.expect(201);
    let changed = ann.patch_template(&server, &id, &edit).await.expect(200);
    assert_eq!(changed.body["properties"], json!({ "n": 2 }));
    assert_eq!(changed.body["minted_count"], 2);
    counts_are_shown(&server, &ann, &id, [&one, &two]).await;

    // The indexed paths stay, because the burned objects are in the index.
    let moved = json!({ "schema": { "properties": { "m": { "x-index": true } } } });
    let refused = ann.patch_template(&server, &id, &moved).await;
    refused.refused(422, "STATE_VIOLATION");
    let found = json!({ "filter": { "and": [
        { "field": "template_id", "op": "eq", "value": id },
        { "field": "properties.n", "op": "eq", "value": 1 },
    ] } });
    let found = server
        .call(
            "POST",
            "/objects/search",
            &[ann.bearer()],
            &found.to_string(),
        )
        .await
        .expect(200);
    assert_eq!(found.body["items"].as_array().unwrap().len(), 2);

    // The supply includes burned objects; new objects begin with the new properties.
    let three = ann
        .mint(&server, &json!({ "template_id": id }))
        .await
        .expect(201);
    assert_eq!(three.body["properties"], json!({ "n": 2 }));
    let none = ann.mint(&server, &json!({ "template_id": id })).await;
    none.refused(422, "STATE_VIOLATION");
    let refused = ann.patch_template(&server, &id, &edit).await;
    refused.refused(422, "STATE_VIOLATION");

    // The past of a burned object does not change.
    let before = burned.body["sequence"].as_u64().unwrap() - 1;
    let path = format!("/objects/{two}?at_sequence={before}");
    let past = server.get(&path, Some(&ann.token)).await.expect(200);
    assert_eq!(past.body["properties"], json!({ "n": 1, "m": 1 }));
    assert_eq!(server.terminate(), Some(0));
    let verified = server.verify_data();
    assert!(verified.status.success(), "{verified:?}");
}

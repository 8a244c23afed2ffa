//! Previews: the effects of actions, and what to sign, with nothing stored.

use kedge_protocol::Hash;
use serde_json::{Value, json};

use crate::harness::{Answer, Caller, Server, Terms, signature};

impl Caller {
    async fn preview(&self, server: &Server, body: &Value) -> Answer {
        let body = body.to_string();
        server
            .call("POST", "/ebus/actions/preview", &[self.bearer()], &body)
            .await
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

// Holds invariant 34.
#[tokio::test]
async fn later_actions_see_the_earlier_ones_and_nothing_is_stored() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = json!({
        "name": "ticket",
        "max_supply": 2,
        "schema": { "properties": { "n": { "type": "integer" } } },
    });
    let template = ann.template(&server, &template).await.expect(201).body["id"].clone();
    let id = ann.new_object(&server, text(&template)).await;
    let before = server.sequence().await;
    let action = |kind: &str, payload: Value| json!({ "action_type": kind, "object_id": id, "payload": payload });
    let mint = json!({ "action_type": "mint", "template_id": template, "payload": { "properties": { "n": 5 } } });
    let actions = json!([
        action("update", json!({ "properties": { "n": 2 } })),
        action("update", json!({ "properties": { "n": "two" } })),
        action("lock", json!({})),
        action("update", json!({ "properties": { "n": 3 } })),
        mint,
        mint,
    ]);
    let answer = ann.preview(&server, &json!({ "actions": actions })).await;
    let answer = answer.expect(200).body;
    let result = |index: usize| &answer["results"][index];
    assert_eq!(result(0)["object"]["properties"], json!({ "n": 2 }));
    assert_eq!(result(0)["object"]["version"], 2);
    let error = &result(1)["error"];
    assert_eq!(error["code"], "VALIDATION_ERROR");
    assert_eq!(
        error["body"]["errors"][0]["pointer"],
        "/actions/1/payload/properties/n"
    );
    assert_eq!(result(2)["object"]["status"], "locked");
    assert_eq!(result(2)["object"]["version"], 3);
    assert_eq!(result(3)["error"]["code"], "STATE_VIOLATION");
    // One more fits the supply; its id depends on the signature.
    assert_eq!(result(4)["object"]["id"], Value::Null);
    assert_eq!(result(4)["object"]["properties"], json!({ "n": 5 }));
    assert_eq!(result(5)["error"]["code"], "STATE_VIOLATION");
    assert_eq!(answer["would_commit"], true);
    let atomic = json!({ "actions": actions, "atomic": true });
    let atomic = ann.preview(&server, &atomic).await.expect(200).body;
    assert_eq!(atomic["would_commit"], false);
    assert_eq!(atomic["typed_data"]["message"]["atomic"], true);

    assert_eq!(server.sequence().await, before);
    let object = server
        .get(&format!("/objects/{id}"), Some(&ann.token))
        .await;
    assert_eq!(object.expect(200).body["version"], 1);
    // A second preview has the same next nonce.
    let message = |answer: &Value| answer["typed_data"]["message"].clone();
    assert_eq!(message(&answer)["nonce"], "4");
    assert_eq!(message(&atomic)["nonce"], "4");
}

// Holds invariant 34.
#[tokio::test]
async fn what_it_tells_to_sign_is_taken() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template_id = ann.new_template(&server, "ticket").await;
    let id = ann.new_object(&server, &template_id).await;
    // The payload is signed exactly as in the body, including white space.
    let payload = r#"{ "properties": {"price": 1.50, "name": "\u00e4"} }"#;
    let body = format!(r#"{{"action_type":"update","object_id":"{id}","payload": {payload} }}"#);
    let seed = Hash([0x5e; 32]);
    let asked = format!(
        r#"{{"salt":"{seed}","signer":"{}",{}"#,
        ann.key.address(),
        &body[1..]
    );
    let headers = [ann.bearer()];
    let answer = server
        .call("POST", "/ebus/actions/preview", &headers, &asked)
        .await
        .expect(200)
        .body;
    let message = &answer["typed_data"]["message"];
    assert_eq!(message["actions"][0]["payload"], payload);
    assert_eq!(message["actions"][0]["target"], id.as_str());
    assert_eq!(
        message["actions"][0]["salt"],
        kedge_protocol::action::salt(&seed, 0).to_string()
    );
    assert_eq!(answer["headers"]["X-Signature-Salt"], seed.to_string());
    let terms = Terms {
        domain: server.domain,
        nonce: text(&message["nonce"]).parse().unwrap(),
        deadline_s: text(&message["deadline"]).parse().unwrap(),
        atomic: false,
        seed,
    };
    let mut headers = signature(&ann.key, &terms, &[("update", &id, payload)]);
    for (name, value) in &headers[1..] {
        let reported = answer["headers"].as_object().unwrap().iter();
        let reported = reported
            .filter(|(reported, _)| reported.eq_ignore_ascii_case(name))
            .map(|(_, value)| text(value));
        assert_eq!(reported.collect::<Vec<_>>(), [value], "{name}");
    }
    headers.push(ann.bearer());
    let done = server.call("POST", "/ebus/actions", &headers, &body).await;
    assert_eq!(done.expect(201).body["object_version"], 2);
}

#[tokio::test]
async fn what_could_not_be_asked_for_is_not_previewed() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let id = {
        let template_id = ann.new_template(&server, "ticket").await;
        ann.new_object(&server, &template_id).await
    };
    let lock = json!({ "action_type": "lock", "object_id": id });
    for (body, pointer) in [
        (json!({}), "/action_type"),
        (json!({ "actions": [] }), "/actions"),
        (json!({ "actions": [lock], "payload": {} }), "/payload"),
        (
            json!({ "action_type": "lock", "object_id": id, "atomic": true }),
            "/atomic",
        ),
        (
            json!({ "action_type": "template.update", "object_id": id }),
            "/action_type",
        ),
        (json!({ "action_type": "lock" }), "/object_id"),
        (
            json!({ "action_type": "lock", "object_id": id, "signer": "me" }),
            "/signer",
        ),
        (
            json!({ "action_type": "lock", "object_id": id, "salt": "0x12" }),
            "/salt",
        ),
        (
            json!({ "action_type": "lock", "object_id": id, "nonce": 5 }),
            "/nonce",
        ),
    ] {
        let answer = ann.preview(&server, &body).await;
        answer.refused(400, "VALIDATION_ERROR");
        let errors = &answer.body["body"]["errors"];
        assert_eq!(errors[0]["pointer"], pointer, "{body}");
    }
    let foreign = json!({ "action_type": "lock", "object_id": id, "signer": bob.key.address() });
    let foreign = ann.preview(&server, &foreign).await;
    foreign.refused(403, "FORBIDDEN");
    // A caller that may not see the object learns nothing of it here.
    let unseen = bob.preview(&server, &lock).await.expect(200).body;
    assert_eq!(unseen["results"][0]["error"]["code"], "RESOURCE_NOT_FOUND");
    assert_eq!(unseen["would_commit"], false);
    let nobody = server
        .call("POST", "/ebus/actions/preview", &[], &lock.to_string())
        .await;
    nobody.refused(401, "UNAUTHENTICATED");
}

// Holds invariant 34.
#[tokio::test]
async fn large_objects_are_previewed_few_at_a_time() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = ann.new_template(&server, "large").await;
    let body =
        json!({ "template_id": template, "properties": { "filler": "x".repeat(1_000_000) } });
    let object = ann.mint(&server, &body).await.expect(201).body["id"].clone();
    let updates = |count: usize| {
        let update = json!({ "action_type": "update", "object_id": object, "payload": { "properties": { "n": 1 } } });
        json!({ "actions": vec![update; count] })
    };
    let few = ann.preview(&server, &updates(3)).await.expect(200);
    assert_eq!(few.body["results"].as_array().unwrap().len(), 3);
    let many = ann.preview(&server, &updates(100)).await;
    many.refused(413, "BATCH_TOO_LARGE");
}

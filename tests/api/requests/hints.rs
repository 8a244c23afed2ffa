//! Answers to a caller's mistakes: all of them in one answer, in one wording, with what to do.

use serde_json::{Value, json};

use crate::harness::{Answer, Caller, Server, signature};

const UNKNOWN: &str = "is not known here; remove it";

/// The pointers of an answer's errors, in order.
fn places(answer: &Answer) -> Vec<&str> {
    let errors = answer.body["body"]["errors"].as_array().unwrap();
    let mut places: Vec<&str> = errors
        .iter()
        .map(|error| error["pointer"].as_str().unwrap())
        .collect();
    places.sort_unstable();
    places
}

fn message(answer: &Answer) -> &str {
    answer.body["body"]["message"].as_str().unwrap()
}

// Holds invariant 169.
#[tokio::test]
async fn a_body_with_several_faults_is_answered_with_all_of_them() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let hook = async |body: Value| {
        let (request, kind) = (("POST", "/webhooks"), ("webhook.create", ""));
        let answer = ann.change(&server, request, kind, &body.to_string()).await;
        answer.refused(400, "VALIDATION_ERROR");
        answer
    };
    let of_form = hook(json!({ "url": 5, "events": [], "colour": "red", "active": "yes" })).await;
    assert_eq!(places(&of_form), ["/active", "/colour", "/events", "/url"]);
    assert_eq!(message(&of_form), "4 places in the request are not valid");
    let url = "https://example.com/hook";
    let of_value = hook(json!({ "url": "ftp://example.com", "events": ["x", url] })).await;
    assert_eq!(places(&of_value), ["/events/0", "/events/1", "/url"]);
    let missing = hook(json!({ "description": 7 })).await;
    assert_eq!(places(&missing), ["/description", "/events", "/url"]);
    // A single fault is reported as before.
    let one = hook(json!({ "url": url, "events": ["*"], "colour": "red" })).await;
    assert_eq!(places(&one), ["/colour"]);
    assert_eq!(message(&one), format!("/colour {UNKNOWN}"));
    // With many faults an answer stays short.
    let mut many = json!({ "url": url, "events": ["*"] });
    for n in 0..200 {
        many[format!("m{n}")] = json!(n);
    }
    assert_eq!(places(&hook(many).await).len(), 20);

    // The same without a signature.
    let body = json!({ "email": 5, "pasword": "x" }).to_string();
    let login = server.call("POST", "/wallets/login", &[], &body).await;
    login.refused(400, "VALIDATION_ERROR");
    assert_eq!(places(&login), ["/email", "/password", "/pasword"]);
}

// Holds invariant 169.
#[tokio::test]
async fn an_unknown_member_is_reported_in_one_wording() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let schema = json!({ "properties": { "size": {} }, "additionalProperties": false });
    let template = json!({ "name": "ticket", "schema": schema });
    let template = ann.template(&server, &template).await.expect(201).body["id"].clone();
    let search = json!({ "filter": { "and": [] }, "colour": 1 }).to_string();
    let login = json!({ "email": "a@b.example", "password": "x", "colour": 1 }).to_string();
    let bearer = [ann.bearer()];
    let action = ("mint", template.as_str().unwrap(), r#"{"colour":1}"#);
    let answers = [
        ann.template(&server, &json!({ "name": "n", "colour": 1 }))
            .await,
        ann.mint(&server, &json!({ "template_id": template, "colour": 1 }))
            .await,
        ann.action(&server, action).await,
        ann.mint(
            &server,
            &json!({ "template_id": template, "properties": { "colour": 1 } }),
        )
        .await,
        server
            .call("POST", "/objects/search", &bearer, &search)
            .await,
        server.call("POST", "/wallets/login", &[], &login).await,
    ];
    for answer in answers {
        answer.refused(400, "VALIDATION_ERROR");
        let errors = answer.body["body"]["errors"].as_array().unwrap();
        assert_eq!(errors.len(), 1, "{}", answer.body);
        let fault = (&errors[0]["code"], &errors[0]["message"]);
        assert_eq!(
            fault,
            (&json!("unknown"), &json!(UNKNOWN)),
            "{}",
            answer.body
        );
    }
}

#[tokio::test]
async fn a_key_sent_as_a_token_and_a_path_that_is_none_are_named() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let read = json!({ "resource": "objects", "crud": { "read": true } });
    let key = json!({ "name": "reader", "permissions": [read] });
    let made = ann.new_key(&server, &key).await.expect(201);
    let key = made.body["key"].as_str().unwrap();
    let wrong = server.get("/objects", Some(key)).await;
    wrong.refused(401, "UNAUTHENTICATED");
    assert!(message(&wrong).contains("x-api-key"), "{}", wrong.body);
    let right = [("x-api-key", key.to_owned())];
    server.call("GET", "/objects", &right, "").await.expect(200);

    for path in ["/object", "/objects/a/b", "/v3/objects"] {
        let nowhere = server.get(path, Some(&ann.token)).await;
        nowhere.refused(404, "RESOURCE_NOT_FOUND");
        assert!(message(&nowhere).starts_with("the API has no such path"));
        let context = &nowhere.body["body"];
        assert_eq!(
            (&context["resource"], &context["id"]),
            (&json!("path"), &json!(path))
        );
    }
}

#[tokio::test]
async fn a_lost_race_names_what_was_changed() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = ann.new_template(&server, "ticket").await;
    let hook = json!({ "url": "https://example.com/hook", "events": ["*"] }).to_string();
    let request = ("POST", "/webhooks");
    let hook = ann
        .change(&server, request, ("webhook.create", ""), &hook)
        .await
        .expect(201);
    let hook = hook.body["id"].as_str().unwrap();
    let wallet = ann.wallet_id.as_str();
    for (resource, path, kind, target, body) in [
        (
            "template",
            format!("/templates/{template}"),
            "template.update",
            &*template,
            r#"{"name":"n"}"#,
        ),
        (
            "webhook",
            format!("/webhooks/{hook}"),
            "webhook.update",
            hook,
            r#"{"active":false}"#,
        ),
        (
            "wallet",
            "/wallets/me".to_owned(),
            "wallet.update",
            wallet,
            r#"{"nickname":"n"}"#,
        ),
    ] {
        let mut headers = signature(&ann.key, &ann.terms(&server), &[(kind, target, body)]);
        headers.extend([
            ann.bearer(),
            ("if-match", "\"9.0123456789abcdef\"".to_owned()),
        ]);
        let lost = server.call("PATCH", &path, &headers, body).await;
        lost.refused(412, "PRECONDITION_FAILED");
        let start = format!("the {resource} is at version ");
        assert!(message(&lost).starts_with(&start), "{}", lost.body);
    }
}

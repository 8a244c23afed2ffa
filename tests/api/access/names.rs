//! Names: e-mail addresses have one form, names hide no characters, and only callers who could register learn that an
//! address is taken.

use serde_json::{Value, json};

use crate::access::members::{change_wallet, invite, join, login, organization_of};
use crate::harness::{Answer, Caller, PASSWORD, Server, signature};

async fn register(server: &Server, caller: &Caller, more: &Value) -> Answer {
    let mut body = caller.registration("new@example.com");
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    caller.send_registration(server, &body.to_string()).await
}

#[track_caller]
fn refused_at(answer: &Answer, pointer: &str) {
    answer.refused(400, "VALIDATION_ERROR");
    let errors = answer.body["body"]["errors"].as_array().unwrap();
    let named = errors.iter().any(|error| error["pointer"] == pointer);
    assert!(named, "{}", answer.body);
}

// Holds invariant 221.
#[tokio::test]
async fn no_address_registers_beside_one_that_looks_like_it() {
    let server = Server::start().await;
    Caller::register(&server, "ann.lee@example.com").await;
    for invisible in [
        "ann.lee\u{200b}@example.com",
        "ann.le\u{2060}e@example.com",
        "\u{feff}ann.lee@example.com",
        "ann\u{2010}lee@example.com",
    ] {
        let answer = register(&server, &Caller::nobody(), &json!({ "email": invisible })).await;
        refused_at(&answer, "/email");
    }
    for same in [
        "Ann.Lee@EXAMPLE.com",
        "\u{ff41}nn.lee@example.com",
        "ann.lee@exam\u{200b}ple.com",
        "ann.lee@\u{ff45}xample\u{3002}com",
    ] {
        let answer = register(&server, &Caller::nobody(), &json!({ "email": same })).await;
        answer.refused(409, "EMAIL_TAKEN");
    }
    // An address is stored in its one form, and logs in however it is written.
    let international = json!({ "email": "u\u{308}@XN--BCHER-KVA.example" });
    let made = register(&server, &Caller::nobody(), &international).await;
    assert_eq!(made.expect(201).body["wallet"]["email"], "ü@bücher.example");
    for written in [
        "ü@bücher.example",
        "u\u{308}@bu\u{308}cher.example",
        "Ü@xn--bcher-kva.example",
    ] {
        login(&server, written, PASSWORD).await.expect(200);
    }
    login(&server, "ü@b\u{fc}cher.example", "wrong horse battery")
        .await
        .refused(401, "CREDENTIALS_INVALID");

    // The server does not change what is signed, so the caller writes the one form.
    let ann = Caller::register(&server, "ann@example.com").await;
    for email in ["an\u{200b}n@example.com", "ann@xn--bcher-kva.example"] {
        let body = json!({ "email": email }).to_string();
        refused_at(&change_wallet(&server, &ann, &body).await, "/email");
        let organization = organization_of(&server, &ann).await;
        let invited = invite(&server, &ann, &organization, &json!({ "email": email })).await;
        refused_at(&invited, "/email");
    }
    change_wallet(&server, &ann, r#"{"email":"ann@bücher.example"}"#)
        .await
        .expect(200);
}

// Holds invariant 221.
#[tokio::test]
async fn names_hide_nothing() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let hidden = "ad\u{200b}min";
    for member in ["organization_name", "nickname"] {
        let answer = register(&server, &Caller::nobody(), &json!({ member: hidden })).await;
        refused_at(&answer, &format!("/{member}"));
    }
    let body = json!({ "nickname": hidden }).to_string();
    refused_at(&change_wallet(&server, &ann, &body).await, "/nickname");
    let template = ann.template(&server, &json!({ "name": hidden })).await;
    refused_at(&template, "/name");
    let read = json!({ "resource": "objects", "crud": { "read": true } });
    let key = json!({ "name": hidden, "permissions": [read] });
    refused_at(&ann.new_key(&server, &key).await, "/name");
    let template = ann.new_template(&server, "👩\u{200d}💻 1\u{fe0f}").await;
    let path = format!("/templates/{template}/variations");
    let body = json!({ "variations": [{ "name": "plain" }, { "name": hidden }] }).to_string();
    let kind = ("template.variations", template.as_str());
    let answer = ann.change(&server, ("POST", &path), kind, &body).await;
    refused_at(&answer, "/variations/1/name");
}

// Holds invariant 222.
#[tokio::test]
async fn a_taken_address_is_shown_to_who_could_register_with_another_one() {
    let server = Server::start_with(&["rate_limits=on"]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let taken = json!({ "email": "ann@example.com" });
    // A signing address that is registered already cannot register again: taken and free e-mail addresses look alike.
    register(&server, &ann, &taken)
        .await
        .refused(409, "CONFLICT");
    register(&server, &ann, &json!({}))
        .await
        .refused(409, "CONFLICT");
    // The same with an invitation that was used.
    let organization = organization_of(&server, &ann).await;
    let invited = invite(&server, &ann, &organization, &json!({}))
        .await
        .expect(201);
    let code = &invited.body["code"];
    join(&server, "bob@example.com", code, &json!({}))
        .await
        .1
        .expect(201);
    for email in ["ann@example.com", "new@example.com"] {
        let (_, answer) = join(&server, email, code, &json!({})).await;
        answer.refused(403, "FORBIDDEN");
    }
    // And with a change that fails its condition.
    for email in ["bob@example.com", "new@example.com"] {
        let body = json!({ "email": email }).to_string();
        let signed = [("wallet.update", ann.wallet_id.as_str(), body.as_str())];
        let mut headers = signature(&ann.key, &ann.terms(&server), &signed);
        headers.extend([
            ann.bearer(),
            ("if-match", "\"9.0000000000000000\"".to_owned()),
        ]);
        let answer = server.call("PATCH", "/wallets/me", &headers, &body).await;
        answer.refused(412, "PRECONDITION_FAILED");
    }
    // These questions count as registrations, so an address can ask as often as it can guess.
    let mut shown = 0;
    for _ in 0..21 {
        let answer = register(&server, &Caller::nobody(), &taken).await;
        if answer.status != 409 {
            answer.refused(429, "RATE_LIMITED");
            assert_eq!(answer.body["body"]["policy"], "login-address");
            break;
        }
        shown += 1;
    }
    assert!((10..=20).contains(&shown), "{shown}");
}

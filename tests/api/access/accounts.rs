//! Registration, logins and tokens.

use serde_json::json;

use crate::harness::{Caller, PASSWORD, Server};

#[tokio::test]
async fn a_wallet_registers_logs_in_and_refreshes() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "Ann@Example.com").await;

    let me = server
        .get("/wallets/me", Some(&ann.token))
        .await
        .expect(200);
    assert_eq!(me.body["email"], "ann@example.com");
    assert_eq!(me.body["role"], "owner");
    assert_eq!(me.body["id"], ann.wallet_id.as_str());
    assert_eq!(
        me.body["nonces"],
        json!([{ "address": ann.key.address(), "highest": "1" }])
    );

    let login = |password: &str| {
        let body = json!({ "email": "ann@example.com", "password": password }).to_string();
        let server = &server;
        async move { server.call("POST", "/wallets/login", &[], &body).await }
    };
    login("wrong horse battery")
        .await
        .refused(401, "CREDENTIALS_INVALID");
    let body = json!({ "email": "bob@example.com", "password": PASSWORD }).to_string();
    let unknown = server.call("POST", "/wallets/login", &[], &body).await;
    unknown.refused(401, "CREDENTIALS_INVALID");
    let tokens = login(PASSWORD).await.expect(200).body;
    assert_eq!(tokens["token_type"], "Bearer");

    let refresh = |token: &str| {
        let body = json!({ "refresh_token": token }).to_string();
        let server = &server;
        async move {
            server
                .call("POST", "/wallets/token/refresh", &[], &body)
                .await
        }
    };
    let first = tokens["refresh_token"].as_str().unwrap();
    let second = refresh(first).await.expect(200).body;
    let access = second["access_token"].as_str().unwrap();
    server.get("/wallets/me", Some(access)).await.expect(200);
    // A second use of the token ends the whole login.
    refresh(first).await.refused(401, "CREDENTIALS_INVALID");
    refresh(second["refresh_token"].as_str().unwrap())
        .await
        .refused(401, "CREDENTIALS_INVALID");
    refresh("made-up").await.refused(401, "CREDENTIALS_INVALID");
}

#[tokio::test]
async fn a_refresh_token_raced_for_gives_at_most_one_login() {
    let server = Server::start().await;
    let _ann = Caller::register(&server, "ann@example.com").await;
    let body = json!({ "email": "ann@example.com", "password": PASSWORD }).to_string();
    let login = server
        .call("POST", "/wallets/login", &[], &body)
        .await
        .expect(200);
    let body = json!({ "refresh_token": login.body["refresh_token"] }).to_string();
    let one = server.call("POST", "/wallets/token/refresh", &[], &body);
    let two = server.call("POST", "/wallets/token/refresh", &[], &body);
    let (one, two) = tokio::join!(one, two);
    let won = [one, two]
        .iter()
        .filter(|answer| answer.status == 200)
        .count();
    assert!(won <= 1, "{won}");
}

#[tokio::test]
async fn registrations_that_are_not_right_change_nothing() {
    let server = Server::start().await;
    let _ann = Caller::register(&server, "ann@example.com").await;
    let before = server.sequence().await;
    let bob = Caller::nobody();
    let with = |name: &str, value: serde_json::Value| {
        let mut body = bob.registration("bob@example.com");
        body[name] = value;
        body
    };
    let cases = [
        (with("email", json!("ann@example.com")), 409, "EMAIL_TAKEN"),
        (with("email", json!("no address")), 400, "VALIDATION_ERROR"),
        (with("password", json!("short")), 400, "VALIDATION_ERROR"),
        (with("blind", json!("c2hvcnQ=")), 400, "VALIDATION_ERROR"),
        (
            with("organization_id", json!(format!("org_{}", "0".repeat(26)))),
            403,
            "FORBIDDEN",
        ),
        (with("invitation", json!("kdi_x")), 403, "FORBIDDEN"),
        (
            with("password", json!("bob-example-2026")),
            400,
            "VALIDATION_ERROR",
        ),
        (with("role", json!("owner")), 400, "VALIDATION_ERROR"),
        (
            with("address", json!(Caller::nobody().key.address())),
            400,
            "VALIDATION_ERROR",
        ),
    ];
    for (body, status, code) in cases {
        let answer = bob.send_registration(&server, &body.to_string()).await;
        answer.refused(status, code);
    }
    assert_eq!(server.sequence().await, before);
}

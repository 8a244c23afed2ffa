//! Stored answers are for the caller that asked, while it may still make the request, and last as long as the key is
//! remembered, also after the signature's deadline and with a spent nonce.

use std::time::Duration;

use kedge_client::sign::unix_now_s;
use kedge_protocol::resource::Area;
use serde_json::{Value, json};

use crate::access::members::set_role;
use crate::access::privileges::two;
use crate::harness::{Answer, Caller, Server, Signed, Terms, signature};

/// A request that any caller can sign and send.
struct Asked<'a> {
    path: &'a str,
    signed: Signed<'a>,
    key: &'a str,
}

impl Asked<'_> {
    async fn send(
        &self,
        server: &Server,
        signer: &Caller,
        credentials: &(&'static str, String),
    ) -> Answer {
        let mut headers = signature(&signer.key, &signer.terms(server), &[self.signed]);
        headers.extend([
            credentials.clone(),
            ("idempotency-key", self.key.to_owned()),
        ]);
        server
            .call("POST", self.path, &headers, self.signed.2)
            .await
    }

    async fn by(&self, server: &Server, caller: &Caller) -> Answer {
        self.send(server, caller, &caller.bearer()).await
    }
}

async fn role(server: &Server, by: &Caller, of: &Caller, role: &str) {
    let body = json!({ "wallet_id": of.wallet_id, "role": role });
    set_role(server, by, &of.wallet_id, &body).await.expect(200);
}

#[track_caller]
fn replayed(first: &Answer, again: &Answer) {
    assert_eq!(
        again.header("idempotent-replayed"),
        "true",
        "{}",
        again.body
    );
    assert_eq!((first.status, &first.body), (again.status, &again.body));
}

/// Checks for a refusal that shows nothing of what is stored.
#[track_caller]
fn refused(answer: &Answer, status: u16, code: &str, secrets: &[&Value]) {
    answer.refused(status, code);
    assert_eq!(answer.header("idempotent-replayed"), "");
    let body = answer.body.to_string();
    for secret in secrets {
        assert!(!body.contains(secret.as_str().unwrap()), "{body}");
    }
}

// Holds invariant 19.
#[tokio::test]
async fn a_stored_answer_is_for_its_asker_while_the_asker_may_ask() {
    let server = Server::start().await;
    let (ann, bob, organization) = two(&server).await;
    let read = json!({ "resource": "objects", "crud": { "read": true } });
    let robot = json!({ "name": "robot", "permissions": [read] }).to_string();
    let hook = json!({ "url": "https://example.com/hook", "events": ["*"] }).to_string();
    let template = json!({ "name": "ticket" }).to_string();
    let invitation = r#"{"role":"admin"}"#;
    let owner = r#"{"role":"owner"}"#;
    let invites = "/organizations/me/invitations";
    let cases: [(&str, Signed<'_>, &str); 5] = [
        (invites, ("org.invite", &organization, invitation), "code"),
        (invites, ("org.invite", &organization, owner), "code"),
        ("/api-keys", ("key.create", "", &robot), "key"),
        ("/webhooks", ("webhook.create", "", &hook), "secret"),
        ("/templates", ("template.create", "", &template), "id"),
    ];
    let stranger = Caller::nobody();
    for (number, (path, signed, shown)) in cases.into_iter().enumerate() {
        let key = format!("key-{number}");
        let key = key.as_str();
        let asked = Asked { path, signed, key };
        role(&server, &ann, &bob, "member").await;
        let first = asked.by(&server, &ann).await.expect(201);
        let secrets = [&first.body[shown]];
        // A member, with any signature.
        let seen = asked.send(&server, &stranger, &bob.bearer()).await;
        refused(&seen, 403, "FORBIDDEN", &secrets);
        let seen = asked.by(&server, &bob).await;
        refused(&seen, 403, "FORBIDDEN", &secrets);
        // Another body does not reveal to a member that the key is used.
        let other = Asked {
            signed: (signed.0, signed.1, "{}"),
            ..asked
        };
        let seen = other.by(&server, &bob).await;
        refused(&seen, 403, "FORBIDDEN", &secrets);
        // A colleague with the same rights learns that the key is used, and no more.
        role(&server, &ann, &bob, "owner").await;
        let seen = asked.by(&server, &bob).await;
        refused(&seen, 422, "IDEMPOTENCY_MISMATCH", &secrets);
        replayed(&first, &asked.by(&server, &ann).await);
        // The caller that asked, after losing the right.
        role(&server, &bob, &ann, "member").await;
        let seen = asked.by(&server, &ann).await;
        refused(&seen, 403, "FORBIDDEN", &secrets);
        role(&server, &bob, &ann, "owner").await;
        replayed(&first, &asked.by(&server, &ann).await);
    }
}

// Holds invariant 19.
#[tokio::test]
async fn a_lower_role_gets_no_invitation_of_a_higher_one() {
    let server = Server::start().await;
    let (ann, bob, organization) = two(&server).await;
    role(&server, &ann, &bob, "owner").await;
    let asked = Asked {
        path: "/organizations/me/invitations",
        signed: ("org.invite", &organization, r#"{"role":"owner"}"#),
        key: "owner",
    };
    let first = asked.by(&server, &bob).await.expect(201);
    role(&server, &ann, &bob, "admin").await;
    let seen = asked.by(&server, &bob).await;
    refused(&seen, 403, "FORBIDDEN", &[&first.body["code"]]);
}

// Holds invariant 19.
#[tokio::test]
async fn a_stored_answer_is_for_the_api_key_that_asked() {
    let server = Server::start_with(&["webhook_allowed_networks=[\"127.0.0.0/8\"]"]).await;
    let (ann, bob, organization) = two(&server).await;
    let permissions: Vec<Value> = Area::ALL
        .iter()
        .map(|area| json!({ "resource": area, "crud": { "create": true, "read": true, "update": true } }))
        .collect();
    let body = json!({ "name": "robot", "permissions": permissions });
    let mut keys = Vec::new();
    for _ in 0..2 {
        let made = ann.new_key(&server, &body).await.expect(201);
        keys.push(("x-api-key", made.body["key"].as_str().unwrap().to_owned()));
    }
    let asked = Asked {
        path: "/organizations/me/invitations",
        signed: ("org.invite", &organization, "{}"),
        key: "i",
    };
    let first = asked.send(&server, &ann, &keys[0]).await.expect(201);
    let code = [&first.body["code"]];
    for (signer, credentials) in [
        (&ann, &keys[1]),
        (&bob, &keys[0]),
        (&ann, &ann.bearer()),
        (&bob, &bob.bearer()),
    ] {
        let seen = asked.send(&server, signer, credentials).await;
        refused(&seen, 422, "IDEMPOTENCY_MISMATCH", &code);
    }
    replayed(&first, &asked.send(&server, &ann, &keys[0]).await);

    // Unsigned requests have their caller too.
    let hook = json!({ "url": "http://127.0.0.1:9/", "events": ["*"] }).to_string();
    let kind = ("webhook.create", "");
    let made = ann.change(&server, ("POST", "/webhooks"), kind, &hook);
    let made = made.await.expect(201);
    let path = format!("/webhooks/{}/test", made.body["id"].as_str().unwrap());
    let test = async |credentials: (&'static str, String)| {
        let headers = [credentials, ("idempotency-key", "t".to_owned())];
        server.call("POST", &path, &headers, "").await
    };
    let first = test(keys[0].clone()).await.expect(200);
    let seen = test(keys[1].clone()).await;
    refused(&seen, 422, "IDEMPOTENCY_MISMATCH", &[&first.body["id"]]);
    let seen = test(bob.bearer()).await;
    refused(&seen, 422, "IDEMPOTENCY_MISMATCH", &[&first.body["id"]]);
    replayed(&first, &test(keys[0].clone()).await);
}

// Holds invariant 19.
#[tokio::test]
async fn a_retry_after_the_deadline_is_answered_and_nothing_else_is() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = ann.new_template(&server, "ticket").await;
    let body = json!({ "template_id": template }).to_string();
    let signed = |key: Option<&str>| {
        let terms = Terms {
            deadline_s: unix_now_s() + 1,
            ..ann.terms(&server)
        };
        let mut headers = signature(&ann.key, &terms, &[("mint", &template, &body)]);
        headers.push(ann.bearer());
        headers.extend(key.map(|key| ("idempotency-key", key.to_owned())));
        headers
    };
    let send = async |headers: &[(&'static str, String)]| {
        server.call("POST", "/objects", headers, &body).await
    };
    let (kept, plain, unsent) = (signed(Some("kept")), signed(None), signed(Some("unsent")));
    let first = send(&kept).await.expect(201);
    send(&plain).await.expect(201);
    let sequence = server.sequence().await;
    tokio::time::sleep(Duration::from_millis(2_100)).await;

    replayed(&first, &send(&kept).await);
    send(&plain).await.refused(401, "DEADLINE_EXPIRED");
    send(&unsent).await.refused(401, "DEADLINE_EXPIRED");
    assert_eq!(server.sequence().await, sequence);
    // The failed request released its place.
    send(&unsent).await.refused(401, "DEADLINE_EXPIRED");
    // After the deadline, the signature must still be right and the signer the one that asked.
    let mut forged = kept.clone();
    forged.retain(|(name, _)| !name.starts_with("x-signature"));
    let terms = Terms {
        deadline_s: unix_now_s() - 1,
        ..ann.terms(&server)
    };
    forged.extend(signature(
        &Caller::nobody().key,
        &terms,
        &[("mint", &template, &body)],
    ));
    send(&forged).await.refused(403, "FORBIDDEN");
}

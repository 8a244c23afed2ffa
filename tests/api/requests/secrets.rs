//! A secret that an answer shows once is also in replays of that answer for its signer, and nowhere else.

use serde_json::{Value, json};

use crate::harness::{Answer, Caller, Server, signature};

/// A request that makes a secret.
struct Making<'a> {
    path: &'a str,
    kind: &'a str,
    target: &'a str,
    body: &'a str,
    /// The member of the answer that holds the secret.
    shown: &'a str,
}

impl Making<'_> {
    /// Signs it with a new nonce and sends it with this `Idempotency-Key`.
    async fn send(&self, server: &Server, caller: &Caller, key: &str) -> Answer {
        let action = (self.kind, self.target, self.body);
        let mut headers = signature(&caller.key, &caller.terms(server), &[action]);
        headers.extend([caller.bearer(), ("idempotency-key", key.to_owned())]);
        server.call("POST", self.path, &headers, self.body).await
    }

    /// Makes a secret, and gets the same answer again.
    async fn made_and_replayed(&self, server: &Server, caller: &Caller, key: &str) -> Value {
        let first = self.send(server, caller, key).await;
        assert!(matches!(first.status, 200 | 201), "{}", first.body);
        assert!(first.body[self.shown].is_string(), "{}", first.body);
        let again = self.send(server, caller, key).await;
        assert_eq!(again.header("idempotent-replayed"), "true");
        assert_eq!((again.status, &again.body), (first.status, &first.body));
        let other = self.send(server, caller, &format!("{key}-other")).await;
        assert_ne!(other.body[self.shown], first.body[self.shown]);
        first.body
    }
}

// Holds invariant 19.
#[tokio::test]
async fn a_replay_shows_the_secret_to_its_signer_alone() {
    let mut server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let read = json!({ "resource": "objects", "crud": { "read": true } });
    let key = json!({ "name": "reader", "permissions": [read] }).to_string();
    let hook = json!({ "url": "https://example.com/hook", "events": ["*"] }).to_string();
    let making = |path, kind, target, body, shown| Making {
        path,
        kind,
        target,
        body,
        shown,
    };
    let keys = making("/api-keys", "key.create", "", &key, "key");
    let made = keys.made_and_replayed(&server, &ann, "k").await;
    let id = made["id"].as_str().unwrap();
    let path = format!("/api-keys/{id}/rotate");
    let rotated = making(&path, "key.rotate", id, r#"{"overlap_s":60}"#, "key");
    rotated.made_and_replayed(&server, &ann, "r").await;

    let hooks = making("/webhooks", "webhook.create", "", &hook, "secret");
    let made = hooks.made_and_replayed(&server, &ann, "h").await;
    let id = made["id"].as_str().unwrap();
    let path = format!("/webhooks/{id}/rotate");
    let rotated = making(&path, "webhook.rotate", id, "{}", "secret");
    let last = rotated.made_and_replayed(&server, &ann, "r").await;

    let organization = ann.organization_id.as_str();
    let path = "/organizations/me/invitations";
    let invitations = making(
        path,
        "org.invite",
        organization,
        r#"{"role":"admin"}"#,
        "code",
    );
    let invited = invitations.made_and_replayed(&server, &ann, "i").await;

    // A colleague with the same rights who guesses the key gets nothing of the answer.
    let mut bob = Caller::nobody();
    let mut registration = bob.registration("bob@example.com");
    registration["organization_id"] = json!(organization);
    registration["invitation"] = invited["code"].clone();
    let answer = bob
        .send_registration(&server, &registration.to_string())
        .await
        .expect(201);
    bob.token = answer.body["access_token"].as_str().unwrap().to_owned();
    bob.wallet_id = answer.body["wallet"]["id"].as_str().unwrap().to_owned();
    organization.clone_into(&mut bob.organization_id);
    let seen = hooks.send(&server, &bob, "h").await;
    seen.refused(422, "IDEMPOTENCY_MISMATCH");
    assert_eq!(seen.header("idempotent-replayed"), "");

    // It survives a crash.
    server.kill();
    let server = server.restart().await;
    let again = rotated.send(&server, &ann, "r").await;
    assert_eq!(again.body, last);
}

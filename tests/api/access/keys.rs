//! API keys: what they allow, what they do not, and when they end.

use std::path::Path;
use std::time::Duration;

use kedge_client::sign::unix_now_s;
use kedge_protocol::resource::Area;
use kedge_protocol::time::rfc3339;
use serde_json::{Value, json};

use crate::feeds::event_stream::{Ask, EventStream};
use crate::harness::{Answer, Caller, PASSWORD, Server, bus_members};

/// The body of a key with all rights except `without`, such as `objects.read`.
fn all_but(without: &[&str]) -> Value {
    let grant = |area: &Area| {
        let crud = ["create", "read", "update", "delete"].map(|what| {
            let right = format!("{}.{what}", area.text());
            (what, !without.contains(&right.as_str()))
        });
        json!({ "resource": area, "crud": crud.into_iter().collect::<std::collections::BTreeMap<_, _>>() })
    };
    json!({ "name": "robot", "permissions": Area::ALL.iter().map(grant).collect::<Vec<_>>() })
}

struct Key {
    id: String,
    text: String,
}

impl Key {
    fn of(answer: &Answer) -> Self {
        let text = |name: &str| answer.body[name].as_str().unwrap().to_owned();
        Self {
            id: text("id"),
            text: text("key"),
        }
    }

    async fn new(server: &Server, caller: &Caller, body: &Value) -> Self {
        Self::of(&caller.new_key(server, body).await.expect(201))
    }

    fn header(&self) -> (&'static str, String) {
        ("x-api-key", self.text.clone())
    }

    async fn get(&self, server: &Server, path: &str) -> Answer {
        server.call("GET", path, &[self.header()], "").await
    }

    async fn rotate(&self, server: &Server, caller: &Caller, body: &str) -> Self {
        let path = format!("/api-keys/{}/rotate", self.id);
        let kind = ("key.rotate", self.id.as_str());
        let answer = caller.change(server, ("POST", &path), kind, body).await;
        Self::of(&answer.expect(200))
    }

    async fn delete(&self, server: &Server, caller: &Caller) -> Answer {
        let path = format!("/api-keys/{}", self.id);
        let kind = ("key.delete", self.id.as_str());
        caller.change(server, ("DELETE", &path), kind, "").await
    }
}

/// Sends requests until the key is refused.
async fn until_refused(server: &Server, key: &Key) {
    for _ in 0..500 {
        let answer = key.get(server, "/templates").await;
        if answer.status == 401 {
            return answer.refused(401, "UNAUTHENTICATED");
        }
        answer.expect(200);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the key still counts");
}

#[tokio::test]
async fn a_key_opens_each_kind_of_endpoint_alone_and_beside_a_token() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let made = ann.new_key(&server, &all_but(&[])).await.expect(201);
    let key = Key::of(&made);
    assert_eq!(key.text.len(), "kdg_live_".len() + 72);
    assert!(made.body["receipt"].is_object());
    assert_eq!(
        made.body["permissions"].as_array().unwrap().len(),
        Area::ALL.len()
    );

    let path = format!("/api-keys/{}", key.id);
    let both = [key.header(), ann.bearer()];
    let ways = [&both[..], &both[..1], &both[1..]];
    for (i, credentials) in ways.into_iter().enumerate() {
        let read = server.call("GET", &path, credentials, "").await.expect(200);
        assert!(read.body.get("key").is_none(), "shown once");
        let tag = ("if-none-match", read.header("etag").to_owned());
        let again = [credentials, &[tag]].concat();
        server.call("GET", &path, &again, "").await.expect(304);

        let body = json!({ "name": format!("template {i}") }).to_string();
        let signed = ("template.create", "", body.as_str());
        let template = ann
            .change_as(&server, ("POST", "/templates"), signed, &body, credentials)
            .await
            .expect(201);
        let template_id = template.body["id"].as_str().unwrap().to_owned();
        let action = [("mint", template_id.as_str(), "{}")];
        let body = format!(r#"{{"actions":[{}]}}"#, bus_members(&action));
        let request = ("POST", "/ebus/actions/batch");
        ann.change_as(&server, request, action[0], &body, credentials)
            .await
            .expect(200);
        // The signer must be the token's wallet, or of the key's organization.
        bob.change_as(&server, request, action[0], &body, credentials)
            .await
            .refused(403, "FORBIDDEN");
        let list = server
            .call("GET", "/objects", credentials, "")
            .await
            .expect(200);
        assert!(!list.body["items"].as_array().unwrap().is_empty());
    }
    let alone = key.get(&server, "/wallets/me").await;
    alone.refused(403, "FORBIDDEN");
    server
        .call("GET", "/wallets/me", &both, "")
        .await
        .expect(200);
    let nickname = r#"{"nickname":"x"}"#;
    let signed = ("wallet.update", ann.wallet_id.as_str(), nickname);
    let request = ("PATCH", "/wallets/me");
    ann.change_as(&server, request, signed, nickname, &both[..1])
        .await
        .refused(403, "FORBIDDEN");
    let none = server.get("/objects", None).await;
    none.refused(401, "UNAUTHENTICATED");
}

// Holds invariant 26.
#[tokio::test]
async fn a_right_that_is_missing_is_named_and_a_token_does_not_widen_it() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = ann.new_template(&server, "ticket").await;
    let object = ann.new_object(&server, &template).await;
    let object_path = format!("/objects/{object}");
    let transfer = format!("{object_path}/transfer");
    let cases = [
        ("GET", "/wallets/me", "wallets.read"),
        ("GET", "/organizations/me/members", "wallets.read"),
        ("PATCH", "/wallets/me", "wallets.update"),
        ("POST", "/organizations/me/invitations", "wallets.create"),
        ("GET", "/api-keys", "api_keys.read"),
        ("POST", "/api-keys", "api_keys.create"),
        ("DELETE", "/api-keys/key_1", "api_keys.delete"),
        ("POST", "/api-keys/key_1/rotate", "api_keys.update"),
        ("GET", "/templates", "templates.read"),
        ("POST", "/templates", "templates.create"),
        ("GET", object_path.as_str(), "objects.read"),
        ("POST", "/objects", "objects.create"),
        ("PATCH", object_path.as_str(), "objects.update"),
        ("POST", transfer.as_str(), "objects.update"),
        ("GET", "/ebus/actions", "actions.read"),
        ("POST", "/ebus/actions", "actions.create"),
        ("POST", "/ebus/actions/batch", "actions.create"),
        ("GET", "/ebus/events", "events.read"),
        ("GET", "/batches/0/actions", "batches.read"),
    ];
    let mut rights: Vec<&str> = cases.iter().map(|(.., right)| *right).collect();
    rights.sort_unstable();
    rights.dedup();
    for right in rights {
        let key = Key::new(&server, &ann, &all_but(&[right])).await;
        for (method, path, needed) in cases {
            for credentials in [vec![key.header()], vec![key.header(), ann.bearer()]] {
                let answer = server.call(method, path, &credentials, "").await;
                let named = answer.body["body"]["message"]
                    .as_str()
                    .is_some_and(|message| message.contains(&format!("the right {needed};")));
                if needed == right {
                    answer.refused(403, "FORBIDDEN");
                }
                assert_eq!(named, needed == right, "{method} {path}: {}", answer.body);
            }
        }
    }
}

// Holds invariant 26.
/// A thief of a narrow key who can also get requests signed must not obtain a wide one.
#[tokio::test]
async fn a_key_makes_and_renews_no_wider_one() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let wide = Key::new(&server, &ann, &all_but(&[])).await;
    let narrow = Key::new(&server, &ann, &all_but(&["objects.delete", "files.create"])).await;
    let missing = "this one does not have objects.delete, files.create;";
    let request = ("POST", "/api-keys");
    let rotate = format!("/api-keys/{}/rotate", wide.id);
    for credentials in [vec![narrow.header()], vec![narrow.header(), ann.bearer()]] {
        let refused = |answer: Answer| {
            let message = answer.body["body"]["message"].as_str().unwrap().to_owned();
            assert!(message.contains(missing), "{message}");
            answer.refused(403, "FORBIDDEN");
        };
        let body = all_but(&[]).to_string();
        let signed = ("key.create", "", body.as_str());
        let made = ann.change_as(&server, request, signed, &body, &credentials);
        refused(made.await);
        let signed = ("key.rotate", wide.id.as_str(), "{}");
        let renewed = ann.change_as(&server, ("POST", &rotate), signed, "{}", &credentials);
        refused(renewed.await);

        let body = all_but(&["objects.delete", "files.create", "events.read"]).to_string();
        let signed = ("key.create", "", body.as_str());
        let made = ann
            .change_as(&server, request, signed, &body, &credentials)
            .await;
        Key::of(&made.expect(201))
            .get(&server, "/templates")
            .await
            .expect(200);
    }
    // The refused rotation left the key's secret as it was.
    wide.get(&server, "/templates").await.expect(200);
}

// Holds invariant 26.
#[tokio::test]
async fn organizations_do_not_mix() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let anns = Key::new(&server, &ann, &all_but(&[])).await;
    let bobs = Key::new(&server, &bob, &all_but(&[])).await;
    let mixed = [anns.header(), bob.bearer()];
    server
        .call("GET", "/templates", &mixed, "")
        .await
        .refused(403, "FORBIDDEN");
    let path = format!("/api-keys/{}", anns.id);
    bobs.get(&server, &path)
        .await
        .refused(404, "RESOURCE_NOT_FOUND");
    anns.delete(&server, &bob)
        .await
        .refused(404, "RESOURCE_NOT_FOUND");
    let rotate = format!("{path}/rotate");
    let kind = ("key.rotate", anns.id.as_str());
    bob.change(&server, ("POST", &rotate), kind, "{}")
        .await
        .refused(404, "RESOURCE_NOT_FOUND");
    let list = bobs.get(&server, "/api-keys").await.expect(200);
    let ids: Vec<&Value> = list.body["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| &key["id"])
        .collect();
    assert_eq!(ids, [bobs.id.as_str()]);
    anns.get(&server, "/templates").await.expect(200);
}

#[tokio::test]
async fn what_is_no_key_is_refused() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let key = Key::new(&server, &ann, &all_but(&[])).await;
    let last = key.text.len() - 1;
    let other = if key.text.ends_with('0') { "1" } else { "0" };
    let wrong_checksum = format!("{}{other}", &key.text[..last]);
    for bad in [wrong_checksum.as_str(), &key.text[1..], "", "kdg_live_"] {
        let headers = [("x-api-key", bad.to_owned()), ann.bearer()];
        let answer = server.call("GET", "/templates", &headers, "").await;
        answer.refused(401, "UNAUTHENTICATED");
        assert!(
            answer.body["body"]["message"]
                .as_str()
                .unwrap()
                .contains("not an API key")
        );
    }
    let twice = [key.header(), key.header()];
    server
        .call("GET", "/templates", &twice, "")
        .await
        .refused(401, "UNAUTHENTICATED");
    let bad_token = [key.header(), ("authorization", "Bearer x".to_owned())];
    server
        .call("GET", "/templates", &bad_token, "")
        .await
        .refused(401, "UNAUTHENTICATED");

    let wrong = [
        json!({ "name": "", "permissions": [] }),
        json!({ "name": "x", "permissions": [], "more": 1 }),
        json!({ "name": "x", "permissions": [{ "resource": "objects", "crud": { "mint": true } }] }),
        json!({ "name": "x", "permissions": [{ "resource": "moon", "crud": {} }] }),
    ];
    for body in wrong {
        let answer = ann.new_key(&server, &body).await;
        answer.refused(400, "VALIDATION_ERROR");
    }
    let mut past = all_but(&[]);
    past["expires_at"] = json!("2020-01-01T00:00:00.000Z");
    let answer = ann.new_key(&server, &past).await;
    answer.refused(400, "VALIDATION_ERROR");
    assert_eq!(answer.body["body"]["errors"][0]["pointer"], "/expires_at");
}

// Holds invariant 25.
#[tokio::test]
async fn a_key_ends_by_itself_by_rotation_and_at_once_by_deletion() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let mut body = all_but(&[]);
    body["expires_at"] = json!(rfc3339((unix_now_s() + 2) * 1_000));
    let expiring = Key::new(&server, &ann, &body).await;

    let first = Key::new(&server, &ann, &all_but(&[])).await;
    first.get(&server, "/templates").await.expect(200);
    let second = first.rotate(&server, &ann, "{}").await;
    assert_eq!(second.id, first.id);
    assert_ne!(second.text, first.text);
    for key in [&first, &second] {
        key.get(&server, "/templates").await.expect(200);
    }
    // Only the secret before the last rotation is still valid; without an overlap that one is not either.
    let third = second.rotate(&server, &ann, r#"{"overlap_s":1}"#).await;
    first
        .get(&server, "/templates")
        .await
        .refused(401, "UNAUTHENTICATED");
    until_refused(&server, &second).await;
    let fourth = third.rotate(&server, &ann, r#"{"overlap_s":0}"#).await;
    third
        .get(&server, "/templates")
        .await
        .refused(401, "UNAUTHENTICATED");
    fourth.get(&server, "/templates").await.expect(200);

    let path = format!("/api-keys/{}", fourth.id);
    let read = fourth.get(&server, &path).await.expect(200);
    assert_eq!(read.body["rotations"], 3);
    assert!(read.body["last_used_at"].is_string(), "{}", read.body);

    until_refused(&server, &expiring).await;
    fourth.delete(&server, &ann).await.expect(200);
    fourth
        .get(&server, "/templates")
        .await
        .refused(401, "UNAUTHENTICATED");
    let read = server.get(&path, Some(&ann.token)).await;
    read.refused(404, "RESOURCE_NOT_FOUND");
    fourth
        .delete(&server, &ann)
        .await
        .refused(404, "RESOURCE_NOT_FOUND");
    let list = server.get("/api-keys", Some(&ann.token)).await.expect(200);
    let ids: Vec<&Value> = list.body["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| &key["id"])
        .collect();
    assert_eq!(ids, [expiring.id.as_str()]);
}

#[tokio::test]
async fn keys_survive_kill_9() {
    let mut server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let kept = Key::new(&server, &ann, &all_but(&[])).await;
    let renewed = kept.rotate(&server, &ann, "{}").await;
    let gone = Key::new(&server, &ann, &all_but(&[])).await;
    gone.delete(&server, &ann).await.expect(200);
    server.kill();
    let server = server.restart().await;
    for key in [&kept, &renewed] {
        key.get(&server, "/templates").await.expect(200);
    }
    gone.get(&server, "/templates")
        .await
        .refused(401, "UNAUTHENTICATED");
}

/// All bytes of all files under a directory.
fn files(dir: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.is_file() {
            let bytes = std::fs::read(&path).unwrap();
            found.push((path.display().to_string(), bytes));
        }
    }
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|window| window == text.as_bytes())
}

// Holds invariant 25.
#[tokio::test]
async fn secrets_are_neither_logged_nor_stored() {
    let mut server = Server::start_traced().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let key = Key::new(&server, &ann, &all_but(&[])).await;
    let renewed = key.rotate(&server, &ann, "{}").await;
    renewed.get(&server, "/templates").await.expect(200);
    let organization = server.get("/wallets/me", Some(&ann.token)).await.body["organization_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let invited = ann
        .change(
            &server,
            ("POST", "/organizations/me/invitations"),
            ("org.invite", &organization),
            "{}",
        )
        .await
        .expect(201);
    let code = invited.body["code"].as_str().unwrap();
    let bob = Caller::nobody();
    let mut registration = bob.registration("bob@example.com");
    registration["invitation"] = json!(code);
    bob.send_registration(&server, &registration.to_string())
        .await
        .expect(201);
    let body = json!({ "email": "ann@example.com", "password": PASSWORD }).to_string();
    let login = server
        .call("POST", "/wallets/login", &[], &body)
        .await
        .expect(200);
    let refresh_token = login.body["refresh_token"].as_str().unwrap();
    assert_eq!(server.terminate(), Some(0));

    let mut searched = vec![("the log".to_owned(), server.log())];
    assert!(holds(&searched[0].1, "answered"), "the log is there");
    files(&server.dir.path().join("data"), &mut searched);
    let stored = searched
        .iter()
        .any(|(_, bytes)| holds(bytes, "ann@example.com"));
    assert!(stored, "the store's bytes are plain enough to look into");
    let access_token = login.body["access_token"].as_str().unwrap();
    for secret in [
        &key.text,
        &renewed.text,
        code,
        PASSWORD,
        refresh_token,
        access_token,
    ] {
        for (name, bytes) in &searched {
            assert!(!holds(bytes, secret), "{name} holds a secret");
        }
    }
}

// Holds invariant 25.
#[tokio::test]
async fn a_stream_ends_with_the_key_that_opened_it() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let key = Key::new(&server, &ann, &all_but(&[])).await;
    let ask = Ask {
        api_key: Some(&key.text),
        ..Ask::default()
    };
    let mut stream = EventStream::begin(&server, &ann.token, ask).await;
    ann.new_template(&server, "before").await;
    stream.until("template.created").await;
    key.delete(&server, &ann).await.expect(200);
    ann.new_template(&server, "after").await;
    let mut last_words = String::new();
    while let Some(block) = stream.block().await {
        assert_ne!(block.event.as_deref(), Some("template.created"));
        last_words = block.comment.unwrap_or_default();
    }
    assert!(last_words.contains("API key"), "{last_words}");
}

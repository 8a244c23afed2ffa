//! Isolation of two organizations' private data: actions of one leave the other's view unchanged to the byte.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::ask::Ask;
use crate::harness::{Caller, Server};
use crate::row::Auth;
use crate::table::{find, table};
use crate::world::text;

/// A word in everything private that the first organization writes.
const WORD: &str = "zebra";

/// One caller's whole view, by path.
async fn everything(server: &Server, bob: &Bob) -> BTreeMap<String, String> {
    let mut seen = BTreeMap::new();
    let mut paths: Vec<String> = table()
        .iter()
        .filter(|row| row.is_read() && row.auth != Auth::Public && !row.has_id())
        .filter(|row| row.path != "/ebus/events/stream" && row.path != "/organizations/me")
        .map(|row| row.path.to_owned())
        .collect();
    paths.extend(bob.paths.iter().cloned());
    for path in paths {
        let got = server.text("GET", &path, &[bob.caller.bearer()], "").await;
        assert!(!got.contains("\"code\""), "{path}: {got}");
        seen.insert(path, got);
    }
    seen
}

/// The second organization, with its own data.
struct Bob {
    caller: Caller,
    template: String,
    object: String,
    paths: Vec<String>,
}

impl Bob {
    async fn new(server: &Server) -> Self {
        let caller = Caller::register(server, "bob@example.com").await;
        let template = caller.new_template(server, "poster").await;
        let object = caller.new_object(server, &template).await;
        let body = json!({ "url": crate::world::RECEIVER, "events": ["wallet.registered"] });
        let made = ("POST", "/webhooks");
        let hook = caller
            .change(server, made, ("webhook.create", ""), &body.to_string())
            .await;
        let hook = text(&hook.expect(201).body, "id");
        let body = crate::world::key_body(|_, _| true);
        let key = caller.new_key(server, &body).await.expect(201);
        let key = text(&key.body, "id");
        let paths = vec![
            format!("/objects/{object}"),
            format!("/objects/{object}/history"),
            format!("/objects?template_id={template}"),
            format!("/objects?owner_id={}", caller.wallet_id),
            format!("/templates/{template}"),
            format!("/templates/{template}/variations"),
            format!("/webhooks/{hook}"),
            format!("/webhooks/{hook}/deliveries"),
            format!("/api-keys/{key}"),
            "/ebus/events?order=desc".to_owned(),
        ];
        Self {
            caller,
            template,
            object,
            paths,
        }
    }
}

/// Acts as the first organization: one action of every kind, all with the word.
async fn act(server: &Server, ann: &Caller) -> (String, String, String) {
    let open = json!({ "name": format!("open {WORD}"), "public_access": true });
    let open = ann.template(server, &open).await.expect(201).body;
    let closed = json!({ "name": format!("closed {WORD}"), "properties": { "text": WORD } });
    let closed = text(&ann.template(server, &closed).await.expect(201).body, "id");
    let hidden = ann.new_object(server, &closed).await;
    let open = text(&open, "id");
    let shown = ann.new_object(server, &open).await;
    let payload = format!(r#"{{"text":"{WORD}"}}"#);
    ann.action(server, ("emit", &hidden, &payload))
        .await
        .expect(201);
    let path = format!("/templates/{closed}/variations");
    let kind = ("template.variations", closed.as_str());
    let name = format!(r#"{{"name":"{WORD}"}}"#);
    ann.change(server, ("POST", &path), kind, &name)
        .await
        .expect(201);
    let hook = json!({ "url": format!("http://127.0.0.1:1/{WORD}"), "events": ["*"] });
    let made = ("POST", "/webhooks");
    ann.change(server, made, ("webhook.create", ""), &hook.to_string())
        .await
        .expect(201);
    let mut key = crate::world::key_body(|_, _| true);
    key["name"] = json!(WORD);
    ann.new_key(server, &key).await.expect(201);
    let invite = ("POST", "/organizations/me/invitations");
    let kind = ("org.invite", ann.organization_id.as_str());
    ann.change(server, invite, kind, "{}").await.expect(201);
    let file = crate::world::upload(&format!("{WORD}.txt"), WORD.as_bytes());
    let row = find("POST", "/files");
    let mut headers = file.sign(&row, ann, &ann.terms(server));
    headers.push(ann.bearer());
    let made = crate::ask::send(server, "POST", &file, &headers).await;
    assert_eq!(made.status, 201, "{}", made.reported());
    (hidden, shown, open)
}

// Holds invariant 51.
#[tokio::test]
async fn what_one_organization_sees_is_not_changed_by_the_other() {
    let server = Server::start_with(&crate::world::OPTIONS).await;
    let bob = Bob::new(&server).await;
    let ann = Caller::register(&server, &format!("{WORD}@example.com")).await;
    let before = everything(&server, &bob).await;
    let first = server.sequence().await;
    let (hidden, shown, open) = act(&server, &ann).await;
    let after = everything(&server, &bob).await;
    for (path, text) in &before {
        assert_eq!(text, &after[path], "{path}");
        assert!(!text.contains(WORD), "{path}");
    }
    log(&server, &bob, first).await;
    stream(&server, &bob, first).await;
    keys(&server, &ann, &bob).await;
    public(&server, &bob, &open, &shown).await;
    // Public data is visible; a transferred object is visible to the new owner.
    let token = Some(bob.caller.token.as_str());
    server
        .get(&format!("/objects/{shown}"), token)
        .await
        .expect(200);
    let path = format!("/objects/{hidden}");
    server
        .get(&path, token)
        .await
        .refused(404, "RESOURCE_NOT_FOUND");
    let to = json!({ "to": bob.caller.wallet_id }).to_string();
    let given = ("POST", format!("{path}/transfer"));
    let given = ann
        .change(&server, (given.0, &given.1), ("transfer", &hidden), &to)
        .await;
    given.expect(200);
    server.get(&path, token).await.expect(200);
}

/// Anyone can read a public template and its objects; no other organization can change or mint them.
async fn public(server: &Server, bob: &Bob, template: &str, object: &str) {
    let token = Some(bob.caller.token.as_str());
    for path in [
        format!("/templates/{template}"),
        format!("/objects/{object}/history"),
    ] {
        server.get(&path, token).await.expect(200);
    }
    let list = server
        .get(&format!("/objects?template_id={template}"), token)
        .await;
    assert_eq!(list.expect(200).body["items"].as_array().unwrap().len(), 1);
    let (path, variations) = (
        format!("/templates/{template}"),
        format!("/templates/{template}/variations"),
    );
    let mint = json!({ "template_id": template }).to_string();
    let moved = json!({ "to": bob.caller.wallet_id }).to_string();
    let objects = format!("/objects/{object}");
    let transfer = format!("{objects}/transfer");
    let changes = [
        (
            ("PATCH", path.as_str()),
            ("template.update", template),
            r#"{"description":"mine"}"#,
        ),
        (
            ("POST", &variations),
            ("template.variations", template),
            r#"{"name":"mine"}"#,
        ),
        (("POST", "/objects"), ("mint", template), &mint),
        (
            ("PATCH", &objects),
            ("update", object),
            r#"{"properties":{"n":1}}"#,
        ),
        (("POST", &transfer), ("transfer", object), &moved),
    ];
    for (request, kind, body) in changes {
        let refused = bob.caller.change(server, request, kind, body).await;
        refused.refused(403, "FORBIDDEN");
    }
}

/// Batches contain all organizations' actions, and the export all leaves: only hashes.
async fn log(server: &Server, bob: &Bob, after: u64) {
    let token = Some(bob.caller.token.as_str());
    let batches = server
        .get("/batches?limit=1000", token)
        .await
        .expect(200)
        .body;
    let mut foreign = 0;
    for batch in batches["items"].as_array().unwrap() {
        let path = format!("/batches/{}/actions?limit=1000", batch["number"]);
        let page = server.get(&path, token).await.expect(200).body;
        assert!(!page.to_string().contains(WORD), "{page}");
        for action in page["items"].as_array().unwrap() {
            if action["sequence"].as_u64().unwrap() > after {
                let names = crate::check::names(action);
                assert_eq!(names, ["leaf", "leaf_index", "sequence"], "{action}");
                let path = format!("/ebus/actions/{}", action["sequence"]);
                for path in [path.clone(), format!("{path}/proof")] {
                    let got = server.get(&path, token).await;
                    let public = got.status == 200 && !got.body.to_string().contains("closed");
                    assert!(public || got.status == 404, "{path}: {}", got.body);
                    assert!(got.status == 404 || !got.body.to_string().contains(WORD));
                }
                foreign += 1;
            }
        }
    }
    assert!(foreign >= 9, "{foreign} actions of the other");
    server.newest_checkpoint().await;
    let export = server
        .text("GET", "/export", &[bob.caller.bearer()], "")
        .await;
    assert!(export.contains("poster") && !export.contains(WORD));
    let public = server.text("GET", "/export", &[], "").await;
    assert!(!public.contains("poster") && !public.contains(WORD));
    let of: Vec<Value> = export
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(of.len() > 5, "{export}");
}

/// A stream that resumes after another organization's event reports only the caller's own events.
async fn stream(server: &Server, bob: &Bob, after: u64) {
    let (template, object) = (&bob.template, &bob.object);
    assert!(!template.is_empty());
    bob.caller
        .action(server, ("lock", object, "{}"))
        .await
        .expect(201);
    let ask = Ask::get("/ebus/events/stream").with("last-event-id", (after + 2).to_string());
    let got = crate::ask::send(server, "GET", &ask, &[bob.caller.bearer()]).await;
    let reported = String::from_utf8_lossy(&got.bytes);
    assert_eq!(got.status, 200, "{reported}");
    assert!(!reported.contains(WORD), "{reported}");
    let list = format!("/ebus/events?after_sequence={after}&type=object.locked");
    let list = server
        .get(&list, Some(&bob.caller.token))
        .await
        .expect(200)
        .body;
    assert_eq!(list["items"].as_array().unwrap().len(), 1, "{list}");
    assert_eq!(list["items"][0]["object_id"], object.as_str());
}

/// The same idempotency key, method and path of two organizations are two different keys.
async fn keys(server: &Server, ann: &Caller, bob: &Bob) {
    let row = find("POST", "/templates");
    for caller in [ann, &bob.caller] {
        let ask = Ask::json("/templates", &json!({ "name": "the same" }))
            .signing("template.create", "")
            .with("idempotency-key", "one");
        let mut headers = ask.sign(&row, caller, &caller.terms(server));
        headers.push(caller.bearer());
        let got = crate::ask::send(server, "POST", &ask, &headers).await;
        assert_eq!(got.status, 201, "{}", got.reported());
        assert_eq!(got.header("idempotent-replayed"), "");
        assert_eq!(text(&got.json(), "organization_id"), caller.organization_id);
    }
}

//! Two organizations never see each other's private things: every endpoint with the other's ids, in
//! the path, the body, the query and the headers. What is the other's is answered as what is not there,
//! and whatever the other does, what one sees stays as it was, to the byte.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::ask::{Ask, Got};
use crate::check::refused;
use crate::harness::{Caller, Server};
use crate::row::{Auth, Gives, NOBODY, Row};
use crate::table::{find, table, walk};
use crate::world::{World, text};

/// Stands in everything private that the first organization writes.
const WORD: &str = "zebra";

/// An answer's headers that may differ: of the request, the moment, and the limits.
const MOMENTARY: [&str; 8] = [
    "x-request-id",
    "date",
    "x-sequence",
    "x-nonce-highest",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "ratelimit",
    "ratelimit-policy",
];

/// An answer without what names the request: status, headers and text.
fn shape(got: &Got, id: &str) -> (u16, BTreeMap<String, String>, String) {
    let headers = got.headers.iter().filter_map(|(name, value)| {
        let momentary = MOMENTARY.contains(&name.as_str());
        let value = value.to_str().unwrap().replace(id, "ID");
        (!momentary).then(|| (name.to_string(), value))
    });
    let text = String::from_utf8_lossy(&got.bytes).replace(id, "ID");
    let text = text.replace(&got.request_id, "REQUEST");
    // Request ids have different lengths.
    let headers = headers.filter(|(name, _)| name != "content-length");
    (got.status, headers.collect(), text)
}

/// Checks that the other's id is answered as one of nothing.
#[track_caller]
fn same(others: &Got, id: &str, nothing: &Got, nothing_id: &str) {
    assert_eq!(
        shape(others, id),
        shape(nothing, nothing_id),
        "{}",
        others.told()
    );
    assert!(others.status >= 400, "{}", others.told());
}

fn nothing_like(id: &str) -> String {
    format!("{}_{NOBODY}", &id[..3])
}

/// Sends the row's own request with every `id` replaced, as the other organization's owner.
async fn with_id(world: &World, row: &Row, ask: &Ask, id: &str, by: &str) -> Got {
    let swap = |text: &str| text.replace(id, by);
    let (ann, bob) = (world.ann.key.address(), world.bob.key.address());
    let body = swap(&String::from_utf8_lossy(&ask.body));
    let ask = Ask {
        path: swap(&ask.path),
        body: body
            .replace(&ann.to_string(), &bob.to_string())
            .into_bytes(),
        actions: ask
            .actions
            .iter()
            .map(|(kind, target, payload)| (kind.clone(), swap(target), swap(payload)))
            .collect(),
        ..ask.clone()
    };
    // What acts on the caller's own organization names it.
    let own = |text: &str| text.replace(&world.ann.organization_id, &world.bob.organization_id);
    let own = |text: &str| own(text).replace(&world.ann.wallet_id, &world.bob.wallet_id);
    let actions = ask.actions.iter();
    let actions =
        actions.map(|(kind, target, payload)| (kind.clone(), own(target), payload.clone()));
    let ask = Ask {
        actions: actions.collect(),
        ..ask
    };
    world
        .call(row, &ask, &world.bob, &[world.bob.bearer()])
        .await
}

/// Every id of the first organization that a request names.
fn ids_of(world: &World, row: &Row, ask: &Ask) -> Vec<String> {
    let text = format!("{} {}", ask.path, String::from_utf8_lossy(&ask.body));
    let places = text.match_indices('_').map(|(place, _)| place);
    let ids = places.filter_map(|place| {
        let start = place.checked_sub(3)?;
        let id = text.get(start..place + 27)?;
        let known = [
            "tpl", "var", "obj", "act", "key", "fil", "whk", "dlv", "wal",
        ];
        let plain = id[4..].bytes().all(|byte| byte.is_ascii_alphanumeric());
        (known.contains(&&id[..3]) && plain).then(|| id.to_owned())
    });
    let mut ids: Vec<String> = ids.collect();
    ids.sort();
    ids.dedup();
    // A wallet is nobody's secret: objects are given to it. Its place among the members is.
    ids.retain(|id| !id.starts_with("wal") || row.path.starts_with("/organizations"));
    ids.retain(|id| *id != world.ann.organization_id);
    ids
}

async fn others_ids(world: Arc<World>, row: Arc<Row>) {
    let (world, row) = (&*world, &*row);
    let ask = (row.ask)(world).await;
    let ids = ids_of(world, row, &ask);
    if row.path.contains("{id}") && !row.path.contains("/me/keys") {
        assert!(!ids.is_empty(), "{} names no id: {}", row.name(), ask.path);
    }
    for id in ids {
        let nothing = nothing_like(&id);
        let others = with_id(world, row, &ask, &id, &id).await;
        let missing = with_id(world, row, &ask, &id, &nothing).await;
        if row.path == "/ebus/actions/batch" || row.path == "/ebus/actions/preview" {
            // Each action has its own answer.
            let first = |got: &Got| got.json()["results"][0]["error"].clone();
            let told = |got: &Got, id: &str| {
                first(got)
                    .to_string()
                    .replace(id, "ID")
                    .replace(&got.request_id, "REQUEST")
            };
            assert_eq!(told(&others, &id), told(&missing, &nothing));
            assert_eq!(
                first(&others)["code"],
                "RESOURCE_NOT_FOUND",
                "{}",
                others.told()
            );
            continue;
        }
        refused(&others, "RESOURCE_NOT_FOUND");
        same(&others, &id, &missing, &nothing);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_others_ids_are_answered_as_ids_of_nothing() {
    let world = World::new(&[]).await;
    // Batches and anchors are public.
    let wanted = |row: &Row| {
        let public = row.path.starts_with("/batches") || row.path.starts_with("/anchors");
        row.auth != Auth::Public && !public
    };
    walk(&world, wanted, others_ids).await;
    queries(&world).await;
    cursors(&world).await;
    registering(&world).await;
}

/// Filters that name the other's things.
async fn queries(world: &World) {
    let row = find("GET", "/objects");
    let as_bob = async |path: String| {
        world
            .call(&row, &Ask::get(path), &world.bob, &[world.bob.bearer()])
            .await
    };
    let others = as_bob(format!("/objects?template_id={}", world.template)).await;
    let nothing = nothing_like(&world.template);
    let missing = as_bob(format!("/objects?template_id={nothing}")).await;
    same(&others, &world.template, &missing, &nothing);
    for (parameter, id) in [
        ("/objects?owner_id", &world.ann.wallet_id),
        ("/ebus/events?object_id", &world.object),
        ("/ebus/events?template_id", &world.template),
    ] {
        let others = as_bob(format!("{parameter}={id}")).await;
        let nothing = nothing_like(id);
        let missing = as_bob(format!("{parameter}={nothing}")).await;
        assert_eq!(others.status, 200, "{}", others.told());
        assert_eq!(shape(&others, id), shape(&missing, &nothing));
        assert_eq!(others.json()["items"], json!([]), "{}", others.told());
    }
}

/// Cursors that the other was given.
async fn cursors(world: &World) {
    for row in table() {
        if row.gives != Gives::List || row.has_id() || row.auth == Auth::Public {
            continue;
        }
        let ask = (row.ask)(world).await;
        let page = world
            .by_ann(&row, &ask.clone().query("limit=1"))
            .await
            .json();
        let Some(cursor) = page["cursor"].as_str() else {
            continue;
        };
        let ask = ask.query(&format!("cursor={cursor}"));
        let got = world
            .call(&row, &ask, &world.bob, &[world.bob.bearer()])
            .await;
        refused(&got, "CURSOR_INVALID");
    }
}

/// Nobody joins an organization whose name they only know.
async fn registering(world: &World) {
    let row = find("POST", "/wallets/register");
    let told = async |id: &str| {
        let caller = Caller::nobody();
        let mut body = caller.registration("stranger@example.com");
        body["organization_id"] = json!(id);
        let ask = Ask {
            signer: Some(Arc::new(caller)),
            ..Ask::json("/wallets/register", &body).signing("wallet.register", "")
        };
        let got = world.by_ann(&row, &ask).await;
        refused(&got, "FORBIDDEN");
        got
    };
    let id = &world.ann.organization_id;
    let (others, missing) = (told(id).await, told(&nothing_like(id)).await);
    same(&others, id, &missing, &nothing_like(id));
}

/// What one caller sees of everything, by path.
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

/// The second organization, with something of its own.
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

/// What the first organization does: something of every kind, with the word in all of it.
async fn act(server: &Server, ann: &Caller) -> (String, String) {
    let open = json!({ "name": format!("open {WORD}"), "public_access": true });
    let open = ann.template(server, &open).await.expect(201).body;
    let closed = json!({ "name": format!("closed {WORD}"), "properties": { "text": WORD } });
    let closed = text(&ann.template(server, &closed).await.expect(201).body, "id");
    let hidden = ann.new_object(server, &closed).await;
    let shown = ann.new_object(server, &text(&open, "id")).await;
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
    assert_eq!(made.status, 201, "{}", made.told());
    (hidden, shown)
}

#[tokio::test]
async fn what_one_organization_sees_is_not_changed_by_the_other() {
    let server = Server::start_with(&crate::world::OPTIONS).await;
    let bob = Bob::new(&server).await;
    let ann = Caller::register(&server, &format!("{WORD}@example.com")).await;
    let before = everything(&server, &bob).await;
    let first = server.sequence().await;
    let (hidden, shown) = act(&server, &ann).await;
    let after = everything(&server, &bob).await;
    for (path, text) in &before {
        assert_eq!(text, &after[path], "{path}");
        assert!(!text.contains(WORD), "{path}");
    }
    log(&server, &bob, first).await;
    stream(&server, &bob, first).await;
    keys(&server, &ann, &bob).await;
    // What is public is seen; what is given away is the new owner's to see.
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

/// Batches hold everybody's actions, and the export everybody's leaves: hashes, and no more.
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
    let export = server
        .text("GET", "/export", &[bob.caller.bearer()], "")
        .await;
    assert!(export.contains("poster") && !export.contains(WORD));
    let of: Vec<Value> = export
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(of.len() > 5, "{export}");
}

/// A stream that goes on behind an event of the other's tells one's own events alone.
async fn stream(server: &Server, bob: &Bob, after: u64) {
    let (template, object) = (&bob.template, &bob.object);
    assert!(!template.is_empty());
    bob.caller
        .action(server, ("lock", object, "{}"))
        .await
        .expect(201);
    let ask = Ask::get("/ebus/events/stream").with("last-event-id", (after + 2).to_string());
    let got = crate::ask::send(server, "GET", &ask, &[bob.caller.bearer()]).await;
    let told = String::from_utf8_lossy(&got.bytes);
    assert_eq!(got.status, 200, "{told}");
    assert!(!told.contains(WORD), "{told}");
    let list = format!("/ebus/events?after_sequence={after}&type=object.locked");
    let list = server
        .get(&list, Some(&bob.caller.token))
        .await
        .expect(200)
        .body;
    assert_eq!(list["items"].as_array().unwrap().len(), 1, "{list}");
    assert_eq!(list["items"][0]["object_id"], object.as_str());
}

/// The same idempotency key, method and path of two organizations are two keys.
async fn keys(server: &Server, ann: &Caller, bob: &Bob) {
    let row = find("POST", "/templates");
    for caller in [ann, &bob.caller] {
        let ask = Ask::json("/templates", &json!({ "name": "the same" }))
            .signing("template.create", "")
            .with("idempotency-key", "one");
        let mut headers = ask.sign(&row, caller, &caller.terms(server));
        headers.push(caller.bearer());
        let got = crate::ask::send(server, "POST", &ask, &headers).await;
        assert_eq!(got.status, 201, "{}", got.told());
        assert_eq!(got.header("idempotent-replayed"), "");
        assert_eq!(text(&got.json(), "organization_id"), caller.organization_id);
    }
}

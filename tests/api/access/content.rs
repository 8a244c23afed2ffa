//! Read rights of API keys follow the content: wherever an action's content appears, the key needs its read right.

use std::time::Duration;

use serde_json::{Value, json};

use crate::feeds::event_stream::{Ask, EventStream};
use crate::harness::{Answer, Caller, Server};

/// Text that no answer may show without the right to read it.
const SECRET: &str = "zebra";

/// The header of a new API key with these rights.
async fn key(server: &Server, by: &Caller, rights: &[&str]) -> (&'static str, String) {
    let mut permissions = serde_json::Map::new();
    for right in rights {
        let (area, what) = right.split_once('.').unwrap();
        permissions.entry(area).or_insert(json!({}))[what] = json!(true);
    }
    let permissions: Vec<Value> = permissions
        .into_iter()
        .map(|(area, crud)| json!({ "resource": area, "crud": crud }))
        .collect();
    let body = json!({ "name": "robot", "permissions": permissions });
    let made = by.new_key(server, &body).await.expect(201);
    ("x-api-key", made.body["key"].as_str().unwrap().to_owned())
}

/// An organization with a template, an object and a statement about it, all of which hold the secret.
async fn written(server: &Server) -> (Caller, String) {
    let ann = Caller::register(server, "ann@example.com").await;
    let template = ann.new_template(server, SECRET).await;
    let body = json!({ "template_id": template, "properties": { "animal": SECRET } });
    let minted = ann.mint(server, &body).await.expect(201);
    let object = minted.body["id"].as_str().unwrap().to_owned();
    ann.action(server, ("emit", &object, r#"{"text":"zebra"}"#))
        .await
        .expect(201);
    (ann, object)
}

async fn get(server: &Server, key: &(&'static str, String), path: &str) -> Answer {
    server
        .call("GET", path, std::slice::from_ref(key), "")
        .await
}

fn types(page: &Answer) -> Vec<&str> {
    let items = page.body["items"].as_array().unwrap();
    let mut types: Vec<&str> = items
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    types.sort_unstable();
    types.dedup();
    types
}

// Holds invariant 134.
#[tokio::test]
async fn events_show_a_key_what_it_may_read() {
    let server = Server::start().await;
    let (ann, _) = written(&server).await;
    let only = key(&server, &ann, &["events.read"]).await;
    let page = get(&server, &only, "/ebus/events").await.expect(200);
    assert_eq!(types(&page), ["batch.sealed"]);
    assert!(!page.body.to_string().contains(SECRET), "{}", page.body);
    for hidden in [
        "object.created",
        "object.*",
        "template.created",
        "action.executed",
    ] {
        let path = format!("/ebus/events?type={hidden}");
        get(&server, &only, &path).await.refused(403, "FORBIDDEN");
        let path = format!("/ebus/events/stream?type={hidden}");
        get(&server, &only, &path).await.refused(403, "FORBIDDEN");
    }
    get(&server, &only, "/ebus/events?type=batch.sealed")
        .await
        .expect(200);

    let cases: [(&[&str], &[&str]); 4] = [
        (&["objects.read"], &["object.created"]),
        (&["templates.read"], &["template.created"]),
        (&["wallets.read"], &["wallet.registered"]),
        (
            &["actions.read"],
            &[
                "action.executed",
                "object.created",
                "template.created",
                "wallet.registered",
            ],
        ),
    ];
    for (rights, expected) in cases {
        let rights: Vec<&str> = rights.iter().copied().chain(["events.read"]).collect();
        let with = key(&server, &ann, &rights).await;
        let page = get(&server, &with, "/ebus/events?limit=1000")
            .await
            .expect(200);
        let mut expected: Vec<&str> = expected.iter().copied().chain(["batch.sealed"]).collect();
        expected.sort_unstable();
        assert_eq!(types(&page), expected, "{rights:?}");
    }

    // The stream shows the same, for past and new events.
    let ask = Ask {
        query: "?after_sequence=0",
        api_key: Some(&only.1),
        ..Ask::default()
    };
    let mut stream = EventStream::begin(&server, &ann.token, ask).await;
    let before = server.sequence().await;
    ann.new_template(&server, "another zebra").await;
    loop {
        let event = stream.event().await;
        assert_eq!(event["type"], "batch.sealed", "{event}");
        if event["sequence"].as_u64().unwrap() > before {
            break;
        }
    }
}

/// The id of the first delivery in a webhook's log.
async fn first_delivery(server: &Server, key: &(&'static str, String), log: &str) -> String {
    for _ in 0..500 {
        let page = get(server, key, log).await.expect(200);
        if let Some(id) = page.body["items"][0]["id"].as_str() {
            return id.to_owned();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("nothing was delivered");
}

/// Creates or changes a webhook with an API key.
async fn hook(
    server: &Server,
    by: &Caller,
    key: &(&'static str, String),
    (method, path): (&str, &str),
    (kind, target): (&str, &str),
    body: &Value,
) -> Answer {
    let body = body.to_string();
    let signed = (kind, target, body.as_str());
    let credentials = std::slice::from_ref(key);
    by.change_as(server, (method, path), signed, &body, credentials)
        .await
}

/// The secret of a webhook for all events needs the right to read everything: its holder could forge what the webhook
/// sends.
async fn a_secret_is_for_who_may_read(
    server: &Server,
    by: &Caller,
    id: &str,
    (narrow, wide): (&(&'static str, String), &(&'static str, String)),
) {
    let path = format!("/webhooks/{id}/rotate");
    for (key, status) in [(narrow, 403), (wide, 200)] {
        let rotate = ("POST", path.as_str());
        let rotated = hook(server, by, key, rotate, ("webhook.rotate", id), &json!({})).await;
        assert_eq!(rotated.status, status, "{}", rotated.body);
    }
}

// Holds invariant 134.
#[tokio::test]
async fn a_key_has_no_events_sent_that_it_may_not_read() {
    let server = Server::start_with(&["webhook_allowed_networks=[\"127.0.0.0/8\"]"]).await;
    let (ann, _) = written(&server).await;
    let hooks = ["webhooks.create", "webhooks.read", "webhooks.update"];
    let narrow = key(&server, &ann, &hooks).await;
    let wide = key(&server, &ann, &[&hooks[..], &["actions.read"]].concat()).await;
    let objects = key(&server, &ann, &[&hooks[..], &["objects.read"]].concat()).await;
    let url = "http://127.0.0.1:9/";
    let make = async |key: &(&'static str, String), events: Value| {
        let body = json!({ "url": url, "events": events });
        let post = ("POST", "/webhooks");
        hook(&server, &ann, key, post, ("webhook.create", ""), &body).await
    };
    for (key, events, status) in [
        (&narrow, json!(["*"]), 403),
        (&narrow, json!(["object.updated"]), 403),
        (&narrow, json!(["batch.sealed"]), 201),
        (&objects, json!(["*"]), 403),
        (&objects, json!(["template.created"]), 403),
        (&objects, json!(["object.created", "batch.sealed"]), 201),
        (&wide, json!(["*"]), 201),
    ] {
        let answer = make(key, events.clone()).await;
        assert_eq!(answer.status, status, "{events}: {}", answer.body);
    }
    // A key that may not read everything cannot redirect a webhook for all events.
    let made = make(&wide, json!(["object.created"])).await.expect(201);
    let id = made.body["id"].as_str().unwrap();
    let path = format!("/webhooks/{id}");
    let patch = ("PATCH", path.as_str());
    let kind = ("webhook.update", id);
    let elsewhere = json!({ "url": "http://127.0.0.1:10/" });
    let fewer = json!({ "url": "http://127.0.0.1:10/", "events": ["batch.sealed"] });
    for body in [&elsewhere, &fewer] {
        let answer = hook(&server, &ann, &narrow, patch, kind, body).await;
        answer.refused(403, "FORBIDDEN");
    }
    let more = json!({ "events": ["*"] });
    hook(&server, &ann, &objects, patch, kind, &more)
        .await
        .refused(403, "FORBIDDEN");
    hook(&server, &ann, &objects, patch, kind, &elsewhere)
        .await
        .expect(200);

    let everything = make(&wide, json!(["*"])).await.expect(201);
    let everything = everything.body["id"].as_str().unwrap();
    a_secret_is_for_who_may_read(&server, &ann, everything, (&narrow, &wide)).await;

    // Deliveries from before the webhook was narrowed are not resent for a key that may not read them.
    let template = ann.new_template(&server, "later").await;
    ann.new_object(&server, &template).await;
    let log = format!("{path}/deliveries");
    let delivery = first_delivery(&server, &wide, &log).await;
    let fewer = json!({ "events": ["batch.sealed"] });
    hook(&server, &ann, &wide, patch, kind, &fewer)
        .await
        .expect(200);
    let again = format!("{log}/{delivery}/redeliver");
    let redeliver = async |key: &(&'static str, String)| {
        server
            .call("POST", &again, std::slice::from_ref(key), "")
            .await
    };
    redeliver(&narrow).await.refused(403, "FORBIDDEN");
    redeliver(&objects).await.expect(202);
}

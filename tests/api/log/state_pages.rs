//! Pages of items with their proofs: what they may hold while they wait, and how large they get.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::harness::{Caller, Server, Signed};

/// Makes a root of everything that the log holds.
fn make_root(server: &Server) {
    server.admin("anchor-now");
}

async fn mint(server: &Server, caller: &Caller, template: &str, payload: &str) -> String {
    let actions: [Signed<'_>; 1] = [("mint", template, payload)];
    let made = caller.bus(server, &actions, true).await.expect(200).body;
    made["results"][0]["object_id"].as_str().unwrap().to_owned()
}

/// Changes an object so many times.
async fn update(server: &Server, caller: &Caller, object: &str, times: u64) {
    let payloads: Vec<String> = (0..times)
        .map(|number| json!({"properties": {"n": number}}).to_string())
        .collect();
    for some in payloads.chunks(400) {
        let actions: Vec<Signed<'_>> = some
            .iter()
            .map(|payload| ("update", object, payload.as_str()))
            .collect();
        caller.bus(server, &actions, true).await.expect(200);
    }
}

// Holds invariant 261.
#[tokio::test]
async fn a_page_replays_a_bounded_number_of_actions() {
    let mut server = Server::start_with(&["checkpoint_interval_s=3600"]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = ann.new_template(&server, "ticket").await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let id = ann.new_object(&server, &template).await;
        update(&server, &ann, &id, 1_600).await;
        ids.push(id);
    }
    make_root(&server);
    for id in &ids {
        update(&server, &ann, id, 1).await;
    }
    let page = |path: String| {
        let (server, token) = (&server, &ann.token);
        async move { server.get(&path, Some(token)).await.expect(200).body }
    };
    let shown = |page: &Value| -> Vec<String> {
        let items = page["items"].as_array().unwrap().iter();
        items
            .map(|item| item["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let all = page("/objects?prove=true".to_owned()).await;
    assert_eq!(shown(&all), ids);

    // A process that has made no root replays what changed since.
    assert_eq!(server.terminate(), Some(0));
    let server = server.restart_with(&["checkpoint_interval_s=3600"]).await;
    let page = |path: String| {
        let (server, token) = (&server, &ann.token);
        async move { server.get(&path, Some(token)).await.expect(200).body }
    };
    let first = page("/objects?prove=true".to_owned()).await;
    assert_eq!(shown(&first), ids[..2]);
    assert_eq!(first["items"], json!(all["items"].as_array().unwrap()[..2]));
    assert_eq!(first["items"][0]["properties"]["n"], json!(1_599));
    let cursor = first["cursor"].as_str().unwrap();
    let second = page(format!("/objects?prove=true&cursor={cursor}")).await;
    assert_eq!(shown(&second), ids[2..]);
    assert_eq!(second["has_more"], json!(false));
}

// Holds invariant 261.
#[tokio::test]
async fn a_page_that_waits_for_a_checkpoint_holds_no_place() {
    let server = Server::start_with(&["checkpoint_interval_s=50"]).await;
    while server.get("/checkpoint", None).await.status != 200 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let mut waiting = Vec::new();
    for number in 0..5 * std::thread::available_parallelism().unwrap().get() {
        waiting.push(Caller::register(&server, &format!("a{number}@example.com")).await);
    }
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = ann.new_template(&server, "ticket").await;
    let object = ann.new_object(&server, &template).await;
    let path = format!(
        "/objects?prove=true&min_sequence={}&wait=60",
        server.sequence().await
    );
    let requests = waiting.iter().flat_map(|caller| [caller, caller]);
    let requests = join_all(requests.map(|caller| server.get(&path, Some(&caller.token))));
    let other = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        server.get("/objects", Some(&ann.token)).await.expect(200)
    };
    tokio::select! {
        answers = requests => panic!("no request waited: {}", answers[0].status),
        answer = other => assert_eq!(answer.body["items"][0]["id"], json!(object)),
    }
}

#[tokio::test]
async fn a_page_is_bounded_by_what_its_items_were() {
    let server = Server::start_with(&["checkpoint_interval_s=3600"]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = ann.new_template(&server, "ticket").await;
    let large = json!({"properties": {"x": "a".repeat(900_000)}}).to_string();
    let mut ids = Vec::new();
    for _ in 0..12 {
        ids.push(mint(&server, &ann, &template, &large).await);
    }
    make_root(&server);
    let smaller = r#"{"attributes":["x"]}"#;
    let actions: Vec<Signed<'_>> = ids
        .iter()
        .map(|id| ("delete_attributes", id.as_str(), smaller))
        .collect();
    ann.bus(&server, &actions, true).await.expect(200);

    let mut shown: Vec<Value> = Vec::new();
    let mut path = "/objects?prove=true".to_owned();
    let mut pages = 0;
    loop {
        let page = server.get(&path, Some(&ann.token)).await.expect(200).body;
        let items = page["items"].as_array().unwrap();
        let bytes = page.to_string().len();
        assert!(bytes < 9 << 20, "{} items, {bytes} bytes", items.len());
        let proofs = page["state_proofs"]["proofs"].as_array().unwrap();
        assert_eq!(proofs.len(), items.len());
        assert!(items.iter().all(|item| item["properties"]["x"].is_string()));
        shown.extend(items.iter().map(|item| item["id"].clone()));
        pages += 1;
        assert_eq!(page["has_more"], json!(page["cursor"].is_string()));
        match page["cursor"].as_str() {
            Some(cursor) => path = format!("/objects?prove=true&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(shown, ids);
    assert!(pages > 1, "the page was not cut");
}

#[tokio::test]
async fn an_object_with_a_long_history_since_does_not_fail_a_page() {
    let mut server = Server::start_with(&["checkpoint_interval_s=3600"]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = ann.new_template(&server, "ticket").await;
    let busy = ann.new_object(&server, &template).await;
    let calm = ann.new_object(&server, &template).await;
    make_root(&server);
    let page = "/objects?prove=true";
    let path = format!("/objects/{busy}/state-proof");
    let with_texts = server.get(&path, Some(&ann.token)).await.expect(200);
    let before = server.get(page, Some(&ann.token)).await.expect(200).body;
    assert_eq!(before["items"].as_array().unwrap().len(), 2);
    update(&server, &ann, &busy, 1_200).await;
    let after = server.get(page, Some(&ann.token)).await.expect(200);
    assert_eq!(after.body, before);
    let again = server.get(&path, Some(&ann.token)).await.expect(200);
    assert_eq!(again.body, with_texts.body);

    // A process that has made no root replays what changed since, as far as the object's history is listed.
    assert_eq!(server.terminate(), Some(0));
    let server = server.restart_with(&["checkpoint_interval_s=3600"]).await;
    let after = server.get(page, Some(&ann.token)).await.expect(200).body;
    let items = after["items"].as_array().unwrap();
    assert_eq!(items.len(), 1, "{items:?}");
    assert_eq!(items[0]["id"], json!(calm));
    // The proof stays; its text alone is out of reach, and the answer is another one.
    let without = server.get(&path, Some(&ann.token)).await.expect(200);
    assert_ne!(without.header("etag"), with_texts.header("etag"));
    let proof = without.body;
    assert_eq!(proof["entry"], {
        let proofs = before["state_proofs"]["proofs"].as_array().unwrap();
        let of = proofs.iter().find(|shown| shown["key"] == json!(busy));
        of.unwrap()["entry"].clone()
    });
    assert!(proof["texts"].get("properties").is_none(), "{proof}");
}

//! The property index: its entries, and that a replay rebuilds it.

use std::net::TcpListener;

use kedge_rules::index::ordered_value;
use kedge_storage::{StoreOptions, Table, WriteGroup};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::{Caller, Server, Signed};
use crate::resources::search::{found, is, items_id, mint_all, new_template, schema};

/// The number of rows that the server has written so far.
async fn rows_written(port: u16) -> u64 {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let request = "GET /metrics HTTP/1.1\r\nhost: metrics\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).await.unwrap();
    let written = page
        .lines()
        .find_map(|line| line.strip_prefix("kedge_storage_group_writes_sum "));
    written.unwrap().parse().unwrap()
}

// Holds invariant 42.
#[tokio::test]
async fn an_index_writes_what_changes_in_it_and_nothing_where_there_is_none() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let listen = format!("metrics_listen=\"127.0.0.1:{port}\"");
    // No frame says meanwhile that a root is due.
    let server = Server::start_with(&[&listen, "checkpoint_interval_s=3600"]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let plain = ann.new_template(&server, "plain").await;
    let unmarked = json!({ "name": "unmarked", "schema": { "properties": { "price": {} } } });
    let unmarked = new_template(&ann, &server, &unmarked).await;
    let marked = json!({ "name": "marked", "schema": schema() });
    let marked = new_template(&ann, &server, &marked).await;

    let mut before = rows_written(port).await;
    let mut done = async |step: Signed<'_>| {
        let answer = ann.action(&server, step).await.expect(201).body;
        // Each is a batch, and the tree over the batches gets one more row for each level that the batch completes.
        let levels = answer["batch_number"].as_u64().unwrap().trailing_ones();
        let now = rows_written(port).await;
        let written = now - before - u64::from(levels);
        before = now;
        (answer["resource_id"].as_str().unwrap().to_owned(), written)
    };
    let mut minted = Vec::new();
    let mut objects = Vec::new();
    for template in [&plain, &unmarked, &marked] {
        let (object, written) = done(("mint", template, "{}")).await;
        objects.push(object);
        minted.push(written);
    }
    assert_eq!(minted, [minted[0], minted[0], minted[0] + 3]);
    for (change, rows) in [
        (r#"{"properties":{"price":1}}"#, 2),
        (r#"{"properties":{"price":1.0,"plain":2}}"#, 0),
        (r#"{"properties":{"price":2,"size":{"w":1}}}"#, 4),
        (r#"{"properties":{"price":{"a":1},"size":null}}"#, 4),
        (r#"{"properties":{"price":[1],"size":1}}"#, 0),
    ] {
        let mut updated = Vec::new();
        for object in &objects {
            updated.push(done(("update", object, change)).await.1);
        }
        let expected = [updated[0], updated[0], updated[0] + rows];
        assert_eq!(updated, expected, "{change}");
    }
}

// Holds invariant 42.
#[tokio::test]
async fn the_index_is_what_a_replay_of_the_log_makes() {
    let mut server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let body = json!({ "name": "ticket", "schema": schema() });
    let template = new_template(&ann, &server, &body).await;
    let plain = ann.new_template(&server, "plain").await;
    ann.new_object(&server, &plain).await;
    let properties = [r#"{"price":1}"#, r#"{"price":2,"size":{"w":"x"}}"#, "{}"];
    mint_all(&ann, &server, &template, &properties).await;
    let of_template = is("template_id", "eq", template.as_str());
    let items = found(&ann, &server, &of_template, &json!({})).await;
    let ids: Vec<String> = items.iter().map(items_id).collect();
    // Several changes of one object in one request, some of which cancel out.
    let changes: [Signed<'_>; 7] = [
        ("update", &ids[0], r#"{"properties":{"price":5}}"#),
        (
            "update",
            &ids[0],
            r#"{"properties":{"price":null,"plain":1}}"#,
        ),
        (
            "set_attributes",
            &ids[0],
            r#"{"attributes":{"price":1.0,"size":{"w":null}}}"#,
        ),
        ("delete_attributes", &ids[1], r#"{"attributes":["price"]}"#),
        ("update", &ids[1], r#"{"properties":{"size":{"w":[1]}}}"#),
        ("burn", &ids[1], "{}"),
        ("lock", &ids[2], "{}"),
    ];
    ann.bus(&server, &changes, true).await.expect(200);
    assert_eq!(server.terminate(), Some(0));

    let path = server.dir.path().join("data/store");
    let verify = || kedge_upkeep::verify::store(&path, server.domain, server.sequencer, |_| ());
    verify().unwrap();
    let open = || {
        let options = StoreOptions {
            high_water_path: Some(server.dir.path().join("data.high-water")),
            side_keys: kedge_upkeep::side_keys::read(&server.dir.path().join("data/keys")).unwrap(),
            ..StoreOptions::of_store(&path, server.domain, server.sequencer)
        };
        kedge_replay::catch_up::open_store(options).unwrap()
    };
    let store = open();
    let snapshot = store.snapshot();
    // One entry for each indexed path of each object, of the only template with any.
    assert_eq!(snapshot.raw_rows(Table::PropertyIndex).count(), 3 * 3);
    let object = snapshot.object(ids[2].parse().unwrap()).unwrap().unwrap();
    drop((snapshot, store));
    let value = |json: Option<&str>| ordered_value(json);
    let changes = |before: Option<Vec<u8>>, after: Vec<u8>| {
        let store = open();
        let mut group = WriteGroup::new();
        group.change_property(&object, 0, before.as_deref(), &after);
        store.commit(group).unwrap();
        store.close().unwrap();
        verify().map_err(|error| error.to_string())
    };
    // A misplaced entry, its correction, and a surplus entry.
    server.is_spoilt = true;
    let moved = changes(Some(value(None)), value(Some("7"))).unwrap_err();
    assert!(moved.contains("property_index"), "{moved}");
    changes(Some(value(Some("7"))), value(None)).unwrap();
    let forged = changes(None, value(Some("7"))).unwrap_err();
    assert!(forged.contains("property_index"), "{forged}");
}

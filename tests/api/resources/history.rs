//! An object's history at its bounds, and past states of the object.

use std::ops::RangeInclusive;

use kedge_storage::{Store, StoreOptions, Table};
use serde_json::{Value, json};

use crate::harness::{Caller, Server, Signed};

/// Changes an object this many times, at most 500 in a request.
async fn change(caller: &Caller, server: &Server, object: &str, first: u64, count: u64) {
    for start in (first..first + count).step_by(500) {
        let end = (start + 500).min(first + count);
        let payloads: Vec<String> = (start..end)
            .map(|n| format!(r#"{{"properties":{{"n":{n}}}}}"#))
            .collect();
        let updates: Vec<Signed<'_>> = payloads
            .iter()
            .map(|payload| ("update", object, payload.as_str()))
            .collect();
        caller.bus(server, &updates, true).await.expect(200);
    }
}

/// All pages of an object's history, newest first, and the number of pruned entries.
async fn history(
    caller: &Caller,
    server: &Server,
    object: &str,
    limit: u64,
) -> (Vec<Value>, Value) {
    let mut items = Vec::new();
    let mut cursor = String::new();
    loop {
        let path = format!("/objects/{object}/history?limit={limit}{cursor}");
        let page = server
            .get(&path, Some(&caller.token))
            .await
            .expect(200)
            .body;
        items.extend_from_slice(page["items"].as_array().unwrap());
        match page["cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return (items, page["pruned_before"].clone()),
        }
    }
}

/// Checks that the state has one row for the object and two for its milestones, however long its history is, and that
/// the log has one for each request.
async fn has_one_row_each(mut server: Server) {
    let requests = 3 + 2 + 1 + 1 + 1 + 3;
    let actions = server.sequence().await;
    assert_eq!(server.terminate(), Some(0));
    let path = server.dir.path().join("data/store");
    kedge_upkeep::verify::store(&path, server.domain, server.sequencer, |_| ()).unwrap();
    let options = StoreOptions::of_store(&path, server.domain, server.sequencer);
    let snapshot = Store::open_to_verify(options).unwrap().snapshot();
    for (table, rows) in [
        (Table::Objects, 1),
        (Table::Milestones, 2),
        (Table::ObjectIndex, 3),
        (Table::PropertyIndex, 0),
        (Table::RequestsByOrganization, requests),
    ] {
        assert_eq!(snapshot.raw_rows(table).count(), rows, "{table:?}");
    }
    assert_eq!(snapshot.indexed(), actions);
    for &table in Table::ALL.iter().filter(|table| table.is_state()) {
        let largest = snapshot
            .raw_rows(table)
            .map(|row| row.unwrap().1.len())
            .max();
        assert!(largest < Some(1_000), "{table:?} {largest:?}");
    }
}

// Holds invariant 47.
#[tokio::test]
async fn a_history_lists_the_last_thousand_actions() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = ann.new_template(&server, "counter").await;
    let object = ann.new_object(&server, &template).await;
    // The version of an object is the number of its actions; the mint was the first.
    let mut version = 1;
    for wanted in [999, 1_000, 1_001, 1_500, 2_600] {
        change(&ann, &server, &object, version + 1, wanted - version).await;
        version = wanted;
        let limit = if wanted == 1_000 { 1_000 } else { 170 };
        let (items, pruned_before) = history(&ann, &server, &object, limit).await;
        let versions: Vec<u64> = items
            .iter()
            .map(|item| item["object_version"].as_u64().unwrap())
            .collect();
        let first = wanted.saturating_sub(1_000) + 1;
        assert!(
            versions.iter().copied().eq((first..=wanted).rev()),
            "{versions:?}"
        );
        let expected = if wanted > 1_000 {
            json!(first)
        } else {
            Value::Null
        };
        assert_eq!(pruned_before, expected);
        let sequence = |version: u64| {
            let item = &items[(wanted - version) as usize];
            item["sequence"].as_u64().unwrap()
        };
        // Past states of the object reach as far back as the list.
        let at = |sequence: u64| format!("/objects/{object}?at_sequence={sequence}");
        for past in [first, 1_000, 1_001, 1_999, 2_000, 2_001, wanted] {
            if (first..=wanted).contains(&past) {
                let stood = server.get(&at(sequence(past)), Some(&ann.token)).await;
                let stood = stood.expect(200).body;
                assert_eq!(stood["version"], past, "of {wanted}");
                if past > 1 {
                    assert_eq!(stood["properties"], json!({ "n": past }), "of {wanted}");
                }
            }
        }
        if first > 1 {
            // The log keeps what the list no longer shows.
            let before = sequence(first) - 1;
            let action = format!("/ebus/actions/{before}");
            let unlisted = server.get(&action, Some(&ann.token)).await.expect(200);
            assert_eq!(unlisted.body["object_version"], first - 1);
            let gone = server.get(&at(before), Some(&ann.token)).await;
            gone.refused(410, "GONE");
            let message = gone.body["body"]["message"].as_str().unwrap();
            let reach = format!("version {first},");
            assert!(message.contains(&reach), "{message}");
        }
    }

    has_one_row_each(server).await;
}

/// No state exists before the mint or after the head, or for callers that may not see the object.
async fn past_states_have_bounds(
    server: &Server,
    ann: &Caller,
    id: &str,
    states: RangeInclusive<u64>,
) {
    let (first, head) = states.into_inner();
    let path = format!("/objects/{id}");
    let read = |path: String| async move { server.get(&path, Some(&ann.token)).await };
    let before = read(format!("{path}?at_sequence={}", first - 1)).await;
    before.refused(404, "RESOURCE_NOT_FOUND");
    assert_eq!(before.body["body"]["id"], id);
    let none = read(format!("{path}?at_sequence=0")).await;
    none.refused(400, "VALIDATION_ERROR");
    assert_eq!(
        none.body["body"]["errors"][0]["pointer"], "/at_sequence",
        "the document's least is 1"
    );
    let ahead = read(format!("{path}?at_sequence={}", head + 1)).await;
    ahead.refused(409, "SEQUENCE_NOT_REACHED");
    read(format!("{path}?at_sequence=now"))
        .await
        .refused(400, "VALIDATION_ERROR");
    let eve = Caller::register(server, "eve@example.com").await;
    let unseen = server
        .get(&format!("{path}?at_sequence={first}"), Some(&eve.token))
        .await;
    unseen.refused(404, "RESOURCE_NOT_FOUND");
}

// Holds invariants 47, 230.
#[tokio::test]
async fn an_object_is_rebuilt_as_it_stood() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let body = json!({ "name": "ticket", "properties": { "seat": 1, "price": 1.50 } });
    let template = ann.template(&server, &body).await.expect(201).body["id"].clone();
    let template = template.as_str().unwrap();
    let body = json!({ "template_id": template, "properties": { "seat": 2 } });
    let minted = ann.mint(&server, &body).await.expect(201).body;
    let id = minted["id"].as_str().unwrap();
    let path = format!("/objects/{id}");
    let read = |path: String| {
        let (server, ann) = (&server, &ann);
        async move { server.get(&path, Some(&ann.token)).await }
    };
    let first = minted["sequence"].as_u64().unwrap();
    let to_bob = json!({ "to": bob.key.address() }).to_string();
    let steps: [Signed<'_>; 7] = [
        (
            "update",
            id,
            r#"{"properties": {"seat": null, "row": {"b": 1.0, "a": [1]}}}"#,
        ),
        (
            "set_attributes",
            id,
            r#"{"attributes":{"seat":3,"none":null}}"#,
        ),
        ("delete_attributes", id, r#"{"attributes":["price"]}"#),
        ("lock", id, "{}"),
        ("unlock", id, "{}"),
        ("emit", id, r#"{"anything":1}"#),
        ("transfer", id, &to_bob),
    ];
    // The state read after each step must be returned for that sequence from then on.
    let mut then = vec![(first, read(path.clone()).await.expect(200))];
    for step in steps {
        let done = ann.action(&server, step).await.expect(201);
        let sequence = done.body["sequence"].as_u64().unwrap();
        then.push((sequence, read(path.clone()).await.expect(200)));
        // Actions on other objects come in between, and do not affect it.
        bob.new_template(&server, &format!("between {sequence}"))
            .await;
    }
    bob.action(&server, ("burn", id, "{}")).await.expect(201);
    for (i, (sequence, answer)) in then.iter().enumerate() {
        for at in [*sequence, sequence + 1] {
            let past = read(format!("{path}?at_sequence={at}")).await.expect(200);
            if at == *sequence || i > 0 {
                assert_eq!(past.body, answer.body, "at {at}");
                assert_eq!(past.header("etag"), answer.header("etag"));
            }
        }
    }
    let now = read(path.clone()).await.expect(200).body;
    let head = server.sequence().await;
    assert_eq!(
        read(format!("{path}?at_sequence={head}"))
            .await
            .expect(200)
            .body,
        now
    );
    assert_eq!(now["status"], "burned");

    past_states_have_bounds(&server, &ann, id, first..=head).await;
}

/// The payloads exceed what is read in one turn, twice: on the way back, and when they are applied.
#[tokio::test]
async fn an_object_with_large_changes_is_rebuilt_in_turns() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = ann.new_template(&server, "large").await;
    let id = ann.new_object(&server, &template).await;
    let mut then = Vec::new();
    for n in 0..12 {
        let text = n.to_string().repeat(900_000 / n.to_string().len());
        let update = json!({ "properties": { "text": text, "n": n } }).to_string();
        let done = ann.action(&server, ("update", &id, &update)).await;
        then.push(done.expect(201).body["sequence"].as_u64().unwrap());
    }
    for (n, sequence) in then.iter().enumerate() {
        let path = format!("/objects/{id}?at_sequence={sequence}");
        let past = server.get(&path, Some(&ann.token)).await.expect(200).body;
        assert_eq!(past["properties"]["n"], n);
        let text = past["properties"]["text"].as_str().unwrap();
        assert!(text.starts_with(&n.to_string()) && text.len() >= 900_000);
    }
}

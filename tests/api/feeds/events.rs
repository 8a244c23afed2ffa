//! The list of events: the events of each action, who sees them, filters and pages.

use std::collections::HashSet;
use std::time::Duration;

use kedge::api::events::views::EventView;
use serde_json::{Value, json};

use crate::feeds::event_stream::{Ask, EventStream};
use crate::harness::{Caller, Server, Signed};

/// A page of the list, with every event checked against the document.
pub(crate) async fn list(server: &Server, caller: &Caller, query: &str) -> Value {
    let path = format!("/ebus/events{query}");
    let page = server
        .get(&path, Some(&caller.token))
        .await
        .expect(200)
        .body;
    for event in items(&page) {
        let read: Result<EventView, _> = serde_json::from_value(event.clone());
        read.unwrap_or_else(|error| panic!("{error}: {event}"));
    }
    page
}

pub(crate) fn items(page: &Value) -> &[Value] {
    page["items"].as_array().unwrap()
}

pub(crate) fn types(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect()
}

fn positions(events: &[Value]) -> Vec<String> {
    events
        .iter()
        .map(|event| event["position"].as_str().unwrap().to_owned())
        .collect()
}

/// Only the events of these types.
fn of_types<'a>(events: &'a [Value], types: &[&str]) -> Vec<&'a Value> {
    events
        .iter()
        .filter(|event| types.contains(&event["type"].as_str().unwrap()))
        .collect()
}

/// A caller with a template and one object; returns their ids.
async fn with_object(server: &Server, email: &str) -> (Caller, String, String) {
    let caller = Caller::register(server, email).await;
    let template = json!({
        "name": "ticket",
        "public_access": true,
        "actions": [{ "kind": "x.stamp", "who": "anyone" }],
    });
    let made = caller.template(server, &template).await.expect(201);
    let template_id = made.body["id"].as_str().unwrap().to_owned();
    let object_id = caller.new_object(server, &template_id).await;
    (caller, template_id, object_id)
}

#[tokio::test]
async fn every_action_tells_what_it_did() {
    let server = Server::start().await;
    let (ann, template_id, object_id) = with_object(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let many = json!({ "variations": [{ "name": "stalls" }, { "name": "balcony" }] }).to_string();
    let path = format!("/templates/{template_id}/variations");
    ann.change(
        &server,
        ("POST", &path),
        ("template.variations", &template_id),
        &many,
    )
    .await
    .expect(201);
    let to_bob = format!(r#"{{"to":"{}"}}"#, bob.key.address());
    let actions: [Signed<'_>; 7] = [
        (
            "update",
            &object_id,
            "{ \"properties\":\r\n {\"seat\":1.50}}",
        ),
        (
            "set_attributes",
            &object_id,
            r#"{"attributes":{"row":"é"}}"#,
        ),
        ("lock", &object_id, "{}"),
        ("unlock", &object_id, "{}"),
        ("emit", &object_id, r#"{"seen":true}"#),
        ("x.stamp", &object_id, "{}"),
        ("transfer", &object_id, &to_bob),
    ];
    let sent = ann.bus(&server, &actions, true).await.expect(200);
    bob.action(&server, ("burn", &object_id, "{}"))
        .await
        .expect(201);

    let page = list(&server, &ann, "").await;
    let events = items(&page);
    assert_eq!(page["has_more"], false);
    let reported: Vec<&str> = types(events)
        .into_iter()
        .filter(|event_type| *event_type != "batch.sealed")
        .collect();
    assert_eq!(
        reported,
        [
            "wallet.registered",
            "template.created",
            "object.created",
            "variation.created",
            "variation.created",
            "object.updated",
            "object.updated",
            "object.locked",
            "object.unlocked",
            "action.executed",
            "action.executed",
            "object.transferred",
            "object.burned",
        ]
    );
    let ids: HashSet<&Value> = events.iter().map(|event| &event["id"]).collect();
    assert_eq!(ids.len(), events.len(), "every event has an id of its own");

    let created = of_types(events, &["object.created"])[0];
    assert_eq!(created["object_id"], object_id);
    assert_eq!(created["data"]["template_id"], template_id);
    assert_eq!(created["data"]["owner_id"], ann.wallet_id);
    let variations = of_types(events, &["variation.created"]);
    assert_eq!(variations[0]["sequence"], variations[1]["sequence"]);
    assert_eq!(variations[1]["data"]["name"], "balcony");
    let listed = server.get(&path, Some(&ann.token)).await.expect(200).body;
    assert_eq!(
        variations[1]["data"]["variation_id"],
        items(&listed)[1]["id"]
    );
    let updated = of_types(events, &["object.updated"])[0];
    assert_eq!(
        updated["data"]["payload"],
        json!({ "properties": { "seat": 1.5 } })
    );
    assert_eq!(updated["data"]["version"], 2);
    assert_eq!(updated["action_id"], sent.body["results"][0]["id"]);
    assert_eq!(updated["data"]["signer"], ann.key.address().to_string());
    let transferred = of_types(events, &["object.transferred"])[0];
    assert_eq!(transferred["data"]["owner_id"], bob.wallet_id);
    assert_eq!(transferred["position"], transferred["sequence"].to_string());
    let sealed = of_types(events, &["batch.sealed"]);
    let batch = server
        .get(&format!("/batches/{}", sealed[0]["data"]["number"]), None)
        .await;
    assert_eq!(sealed[0]["data"]["batch_id"], batch.body["id"]);
    assert_eq!(sealed[0]["data"]["head"], batch.body["head"]);
    assert_eq!(sealed[0]["organization_id"], Value::Null);
}

/// By object and by template: the failures that name them.
async fn failures_name(server: &Server, caller: &Caller, (object_id, template_id): (&str, &str)) {
    let query = format!("?type=action.*&object_id={object_id}");
    let of_object = list(server, caller, &query).await;
    assert_eq!(items(&of_object).len(), 2);
    let query = format!("?type=action.failed&template_id={template_id}");
    let of_template = list(server, caller, &query).await;
    assert_eq!(items(&of_template)[0]["data"]["action_type"], "mint");
}

#[tokio::test]
async fn refused_actions_are_told_to_who_sent_them() {
    let server = Server::start().await;
    let (ann, template_id, object_id) = with_object(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let missing = format!("obj_{}", "0".repeat(26));
    let seat: Signed<'_> = ("update", &object_id, r#"{"properties":{"seat":1}}"#);
    let unlock: Signed<'_> = ("unlock", &object_id, "{}");
    let lock_missing: Signed<'_> = ("lock", &missing, "{}");
    let bad_mint: Signed<'_> = ("mint", &template_id, r#"{"properties":7}"#);

    let mixed = ann
        .bus(&server, &[unlock, seat, lock_missing], false)
        .await
        .expect(200);
    ann.bus(&server, &[seat, bad_mint], true)
        .await
        .refused(422, "STATE_VIOLATION");
    ann.action(&server, unlock)
        .await
        .refused(422, "STATE_VIOLATION");
    ann.action(&server, seat).await.expect(201);

    let page = list(&server, &ann, "?type=action.failed").await;
    let failed = items(&page);
    let reported: Vec<(&str, u64, bool)> = failed
        .iter()
        .map(|event| {
            let data = &event["data"];
            let code = data["code"].as_str().unwrap();
            (
                code,
                data["index"].as_u64().unwrap(),
                data["atomic"] == true,
            )
        })
        .collect();
    assert_eq!(
        reported,
        [
            ("STATE_VIOLATION", 0, false),
            ("RESOURCE_NOT_FOUND", 2, false),
            ("VALIDATION_ERROR", 1, true),
            ("STATE_VIOLATION", 0, false),
        ]
    );
    let error = &mixed.body["results"][2]["error"];
    assert_eq!(failed[1]["data"]["message"], error["body"]["message"]);
    assert_eq!(failed[1]["object_id"], missing);
    assert_eq!(failed[2]["data"]["pointer"], "/properties");
    for event in failed {
        assert_eq!(event["action_id"], Value::Null, "it is not in the log");
    }
    // Events are listed in order, and later ones follow.
    let all = list(&server, &ann, "").await;
    let all_types = types(items(&all));
    let end = all_types.len();
    let (failed, updated, sealed) = ("action.failed", "object.updated", "batch.sealed");
    assert_eq!(
        all_types[end - 8..],
        [
            updated, sealed, failed, failed, failed, failed, updated, sealed
        ]
    );
    failures_name(&server, &ann, (&object_id, &template_id)).await;
    let of_bob = list(&server, &bob, "?type=action.failed").await;
    assert_eq!(items(&of_bob), [] as [Value; 0]);
}

// Holds invariant 38.
#[tokio::test]
async fn an_organization_sees_its_own_doings_and_what_is_done_to_its_objects() {
    let mut server = Server::start().await;
    let (ann, template_id, object_id) = with_object(&server, "ann@example.com").await;
    let (bob, _, other_id) = with_object(&server, "bob@example.com").await;
    let eve = Caller::register(&server, "eve@example.com").await;
    let start = server.sequence().await;
    let query = format!("?after_sequence={start}");
    let seen = async |server: &Server, caller: &Caller| -> Vec<(String, String)> {
        let page = list(server, caller, &query).await;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let seen = items(&page).iter();
        seen.map(|event| (text(&event["type"]), text(&event["object_id"])))
            .collect()
    };
    let pair = |event_type: &str, object: &str| (event_type.to_owned(), object.to_owned());
    // One request of Bob's: on his own object, and on Ann's, which everybody may stamp.
    let actions: [Signed<'_>; 3] = [
        ("emit", &other_id, "{}"),
        ("x.stamp", &object_id, r#"{"at":"door"}"#),
        ("emit", &other_id, "{}"),
    ];
    bob.bus(&server, &actions, true).await.expect(200);
    let sealed = pair("batch.sealed", "");
    let stamped = pair("action.executed", &object_id);
    let emitted = pair("action.executed", &other_id);
    assert_eq!(seen(&server, &ann).await, [stamped.clone(), sealed.clone()]);
    assert_eq!(
        seen(&server, &bob).await,
        [emitted.clone(), stamped, emitted, sealed]
    );
    assert_eq!(seen(&server, &eve).await, []);
    let page = list(&server, &ann, &format!("{query}&object_id={object_id}")).await;
    let stamp = &items(&page)[0];
    assert_eq!(stamp["data"]["wallet_id"], bob.wallet_id);
    assert_eq!(stamp["data"]["payload"], json!({ "at": "door" }));
    assert_ne!(
        stamp["organization_id"],
        items(&list(&server, &ann, "").await)[0]["organization_id"]
    );
    // By template: events on objects made from Ann's, of any actor.
    let of_template = list(&server, &bob, &format!("{query}&template_id={template_id}")).await;
    assert_eq!(items(&of_template).len(), 1);
    // A refused action on another's object is reported only to its own caller.
    bob.action(&server, ("update", &object_id, "{}"))
        .await
        .refused(403, "FORBIDDEN");
    assert_eq!(seen(&server, &ann).await.len(), 2);
    assert_eq!(seen(&server, &bob).await.len(), 5);
    assert_eq!(server.get("/ebus/events", None).await.status, 401);
    // Actors and owners follow from the log, like everything else.
    server.kill();
    let path = server.dir.path().join("data").join("store");
    kedge_upkeep::verify::store(&path, server.domain, server.sequencer, |_| ()).unwrap();
}

#[tokio::test]
async fn pages_join_in_both_orders_and_bounds_hold() {
    let server = Server::start().await;
    let (ann, template_id, object_id) = with_object(&server, "ann@example.com").await;
    let names: Vec<Value> = (0..40).map(|n| json!({ "name": n.to_string() })).collect();
    let body = json!({ "variations": names }).to_string();
    let path = format!("/templates/{template_id}/variations");
    ann.change(
        &server,
        ("POST", &path),
        ("template.variations", &template_id),
        &body,
    )
    .await
    .expect(201);
    let emits: Vec<Signed<'_>> = vec![("emit", &object_id, "{}"); 30];
    ann.bus(&server, &emits, false).await.expect(200);
    ann.action(&server, ("unlock", &object_id, "{}"))
        .await
        .refused(422, "STATE_VIOLATION");

    let all = list(&server, &ann, "?limit=1000").await;
    let all = positions(items(&all));
    for (order, limit) in [("asc", 7), ("desc", 7), ("asc", 1), ("desc", 50)] {
        let mut found = Vec::new();
        let mut cursor = String::new();
        loop {
            let page = list(
                &server,
                &ann,
                &format!("?limit={limit}&order={order}{cursor}"),
            )
            .await;
            found.extend(positions(items(&page)));
            if page["has_more"] == false {
                assert_eq!(page["cursor"], Value::Null);
                break;
            }
            assert_eq!(items(&page).len(), limit);
            cursor = format!("&cursor={}", page["cursor"].as_str().unwrap());
        }
        if order == "desc" {
            found.reverse();
        }
        assert_eq!(found, all, "{order} by {limit}");
    }
    let skipped = list(&server, &ann, "?offset=3&limit=2").await;
    assert_eq!(positions(items(&skipped)), all[3..5]);

    let last = server.sequence().await;
    let (low, high) = (last - 10, last - 5);
    let bounds = format!("after_sequence={low}&before_sequence={high}");
    for order in ["asc", "desc"] {
        let page = list(&server, &ann, &format!("?{bounds}&order={order}")).await;
        let mut sequences: Vec<u64> = items(&page)
            .iter()
            .map(|event| event["sequence"].as_u64().unwrap())
            .collect();
        sequences.sort_unstable();
        assert_eq!(sequences, (low + 1..high).collect::<Vec<_>>(), "{order}");
    }

    let page = list(&server, &ann, "?limit=3&type=object.*").await;
    assert_eq!(types(items(&page)), ["object.created"]);
    wrong_queries(&server, &ann, &template_id).await;
}

async fn wrong_queries(server: &Server, caller: &Caller, template_id: &str) {
    let page = list(server, caller, "?limit=3").await;
    let cursor = page["cursor"].as_str().unwrap();
    let refused = async |query: &str, code: &str| {
        let path = format!("/ebus/events{query}");
        let answer = server.get(&path, Some(&caller.token)).await;
        answer.refused(400, code);
    };
    refused(&format!("?type=object.*&cursor={cursor}"), "CURSOR_INVALID").await;
    refused(&format!("?order=desc&cursor={cursor}"), "CURSOR_INVALID").await;
    refused("?type=object.made", "VALIDATION_ERROR").await;
    refused("?object_id=obj_1", "VALIDATION_ERROR").await;
    refused(&format!("?object_id={template_id}"), "VALIDATION_ERROR").await;
    refused("?after_sequence=-1", "VALIDATION_ERROR").await;
    refused("?limit=1001", "VALIDATION_ERROR").await;
    refused("?last_event_id=1", "VALIDATION_ERROR").await;
}

// Holds invariant 232.
#[tokio::test]
async fn anchored_batches_concern_those_with_an_action_in_them() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let query = "?type=batch.anchored,anchor.*";
    let confirmed = async |count: usize| loop {
        let page = list(&server, &ann, query).await;
        let confirmed = types(items(&page)).into_iter();
        if confirmed.filter(|kind| *kind == "anchor.confirmed").count() == count {
            break page["items"].clone();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    server.admin("anchor-now");
    let reported = confirmed(1).await;
    assert_eq!(
        types(reported.as_array().unwrap()),
        ["batch.anchored", "anchor.confirmed"]
    );
    assert_eq!(list(&server, &bob, query).await["items"], reported);
    let data = &reported[0]["data"];
    assert_eq!(
        (&data["first_batch"], &data["last_batch"]),
        (&json!(0), &json!(1))
    );
    let anchor = data["anchor_id"].as_str().unwrap();
    let anchor = server
        .get(&format!("/anchors/{anchor}"), None)
        .await
        .expect(200)
        .body;
    assert_eq!(
        (&data["root"], &data["tx_hash"]),
        (&anchor["root"], &anchor["tx_hash"])
    );

    // Of an anchor over Bob's actions alone, Ann learns no more than that it is final; the stream agrees with the list.
    bob.new_template(&server, "his").await;
    server.admin("anchor-now");
    let of_ann = confirmed(2).await;
    let of_ann = types(of_ann.as_array().unwrap());
    assert_eq!(
        of_ann,
        ["batch.anchored", "anchor.confirmed", "anchor.confirmed"]
    );
    let of_bob = list(&server, &bob, query).await;
    let both = ["batch.anchored", "anchor.confirmed"];
    assert_eq!(types(items(&of_bob)), [both, both].concat());
    let ask = Ask {
        query: "?type=batch.anchored,anchor.*&after_sequence=0",
        ..Ask::default()
    };
    let mut stream = EventStream::begin(&server, &ann.token, ask).await;
    for expected in of_ann {
        assert_eq!(stream.event().await["type"], expected);
    }
}

//! The action bus, its actions and events.

use serde_json::{Value, json};

use crate::ask::Ask;
use crate::row::{Gives, NOBODY, Row, Signs, Takes, ask, case, row};

const ACTION: [&str; 14] = [
    "id",
    "sequence",
    "action_type",
    "object_id",
    "payload",
    "signer",
    "nonce",
    "status",
    "timestamp",
    "leaf",
    "head",
    "batch_id",
    "leaf_index",
    "object_version",
];
const EMIT: &str = r#"{"text":"hello"}"#;

/// One action of the bus.
fn action(kind: &str, object: &str, payload: &str) -> Ask {
    let body = format!(r#"{{"action_type":"{kind}","object_id":"{object}","payload":{payload}}}"#);
    Ask::get("/ebus/actions")
        .with_body(body)
        .signing_payload(kind, object, payload)
}

/// A batch of actions with these payloads, on one object.
fn batch(object: &str, actions: &[(&str, &str)], atomic: bool) -> Ask {
    let members: Vec<String> = actions
        .iter()
        .map(|(kind, payload)| {
            format!(r#"{{"action_type":"{kind}","object_id":"{object}","payload":{payload}}}"#)
        })
        .collect();
    let body = format!(r#"{{"actions":[{}],"atomic":{atomic}}}"#, members.join(","));
    let ask = Ask::get("/ebus/actions/batch").with_body(body);
    let signed = actions.iter().fold(ask, |ask, (kind, payload)| {
        ask.signing_payload(kind, object, payload)
    });
    Ask { atomic, ..signed }
}

fn preview(body: &Value) -> Ask {
    Ask::json("/ebus/actions/preview", body)
}

fn submitting() -> Vec<Row> {
    vec![
        Row {
            status: 201,
            right: ("actions", "create"),
            signs: Signs::Actions,
            takes: Takes::Json,
            gives: Gives::Json,
            keys: &[
                "id",
                "sequence",
                "action_type",
                "status",
                "leaf",
                "head",
                "batch_id",
                "receipt",
            ],
            cases: vec![
                case!("RESOURCE_NOT_FOUND", _world => action("lock", &format!("obj_{NOBODY}"), "{}")),
                case!("STATE_VIOLATION", world => action("lock", &world.locked, "{}")),
                case!("VALIDATION_ERROR" at "/action_type", world => {
                    let ask = action("lock", &world.object, "{}");
                    let body = String::from_utf8(ask.body.clone()).unwrap();
                    ask.with_body(body.replace("lock", "template.create"))
                }),
                case!("VALIDATION_ERROR" at "/payload/properties", world => {
                    action("update", &world.object, r#"{"properties":7}"#)
                }),
                case!("FORBIDDEN", world => action("x.fly", &world.object, "{}")),
            ],
            ..row(
                "POST",
                "/ebus/actions",
                ask!(world => action("emit", &world.object, EMIT)),
            )
        },
        Row {
            right: ("actions", "create"),
            signs: Signs::Actions,
            takes: Takes::Json,
            gives: Gives::Json,
            keys: &["results", "receipt"],
            cases: vec![
                case!("VALIDATION_ERROR" at "/actions", world => {
                    batch(&world.object, &[("emit", EMIT)], false).with_body(r#"{"actions":[]}"#)
                }),
                case!("BATCH_TOO_LARGE", world => {
                    // The number of actions is checked before the signature.
                    let too_many = batch(&world.object, &[("emit", EMIT); 501], false);
                    Ask { actions: too_many.actions[..1].to_vec(), ..too_many }
                }),
                case!("STATE_VIOLATION", world => {
                    batch(&world.locked, &[("emit", EMIT), ("lock", "{}")], true)
                }),
            ],
            ..row(
                "POST",
                "/ebus/actions/batch",
                ask!(world => {
                    batch(&world.object, &[("emit", EMIT), ("emit", r#"{"text":"again"}"#)], false)
                }),
            )
        },
    ]
}

fn previewing() -> Vec<Row> {
    vec![Row {
        right: ("actions", "create"),
        takes: Takes::Json,
        gives: Gives::Json,
        keys: &["results", "would_commit", "typed_data", "headers"],
        cases: vec![
            case!("VALIDATION_ERROR" at "/actions", _world => preview(&json!({ "actions": [] }))),
            case!("VALIDATION_ERROR" at "/action_type", _world => preview(&json!({}))),
            case!("VALIDATION_ERROR" at "/signer", world => {
                let ask = json!({ "action_type": "lock", "object_id": world.object, "signer": "me" });
                preview(&ask)
            }),
        ],
        ..row(
            "POST",
            "/ebus/actions/preview",
            ask!(world => {
                let signer = world.ann.key.address();
                preview(&json!({ "action_type": "lock", "object_id": world.object, "signer": signer }))
            }),
        )
    }]
}

fn actions() -> Vec<Row> {
    vec![
        Row {
            right: ("actions", "read"),
            gives: Gives::List,
            keys: &ACTION,
            ..row(
                "GET",
                "/ebus/actions",
                ask!(_world => Ask::get("/ebus/actions")),
            )
        },
        Row {
            right: ("actions", "read"),
            keys: &[
                "id",
                "sequence",
                "action_type",
                "object_id",
                "payload",
                "signer",
                "nonce",
                "status",
                "timestamp",
                "leaf",
                "head",
                "batch_id",
                "leaf_index",
                "object_version",
                "receipt",
            ],
            ..row(
                "GET",
                "/ebus/actions/{id}",
                ask!(world => {
                    Ask::get(format!("/ebus/actions/{}", world.action))
                }),
            )
        },
        Row {
            right: ("actions", "read"),
            keys: &[
                "version",
                "domain",
                "leaf",
                "inclusion",
                "batch",
                "anchor",
                "action",
            ],
            cases: vec![case!("VALIDATION_ERROR", world => {
                Ask::get(format!("/ebus/actions/{}/proof?form=all", world.action))
            })],
            ..row(
                "GET",
                "/ebus/actions/{id}/proof",
                ask!(world => {
                    Ask::get(format!("/ebus/actions/{}/proof", world.action))
                }),
            )
        },
    ]
}

fn events() -> Vec<Row> {
    vec![
        Row {
            right: ("events", "read"),
            gives: Gives::List,
            keys: &[
                "id",
                "type",
                "sequence",
                "timestamp",
                "organization_id",
                "action_id",
                "data",
            ],
            cases: vec![
                case!("VALIDATION_ERROR", _world => Ask::get("/ebus/events?type=object.eaten")),
                case!("VALIDATION_ERROR", _world => Ask::get("/ebus/events?after_sequence=last")),
                case!("VALIDATION_ERROR", _world => Ask::get("/ebus/events?object_id=thing")),
            ],
            ..row(
                "GET",
                "/ebus/events",
                ask!(_world => {
                    Ask::get("/ebus/events?type=object.created")
                }),
            )
        },
        Row {
            right: ("events", "read"),
            gives: Gives::Other("text/event-stream"),
            cases: vec![
                case!("VALIDATION_ERROR", _world => {
                    Ask::get("/ebus/events/stream").with("last-event-id", "yesterday")
                }),
                case!("SEQUENCE_NOT_REACHED", _world => {
                    Ask::get("/ebus/events/stream?last_event_id=999999999")
                }),
            ],
            ..row(
                "GET",
                "/ebus/events/stream",
                ask!(_world => {
                    Ask::get("/ebus/events/stream?after_sequence=0")
                }),
            )
        },
    ]
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = submitting();
    rows.extend(previewing());
    rows.extend(actions());
    rows.extend(events());
    rows
}

//! Objects.

use serde_json::{Value, json};

use crate::ask::Ask;
use crate::row::{Gives, NOBODY, Row, Signs, Takes, ask, case, row};
use crate::world::World;

const OBJECT: [&str; 14] = [
    "id",
    "organization_id",
    "template_id",
    "variation_id",
    "serial",
    "owner_id",
    "owner_address",
    "properties",
    "status",
    "version",
    "integrity_hash",
    "sequence",
    "created_at",
    "updated_at",
];
const CHANGED: [&str; 5] = ["id", "version", "sequence", "action_id", "receipt"];
/// An entity tag of a state that no object has.
const STALE: &str = "\"9.0000000000000000\"";

fn mint(world: &World, bend: impl FnOnce(&mut Value)) -> Ask {
    let mut body = json!({ "template_id": world.template, "properties": { "n": 1 } });
    bend(&mut body);
    let target = body["template_id"].as_str().unwrap_or_default().to_owned();
    Ask::json("/objects", &body).signing("mint", &target)
}

fn patch(id: &str, body: &Value) -> Ask {
    Ask::json(format!("/objects/{id}"), body).signing("update", id)
}

fn transfer(id: &str, to: &str) -> Ask {
    Ask::json(format!("/objects/{id}/transfer"), &json!({ "to": to })).signing("transfer", id)
}

/// Properties of a little more than 1 MB.
fn huge() -> Value {
    json!({ "text": "x".repeat(1_048_577) })
}

fn minting_and_changing() -> Vec<Row> {
    vec![
        Row {
            status: 201,
            right: ("objects", "create"),
            admin: true,
            signs: Signs::Body,
            takes: Takes::Json,
            gives: Gives::Json,
            keys: &[
                "id",
                "template_id",
                "owner_id",
                "properties",
                "status",
                "action_id",
                "receipt",
            ],
            cases: vec![
                case!("RESOURCE_NOT_FOUND", world => {
                    mint(world, |body| body["template_id"] = json!(format!("tpl_{NOBODY}")))
                }),
                case!("RESOURCE_NOT_FOUND", world => {
                    mint(world, |body| body["variation_id"] = json!(format!("var_{NOBODY}")))
                }),
                case!("RESOURCE_NOT_FOUND", world => {
                    mint(world, |body| body["to"] = json!(format!("wal_{NOBODY}")))
                }),
                case!("VALIDATION_ERROR" at "/properties", world => {
                    mint(world, |body| body["properties"] = json!([]))
                }),
                case!("OBJECT_TOO_LARGE", world => mint(world, |body| body["properties"] = huge())),
            ],
            ..row("POST", "/objects", ask!(world => mint(world, |_| ())))
        },
        Row {
            right: ("objects", "update"),
            signs: Signs::Body,
            takes: Takes::Json,
            gives: Gives::Json,
            keys: &CHANGED,
            cases: vec![
                case!("RESOURCE_NOT_FOUND", _world => {
                    patch(&format!("obj_{NOBODY}"), &json!({ "properties": {} }))
                }),
                case!("VALIDATION_ERROR" at "/properties", world => {
                    patch(&world.object, &json!({ "properties": 1 }))
                }),
                case!("STATE_VIOLATION", world => patch(&world.locked, &json!({ "properties": {} }))),
                case!("OBJECT_TOO_LARGE", world => patch(&world.object, &json!({ "properties": huge() }))),
                case!("PRECONDITION_FAILED", world => {
                    patch(&world.object, &json!({ "properties": {} })).with("if-match", STALE)
                }),
            ],
            ..row(
                "PATCH",
                "/objects/{id}",
                ask!(world => {
                    patch(&world.new_object().await, &json!({ "properties": { "n": 2 } }))
                }),
            )
        },
    ]
}

fn transfers() -> Vec<Row> {
    vec![Row {
        right: ("objects", "update"),
        signs: Signs::Body,
        takes: Takes::Json,
        gives: Gives::Json,
        keys: &CHANGED,
        cases: vec![
            case!("RESOURCE_NOT_FOUND", world => {
                transfer(&format!("obj_{NOBODY}"), &world.max.wallet_id)
            }),
            case!("RESOURCE_NOT_FOUND", world => {
                transfer(&world.object, &format!("wal_{NOBODY}"))
            }),
            case!("VALIDATION_ERROR" at "/to", world => transfer(&world.object, "Max")),
            case!("STATE_VIOLATION", world => transfer(&world.locked, &world.max.wallet_id)),
            case!("PRECONDITION_FAILED", world => {
                transfer(&world.object, &world.max.wallet_id).with("if-match", STALE)
            }),
        ],
        ..row(
            "POST",
            "/objects/{id}/transfer",
            ask!(world => {
                transfer(&world.new_object().await, &world.max.wallet_id)
            }),
        )
    }]
}

fn search(path: &str, world: &World) -> Ask {
    let filter = json!({ "field": "template_id", "op": "eq", "value": world.template });
    Ask::json(path, &json!({ "filter": filter }))
}

/// Reads whose bodies state what to search for.
fn searches() -> Vec<Row> {
    vec![
        Row {
            right: ("objects", "read"),
            takes: Takes::Json,
            gives: Gives::List,
            keys: &OBJECT,
            cases: vec![case!("VALIDATION_ERROR" at "/filter/op", world => {
                let filter = json!({ "field": "template_id", "op": "like", "value": world.template });
                Ask::json("/objects/search", &json!({ "filter": filter }))
            })],
            ..row(
                "POST",
                "/objects/search",
                ask!(world => search("/objects/search", world)),
            )
        },
        Row {
            right: ("objects", "read"),
            takes: Takes::Json,
            gives: Gives::Json,
            keys: &["count"],
            cases: vec![case!("VALIDATION_ERROR" at "/limit", world => {
                let mut body = json!({ "filter": { "field": "status", "op": "eq", "value": "active" } });
                body["limit"] = json!(world.fresh());
                Ask::json("/objects/count", &body)
            })],
            ..row(
                "POST",
                "/objects/count",
                ask!(world => search("/objects/count", world)),
            )
        },
    ]
}

fn reads() -> Vec<Row> {
    vec![
        Row {
            right: ("objects", "read"),
            gives: Gives::List,
            keys: &OBJECT,
            cases: vec![
                case!("RESOURCE_NOT_FOUND", _world => {
                    Ask::get(format!("/objects?template_id=tpl_{NOBODY}"))
                }),
                case!("VALIDATION_ERROR", _world => Ask::get("/objects?owner_id=somebody")),
                case!("VALIDATION_ERROR", _world => Ask::get("/objects?order=up")),
            ],
            ..row("GET", "/objects", ask!(_world => Ask::get("/objects")))
        },
        Row {
            right: ("objects", "read"),
            keys: &OBJECT,
            ..row(
                "GET",
                "/objects/{id}",
                ask!(world => {
                    Ask::get(format!("/objects/{}", world.object))
                }),
            )
        },
        Row {
            right: ("objects", "read"),
            gives: Gives::List,
            keys: &[
                "id",
                "sequence",
                "action_type",
                "object_id",
                "payload",
                "signer",
            ],
            ..row(
                "GET",
                "/objects/{id}/history",
                ask!(world => {
                    Ask::get(format!("/objects/{}/history", world.locked))
                }),
            )
        },
    ]
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = minting_and_changing();
    rows.extend(transfers());
    rows.extend(searches());
    rows.extend(reads());
    rows
}

//! Templates and their variations.

use serde_json::{Value, json};

use crate::ask::Ask;
use crate::row::{Gives, NOBODY, Row, Signs, Takes, ask, case, row};
use crate::world::World;

const TEMPLATE: [&str; 11] = [
    "id",
    "organization_id",
    "name",
    "description",
    "properties",
    "minted_count",
    "actions",
    "public_access",
    "version",
    "created_at",
    "updated_at",
];

fn create(world: &World, bend: impl FnOnce(&mut Value)) -> Ask {
    let mut body = json!({ "name": format!("made {}", world.fresh()), "properties": { "n": 0 } });
    bend(&mut body);
    Ask::json("/templates", &body).signing("template.create", "")
}

fn patch(id: &str, body: &Value) -> Ask {
    Ask::json(format!("/templates/{id}"), body).signing("template.update", id)
}

fn vary(id: &str, body: &Value) -> Ask {
    Ask::json(format!("/templates/{id}/variations"), body).signing("template.variations", id)
}

fn making_and_changing() -> Vec<Row> {
    vec![
        Row {
            status: 201,
            right: ("templates", "create"),
            admin: true,
            signs: Signs::Body,
            takes: Takes::Json,
            gives: Gives::Json,
            keys: &["id", "name", "properties", "action_id", "receipt"],
            cases: vec![
                case!("CONFLICT", world => create(world, |body| body["name"] = json!("ticket"))),
                case!("VALIDATION_ERROR" at "/name", world => create(world, |body| body["name"] = json!(""))),
                case!("VALIDATION_ERROR" at "/actions/0/kind", world => {
                    create(world, |body| body["actions"] = json!([{ "kind": "fly", "who": "owner" }]))
                }),
                case!("VALIDATION_ERROR" at "/schema/type", world => {
                    create(world, |body| body["schema"] = json!({ "type": "nothing" }))
                }),
                case!("OBJECT_TOO_LARGE", world => {
                    let text = "x".repeat(1_048_577);
                    create(world, |body| body["properties"] = json!({ "text": text }))
                }),
            ],
            ..row("POST", "/templates", ask!(world => create(world, |_| ())))
        },
        Row {
            right: ("templates", "update"),
            admin: true,
            signs: Signs::Body,
            takes: Takes::Json,
            gives: Gives::Json,
            keys: &[
                "id",
                "name",
                "description",
                "version",
                "action_id",
                "receipt",
            ],
            cases: vec![
                case!("RESOURCE_NOT_FOUND", _world => {
                    patch(&format!("tpl_{NOBODY}"), &json!({ "description": "x" }))
                }),
                case!("STATE_VIOLATION", world => {
                    patch(&world.template, &json!({ "description": "late" }))
                }),
                case!("CONFLICT", world => {
                    patch(&world.new_template().await, &json!({ "name": "ticket" }))
                }),
                case!("VALIDATION_ERROR" at "/name", world => {
                    patch(&world.new_template().await, &json!({ "name": "" }))
                }),
                case!("PRECONDITION_FAILED", world => {
                    let stale = "\"9.0000000000000000\"";
                    patch(&world.new_template().await, &json!({ "description": "x" }))
                        .with("if-match", stale)
                }),
            ],
            ..row(
                "PATCH",
                "/templates/{id}",
                ask!(world => {
                    patch(&world.new_template().await, &json!({ "description": "better" }))
                }),
            )
        },
    ]
}

fn variations() -> Vec<Row> {
    vec![Row {
        status: 201,
        right: ("templates", "create"),
        admin: true,
        signs: Signs::Body,
        takes: Takes::Json,
        gives: Gives::Json,
        keys: &["items", "template", "action_id", "receipt"],
        cases: vec![
            case!("RESOURCE_NOT_FOUND", _world => {
                vary(&format!("tpl_{NOBODY}"), &json!({ "name": "x" }))
            }),
            case!("VALIDATION_ERROR" at "/variations", world => {
                vary(&world.template, &json!({ "variations": [] }))
            }),
            case!("VALIDATION_ERROR" at "/variations/1/name", world => {
                vary(&world.template, &json!({ "variations": [{ "name": "a" }, { "name": "" }] }))
            }),
            case!("VALIDATION_ERROR" at "/variations", world => {
                let one = json!({ "name": "a" });
                vary(&world.template, &json!({ "variations": vec![one; 501] }))
            }),
        ],
        ..row(
            "POST",
            "/templates/{id}/variations",
            ask!(world => {
                let names = [json!({ "name": "red" }), json!({ "name": "blue" })];
                vary(&world.new_template().await, &json!({ "variations": names }))
            }),
        )
    }]
}

fn reads() -> Vec<Row> {
    vec![
        Row {
            right: ("templates", "read"),
            gives: Gives::List,
            keys: &TEMPLATE,
            ..row("GET", "/templates", ask!(_world => Ask::get("/templates")))
        },
        Row {
            right: ("templates", "read"),
            keys: &TEMPLATE,
            ..row(
                "GET",
                "/templates/{id}",
                ask!(world => {
                    Ask::get(format!("/templates/{}", world.template))
                }),
            )
        },
        Row {
            right: ("templates", "read"),
            gives: Gives::List,
            keys: &["id", "template_id", "name", "properties"],
            ..row(
                "GET",
                "/templates/{id}/variations",
                ask!(world => {
                    Ask::get(format!("/templates/{}/variations", world.template))
                }),
            )
        },
    ]
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = making_and_changing();
    rows.extend(variations());
    rows.extend(reads());
    rows
}

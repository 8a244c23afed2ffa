//! API keys.

use serde_json::{Value, json};

use crate::ask::Ask;
use crate::row::{Gives, NOBODY, Row, Signs, Takes, ask, case, row};
use crate::world::key_body;

const KEY: [&str; 6] = [
    "id",
    "organization_id",
    "name",
    "permissions",
    "expires_at",
    "created_at",
];

fn create(bend: impl FnOnce(&mut Value)) -> Ask {
    let mut body = key_body(|_, access| access == "read");
    bend(&mut body);
    Ask::json("/api-keys", &body).signing("key.create", "")
}

fn delete(id: &str) -> Ask {
    Ask::get(format!("/api-keys/{id}")).signing("key.delete", id)
}

fn rotate(id: &str, body: &Value) -> Ask {
    Ask::json(format!("/api-keys/{id}/rotate"), body).signing("key.rotate", id)
}

fn making_and_reading() -> Vec<Row> {
    vec![
        Row {
            status: 201,
            right: ("api_keys", "create"),
            admin: true,
            signs: Signs::Body,
            takes: Takes::Json,
            gives: Gives::Json,
            keys: &["id", "key", "name", "permissions", "action_id", "receipt"],
            cases: vec![
                case!("VALIDATION_ERROR" at "/name", _world => create(|body| body["name"] = json!(""))),
                case!("VALIDATION_ERROR" at "/permissions", _world => {
                    create(|body| body["permissions"] = json!([]))
                }),
                case!("VALIDATION_ERROR" at "/permissions/0/resource", _world => {
                    create(|body| body["permissions"][0]["resource"] = json!("moons"))
                }),
                case!("VALIDATION_ERROR" at "/expires_at", _world => {
                    create(|body| body["expires_at"] = json!("2020-01-01T00:00:00.000Z"))
                }),
                case!("VALIDATION_ERROR" at "/expires_at", _world => {
                    create(|body| body["expires_at"] = json!("soon"))
                }),
            ],
            ..row("POST", "/api-keys", ask!(_world => create(|_| ())))
        },
        Row {
            right: ("api_keys", "read"),
            gives: Gives::List,
            keys: &KEY,
            ..row("GET", "/api-keys", ask!(_world => Ask::get("/api-keys")))
        },
        Row {
            right: ("api_keys", "read"),
            keys: &KEY,
            ..row(
                "GET",
                "/api-keys/{id}",
                ask!(world => {
                    Ask::get(format!("/api-keys/{}", world.key_id))
                }),
            )
        },
    ]
}

fn ending_and_renewing() -> Vec<Row> {
    vec![
        Row {
            right: ("api_keys", "delete"),
            admin: true,
            signs: Signs::Actions,
            gives: Gives::Json,
            keys: &["id", "action_id", "receipt"],
            cases: vec![
                case!("RESOURCE_NOT_FOUND", _world => delete(&format!("key_{NOBODY}"))),
                case!("RESOURCE_NOT_FOUND", world => {
                    let (id, _) = world.new_key().await;
                    let row = crate::table::find("DELETE", "/api-keys/{id}");
                    assert_eq!(world.by_ann(&row, &delete(&id)).await.status, 200);
                    delete(&id)
                }),
            ],
            ..row(
                "DELETE",
                "/api-keys/{id}",
                ask!(world => delete(&world.new_key().await.0)),
            )
        },
        Row {
            right: ("api_keys", "update"),
            admin: true,
            signs: Signs::Body,
            takes: Takes::Json,
            gives: Gives::Json,
            keys: &["id", "key", "previous_until", "action_id", "receipt"],
            cases: vec![
                case!("RESOURCE_NOT_FOUND", _world => rotate(&format!("key_{NOBODY}"), &json!({}))),
                case!("VALIDATION_ERROR" at "/overlap_s", world => {
                    rotate(&world.key_id, &json!({ "overlap_s": 604_801 }))
                }),
            ],
            ..row(
                "POST",
                "/api-keys/{id}/rotate",
                ask!(world => {
                    rotate(&world.new_key().await.0, &json!({ "overlap_s": 60 }))
                }),
            )
        },
    ]
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = making_and_reading();
    rows.extend(ending_and_renewing());
    rows
}

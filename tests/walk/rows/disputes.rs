//! Disputes.

use serde_json::{Value, json};

use crate::ask::Ask;
use crate::forgery;
use crate::row::{Gives, Row, Takes, ask, case, row};
use crate::world::World;

const DISPUTE: [&str; 9] = [
    "id",
    "organization_id",
    "kind",
    "fault",
    "subject_id",
    "batch",
    "evidence_digest",
    "created_at",
    "sequence",
];

/// Evidence that was never brought before, bent.
async fn bring(world: &World, bend: impl FnOnce(&mut Value)) -> Ask {
    let file = forgery::equivocation(&world.server).await;
    let mut body = forgery::json(&file);
    bend(&mut body);
    Ask::json("/disputes", &body)
}

pub(crate) fn rows() -> Vec<Row> {
    vec![
        Row {
            status: 201,
            right: ("batches", "create"),
            takes: Takes::Json,
            gives: Gives::Json,
            keys: &DISPUTE,
            cases: vec![
                case!("VALIDATION_ERROR" at "/format", world => {
                    bring(world, |body| body["format"] = json!("kedge.other")).await
                }),
                case!("VALIDATION_ERROR" at "/version", world => {
                    bring(world, |body| body["version"] = json!(2)).await
                }),
                case!("STATE_VIOLATION", world => {
                    let same = |body: &mut Value| {
                        body["evidence"]["second"] = body["evidence"]["first"].clone();
                    };
                    bring(world, same).await
                }),
                case!("STATE_VIOLATION", world => {
                    bring(world, |body| body["domain"]["chain_id"] = json!(1)).await
                }),
                case!("PAYLOAD_TOO_LARGE", world => {
                    let ask = bring(world, |_| ()).await;
                    let mut body = ask.body.clone();
                    body.resize(200 * 1024, b' ');
                    ask.with_body(body)
                }),
            ],
            ..row(
                "POST",
                "/disputes",
                ask!(world => bring(world, |_| ()).await),
            )
        },
        Row {
            right: ("batches", "read"),
            gives: Gives::List,
            keys: &DISPUTE,
            ..row("GET", "/disputes", ask!(_world => Ask::get("/disputes")))
        },
        Row {
            right: ("batches", "read"),
            keys: &DISPUTE,
            ..row(
                "GET",
                "/disputes/{id}",
                ask!(world => Ask::get(format!("/disputes/{}", world.dispute))),
            )
        },
    ]
}

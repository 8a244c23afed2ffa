//! Batches, anchors, checkpoints and the export. Most of it is public.

use crate::ask::Ask;
use crate::row::{Auth, Gives, NOBODY, Row, ask, case, row};

const BATCH: [&str; 13] = [
    "id",
    "number",
    "first_sequence",
    "last_sequence",
    "action_count",
    "previous_head",
    "head",
    "merkle_root",
    "history",
    "state",
    "sealed_at",
    "signature",
    "status",
];
const ANCHOR: [&str; 13] = [
    "id",
    "number",
    "root",
    "first_batch",
    "last_batch",
    "head",
    "sequence",
    "issued_at",
    "signature",
    "status",
    "tx_hash",
    "block_number",
    "attempts",
];

const SEQUENCER_KEY: [&str; 7] = [
    "key",
    "from_batch",
    "sequence",
    "action_id",
    "named_at",
    "contract",
    "proof",
];

fn public(row: Row) -> Row {
    Row {
        auth: Auth::Public,
        ..row
    }
}

fn batches() -> Vec<Row> {
    vec![
        public(Row {
            gives: Gives::List,
            keys: &BATCH,
            ..row("GET", "/batches", ask!(_world => Ask::get("/batches")))
        }),
        public(Row {
            keys: &BATCH,
            ..row(
                "GET",
                "/batches/{id}",
                ask!(world => Ask::get(format!("/batches/{}", world.batch))),
            )
        }),
        public(Row {
            keys: &["batch_id", "number", "first_sequence", "leaves"],
            ..row(
                "GET",
                "/batches/{id}/leaves",
                ask!(world => {
                    Ask::get(format!("/batches/{}/leaves", world.batch))
                }),
            )
        }),
        Row {
            right: ("batches", "read"),
            gives: Gives::List,
            keys: &["sequence", "leaf", "leaf_index"],
            ..row(
                "GET",
                "/batches/{id}/actions",
                ask!(world => {
                    Ask::get(format!("/batches/{}/actions", world.batch))
                }),
            )
        },
    ]
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = batches();
    rows.extend([
        public(Row {
            gives: Gives::List,
            keys: &ANCHOR,
            ..row("GET", "/anchors", ask!(_world => Ask::get("/anchors")))
        }),
        public(Row {
            keys: &ANCHOR,
            cases: vec![case!("RESOURCE_NOT_FOUND", _world => Ask::get(format!("/anchors/anc_{NOBODY}")))],
            ..row("GET", "/anchors/{id}", ask!(world => Ask::get(format!("/anchors/{}", world.anchor))))
        }),
        public(Row {
            keys: &["checkpoint", "signature"],
            ..row("GET", "/checkpoint", ask!(_world => Ask::get("/checkpoint")))
        }),
        public(Row {
            gives: Gives::List,
            keys: &SEQUENCER_KEY,
            ..row("GET", "/sequencer-keys", ask!(_world => Ask::get("/sequencer-keys")))
        }),
        public(Row {
            keys: &["from", "to", "first_root", "second_root", "proof"],
            cases: vec![
                case!("VALIDATION_ERROR" at "/from", _world => Ask::get("/consistency?to=2")),
                case!("VALIDATION_ERROR" at "/from", _world => Ask::get("/consistency?from=0&to=2")),
                case!("VALIDATION_ERROR" at "/to", _world => Ask::get("/consistency?from=2&to=1")),
                case!("VALIDATION_ERROR", _world => Ask::get("/consistency?from=one&to=2")),
            ],
            ..row("GET", "/consistency", ask!(_world => Ask::get("/consistency?from=1&to=3")))
        }),
        public(Row {
            gives: Gives::Other("application/x-ndjson"),
            cases: vec![case!("VALIDATION_ERROR", _world => Ask::get("/export?from=99999999"))],
            ..row("GET", "/export", ask!(_world => Ask::get("/export?from=0")))
        }),
    ]);
    rows
}

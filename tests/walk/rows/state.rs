//! State proofs.

use crate::ask::Ask;
use crate::row::{Gives, NOBODY, Row, ask, case, row};

const PROOF: [&str; 8] = [
    "key",
    "present",
    "entry",
    "fields",
    "texts",
    "nodes",
    "checkpoint",
    "anchor",
];

pub(crate) fn rows() -> Vec<Row> {
    vec![
        Row {
            right: ("objects", "read"),
            gives: Gives::Json,
            keys: &PROOF,
            proves_absence: true,
            cases: vec![
                case!("SEQUENCE_NOT_REACHED", world => {
                    Ask::get(format!("/objects/{}/state-proof?min_sequence=99999999", world.object))
                }),
                case!("VALIDATION_ERROR", world => {
                    Ask::get(format!("/objects/{}/state-proof?wait=61", world.object))
                }),
                case!("STATE_VIOLATION", world => {
                    Ask::get(format!("/objects/{}/state-proof", world.template))
                }),
            ],
            ..row(
                "GET",
                "/objects/{id}/state-proof",
                ask!(world => Ask::get(format!("/objects/{}/state-proof", world.object))),
            )
        },
        Row {
            right: ("templates", "read"),
            gives: Gives::Json,
            keys: &PROOF,
            proves_absence: true,
            cases: vec![case!("STATE_VIOLATION", world => {
                Ask::get(format!("/templates/{}/state-proof", world.object))
            })],
            ..row(
                "GET",
                "/templates/{id}/state-proof",
                ask!(world => Ask::get(format!("/templates/{}/state-proof", world.template))),
            )
        },
        Row {
            right: ("actions", "read"),
            gives: Gives::Json,
            keys: &PROOF,
            proves_absence: true,
            cases: vec![
                // Only the action that named a sequencer key has an entry.
                case!("RESOURCE_NOT_FOUND", world => Ask::get(format!("/state/{}", world.action))),
                case!("STATE_VIOLATION", _world => Ask::get(format!("/state/bat_{NOBODY}"))),
            ],
            ..row(
                "GET",
                "/state/{id}",
                ask!(world => Ask::get(format!("/state/{}", world.object))),
            )
        },
    ]
}

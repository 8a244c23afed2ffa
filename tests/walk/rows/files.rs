//! Files.

use crate::ask::Ask;
use crate::row::{Gives, Row, Signs, Takes, ask, case, row};
use crate::world::upload;

const FILE: [&str; 4] = ["id", "name", "media_type", "created_at"];

pub(crate) fn rows() -> Vec<Row> {
    vec![
        Row {
            status: 201,
            right: ("files", "create"),
            signs: Signs::Actions,
            takes: Takes::Form,
            gives: Gives::Json,
            keys: &["id", "name", "media_type", "action_id", "receipt"],
            cases: vec![
                case!("SIGNATURE_INVALID", _world => {
                    // Bytes other than the signed ones.
                    let other = upload("a.txt", b"others");
                    upload("a.txt", b"these").with_body(other.body)
                }),
                case!("VALIDATION_ERROR", _world => {
                    upload("a.txt", b"a").with_body("--edge--\r\n")
                }),
            ],
            ..row(
                "POST",
                "/files",
                ask!(world => {
                    upload(&format!("{}.txt", world.fresh()), b"content")
                }),
            )
        },
        Row {
            right: ("files", "read"),
            gives: Gives::List,
            keys: &FILE,
            ..row("GET", "/files", ask!(_world => Ask::get("/files")))
        },
        Row {
            right: ("files", "read"),
            keys: &FILE,
            ..row(
                "GET",
                "/files/{id}",
                ask!(world => Ask::get(format!("/files/{}", world.file))),
            )
        },
        Row {
            right: ("files", "read"),
            gives: Gives::Other("text/plain"),
            ..row(
                "GET",
                "/files/{id}/content",
                ask!(world => {
                    Ask::get(format!("/files/{}/content", world.file))
                }),
            )
        },
    ]
}

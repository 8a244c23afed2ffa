//! The service itself: free for all callers.

use crate::ask::Ask;
use crate::row::{Auth, Gives, Row, ask, row};

fn free(row: Row) -> Row {
    Row {
        auth: Auth::Public,
        free: true,
        ..row
    }
}

pub(crate) fn rows() -> Vec<Row> {
    vec![
        free(Row {
            keys: &["name", "version", "chainId", "verifyingContract"],
            ..row(
                "GET",
                "/.well-known/eip712-domain.json",
                ask!(_world => {
                    Ask::get("/.well-known/eip712-domain.json")
                }),
            )
        }),
        free(Row {
            keys: &["keys"],
            ..row(
                "GET",
                "/.well-known/jwks.json",
                ask!(_world => Ask::get("/.well-known/jwks.json")),
            )
        }),
        free(Row {
            gives: Gives::Json,
            keys: &["status"],
            ..row("GET", "/healthz", ask!(_world => Ask::get("/healthz")))
        }),
        free(Row {
            gives: Gives::Json,
            keys: &["status"],
            ..row("GET", "/readyz", ask!(_world => Ask::get("/readyz")))
        }),
        free(Row {
            gives: Gives::Json,
            keys: &["name", "version"],
            ..row("GET", "/version", ask!(_world => Ask::get("/version")))
        }),
        free(Row {
            gives: Gives::Other("text/html; charset=utf-8"),
            ..row("GET", "/docs", ask!(_world => Ask::get("/docs")))
        }),
        free(Row {
            gives: Gives::Other("text/css; charset=utf-8"),
            ..row(
                "GET",
                "/docs/reference.css",
                ask!(_world => Ask::get("/docs/reference.css")),
            )
        }),
        free(Row {
            gives: Gives::Other("text/javascript; charset=utf-8"),
            ..row(
                "GET",
                "/docs/reference.js",
                ask!(_world => Ask::get("/docs/reference.js")),
            )
        }),
        free(Row {
            keys: &["openapi", "info", "paths"],
            ..row(
                "GET",
                "/openapi.json",
                ask!(_world => Ask::get("/openapi.json")),
            )
        }),
    ]
}

//! An endpoint's inputs according to the document: members of its body, query parameters, and headers.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::forms::{Form, fitting};
use super::{AskOf, Dimension};
use crate::ask::Ask;
use crate::row::{Auth, Row, Takes};
use crate::world::form;

/// Bytes of a body's member: half of the largest payload.
const MEMBER_BYTES: usize = 512 * 1024;
/// Bytes of a body without credentials, less the part around the member.
const PUBLIC_BYTES: usize = 15 * 1024;
/// Bytes of a header or a query: all headers together have little more.
const HEADER_BYTES: usize = 8 * 1024;
/// Headers that the server reads.
const HEADERS: &[&str] = &[
    "accept",
    "accept-encoding",
    "cookie",
    "forwarded",
    "if-match",
    "if-none-match",
    "idempotency-key",
    "last-event-id",
    "origin",
    "prefer",
    "range",
    "traceparent",
    "tracestate",
    "x-forwarded-for",
    "x-signature",
];

/// The inputs of an endpoint. `ask` is a valid request; each input grows in a copy of it.
pub(super) fn of(row: &Row, ask: Ask, document: &Value) -> Vec<Dimension> {
    let method = row.method.to_lowercase();
    let operation = &document["paths"][row.path][method.as_str()];
    assert!(
        operation.is_object(),
        "{} is not in the document",
        row.name()
    );
    let ask = Arc::new(ask);
    let mut dimensions: Vec<Dimension> =
        HEADERS.iter().map(|name| header(row, &ask, name)).collect();
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    for parameter in parameters.map(|parameter| resolved(document, parameter)) {
        if parameter["in"] == "query" {
            let name = parameter["name"].as_str().unwrap().to_owned();
            dimensions.push(query(row, &ask, name));
        }
    }
    let body = &operation["requestBody"]["content"];
    match row.takes {
        Takes::Nothing => {}
        Takes::Form => dimensions.push(upload(row, &ask)),
        Takes::Json => {
            let mut kinds = BTreeMap::new();
            add_members(document, &body["application/json"]["schema"], &mut kinds);
            assert!(!kinds.is_empty(), "{}: no member is known", row.name());
            kinds.insert("surplus".to_owned(), None);
            for (name, kind) in kinds {
                let forms = fitting(kind.as_deref()).into_iter();
                dimensions.extend(forms.map(|form| member(row, &ask, name.clone(), *form)));
            }
        }
    }
    dimensions
}

fn resolved<'d>(document: &'d Value, part: &'d Value) -> &'d Value {
    match part["$ref"].as_str() {
        Some(place) => document.pointer(place.trim_start_matches('#')).unwrap(),
        None => part,
    }
}

/// Collects the members of objects that fit a schema, with the type of each that has one.
fn add_members(document: &Value, schema: &Value, kinds: &mut BTreeMap<String, Option<String>>) {
    let schema = resolved(document, schema);
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let kind = resolved(document, member)["type"].as_str();
        kinds.insert(name.clone(), kind.map(str::to_owned));
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        for part in schema[keyword].as_array().into_iter().flatten() {
            add_members(document, part, kinds);
        }
    }
}

fn grown(ask: &Arc<Ask>, grow: impl Fn(Ask, usize) -> Ask + Send + 'static) -> AskOf {
    let ask = Arc::clone(ask);
    Box::new(move |_, bytes| {
        let grown = grow(Ask::clone(&ask), bytes);
        Box::pin(async move { grown })
    })
}

fn header(row: &Row, ask: &Arc<Ask>, name: &'static str) -> Dimension {
    let ask = grown(ask, move |ask, bytes| {
        ask.with(name, "a,".repeat(bytes / 2))
    });
    Dimension::of(row, format!("the header {name}"), HEADER_BYTES, ask)
}

fn query(row: &Row, ask: &Arc<Ask>, name: String) -> Dimension {
    let title = format!("the parameter {name}");
    let ask = grown(ask, move |ask, bytes| {
        ask.query(&format!("{name}={}", "a,".repeat(bytes / 2)))
    });
    Dimension::of(row, title, HEADER_BYTES, ask)
}

fn upload(row: &Row, ask: &Arc<Ask>) -> Dimension {
    let ask = grown(ask, |ask, bytes| {
        let mut body = form("x", b"");
        let parts = "--edge\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n\r\n";
        body.splice(0..0, parts.repeat(bytes / parts.len()).into_bytes());
        ask.with_body(body)
    });
    Dimension::of(row, "parts of its form".to_owned(), MEMBER_BYTES, ask)
}

fn member(row: &Row, ask: &Arc<Ask>, name: String, (form, make): Form) -> Dimension {
    let title = format!("/{name} is {form}");
    let ask = grown(ask, move |ask, bytes| {
        let body: Map<String, Value> = serde_json::from_slice(&ask.body).unwrap();
        let others = body.iter().filter(|(other, _)| **other != name);
        let mut members: Vec<String> = others
            .map(|(name, value)| format!("\"{name}\":{value}"))
            .collect();
        members.push(format!("\"{name}\":{}", make(bytes)));
        ask.with_body(format!("{{{}}}", members.join(",")))
    });
    let bytes = match row.auth {
        Auth::Public => PUBLIC_BYTES,
        Auth::Any | Auth::Wallet => MEMBER_BYTES,
    };
    Dimension::of(row, title, bytes, ask)
}

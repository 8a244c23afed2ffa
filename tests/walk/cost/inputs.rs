//! The inputs of an endpoint that its own document names: members of its body, parameters of its query, and headers.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::forms::FORMS;
use super::{AskOf, Dimension};
use crate::row::{AskFn, Row, Takes};
use crate::world::form;

/// Bytes of a body's member: the most that a payload takes is twice as much.
const MEMBER_BYTES: usize = 512 * 1024;
/// Bytes of a body without credentials, less what is around the member.
const PUBLIC_BYTES: usize = 15 * 1024;
/// Bytes of a header or of a query: all headers together have little more.
const HEADER_BYTES: usize = 8 * 1024;
/// Headers whose values are read.
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

pub(super) fn of(row: &Row, document: &Value) -> Vec<Dimension> {
    let method = row.method.to_lowercase();
    let operation = &document["paths"][row.path][method.as_str()];
    assert!(
        operation.is_object(),
        "{} is not in the document",
        row.name()
    );
    let mut dimensions: Vec<Dimension> = HEADERS.iter().map(|name| header(row, name)).collect();
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    for parameter in parameters.map(|parameter| resolved(document, parameter)) {
        if parameter["in"] == "query" {
            let name = parameter["name"].as_str().unwrap().to_owned();
            dimensions.push(query(row, &name));
        }
    }
    let body = &operation["requestBody"]["content"];
    match row.takes {
        Takes::Nothing => {}
        Takes::Form => dimensions.push(upload(row)),
        Takes::Json => {
            let mut names = BTreeSet::from(["surplus".to_owned()]);
            add_members(document, &body["application/json"]["schema"], &mut names);
            assert!(names.len() > 1, "{}: no member is known", row.name());
            let each = names
                .iter()
                .flat_map(|name| FORMS.iter().map(move |form| (name, form)));
            dimensions.extend(each.map(|(name, form)| member(row, name, *form)));
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

/// The members of the objects that fit a schema.
fn add_members(document: &Value, schema: &Value, names: &mut BTreeSet<String>) {
    let schema = resolved(document, schema);
    let members = schema["properties"]
        .as_object()
        .into_iter()
        .flat_map(Map::keys);
    names.extend(members.cloned());
    for keyword in ["allOf", "anyOf", "oneOf"] {
        for part in schema[keyword].as_array().into_iter().flatten() {
            add_members(document, part, names);
        }
    }
}

fn header(row: &Row, name: &'static str) -> Dimension {
    let ask: AskFn = row.ask;
    let ask: AskOf = Box::new(move |world, bytes| {
        Box::pin(async move { ask(&world).await.with(name, "a,".repeat(bytes / 2)) })
    });
    Dimension::of(row, format!("the header {name}"), HEADER_BYTES, ask)
}

fn query(row: &Row, name: &str) -> Dimension {
    let (ask, parameter): (AskFn, String) = (row.ask, name.to_owned());
    let ask: AskOf = Box::new(move |world, bytes| {
        let value = format!("{parameter}={}", "a,".repeat(bytes / 2));
        Box::pin(async move { ask(&world).await.query(&value) })
    });
    Dimension::of(row, format!("the parameter {name}"), HEADER_BYTES, ask)
}

fn upload(row: &Row) -> Dimension {
    let ask: AskFn = row.ask;
    let ask: AskOf = Box::new(move |world, bytes| {
        Box::pin(async move {
            let mut body = form("x", b"");
            let parts = "--edge\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\n\r\n";
            body.splice(0..0, parts.repeat(bytes / parts.len()).into_bytes());
            ask(&world).await.with_body(body)
        })
    });
    Dimension::of(row, "parts of its form".to_owned(), MEMBER_BYTES, ask)
}

fn member(row: &Row, name: &str, (form, make): (&'static str, fn(usize) -> String)) -> Dimension {
    let (ask, place): (AskFn, String) = (row.ask, name.to_owned());
    let ask: AskOf = Box::new(move |world, bytes| {
        let place = place.clone();
        Box::pin(async move {
            let ask = ask(&world).await;
            let body: Map<String, Value> = serde_json::from_slice(&ask.body).unwrap();
            let others = body.iter().filter(|(name, _)| **name != place);
            let mut members: Vec<String> = others
                .map(|(name, value)| format!("\"{name}\":{value}"))
                .collect();
            members.push(format!("\"{place}\":{}", make(bytes)));
            ask.with_body(format!("{{{}}}", members.join(",")))
        })
    });
    let bytes = match row.auth {
        crate::row::Auth::Public => PUBLIC_BYTES,
        _ => MEMBER_BYTES,
    };
    Dimension::of(row, format!("/{name} is {form}"), bytes, ask)
}

//! Tests of the table and its document, without a server.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use hyper::Method;
use kedge_http::signing::SigningScheme;
use kedge_protocol::Code;
use serde_json::{Map, Value};

use crate::api::document::{document, examples, parameter_schema};
use crate::api::endpoint::{AnswerMode, EndpointAuth};
use crate::api::{HEADINGS, TABLE};

/// How to document a row.
const HOW: &str =
    "see the words of src/api/<heading>/rows.rs, and src/api/document/examples.rs for the examples";

// Holds invariant 48.
#[test]
fn every_endpoint_is_documented() {
    let mut ids = HashSet::new();
    for endpoint in TABLE.iter() {
        let row = format!("{} {}", endpoint.method, endpoint.path);
        let id = endpoint.doc.id;
        assert!(!id.is_empty(), "{row} needs a doc; {HOW}");
        assert!(ids.insert(id), "{row}: {id} stands twice");
        let description = endpoint.doc.description;
        assert!(
            description.ends_with('.'),
            "{row} needs a description; {HOW}"
        );
        let heading = endpoint.doc.heading.name;
        let is_listed = HEADINGS.iter().any(|listed| listed.name == heading);
        assert!(is_listed, "{row}: no heading {heading}");
        let known = endpoint.parameter_names();
        let required = endpoint.doc.required.iter();
        assert!(
            required.into_iter().all(|name| known.contains(name)),
            "{row}"
        );
        let shown = examples::of(id).any(|example| example.status == endpoint.status);
        assert!(shown, "{row} needs an example that goes well; {HOW}");
        let is_read = endpoint.request.is_none();
        let sent = examples::of(id).any(|example| is_read || example.body.is_some());
        assert!(sent, "{row} needs an example with a body; {HOW}");
    }
}

#[test]
fn examples_are_of_operations_and_named_once() {
    let mut seen = HashSet::new();
    for example in examples::all() {
        assert!(example.summary.ends_with('.'), "{example:?}");
        if example.operation.is_empty() {
            continue;
        }
        let mut rows = TABLE.iter();
        let row = rows.find(|row| row.doc.id == example.operation);
        let row = row.unwrap_or_else(|| panic!("no operation {}", example.operation));
        let name = (&example.operation, &example.name);
        assert!(seen.insert(name), "{name:?} stands twice");
        assert!(!example.name.is_empty(), "{}", example.operation);
        let known = row.parameter_names();
        for parameter in example.query.keys() {
            assert!(
                known.contains(&parameter.as_str()) || example.status == 400,
                "{name:?}: {parameter}"
            );
        }
        let documented = row.status == example.status
            || row
                .doc
                .also
                .iter()
                .any(|(status, _)| *status == example.status)
            || (row.etag && example.status == 304)
            || row
                .codes()
                .iter()
                .any(|code| code.status() == example.status);
        assert!(documented, "{name:?} got {}", example.status);
        let code = example
            .response
            .as_ref()
            .and_then(|body| body["code"].as_str());
        if let Some(code) = code.filter(|_| example.status >= 400) {
            let codes = row.codes();
            let known = codes.iter().any(|known| known.text() == code);
            assert!(known, "{name:?} got {code}, which the row does not give");
        }
    }
}

#[test]
fn links_lead_to_operations_and_fill_what_these_have() {
    for endpoint in TABLE.iter() {
        let mut names = HashSet::new();
        for link in endpoint.doc.links {
            let from = endpoint.doc.id;
            assert!(names.insert(link.to), "{from} has two links to {}", link.to);
            let mut rows = TABLE.iter();
            let target = rows.find(|row| row.doc.id == link.to);
            let target = target.unwrap_or_else(|| panic!("{from}: no operation {}", link.to));
            for (parameter, value) in link.parameters {
                let in_path = target.path.contains(&format!("{{{parameter}}}"));
                let known = in_path || target.parameter_names().contains(parameter);
                assert!(known, "{from} to {}: no parameter {parameter}", link.to);
                assert!(value.starts_with('$'), "{from} to {}: {value}", link.to);
            }
            if !link.body.is_empty() {
                let body: Value = serde_json::from_str(link.body).unwrap();
                assert!(body.is_object() && target.request.is_some(), "{from}");
            }
        }
    }
}

// Holds invariant 48.
#[test]
fn every_operation_says_what_it_can_answer() {
    let document = document(HEADINGS, &TABLE);
    for endpoint in TABLE.iter() {
        let method = endpoint.method.as_str().to_ascii_lowercase();
        let operation = &document["paths"][endpoint.path][&method];
        let responses = operation["responses"].as_object().unwrap();
        let mut reported: Vec<String> = Vec::new();
        for response in responses.values() {
            let Some(reference) = response["$ref"].as_str() else {
                continue;
            };
            let response = document.pointer(reference.trim_start_matches('#')).unwrap();
            let codes = response["x-codes"].as_array().unwrap();
            reported.extend(codes.iter().map(|code| code.as_str().unwrap().to_owned()));
        }
        reported.sort();
        let mut codes: Vec<&str> = endpoint.codes().into_iter().map(Code::text).collect();
        codes.sort_unstable();
        assert_eq!(reported, codes, "{}", endpoint.path);
        assert!(responses.contains_key(&endpoint.status.to_string()));
        assert_eq!(responses.contains_key("304"), endpoint.etag);
    }
}

#[test]
fn every_reference_leads_somewhere() {
    let document = document(HEADINGS, &TABLE);
    let text = document.to_string();
    let mut references = 0;
    for reference in text.split("\"$ref\":\"#").skip(1) {
        let pointer = reference.split('"').next().unwrap();
        assert!(document.pointer(pointer).is_some(), "{pointer}");
        references += 1;
    }
    assert!(references > 300, "{references}");
    assert!(!text.contains("\"$defs\""), "all schemas are components");
    for (name, kind) in [
        ("schemas", "schemas"),
        ("responses", "responses"),
        ("headers", "headers"),
    ] {
        for component in document["components"][kind].as_object().unwrap().keys() {
            let used = text.contains(&format!("#/components/{name}/{component}\""));
            assert!(used, "nothing refers to the {kind} {component}");
        }
    }
}

#[test]
fn what_changes_something_is_signed() {
    let unsigned = [
        "/wallets/login",
        "/wallets/logout",
        "/wallets/token/refresh",
        "/ebus/actions/preview",
        "/webhooks/{id}/test",
        "/webhooks/{id}/deliveries/{delivery_id}/redeliver",
        "/objects/search",
        "/objects/count",
        "/disputes",
    ];
    for endpoint in TABLE.iter() {
        let changes = endpoint.method != Method::GET && !unsigned.contains(&endpoint.path);
        assert_eq!(
            endpoint.signs != SigningScheme::Nothing,
            changes,
            "{}",
            endpoint.path
        );
        let is_answered_from_commit = matches!(endpoint.answer, AnswerMode::Committed(_));
        assert_eq!(is_answered_from_commit, changes, "{}", endpoint.path);
        let bodiless = matches!(
            endpoint.signs,
            SigningScheme::NoBody(..) | SigningScheme::PathMember(..)
        );
        let asks =
            endpoint.path.starts_with("/webhooks/") && endpoint.signs == SigningScheme::Nothing;
        let has_body = endpoint.method != Method::GET && !bodiless && !asks;
        assert_eq!(endpoint.request.is_some(), has_body, "{}", endpoint.path);
    }
}

// Holds invariant 26.
#[test]
fn api_keys_need_a_right_for_everything_that_is_not_public() {
    let mut names = Vec::new();
    for endpoint in TABLE.iter().filter(|row| row.auth == EndpointAuth::Bearer) {
        let right = endpoint.right();
        let right = right.unwrap_or_else(|| panic!("{} has no right", endpoint.path));
        names.push(format!("{} {} {right}", endpoint.method, endpoint.path));
    }
    for expected in [
        "GET /wallets/me wallets.read",
        "POST /wallets/me/keys wallets.update",
        "DELETE /wallets/me/keys/{id} wallets.update",
        "POST /api-keys api_keys.create",
        "POST /api-keys/{id}/rotate api_keys.update",
        "DELETE /api-keys/{id} api_keys.delete",
        "PATCH /objects/{id} objects.update",
        "POST /objects/{id}/transfer objects.update",
        "POST /ebus/actions/batch actions.create",
        "GET /batches/{id}/actions batches.read",
        "GET /ebus/events events.read",
        "DELETE /webhooks/{id} webhooks.delete",
        "POST /webhooks/{id}/test webhooks.update",
        "POST /disputes batches.create",
        "GET /disputes/{id} batches.read",
    ] {
        assert!(
            names.iter().any(|name| name == expected),
            "{expected}: {names:#?}"
        );
    }
}

fn codes(method: &str, path: &str) -> Vec<&'static str> {
    let mut rows = TABLE.iter();
    let row = rows.find(|row| row.path == path && row.method == method);
    let codes = row.unwrap().codes();
    codes.into_iter().map(Code::text).collect()
}

#[test]
fn rows_give_their_codes() {
    assert_eq!(codes("GET", "/healthz"), ["VALIDATION_ERROR", "INTERNAL"]);
    let batch = codes("GET", "/batches/{id}");
    assert!(batch.contains(&"RESOURCE_NOT_FOUND") && batch.contains(&"SEQUENCE_NOT_REACHED"));
    assert!(!batch.contains(&"UNAUTHENTICATED"));
    let mint = codes("POST", "/objects");
    for code in ["NONCE_REUSED", "OBJECT_TOO_LARGE", "TOKEN_EXPIRED"] {
        assert!(mint.contains(&code), "{code}");
    }
    assert!(codes("POST", "/wallets/register").contains(&"EMAIL_TAKEN"));
    assert!(!codes("POST", "/files").contains(&"MALFORMED_JSON"));
    assert!(!codes("POST", "/objects").contains(&"EMAIL_TAKEN"));
}

#[test]
fn every_schema_of_a_parameter_can_be_read() {
    let types = ["string", "integer", "number", "boolean"];
    for endpoint in TABLE.iter() {
        let headers = endpoint.doc.request_headers.iter();
        for parameter in endpoint.query.iter().copied().flatten().chain(headers) {
            let kind = parameter_schema(parameter)["type"].clone();
            assert!(
                types.iter().any(|known| kind == *known),
                "{} {}: {} is neither a type nor a schema",
                endpoint.path,
                parameter.name,
                parameter.schema_type
            );
            assert!(parameter.description.ends_with('.'), "{}", parameter.name);
        }
    }
}

#[test]
fn every_id_of_a_path_is_named() {
    let document = document(HEADINGS, &TABLE);
    for (path, methods) in document["paths"].as_object().unwrap() {
        for operation in methods.as_object().unwrap().values() {
            let parameters = operation["parameters"].as_array().unwrap().iter();
            let mut of_path = parameters.filter(|parameter| parameter["in"] == "path");
            let named = |parameter: &Value| parameter["description"] != "Which one.";
            assert!(
                of_path.all(named),
                "{path}: see src/api/document/headings.rs"
            );
        }
    }
}

// Holds invariant 228.
/// Answers with secrets are never compressed, so the rows must name all of them.
#[test]
fn rows_state_which_answers_show_a_secret() {
    let document = document(HEADINGS, &TABLE);
    for endpoint in TABLE.iter() {
        let method = endpoint.method.as_str().to_ascii_lowercase();
        let answer = &document["paths"][endpoint.path][method]["responses"]
            [endpoint.status.to_string()]["content"];
        let mut names = Vec::new();
        for content in answer.as_object().into_iter().flat_map(Map::values) {
            members(&document, &content["schema"], &mut names);
        }
        // The key of a state proof is an id.
        let is_proof = names.iter().any(|name| name == "nodes");
        names.retain(|name| name != "key" || !is_proof);
        let secrets = ["access_token", "refresh_token", "key", "secret", "code"];
        let shows = secrets
            .iter()
            .any(|secret| names.iter().any(|name| name == secret));
        assert_eq!(shows, endpoint.shows_secret, "{} {names:?}", endpoint.path);
    }
}

/// The members of an answer's object, through references and combined schemas.
fn members(document: &Value, schema: &Value, names: &mut Vec<String>) {
    if let Some(reference) = schema["$ref"].as_str() {
        let schema = document.pointer(reference.trim_start_matches('#'));
        members(document, schema.unwrap(), names);
    }
    let properties = schema["properties"].as_object();
    names.extend(
        properties
            .into_iter()
            .flat_map(|properties| properties.keys().cloned()),
    );
    for all in schema["allOf"].as_array().into_iter().flatten() {
        members(document, all, names);
    }
}

/// Paths without a method in the Rust SDK. The list can only shrink.
const NOT_IN_THE_SDK: [&str; 12] = [
    "/.well-known/jwks.json",
    "/batches/{}/actions",
    "/docs",
    "/docs/reference.css",
    "/docs/reference.js",
    "/ebus/events/stream",
    "/objects/count",
    "/objects/search",
    "/openapi.json",
    "/organizations/me",
    "/version",
    "/wallets/logout",
];

/// A path with its parameters unnamed.
fn unnamed(path: &str) -> String {
    let mut parts = path.split('{');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |path, part| {
        let rest = part.split_once('}').map_or("", |(_, rest)| rest);
        path + "{}" + rest
    })
}

#[test]
fn every_path_has_a_method_in_the_rust_sdk() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("sdk/rust/src");
    let mut called = HashSet::new();
    let mut paths = vec![sources];
    while let Some(path) = paths.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(path).unwrap();
            paths.extend(entries.map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(path).unwrap();
            let literals = text.split("\"/").skip(1);
            let paths = literals.map(|rest| rest.split(['"', '?']).next().unwrap_or_default());
            called.extend(paths.map(|path| unnamed(&format!("/{path}"))));
        }
    }
    let missing: BTreeSet<String> = TABLE
        .iter()
        .map(|row| unnamed(row.path))
        .filter(|path| !called.contains(path))
        .collect();
    let listed = NOT_IN_THE_SDK.map(str::to_owned).into();
    assert_eq!(missing, listed, "add a method to sdk/rust/src");
}

//! Answers of operations: their headers, and the errors of each status with all their codes.

use std::collections::BTreeMap;

use hyper::Method;
use kedge_http::envelope::{ErrorForm, PROBLEM_JSON};
use kedge_http::error::ApiError;
use kedge_http::limits;
use kedge_protocol::Code;
use serde_json::{Map, Value, json};

use crate::api::endpoint::{EndpointAuth, EndpointRow};

/// Answer headers: name, JSON Schema type, whether it is always present where documented, meaning.
const HEADERS: &[(&str, &str, bool, &str)] = &[
    (
        "X-Request-Id",
        "string",
        true,
        "The request's id: the one that was sent, or one that the server made.",
    ),
    (
        "X-Sequence",
        "integer",
        true,
        "The highest sequence of the log that the answer reflects.",
    ),
    (
        "Cache-Control",
        "string",
        true,
        "How the answer may be cached.",
    ),
    (
        "ETag",
        "string",
        true,
        "The answer's version, for `If-None-Match`.",
    ),
    (
        "X-Nonce-Highest",
        "string",
        false,
        "The signer's highest spent nonce, decimal.",
    ),
    (
        "Idempotent-Replayed",
        "string",
        false,
        "`true` if a request with this `Idempotency-Key` was carried out before; nothing was done again.",
    ),
    (
        "Deprecation",
        "string",
        false,
        "Since when this form of the request is deprecated (RFC 9745).",
    ),
    (
        "Link",
        "string",
        false,
        "What to use instead, as `rel=\"successor-version\"`.",
    ),
    (
        "WWW-Authenticate",
        "string",
        false,
        "How to authenticate (RFC 6750).",
    ),
    (
        "Accept-Patch",
        "string",
        true,
        "The media types that PATCH takes for this resource (RFC 5789).",
    ),
    (
        "Retry-After",
        "integer",
        false,
        "Seconds to wait before a retry.",
    ),
];

/// Headers of every answer. The limits' fields are missing only for an organization without limits.
fn common() -> Vec<&'static str> {
    let of_limits = limits::fields::DESCRIPTIONS.map(|(name, ..)| name);
    let always = ["X-Request-Id", "X-Sequence", "Cache-Control"];
    always.into_iter().chain(of_limits).collect()
}

pub(crate) fn header_components() -> Value {
    let of_limits = limits::fields::DESCRIPTIONS
        .map(|(name, description, schema_type)| (name, schema_type, false, description));
    let component = |(name, schema_type, required, description): &(&str, &str, bool, &str)| {
        let header = json!({
            "description": format!("{}.", description.trim_end_matches('.')),
            "required": required,
            "schema": { "type": schema_type },
        });
        ((*name).to_owned(), header)
    };
    let all = HEADERS.iter().chain(&of_limits);
    Value::Object(all.map(component).collect())
}

fn headers(names: &[&str]) -> Map<String, Value> {
    let reference = |name: &&str| {
        let header = json!({ "$ref": format!("#/components/headers/{name}") });
        ((*name).to_owned(), header)
    };
    names.iter().map(reference).collect()
}

/// Adds `Accept-Patch` to the successes of a path's GET if the path has a PATCH.
pub(crate) fn state_patch(path: &mut Value) {
    if path.get("patch").is_none() {
        return;
    }
    let Some(responses) = path.pointer_mut("/get/responses") else {
        return;
    };
    for status in ["200", "304"] {
        if let Some(response) = responses.get_mut(status) {
            response["headers"]["Accept-Patch"] =
                json!({ "$ref": "#/components/headers/Accept-Patch" });
        }
    }
}

pub(crate) fn success_headers(endpoint: &EndpointRow) -> Map<String, Value> {
    let mut names = common();
    if endpoint.etag {
        names.push("ETag");
    }
    if endpoint.is_signed() {
        names.push("X-Nonce-Highest");
    }
    if endpoint.is_idempotent() {
        names.push("Idempotent-Replayed");
    }
    if endpoint.parameter_names().contains(&"offset") {
        names.extend(["Deprecation", "Link"]);
    }
    let mut headers = headers(&names);
    for header in endpoint.doc.response_headers {
        let described = json!({
            "description": header.description,
            "schema": super::parameters::schema(header),
        });
        headers.insert(header.name.to_owned(), described);
    }
    headers
}

/// Errors of all endpoints; identical ones share a component.
#[derive(Default)]
pub(crate) struct ErrorResponses(BTreeMap<String, Value>);

impl ErrorResponses {
    /// An endpoint's errors, by status.
    pub(crate) fn errors(&mut self, endpoint: &EndpointRow) -> BTreeMap<u16, Value> {
        let mut by_status: BTreeMap<u16, Vec<Code>> = BTreeMap::new();
        for code in endpoint.codes() {
            by_status.entry(code.status()).or_default().push(code);
        }
        by_status
            .into_iter()
            .map(|(status, codes)| (status, self.component(endpoint, status, &codes)))
            .collect()
    }

    fn component(&mut self, endpoint: &EndpointRow, status: u16, codes: &[Code]) -> Value {
        let mut names = common();
        let with_token = endpoint.auth == EndpointAuth::Bearer || endpoint.doc.may_authenticate;
        if status == 401 && with_token {
            names.push("WWW-Authenticate");
        }
        if matches!(status, 429 | 503) || codes.contains(&Code::SequenceNotReached) {
            names.push("Retry-After");
        }
        if status == 415 && endpoint.method == Method::PATCH {
            names.push("Accept-Patch");
        }
        // Nonces are revealed only once the signature is known.
        let signed = endpoint.is_signed();
        if signed && matches!(status, 403..=422) && status != 415 {
            names.push("X-Nonce-Highest");
        }
        let texts: Vec<&str> = codes.iter().map(|code| code.text()).collect();
        let mut key = format!("{status}.{}", texts.join("."));
        // The same codes occur with different headers.
        for (name, mark) in [
            ("WWW-Authenticate", ".token"),
            ("X-Nonce-Highest", ".signed"),
            ("Accept-Patch", ".patch"),
        ] {
            if names.contains(&name) {
                key.push_str(mark);
            }
        }
        self.0
            .entry(key.clone())
            .or_insert_with(|| response(codes, &names));
        json!({ "$ref": format!("#/components/responses/{key}") })
    }

    pub(crate) fn into_components(self) -> Value {
        Value::Object(self.0.into_iter().collect())
    }
}

fn response(codes: &[Code], names: &[&str]) -> Value {
    let texts: Vec<&str> = codes.iter().map(|code| code.text()).collect();
    let lines = codes
        .iter()
        .map(|code| format!("`{}`: {}", code.text(), code.meaning()));
    // A schema for each set of codes would be a type in generated clients.
    let form = |schema: &str| json!({ "$ref": format!("#/components/schemas/{schema}") });
    json!({
        "description": lines.collect::<Vec<_>>().join("\n\n"),
        "headers": headers(names),
        "x-codes": texts,
        "content": {
            "application/json": {
                "schema": form("ApiError"),
                "examples": examples(codes, ErrorForm::Envelope),
            },
            PROBLEM_JSON: {
                "schema": form("Problem"),
                "examples": examples(codes, ErrorForm::Problem),
            },
        },
    })
}

/// Each code as the server writes it.
fn examples(codes: &[Code], form: ErrorForm) -> Value {
    let example = |code: &Code| {
        let error = ApiError::new(*code, code.meaning());
        let written = form.write(&error, "9f2c41d07ab3-1c");
        let value: Value = serde_json::from_slice(&written).unwrap_or_default();
        (code.text().to_owned(), json!({ "value": value }))
    };
    Value::Object(codes.iter().map(example).collect())
}

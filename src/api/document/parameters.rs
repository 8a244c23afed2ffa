//! Parameters of operations: path, query and headers.

use kedge_http::query::RequestParameter;
use kedge_http::scalars::id_pattern;
use kedge_http::signing;
use serde_json::{Map, Value, json};

use crate::api::document::examples;
use crate::api::document::heading::PathParameter;
use crate::api::endpoint::EndpointRow;

/// A parameter's JSON Schema, from a type's name or a whole schema.
pub fn schema(parameter: &RequestParameter) -> Value {
    let text = parameter.schema_type;
    // A test parses every row's schema.
    serde_json::from_str(text).unwrap_or_else(|_| json!({ "type": text }))
}

pub(crate) fn of(endpoint: &EndpointRow) -> Vec<Value> {
    let example = examples::first(endpoint.operation_id().as_ref());
    let mut parameters: Vec<Value> = Vec::new();
    for (begin, _) in endpoint.path.match_indices('{') {
        let (before, rest) = endpoint.path.split_at(begin);
        let name = rest[1..].split('}').next().unwrap_or_default();
        let mut described = path_parameter(name, endpoint.doc.heading.parameter(before));
        if let Some(value) = example.and_then(|example| example.path.get(name)) {
            described["example"] = value.clone();
        }
        parameters.push(described);
    }
    for parameter in endpoint.parameters() {
        let mut described = described(parameter, "query");
        if endpoint.doc.required.contains(&parameter.name) {
            described["required"] = json!(true);
        }
        if parameter.name == "offset" {
            described["deprecated"] = json!(true);
        }
        if let Some(value) = examples::query_value(&endpoint.operation_id(), parameter.name) {
            described["example"] = value.clone();
        }
        parameters.push(described);
    }
    if endpoint.etag {
        parameters.push(reference("If-None-Match"));
    }
    for header in endpoint.doc.request_headers {
        let mut described = described(header, "header");
        if let Some(value) = examples::header_value(&endpoint.operation_id(), header.name) {
            described["example"] = value.clone();
        }
        parameters.push(described);
    }
    if endpoint.is_signed() {
        parameters.extend(signing::HEADERS.iter().map(|name| reference(name)));
    }
    if endpoint.is_idempotent() {
        parameters.push(reference("Idempotency-Key"));
    }
    parameters.push(reference("X-Request-Id"));
    parameters
}

fn described(parameter: &RequestParameter, place: &str) -> Value {
    json!({
        "name": parameter.name,
        "in": place,
        "description": parameter.description,
        "schema": schema(parameter),
    })
}

fn path_parameter(name: &str, meaning: Option<PathParameter>) -> Value {
    let (description, pattern) = match meaning {
        Some(PathParameter::Id(prefix)) => (
            format!("An identifier that begins with `{}_`.", prefix.text()),
            format!("^{}$", id_pattern(prefix)),
        ),
        Some(PathParameter::IdOr(prefix, number)) => (
            format!(
                "An identifier that begins with `{}_`, or the {number}.",
                prefix.text()
            ),
            format!("^({}|[0-9]{{1,19}})$", id_pattern(prefix)),
        ),
        Some(PathParameter::AnyId) => (
            "An identifier of any resource with an entry in the state.".to_owned(),
            "^(obj|wal|org|tpl|var|key|whk|fil|dsp|act)_[0-7][0-9a-hjkmnp-tv-z]{25}$".to_owned(),
        ),
        Some(PathParameter::Address) => (
            "The key's address.".to_owned(),
            "^0x[0-9a-fA-F]{40}$".to_owned(),
        ),
        None => ("Which one.".to_owned(), "^[A-Za-z0-9._-]+$".to_owned()),
    };
    json!({
        "name": name,
        "in": "path",
        "required": true,
        "description": description,
        "schema": { "type": "string", "pattern": pattern },
    })
}

/// `x-signature-nonce` becomes `X-Signature-Nonce`: the usual spelling, and the component's name.
fn written(name: &str) -> String {
    let capital = |word: &str| {
        let (first, rest) = word.split_at(usize::from(!word.is_empty()));
        first.to_ascii_uppercase() + rest
    };
    name.split('-').map(capital).collect::<Vec<_>>().join("-")
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/parameters/{}", written(name)) })
}

/// Schema, description and, if a caller chooses the value, example of a signature header.
fn signing_header(name: &str) -> (&'static str, &'static str, Option<&'static str>) {
    match name {
        "x-signature" => (
            "^0x[0-9a-fA-F]{130}$",
            "r ‖ s ‖ v of the EIP-712 signature, hexadecimal; s in the lower half.",
            None,
        ),
        "x-signature-address" => (
            "^0x[0-9a-fA-F]{40}$",
            "The address that signs: an active key of the caller's wallet.",
            None,
        ),
        "x-signature-nonce" => (
            "^[0-9]{1,20}$",
            "A nonce that the address has not spent, decimal: the highest plus one is always right.",
            Some("7"),
        ),
        "x-signature-deadline" => (
            "^[0-9]{1,20}$",
            "The time until which the request may be placed: Unix seconds, at most 24 h ahead.",
            Some("1767225600"),
        ),
        _ => (
            "^0x[0-9a-fA-F]{64}$",
            "32 random bytes, the seed of the actions' salts, hexadecimal.",
            None,
        ),
    }
}

/// Header parameters that many operations share.
pub(crate) fn components() -> Value {
    let mut components = Map::new();
    for name in signing::HEADERS {
        let (pattern, description, example) = signing_header(name);
        let name = written(name);
        let parameter = json!({
            "name": name,
            "in": "header",
            "required": true,
            "description": description,
            "schema": { "type": "string", "pattern": pattern },
            "example": examples::signature_header(&name).or(example),
        });
        components.insert(name, parameter);
    }
    let key = json!({
        "name": "Idempotency-Key",
        "in": "header",
        "description": "A name for this request, chosen by the caller and kept for at least a day: \
            sent again under it, the request gets the first answer and nothing is done twice.",
        "schema": { "type": "string", "pattern": "^[!-~]{1,255}$" },
        "example": "3f1c9a52-order-118",
    });
    components.insert("Idempotency-Key".to_owned(), key);
    // They never cause a refusal, so their schemas require nothing.
    let more = [
        (
            "If-None-Match",
            "ETags that the caller has; 304 without a body if one of them is current.",
            "\"d41d8cd98f00b204e9800998ecf8427e\"",
        ),
        (
            "X-Request-Id",
            "The caller's own id for this request: at most 128 ASCII letters, digits, `.`, `_` and \
             `-`. The answer repeats it.",
            "checkout-7f3a",
        ),
    ];
    for (name, description, example) in more {
        let parameter = json!({
            "name": name,
            "in": "header",
            "description": description,
            "schema": { "type": "string" },
            "example": example,
        });
        components.insert(name.to_owned(), parameter);
    }
    Value::Object(components)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_written_as_usual() {
        assert_eq!(written("x-signature-nonce"), "X-Signature-Nonce");
        assert_eq!(written("If-None-Match"), "If-None-Match");
    }
}

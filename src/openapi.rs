//! The OpenAPI 3.1 document, made from the table of endpoints.

use std::sync::LazyLock;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::auth::api_key::API_KEY;
use crate::endpoint::{Auth, Endpoint, Parameter, Signs, TABLE};
use crate::error::Code;
use crate::limits;
use crate::signing;
use crate::views::schema;

static DOCUMENT: LazyLock<Vec<u8>> =
    LazyLock::new(|| serde_json::to_vec(&document()).unwrap_or_default());

/// The document, made once.
pub fn document_json() -> &'static [u8] {
    &DOCUMENT
}

/// Makes the document.
pub fn document() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    // Bodies are described as they are read, answers as they are written.
    let mut reading = settings.clone().for_deserialize().into_generator();
    let mut writing = settings.for_serialize().into_generator();
    let mut paths: Map<String, Value> = Map::new();
    for endpoint in TABLE.iter() {
        let operation = operation(endpoint, &mut reading, &mut writing);
        let path = paths.entry(endpoint.path).or_insert_with(|| json!({}));
        path[endpoint.method.as_str().to_ascii_lowercase()] = operation;
    }
    let error = writing.subschema_for::<schema::Error>();
    let mut schemas = reading.take_definitions(true);
    schemas.extend(writing.take_definitions(true));
    json!({
        "openapi": "3.1.0",
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "info": {
            "title": "Digital Object Service API",
            "version": "3",
            "description": "Requests that change something are signed with EIP-712; every answer to one carries a receipt.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "parameters": signature_parameters(),
            "responses": { "Error": {
                "description": codes(),
                "content": {
                    "application/json": { "schema": error },
                    "application/problem+json": { "schema": { "type": "object" } },
                },
            } },
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer", "bearerFormat": "JWT" },
                "api_key": { "type": "apiKey", "in": "header", "name": API_KEY },
            },
        },
    })
}

fn codes() -> String {
    let codes = Code::ALL
        .iter()
        .map(|code| format!("{} {}", code.text(), code.status()));
    format!("An error. Codes: {}.", codes.collect::<Vec<_>>().join(", "))
}

/// `X-Signature-Nonce` becomes `Nonce`: the name of its component.
fn component(header: &str) -> String {
    header.trim_start_matches("x-").replace('-', "_")
}

fn signature_parameters() -> Value {
    let describe = |header: &str| match header {
        "x-signature" => "r, s and v of the EIP-712 signature: 0x and 130 hex digits",
        "x-signature-address" => "the address that signs",
        "x-signature-nonce" => "a nonce that the address has not spent, decimal",
        "x-signature-deadline" => "Unix seconds, at most 24 h ahead",
        _ => "the seed of the actions' salts: 0x and 64 hex digits",
    };
    let parameters = signing::HEADERS.iter().map(|header| {
        let parameter = json!({
            "name": header,
            "in": "header",
            "required": true,
            "description": describe(header),
            "schema": { "type": "string" },
        });
        (component(header), parameter)
    });
    Value::Object(parameters.collect())
}

fn operation(
    endpoint: &Endpoint,
    reading: &mut SchemaGenerator,
    writing: &mut SchemaGenerator,
) -> Value {
    let mut parameters: Vec<Value> = Vec::new();
    for part in endpoint.path.split('/') {
        if let Some(name) = part
            .strip_prefix('{')
            .and_then(|part| part.strip_suffix('}'))
        {
            parameters.push(json!({
                "name": name, "in": "path", "required": true, "schema": { "type": "string" },
            }));
        }
    }
    parameters.extend(
        endpoint
            .query
            .iter()
            .copied()
            .flatten()
            .map(query_parameter),
    );
    if endpoint.reads_log() {
        parameters.push(query_parameter(&crate::endpoint::MIN_SEQUENCE));
    }
    if endpoint.signs != Signs::Nothing {
        parameters.extend(signing::HEADERS.iter().map(
            |header| json!({ "$ref": format!("#/components/parameters/{}", component(header)) }),
        ));
    }
    let mut operation = json!({
        "operationId": operation_id(endpoint),
        "tags": [endpoint.tag],
        "summary": endpoint.summary,
        "parameters": parameters,
        "responses": {
            endpoint.status.to_string(): {
                "description": "Done.",
                "headers": headers(endpoint),
                "content": { endpoint.media_type: { "schema": (endpoint.response)(writing) } },
            },
            "default": { "$ref": "#/components/responses/Error" },
        },
    });
    if let Some(request) = endpoint.request {
        operation["requestBody"] = json!({
            "required": true,
            "content": { request_type(endpoint): { "schema": request(reading) } },
        });
    }
    operation["security"] = match endpoint.auth {
        Auth::Public => json!([]),
        Auth::Bearer => {
            json!([{ "bearer": [] }, { "api_key": [] }, { "bearer": [], "api_key": [] }])
        }
    };
    if endpoint.auth == Auth::Bearer
        && let Some(right) = endpoint.right()
    {
        operation["x-api-key-right"] = json!(right.to_string());
    }
    if let Some(kind) = signed_kind(&endpoint.signs) {
        operation["x-signed-kind"] = json!(kind);
    }
    operation
}

fn request_type(endpoint: &Endpoint) -> &'static str {
    match endpoint.signs {
        Signs::File => "multipart/form-data",
        _ => "application/json",
    }
}

fn signed_kind(signs: &Signs) -> Option<&str> {
    match signs {
        Signs::Nothing => None,
        Signs::Registration => Some("wallet.register"),
        Signs::WalletUpdate => Some("wallet.update"),
        Signs::Body(kind, _) | Signs::NoBody(kind, _) | Signs::PathAddress(kind) => {
            Some(kind.text())
        }
        Signs::File => Some("file.create"),
        Signs::Action | Signs::Batch => Some("the action_type of each action"),
    }
}

fn headers(endpoint: &Endpoint) -> Value {
    let text = json!({ "schema": { "type": "string" } });
    let mut headers = json!({ "X-Request-Id": text, "X-Sequence": text });
    for (name, description, schema_type) in limits::fields::DESCRIPTIONS {
        headers[name] = json!({ "description": description, "schema": { "type": schema_type } });
    }
    if endpoint.signs != Signs::Nothing {
        headers["X-Nonce-Highest"] = text;
    }
    headers
}

fn query_parameter(parameter: &Parameter) -> Value {
    json!({
        "name": parameter.name,
        "in": "query",
        "description": parameter.description,
        "schema": { "type": parameter.schema_type },
    })
}

/// `post /ebus/actions/batch` becomes `post_ebus_actions_batch`.
fn operation_id(endpoint: &Endpoint) -> String {
    let words = endpoint
        .path
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    let method = endpoint.method.as_str().to_ascii_lowercase();
    words.fold(method, |id, word| format!("{id}_{word}"))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_endpoint_is_described_and_every_reference_leads_somewhere() {
        let document = document();
        let mut ids = HashSet::new();
        for endpoint in TABLE.iter() {
            let method = endpoint.method.as_str().to_ascii_lowercase();
            let operation = &document["paths"][endpoint.path][&method];
            assert!(
                ids.insert(operation["operationId"].to_string()),
                "{}",
                endpoint.path
            );
            assert!(operation["responses"][endpoint.status.to_string()].is_object());
        }
        let text = document.to_string();
        for reference in text.split("\"$ref\":\"#").skip(1) {
            let pointer = reference.split('"').next().unwrap();
            assert!(document.pointer(pointer).is_some(), "{pointer}");
        }
        assert!(!text.contains("$defs"), "all schemas are components");
    }
}

//! The OpenAPI 3.1 document (`/openapi.json`), generated once from the
//! table of endpoints. Each row refers to its words in the same file, the errors that it
//! can give follow from the row (`src/api/codes.rs`), and its examples are recorded. A row without words or examples
//! fails a test of the table. An answer that its row does not document is logged as an error and fails the test that
//! caused it; schemathesis looks for more of them in `make test`.

pub mod component;
pub mod doc;
pub mod error_schema;
pub mod examples;
mod generators;
mod heading;
mod introduction;
mod operation;
mod parameters;
mod responses;
mod webhooks;

use kedge_http::auth::api_key::API_KEY;
use kedge_rules::schema::BodySchema;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::api::endpoint::EndpointRow;

use responses::ErrorResponses;

pub use doc::{AnswerLink, EndpointDoc};
pub use heading::{ApiHeading, PathParameter};
pub use parameters::schema as parameter_schema;

pub fn body_schema(endpoint: &EndpointRow) -> Option<BodySchema> {
    let request = endpoint.request?;
    let mut schemas = SchemaCollector::new();
    let body = request(&mut schemas.reading);
    BodySchema::new(&json!({
        "allOf": [body],
        "components": { "schemas": schemas.into_definitions() },
    }))
}

/// Generates and collects the schemas.
struct SchemaCollector {
    /// Schemas of bodies, as they are read.
    reading: SchemaGenerator,
    /// Schemas of answers, as they are written.
    writing: SchemaGenerator,
}

impl SchemaCollector {
    fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        });
        Self {
            reading: settings.clone().for_deserialize().into_generator(),
            writing: settings.for_serialize().into_generator(),
        }
    }

    fn into_definitions(mut self) -> Map<String, Value> {
        let mut definitions = self.reading.take_definitions(true);
        for (name, schema) in self.writing.take_definitions(true) {
            let other = definitions.insert(name.clone(), schema.clone());
            assert!(
                other.is_none_or(|other| other == schema),
                "{name} is read and written in two forms under one name"
            );
        }
        definitions
    }
}

pub fn document(headings: &[&ApiHeading], rows: &[EndpointRow]) -> Value {
    let tags = headings.iter();
    let tags: Value = tags
        .map(|heading| json!({ "name": heading.name, "description": heading.description }))
        .collect();
    let mut schemas = SchemaCollector::new();
    let mut responses = ErrorResponses::default();
    let mut paths: Map<String, Value> = Map::new();
    for (place, endpoint) in rows.iter().enumerate() {
        let mut operation = operation::of(endpoint, &mut schemas, &mut responses);
        // JSON objects are unordered; readers want the table's order.
        operation["x-order"] = json!(place);
        let path = paths.entry(endpoint.path).or_insert_with(|| json!({}));
        path[endpoint.method.as_str().to_ascii_lowercase()] = operation;
    }
    paths.values_mut().for_each(responses::state_patch);
    schemas.writing.subschema_for::<error_schema::ErrorView>();
    schemas.writing.subschema_for::<error_schema::ProblemView>();
    let mut document = json!({
        "openapi": "3.1.0",
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "info": {
            "title": "Digital Object Service API",
            "version": "3",
            "summary": introduction::SUMMARY,
            "description": introduction::DESCRIPTION,
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": "/", "description": "The server that this document came from" }],
        "tags": tags,
        "paths": paths,
        "components": {
            "schemas": schemas.into_definitions(),
            "parameters": parameters::components(),
            "headers": responses::header_components(),
            "responses": responses.into_components(),
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "bearerFormat": "JWT",
                    "description": introduction::BEARER,
                },
                "api_key": {
                    "type": "apiKey",
                    "in": "header",
                    "name": API_KEY,
                    "description": introduction::API_KEY,
                },
            },
        },
    });
    generators::simplify(&mut document);
    document
}

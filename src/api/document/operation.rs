//! An operation of the document.

use std::borrow::Cow;

use hyper::Method;
use kedge_http::body::MERGE_PATCH;
use kedge_http::signing::{PathMember, SigningScheme, TargetSource};
use kedge_protocol::action::Kind;
use serde_json::{Map, Value, json};

use crate::api::document::doc::AnswerLink;
use crate::api::document::examples;
use crate::api::document::examples::StoryExample;
use crate::api::document::responses::{ErrorResponses, success_headers};
use crate::api::document::{SchemaCollector, parameters, webhooks};
use crate::api::endpoint::{ANY, EndpointAuth, EndpointRow};

const BYTES: &str = "application/octet-stream";

pub(crate) fn of(
    endpoint: &EndpointRow,
    schemas: &mut SchemaCollector,
    responses: &mut ErrorResponses,
) -> Value {
    let id = endpoint.operation_id();
    let mut operation = json!({
        "operationId": id,
        "tags": [endpoint.doc.heading.name],
        "summary": endpoint.summary,
        "description": endpoint.doc.description,
        "parameters": parameters::of(endpoint),
        "responses": answers(endpoint, schemas, responses),
        "security": security(endpoint),
    });
    if let Some(request) = endpoint.request {
        let sent = examples::of(&id)
            .filter(|example| example.status < 400)
            .enumerate()
            .filter_map(|(place, example)| named(place, example, example.body.as_ref()?));
        let schema = request(&mut schemas.reading);
        let mut body = json!({
            "required": true,
            "content": {
                request_type(endpoint): with_examples(schema.as_value(), sent.collect()),
            },
        });
        if endpoint.method == Method::PATCH {
            body["content"][MERGE_PATCH] = json!({ "schema": schema });
        }
        operation["requestBody"] = body;
    }
    if let Some(callbacks) = webhooks::callbacks_of(&id, schemas) {
        operation["callbacks"] = callbacks;
    }
    if let Some(signature) = signature(&endpoint.signs) {
        operation["x-signature"] = signature;
    }
    if endpoint.auth == EndpointAuth::Bearer
        && let Some(right) = endpoint.right()
    {
        operation["x-api-key-right"] = json!(right.to_string());
    }
    operation
}

/// The accepted credentials: an access token, an API key, or both.
fn security(endpoint: &EndpointRow) -> Value {
    let mut ways = Vec::new();
    if endpoint.doc.may_authenticate {
        ways.push(json!({}));
    }
    if endpoint.doc.may_authenticate || endpoint.auth == EndpointAuth::Bearer {
        ways.push(json!({ "bearer": [] }));
        if !endpoint.is_wallets_own() {
            ways.push(json!({ "api_key": [] }));
        }
        ways.push(json!({ "bearer": [], "api_key": [] }));
    }
    Value::Array(ways)
}

fn request_type(endpoint: &EndpointRow) -> &'static str {
    match endpoint.signs {
        SigningScheme::File => "multipart/form-data",
        _ => "application/json",
    }
}

/// An example under its name; `place` is its place in the story.
fn named(place: usize, example: &StoryExample, value: &Value) -> Option<(String, Value)> {
    let described = json!({ "summary": example.summary, "value": value, "x-order": place });
    (!example.name.is_empty()).then(|| (example.name.clone(), described))
}

/// The signed text: the words of the action, or where to find them in the request.
fn signature(signs: &SigningScheme) -> Option<Value> {
    let place = |target: &TargetSource| match target {
        TargetSource::Empty => "",
        TargetSource::Path => "id of the path",
        TargetSource::TemplateMember => "template_id of the body",
        TargetSource::Wallet => "id of the caller's wallet",
        TargetSource::Organization => "id of the caller's organization",
    };
    let (kind, target, payload) = match signs {
        SigningScheme::Nothing => return None,
        SigningScheme::Registration => ("wallet.register", "", "digest of the body"),
        SigningScheme::WalletUpdate => (
            Kind::WalletUpdate.text(),
            place(&TargetSource::Wallet),
            "the body, or its digest if it holds a password",
        ),
        SigningScheme::Body(kind, target) => (kind.text(), place(target), "the body"),
        SigningScheme::NoBody(kind, target) => (kind.text(), place(target), ""),
        SigningScheme::PathMember(kind, target, member) => (
            kind.text(),
            place(target),
            match member {
                PathMember::Address => r#"{"address":"<id of the path>"}"#,
                PathMember::Wallet => r#"{"wallet_id":"<id of the path>"}"#,
                PathMember::Invitation => r#"{"invitation_id":"<id of the path>"}"#,
            },
        ),
        SigningScheme::File => (
            Kind::FileCreate.text(),
            "name of the file",
            "digest of the file",
        ),
        SigningScheme::Action => (
            "action_type",
            "object_id, or template_id of a mint",
            "the text of payload",
        ),
        SigningScheme::Batch => (
            "action_type of each action",
            "object_id of each action, or template_id of a mint",
            "the text of each payload",
        ),
    };
    Some(json!({ "kind": kind, "target": target, "payload": payload }))
}

fn answers(
    endpoint: &EndpointRow,
    schemas: &mut SchemaCollector,
    responses: &mut ErrorResponses,
) -> Value {
    let errors = responses.errors(endpoint).into_iter();
    let mut answers: Map<String, Value> = errors
        .map(|(status, response)| (status.to_string(), response))
        .collect();
    let schema = (endpoint.response)(&mut schemas.writing);
    let done = (endpoint.status, "Done.");
    for &(status, description) in std::iter::once(&done).chain(endpoint.doc.also) {
        let mut success = json!({
            "description": description,
            "headers": success_headers(endpoint),
            "content": { endpoint.media_type: content(endpoint, status, schema.as_value()) },
        });
        if endpoint.media_type == ANY {
            // Generators need one type for received bytes.
            success["content"][BYTES] =
                json!({ "schema": { "type": "string", "format": "binary" } });
        }
        if status == endpoint.status && !endpoint.doc.links.is_empty() {
            let links = endpoint.doc.links.iter();
            let links: Map<String, Value> =
                links.map(|each| (each.to.to_owned(), link(each))).collect();
            success["links"] = Value::Object(links);
        }
        answers.insert(status.to_string(), success);
    }
    if endpoint.etag {
        let not_modified = json!({
            "description": "The caller already has the current answer.",
            "headers": success_headers(endpoint),
        });
        answers.insert("304".to_owned(), not_modified);
    }
    Value::Object(answers)
}

/// A body's schema, with the answers in the examples.
fn content(endpoint: &EndpointRow, status: u16, schema: &Value) -> Value {
    let id = endpoint.operation_id();
    let got = examples::of(&id)
        .filter(|example| example.status == status)
        .enumerate()
        .filter_map(|(place, example)| named(place, example, example.response.as_ref()?));
    with_examples(schema, got.collect())
}

fn with_examples(schema: &Value, examples: Map<String, Value>) -> Value {
    let mut content = json!({ "schema": schema });
    if !examples.is_empty() {
        content["examples"] = Value::Object(examples);
    }
    content
}

fn link(link: &AnswerLink) -> Value {
    let mut described = json!({ "operationId": link.to });
    if !link.parameters.is_empty() {
        let parameters = link.parameters.iter();
        let parameters = parameters.map(|(name, value)| ((*name).to_owned(), json!(value)));
        described["parameters"] = Value::Object(parameters.collect());
    }
    if !link.body.is_empty() {
        // Some generators refuse a `requestBody` that is no text. A test parses every link's body.
        described["description"] = json!(format!("With the body `{}`.", link.body));
        described["x-request-body"] = serde_json::from_str(link.body).unwrap_or_default();
    }
    described
}

impl EndpointRow {
    /// Whether it concerns the caller's own wallet, which an API key alone does not have.
    fn is_wallets_own(&self) -> bool {
        self.path.starts_with("/wallets/me")
    }

    /// `operationId`: the documented one, or one built from method and path.
    pub fn operation_id(&self) -> Cow<'static, str> {
        if !self.doc.id.is_empty() {
            return self.doc.id.into();
        }
        let words = self
            .path
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty());
        let method = self.method.as_str().to_ascii_lowercase();
        words.fold(method, |id, word| format!("{id}_{word}")).into()
    }
}

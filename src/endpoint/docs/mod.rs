//! What the document states about each endpoint beyond its row: name, words, and where to continue with its answer.
//! Examples are in `src/openapi/examples.json`.

pub(super) mod accounts;
pub(super) mod bus;
pub(super) mod disputes;
pub(super) mod events;
pub(super) mod files;
pub(super) mod keys;
pub(super) mod log;
pub(super) mod objects;
pub(super) mod organization;
pub(super) mod service;
pub(super) mod templates;
pub(super) mod webhooks;

use kedge_api::Code;

use super::Parameter;

/// The condition for changes of anything but objects.
const IF_MATCH: &[Parameter] = &[Parameter {
    name: "If-Match",
    schema_type: r#"{"type": "string", "pattern": "^(\\*|\"[0-9]{1,20}\\.[0-9a-f]{16}(\\.[0-9a-f]{32})?\")$"}"#,
    description: "The ETag of the state that the change is meant for; 412 if that state has changed.",
}];

/// An endpoint in the document.
#[derive(Debug)]
pub struct Doc {
    /// `operationId`: the name that clients are generated with. Never changed.
    pub id: &'static str,
    /// Its heading.
    pub tag: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// What it does and what to know about it. Lines between back quotes are shown as code.
    pub description: &'static str,
    /// Codes that the handler itself returns; those that follow from the row are not repeated.
    pub errors: &'static [Code],
    /// Errors with a status other than their code's usual one.
    pub errors_otherwise: &'static [(u16, Code)],
    /// Other statuses that carry the same body as success, each with its condition.
    pub also: &'static [(u16, &'static str)],
    /// It is public, but returns more to callers that show credentials.
    pub may_authenticate: bool,
    /// Required parameters of the query.
    pub required: &'static [&'static str],
    /// Headers that requests may have, in addition to those that follow from the row.
    pub request_headers: &'static [Parameter],
    /// Headers of success, in addition to those that follow from the row.
    pub response_headers: &'static [Parameter],
    /// Next requests that a caller can make with the answer.
    pub links: &'static [Link],
}

impl Doc {
    /// An endpoint without a description yet. A test reports it.
    pub const MISSING: Self = Self {
        id: "",
        tag: "",
        summary: "",
        description: "",
        errors: &[],
        errors_otherwise: &[],
        also: &[],
        may_authenticate: false,
        required: &[],
        request_headers: &[],
        response_headers: &[],
        links: &[],
    };
}

/// A way from an answer to the next request (OpenAPI's Link Object).
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// `operationId` of the next request.
    pub to: &'static str,
    /// Its parameters: names, with runtime expressions for their values.
    pub parameters: &'static [(&'static str, &'static str)],
    /// Its body: JSON, with runtime expressions in its texts. Empty if there is none.
    pub body: &'static str,
}

/// A link that fills parameters of the path or the query.
const fn with_parameters(
    to: &'static str,
    parameters: &'static [(&'static str, &'static str)],
) -> Link {
    Link {
        to,
        parameters,
        body: "",
    }
}

/// A link that fills parts of the body.
const fn with_body(to: &'static str, body: &'static str) -> Link {
    Link {
        to,
        parameters: &[],
        body,
    }
}

/// To the action that a change made, and to its proof.
const TO_ACTION: Link = with_parameters("getAction", &[("id", "$response.body#/action_id")]);
const TO_PROOF: Link = with_parameters("getActionProof", &[("id", "$response.body#/action_id")]);

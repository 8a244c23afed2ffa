//! What the document states about an endpoint beyond its row: name, words, and where to continue with its answer.

use kedge_http::query::Parameter;
use kedge_protocol::Code;

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

impl Link {
    /// A link that fills parameters of the path or the query.
    pub const fn with_parameters(
        to: &'static str,
        parameters: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self {
            to,
            parameters,
            body: "",
        }
    }

    /// A link that fills parts of the body.
    pub const fn with_body(to: &'static str, body: &'static str) -> Self {
        Self {
            to,
            parameters: &[],
            body,
        }
    }
}

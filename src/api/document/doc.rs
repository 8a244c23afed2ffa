//! Documentation of an endpoint beyond its row: name, text, and links to next requests.

use kedge_http::query::RequestParameter;
use kedge_protocol::Code;

use super::heading::ApiHeading;

#[derive(Debug)]
pub struct EndpointDoc {
    /// `operationId`: the name in generated clients. Never changed.
    pub id: &'static str,
    pub heading: &'static ApiHeading,
    /// One line.
    pub summary: &'static str,
    /// What it does and what to know about it. Lines between back quotes are shown as code.
    pub description: &'static str,
    /// Codes returned by the handler itself; codes implied by the row are not repeated.
    pub errors: &'static [Code],
    /// Other statuses with the same body as success, each with its condition.
    pub also: &'static [(u16, &'static str)],
    /// Public, but returns more to authenticated callers.
    pub may_authenticate: bool,
    /// Required query parameters.
    pub required: &'static [&'static str],
    /// Request headers in addition to those of the row.
    pub request_headers: &'static [RequestParameter],
    /// Headers of success in addition to those of the row.
    pub response_headers: &'static [RequestParameter],
    /// Next requests that a caller can make with the answer.
    pub links: &'static [AnswerLink],
}

impl EndpointDoc {
    /// Placeholder for a missing description, which a test reports.
    pub const MISSING: Self = Self {
        id: "",
        heading: &ApiHeading::MISSING,
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

/// A link from an answer to a next request (OpenAPI's Link Object).
#[derive(Clone, Copy, Debug)]
pub struct AnswerLink {
    /// `operationId` of the next request.
    pub to: &'static str,
    /// Names, with runtime expressions for their values.
    pub parameters: &'static [(&'static str, &'static str)],
    /// JSON with runtime expressions in its texts; empty if there is no body.
    pub body: &'static str,
}

impl AnswerLink {
    /// Fills `id` with that of the answer.
    pub const fn with_id(to: &'static str) -> Self {
        Self::with_parameters(to, &[("id", "$response.body#/id")])
    }

    /// Fills `id` with that of the first in the list.
    pub const fn with_first_id(to: &'static str) -> Self {
        Self::with_parameters(to, &[("id", "$response.body#/items/0/id")])
    }

    /// Fills parameters of the path or the query.
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

    /// Fills members of the body.
    pub const fn with_body(to: &'static str, body: &'static str) -> Self {
        Self {
            to,
            parameters: &[],
            body,
        }
    }
}

//! The table of endpoints: for each route, once, who may call it, what kind of action it signs, and what it takes and
//! gives. Routing, authentication, the signature check, the OpenAPI document and the metrics' labels come from it.
//! Every row has a counterpart in `tests/walk/`, written from the documents and not from the code: it is called well
//! and in every way wrong.

mod accounts;
mod bus;
mod codes;
mod disputes;
mod docs;
mod log;
mod objects;
mod organization;
mod router;
mod row;
mod service;
mod table;
mod templates;
mod transfers;
mod webhooks;

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;

use hyper::header::IF_MATCH;
use hyper::{HeaderMap, Method};
use kedge_actors::api::{Committed, Submission};
use kedge_api::Code;
use kedge_http::auth::rights::{Access, Right};
use kedge_http::error::ApiError;
use kedge_http::limits::LimitClass;
use kedge_http::reply::Reply;
use kedge_protocol::resource::Area;

use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::call::Call;

pub use codes::documented;
pub use docs::{Doc, Link};
pub use kedge_http::query::Parameter;
pub use kedge_http::signing::{PathMember, Signs, Target};
pub use router::{Found, Router};
pub use row::{ANY, EVENT_STREAM, MIN_SEQUENCE};
pub use table::TABLE;

/// Who may call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Auth {
    /// Anybody.
    Public,
    /// Callers that show an access token, an API key, or both.
    Bearer,
}

/// The result of a handler, or of an answer.
pub type Replying<'a> = Pin<Box<dyn Future<Output = Result<Reply, ApiError>> + Send + 'a>>;

/// Makes the answer to a signed request from its outcome.
pub type AnswerTo = for<'a> fn(&'a Call, &'a Committed) -> Replying<'a>;

/// Completes a submission before it is submitted, or refuses it.
pub type Prepare = for<'a> fn(
    &'a mut Call,
    &'a mut Submission,
) -> Pin<Box<dyn Future<Output = Result<(), ApiError>> + Send + 'a>>;

/// How a row's requests are answered.
pub enum Answer {
    /// By a handler: nothing is signed.
    Handler(fn(Call) -> Replying<'static>),
    /// From what was committed, the first time and when the request is repeated with its idempotency key. The server
    /// submits such requests (`server/submitting.rs`).
    Committed(AnswerTo),
}

/// Generates a type's schema.
pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// The schema of `T`.
pub fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// Paths whose POST only reads: what is asked for does not fit into a query.
const READ_BY_POST: [&str; 3] = ["/objects/search", "/objects/count", "/ebus/actions/preview"];

/// One route.
pub struct Endpoint {
    /// GET (HEAD comes with it), POST, PATCH or DELETE.
    pub method: Method,
    /// The path's template.
    pub path: &'static str,
    /// The heading in the document.
    pub tag: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// Who may call.
    pub auth: Auth,
    /// The right that an API key needs, if it does not follow from tag and method.
    pub right: Option<Right>,
    /// What it signs.
    pub signs: Signs,
    /// The limit it counts towards.
    pub limit: LimitClass,
    /// Parameters of the query, in groups.
    pub query: &'static [&'static [Parameter]],
    /// The body, if there is one.
    pub request: Option<SchemaOf>,
    /// The status of success.
    pub status: u16,
    /// The answer's media type.
    pub media_type: &'static str,
    /// It is not signed, but still keeps its answer for an `Idempotency-Key`, because it sends or records something.
    pub keeps_answer: bool,
    /// The answer has an ETag, and is 304 for callers that have it already.
    pub etag: bool,
    /// The schema of the answer.
    pub response: SchemaOf,
    /// What a signed request needs before it is submitted, besides its signature and `If-Match`.
    pub prepare: Option<Prepare>,
    /// How it is answered.
    pub answer: Answer,
    /// Its description in the document.
    pub doc: &'static Doc,
}

impl Endpoint {
    /// True if the answer reflects the log, so that `min_sequence` makes sense.
    pub fn reads_log(&self) -> bool {
        self.method == Method::GET && self.limit != LimitClass::Free
    }

    /// True if it may change something. A search and a preview do not, whatever their method.
    pub fn changes(&self) -> bool {
        self.method != Method::GET && !READ_BY_POST.contains(&self.path)
    }

    /// The right that an API key needs for it; `None` if no key suffices. A request that changes nothing is a read,
    /// whatever its method.
    pub fn right(&self) -> Option<Right> {
        if self.right.is_some() {
            return self.right;
        }
        let area = match self.tag {
            "Accounts" | "Organization" => Area::Wallets,
            "API keys" => Area::ApiKeys,
            "Objects" => Area::Objects,
            "Templates" => Area::Templates,
            "Action bus" => Area::Actions,
            "Events" => Area::Events,
            "Files" => Area::Files,
            "Webhooks" => Area::Webhooks,
            "Log" => Area::Batches,
            _ => return None,
        };
        let access = match (self.method.as_str(), &self.signs) {
            (_, Signs::Nothing) | ("GET", _) => Access::Read,
            ("PATCH", _) => Access::Update,
            ("DELETE", _) => Access::Delete,
            _ => Access::Create,
        };
        Some(Right { area, access })
    }

    /// Whether an `Idempotency-Key` has an effect.
    pub fn is_idempotent(&self) -> bool {
        self.keeps_answer || self.signs != Signs::Nothing
    }

    /// Whether `If-Match` has a meaning.
    pub fn is_conditional(&self) -> bool {
        let headers = self.doc.request_headers.iter();
        headers
            .map(|header| header.name)
            .any(|name| name.eq_ignore_ascii_case("if-match"))
    }

    /// Refuses `If-Match` where it has no meaning: a caller relying on it must learn that it is not applied.
    pub fn check_condition(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        if self.is_conditional() || !headers.contains_key(IF_MATCH) {
            return Ok(());
        }
        Err(ApiError::parameter(
            "If-Match",
            format_args!("has no meaning for {} {}", self.method, self.path),
        ))
    }

    /// The names of its query parameters.
    pub fn parameter_names(&self) -> Vec<&'static str> {
        let own = self
            .query
            .iter()
            .copied()
            .flatten()
            .map(|parameter| parameter.name);
        let common = self.reads_log().then_some(MIN_SEQUENCE.name);
        own.chain(common).collect()
    }

    /// True for a list, whose page may be large.
    pub fn reads_page(&self) -> bool {
        let mut own = self.query.iter().copied().flatten();
        self.method == Method::GET && own.any(|parameter| parameter.name == "limit")
    }

    /// Why an answer contradicts what the row documents; `None` if it does not. `codes` are the
    /// row's own, as cached by [`documented`].
    pub fn contradiction(
        &self,
        answer: &Result<Reply, ApiError>,
        codes: &BTreeSet<Code>,
    ) -> Option<String> {
        let what = match answer {
            Ok(reply) => self.contradiction_of(reply)?,
            Err(error) => {
                let is_documented = match error.status {
                    None => codes.contains(&error.code),
                    Some(status) => {
                        let otherwise = (status.as_u16(), error.code);
                        self.doc.errors_otherwise.contains(&otherwise)
                    }
                };
                if is_documented {
                    return None;
                }
                format!("does not document {error:?}")
            }
        };
        Some(format!("{} {} {what}", self.method, self.path))
    }

    fn contradiction_of(&self, reply: &Reply) -> Option<String> {
        let status = reply.status.as_u16();
        let not_modified = status == 304;
        let also = self.doc.also.iter().any(|(known, _)| *known == status);
        if !(status == self.status || also || not_modified && self.etag) {
            return Some(format!("does not document {status}"));
        }
        let has_tag = reply.headers.contains_key(hyper::header::ETAG);
        if self.method == Method::GET && has_tag != self.etag {
            return Some(format!("has etag: {}", self.etag));
        }
        let media_type = reply.headers.get(hyper::header::CONTENT_TYPE);
        let fits =
            media_type.is_some_and(|found| self.media_type == ANY || found == self.media_type);
        (!fits && !not_modified).then(|| format!("is not {}", self.media_type))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
                endpoint.signs != Signs::Nothing,
                changes,
                "{}",
                endpoint.path
            );
            let is_answered_from_commit = matches!(endpoint.answer, Answer::Committed(_));
            assert_eq!(is_answered_from_commit, changes, "{}", endpoint.path);
            let bodiless = matches!(endpoint.signs, Signs::NoBody(..) | Signs::PathMember(..));
            let asks = endpoint.path.starts_with("/webhooks/") && endpoint.signs == Signs::Nothing;
            let has_body = endpoint.method != Method::GET && !bodiless && !asks;
            assert_eq!(endpoint.request.is_some(), has_body, "{}", endpoint.path);
        }
    }

    #[test]
    fn api_keys_need_a_right_for_everything_that_is_not_public() {
        let mut names = Vec::new();
        for endpoint in TABLE.iter().filter(|row| row.auth == Auth::Bearer) {
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
}

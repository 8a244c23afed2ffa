//! An endpoint's row: callers, signature, input and output, and what follows from them.

use std::collections::BTreeSet;
use std::pin::Pin;

use hyper::header::IF_MATCH;
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method};
use kedge_actors::api::{Submission, SubmissionOutcome};
use kedge_http::auth::rights::{CrudAccess, EndpointRight};
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::limits::LimitClass;
use kedge_http::query::{RequestParameter, RequestQuery};
use kedge_http::reply::HttpReply;
use kedge_http::signing::SigningScheme;
use kedge_protocol::Code;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use crate::api::call::HandlerCall;
use crate::api::document::doc::EndpointDoc;

/// A parameter of every read of the log.
pub const MIN_SEQUENCE: RequestParameter = RequestParameter {
    name: "min_sequence",
    schema_type: r#"{"type": "integer", "minimum": 0, "maximum": 9223372036854775807}"#,
    description: "Waits up to 5 s until the answer reflects this sequence.",
};

/// Which checkpoint a proof is of.
pub const CHECKPOINT: RequestParameter = RequestParameter {
    name: "checkpoint",
    schema_type: r#"{"type": "integer", "minimum": 0, "maximum": 9223372036854775807}"#,
    description: "The batches of a kept checkpoint; the newest if absent.",
};

/// Asks for the items' state proofs.
pub const PROVE: RequestParameter = RequestParameter {
    name: "prove",
    schema_type: r#"{"type": "boolean", "default": false}"#,
    description: "With `true` the answer is that of the newest checkpoint, and comes with state proofs. A page of a list then \
        has at most 100 items.",
};

/// When to ask again for a sequence that the log has not reached, seconds.
pub const SEQUENCE_AGAIN_S: u64 = 1;

const JSON: &str = "application/json";
pub const EVENT_STREAM: &str = "text/event-stream";
/// Only the answer itself determines its media type.
pub const ANY: &str = "*/*";

/// Required credentials.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndpointAuth {
    Public,
    /// An access token, an API key, or both.
    Bearer,
}

pub type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

pub fn schema<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// Paths whose POST only reads, because the request does not fit into a query.
const READ_BY_POST: [&str; 3] = ["/objects/search", "/objects/count", "/ebus/actions/preview"];

/// The result of a handler, or of an answer.
pub type ReplyFuture<'a> = Pin<Box<dyn Future<Output = ApiResult<HttpReply>> + Send + 'a>>;

/// Makes the answer to a signed request from its outcome.
pub type CommittedAnswer = for<'a> fn(&'a HandlerCall, &'a SubmissionOutcome) -> ReplyFuture<'a>;

/// Completes a submission before it is submitted, or refuses it.
pub type SubmissionHook = for<'a> fn(
    &'a mut HandlerCall,
    &'a mut Submission,
) -> Pin<Box<dyn Future<Output = ApiResult<()>> + Send + 'a>>;

pub enum AnswerMode {
    /// By a handler; nothing is signed.
    Handler(fn(HandlerCall) -> ReplyFuture<'static>),
    /// From the committed outcome, now or when the request is repeated with its idempotency key. The server submits
    /// such requests (`src/server/dispatch.rs`).
    Committed(CommittedAnswer),
}

/// One row of the table of endpoints.
pub struct EndpointRow {
    /// GET (including HEAD), POST, PATCH or DELETE.
    pub method: Method,
    /// The path's template.
    pub path: &'static str,
    /// One line.
    pub summary: &'static str,
    pub auth: EndpointAuth,
    /// The right that an API key needs, if it does not follow from heading and method.
    pub right: Option<EndpointRight>,
    pub signs: SigningScheme,
    /// The limit it counts towards.
    pub limit: LimitClass,
    /// Query parameters, in groups.
    pub query: &'static [&'static [RequestParameter]],
    /// Schema of the body.
    pub request: Option<SchemaOf>,
    /// The status of success.
    pub status: u16,
    pub media_type: &'static str,
    /// Unsigned, but keeps its answer for an `Idempotency-Key`, because it sends or records something.
    pub keeps_answer: bool,
    /// Answers have an ETag, and are 304 for callers that have them.
    pub etag: bool,
    pub response: SchemaOf,
    /// The answer shows a secret, so it is never compressed.
    pub shows_secret: bool,
    /// Preparation of a signed request before its submission, besides signature and `If-Match`.
    pub prepare: Option<SubmissionHook>,
    pub answer: AnswerMode,
    pub doc: &'static EndpointDoc,
}

impl EndpointRow {
    /// An endpoint with the most common values.
    pub fn new(
        method: Method,
        path: &'static str,
        doc: &'static EndpointDoc,
        signs: SigningScheme,
        answer: AnswerMode,
    ) -> Self {
        Self {
            method,
            path,
            summary: doc.summary,
            auth: EndpointAuth::Bearer,
            right: None,
            signs,
            limit: LimitClass::Tier,
            query: &[],
            request: None,
            status: 200,
            media_type: JSON,
            keeps_answer: false,
            etag: false,
            response: schema::<()>,
            shows_secret: false,
            prepare: None,
            answer,
            doc,
        }
    }

    /// True if the answer reflects the log, so that `min_sequence` makes sense.
    pub fn reads_log(&self) -> bool {
        self.method == Method::GET && self.limit != LimitClass::Free
    }

    /// True if the answer is of a checkpoint, for which the handler waits: a checkpoint that covers a sequence implies it.
    pub fn awaits_checkpoint(&self, query: &RequestQuery) -> bool {
        let mut parameters = self.query.iter().copied().flatten();
        query.get(PROVE.name) == Some("true")
            || parameters.any(|parameter| parameter.name == CHECKPOINT.name)
    }

    /// True if it may change something. Searches and previews do not, whatever their method.
    pub fn changes(&self) -> bool {
        self.method != Method::GET && !READ_BY_POST.contains(&self.path)
    }

    /// The right that an API key needs; `None` if no key suffices. A request that changes nothing is a read, whatever
    /// its method.
    pub fn right(&self) -> Option<EndpointRight> {
        if self.right.is_some() {
            return self.right;
        }
        let area = self.doc.heading.area?;
        let access = match (self.method.as_str(), &self.signs) {
            (_, SigningScheme::Nothing) | ("GET", _) => CrudAccess::Read,
            ("PATCH", _) => CrudAccess::Update,
            ("DELETE", _) => CrudAccess::Delete,
            _ => CrudAccess::Create,
        };
        Some(EndpointRight { area, access })
    }

    pub fn is_signed(&self) -> bool {
        self.signs != SigningScheme::Nothing
    }

    /// Whether an `Idempotency-Key` has an effect.
    pub fn is_idempotent(&self) -> bool {
        self.keeps_answer || self.is_signed()
    }

    /// Whether `If-Match` has an effect.
    pub fn is_conditional(&self) -> bool {
        let headers = self.doc.request_headers.iter();
        headers
            .map(|header| header.name)
            .any(|name| name.eq_ignore_ascii_case("if-match"))
    }

    /// Refuses `If-Match` where it has no effect: a caller that relies on it must learn that.
    pub fn check_condition(&self, headers: &HeaderMap) -> ApiResult<()> {
        if self.is_conditional() || !headers.contains_key(IF_MATCH) {
            return Ok(());
        }
        Err(ApiError::parameter(
            "If-Match",
            format_args!("has no meaning for {} {}", self.method, self.path),
        ))
    }

    pub fn parameters(&self) -> impl Iterator<Item = &'static RequestParameter> {
        let own = self.query.iter().copied().flatten();
        own.chain(self.reads_log().then_some(&MIN_SEQUENCE))
    }

    pub fn parameter_names(&self) -> Vec<&'static str> {
        self.parameters().map(|parameter| parameter.name).collect()
    }

    /// Reads a request's query, with its whole numbers within the documented bounds.
    pub fn read_query(&self, parts: &Parts) -> ApiResult<RequestQuery> {
        let query = RequestQuery::parse(parts.uri.query(), &[&self.parameter_names()])?;
        self.parameters()
            .try_for_each(|parameter| parameter.check_number(&query))?;
        Ok(query)
    }

    /// True for a list, whose page may be large.
    pub fn reads_page(&self) -> bool {
        let mut own = self.query.iter().copied().flatten();
        self.method == Method::GET && own.any(|parameter| parameter.name == "limit")
    }

    /// How an answer contradicts the documentation; `None` if it does not. `codes` are the row's ([`Self::codes`]),
    /// which the caller caches.
    pub fn contradiction(
        &self,
        answer: &ApiResult<HttpReply>,
        codes: &BTreeSet<Code>,
    ) -> Option<String> {
        let what = match answer {
            Ok(reply) => self.contradiction_of(reply)?,
            Err(error) => {
                if codes.contains(&error.code) {
                    return None;
                }
                format!("does not document {error:?}")
            }
        };
        Some(format!("{} {} {what}", self.method, self.path))
    }

    fn contradiction_of(&self, reply: &HttpReply) -> Option<String> {
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

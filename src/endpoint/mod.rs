//! The table of endpoints: for each route, once, who may call it, what kind of action it signs, and what it takes and
//! gives. Routing, authentication, the signature check, the OpenAPI document and the metrics' labels come from it.
//! Each file has the rows of a part of the document, and then their words: name, description, where to continue with the
//! answer. Examples are in `crates/openapi/src/examples.json`.
//!
//! Every row has a counterpart in `tests/walk/`, written from the documents and not from the code: it is called well
//! and in every way wrong.

mod accounts;
mod bus;
mod disputes;
mod events;
mod files;
mod keys;
mod log;
mod objects;
mod organization;
mod router;
mod row;
mod service;
mod table;
mod templates;
mod webhooks;

use std::future::Future;
use std::pin::Pin;

use kedge_actors::api::{Committed, Submission};
use kedge_http::error::ApiError;
use kedge_http::reply::Reply;

use crate::call::Call;

pub use kedge_http::limits::LimitClass;
pub use kedge_http::query::Parameter;
pub use kedge_http::signing::{PathMember, Signs, Target};
pub use kedge_openapi::{ANY, Auth, EVENT_STREAM, MIN_SEQUENCE, schema};
pub use router::{Found, Router};
pub use table::{TABLE, documented};

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

/// One row of the table.
pub type Endpoint = kedge_openapi::Endpoint<Answer, Prepare>;

#[cfg(test)]
mod tests;

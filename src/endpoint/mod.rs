//! The table of endpoints: each route with its callers, its signed action, its input and its output. Routing,
//! authentication, signature checks, the OpenAPI document and metric labels come from it. Each file has the rows of a
//! part of the document, followed by their text: name, description, links to next requests. Examples are in
//! `crates/openapi/src/examples.json`.
//!
//! Every row has a counterpart in `tests/walk/`, written from the documents and not from the code, which calls it
//! correctly and in every wrong way.

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

pub enum Answer {
    /// By a handler; nothing is signed.
    Handler(fn(Call) -> Replying<'static>),
    /// From the committed outcome, now or when the request is repeated with its idempotency key. The server submits
    /// such requests (`server/submitting.rs`).
    Committed(AnswerTo),
}

/// A row of the table.
pub type Endpoint = kedge_openapi::Endpoint<Answer, Prepare>;

#[cfg(test)]
mod tests;

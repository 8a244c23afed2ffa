//! `Idempotency-Key` on unsigned requests that send or record something (disputes, webhook tests, redeliveries). If the
//! log does not hold the result, the whole answer is stored, in the commit of the request's own writes if it has any.

use std::sync::Arc;

use hyper::header::HeaderName;
use kedge_http::clock::now_s;
use kedge_http::error::ApiError;
use kedge_http::idempotency::in_flight::{Claimed, claim};
use kedge_http::idempotency::kept::{Answer, Key};
use kedge_http::reply::Reply;
use kedge_protocol::hash::keccak_parts;
use kedge_storage::Snapshot;

use crate::api::call::Call;
use crate::api::idempotency::{REPLAYED, key_of, scope};

pub enum Begun {
    /// Without a key, or with an unused one.
    New(Option<Key>),
    /// It was carried out before.
    Before(Reply),
}

/// Begins a request whose right was checked before. Only the first request's asker gets the stored answer.
pub fn begin(call: &Call) -> Result<Begun, ApiError> {
    begin_logged(call, |_, _| {
        Err(ApiError::internal(&"a kept answer is not in the log"))
    })
}

/// [`begin`] for a request that may have caused an action of the log: `logged` makes the answer from the snapshot and
/// that action's sequence.
pub fn begin_logged(
    call: &Call,
    logged: impl FnOnce(&Snapshot, u64) -> Result<Answer, ApiError>,
) -> Result<Begun, ApiError> {
    let Some(text) = key_of(&call.headers)? else {
        return Ok(Begun::New(None));
    };
    let session = call.session()?;
    let organization = session.organization_id;
    let named = format!("{} {} {}", call.endpoint.path, call.id, call.sub_id);
    let key = scope(&organization.bytes, call.endpoint, &named, text);
    let asker = session.asker().bytes;
    let request = keccak_parts(&[&asker, call.body.text.as_bytes()]).0;
    match claim(&call.app.idempotency, &call.app.engine, key, request)? {
        Claimed::New { held, .. } => Ok(Begun::New(Some(Key {
            key,
            request,
            request_id: Arc::clone(&call.request_id),
            until_s: now_s() + call.app.idempotency_key_s,
            held,
        }))),
        Claimed::Before { row, published } => {
            let answer: Answer = match row.first_sequence {
                0 => serde_json::from_slice(&row.residue)
                    .map_err(|error| ApiError::internal(&error))?,
                sequence => logged(&published.snapshot, sequence)?,
            };
            let reply = answer.reply(published.head.sequence)?;
            Ok(Begun::Before(
                reply.with(HeaderName::from_static(REPLAYED), "true"),
            ))
        }
    }
}

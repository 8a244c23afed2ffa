//! `Idempotency-Key` on unsigned requests that send or record something (disputes, webhook tests, redeliveries). If the
//! log does not hold the result, the whole answer is stored, in the commit of the request's own writes if it has any.

use std::sync::Arc;

use hyper::header::HeaderName;
use kedge_http::clock::now_s;
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::idempotency::answer::{IdempotentAnswer, IdempotentKey};
use kedge_http::idempotency::in_flight::{KeyState, claim};
use kedge_http::reply::HttpReply;
use kedge_protocol::hash::keccak_parts;
use kedge_storage::StoreSnapshot;

use crate::api::call::HandlerCall;
use crate::api::idempotency::{REPLAYED, key_of, scope};

pub enum UnsignedStart {
    /// Without a key, or with an unused one.
    New(Option<IdempotentKey>),
    /// It was carried out before.
    Before(HttpReply),
}

/// Begins a request whose right was checked before. Only the first request's asker gets the stored answer.
pub fn begin(call: &HandlerCall) -> ApiResult<UnsignedStart> {
    begin_logged(call, |_, _| {
        Err(ApiError::internal(&"a kept answer is not in the log"))
    })
}

/// [`begin`] for a request that may have caused an action of the log: `logged` makes the answer from the snapshot and
/// that action's sequence.
pub fn begin_logged(
    call: &HandlerCall,
    logged: impl FnOnce(&StoreSnapshot, u64) -> ApiResult<IdempotentAnswer>,
) -> ApiResult<UnsignedStart> {
    let Some(text) = key_of(&call.headers)? else {
        return Ok(UnsignedStart::New(None));
    };
    let session = call.session()?;
    let organization = session.organization_id;
    let named = format!("{} {} {}", call.endpoint.path, call.id, call.sub_id);
    let key = scope(&organization.bytes, call.endpoint, &named, text);
    let asker = session.asker().bytes;
    let request = keccak_parts(&[&asker, call.body.text.as_bytes()]).0;
    match claim(
        &call.services.changes.in_progress,
        &call.services.engine,
        key,
        request,
    )? {
        KeyState::New { held, .. } => Ok(UnsignedStart::New(Some(IdempotentKey {
            key,
            request,
            request_id: Arc::clone(&call.request_id),
            until_s: now_s() + call.services.changes.key_lifetime_s,
            held,
        }))),
        KeyState::Before { row, published } => {
            let answer: IdempotentAnswer = match row.first_sequence {
                0 => serde_json::from_slice(&row.residue)
                    .map_err(|error| ApiError::internal(&error))?,
                sequence => logged(&published.snapshot, sequence)?,
            };
            let reply = answer.reply(published.head.sequence)?;
            Ok(UnsignedStart::Before(
                reply.with(HeaderName::from_static(REPLAYED), "true"),
            ))
        }
    }
}

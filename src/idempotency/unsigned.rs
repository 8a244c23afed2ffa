//! `Idempotency-Key` on requests that send or record something and are not signed (disputes, webhooks' tests,
//! deliveries made again). If the log does not hold what they did, the whole answer is kept: in the commit of what they
//! stored, if they stored anything.

use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue, LOCATION};
use kedge_actors::api::Keep;
use kedge_http::clock::now_s;
use kedge_http::error::ApiError;
use kedge_http::reply::Reply;
use kedge_protocol::hash::keccak;
use kedge_storage::{IdempotencyRow, SideWrite, Snapshot};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{Claimed, Held, REPLAYED, claim, key_of, scope};
use crate::call::Call;

/// A key that this request uses first; the key is held until this is dropped.
pub struct Key {
    key: [u8; 32],
    request: [u8; 32],
    request_id: Arc<str>,
    until_s: u64,
    held: Held,
}

/// How a request with a key begins.
pub enum Begun {
    /// It has no key, or an unused one.
    New(Option<Key>),
    /// It was carried out before.
    Before(Reply),
}

/// An answer in its stored form.
#[derive(Serialize, Deserialize)]
pub struct Answer {
    status: u16,
    location: Option<String>,
    body: Box<RawValue>,
}

impl Answer {
    /// An answer with a JSON body.
    pub fn new<T: Serialize>(
        status: StatusCode,
        location: Option<String>,
        body: &T,
    ) -> serde_json::Result<Self> {
        Ok(Self {
            status: status.as_u16(),
            location,
            body: serde_json::value::to_raw_value(body)?,
        })
    }

    /// The answer to a caller that sees the log up to `sequence`.
    pub fn reply(&self, sequence: u64) -> Result<Reply, ApiError> {
        let status =
            StatusCode::from_u16(self.status).map_err(|error| ApiError::internal(&error))?;
        let json = HeaderValue::from_static("application/json");
        let reply = Reply::bytes(status, sequence, json, self.body.get().as_bytes().to_vec());
        Ok(match &self.location {
            Some(location) => reply.with(LOCATION, location),
            None => reply,
        })
    }

    fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("numbers, texts and JSON that was written before")
    }
}

/// Begins a request whose right was checked before: the caller may see the stored answer.
pub fn begin(call: &Call) -> Result<Begun, ApiError> {
    begin_logged(call, |_, _| {
        Err(ApiError::internal(&"a kept answer is not in the log"))
    })
}

/// As [`begin`], for a request that may have led to an action of the log: `logged` makes the answer from the snapshot and
/// that action's sequence.
pub fn begin_logged(
    call: &Call,
    logged: impl FnOnce(&Snapshot, u64) -> Result<Answer, ApiError>,
) -> Result<Begun, ApiError> {
    let Some(text) = key_of(&call.headers)? else {
        return Ok(Begun::New(None));
    };
    let organization = call.session()?.organization_id;
    let named = format!("{} {} {}", call.endpoint.path, call.id, call.sub_id);
    let key = scope(&organization.bytes, call.endpoint, &named, text);
    let request = keccak(call.body.text.as_bytes()).0;
    match claim(&call.app, key, request)? {
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

impl Key {
    /// The write that stores the answer. The key stays held.
    pub fn write(&self, answer: &Answer) -> SideWrite {
        let row = IdempotencyRow {
            until_s: self.until_s,
            request: self.request,
            first_sequence: 0,
            residue: answer.bytes(),
        };
        SideWrite::Idempotency { key: self.key, row }
    }

    /// For an engine request that carries out this one. Its answer is made from the log.
    pub fn into_keep(self) -> Keep {
        Keep {
            key: self.key,
            request: self.request,
            until_s: self.until_s,
            request_id: self.request_id,
            minted: 0,
            shows_resources: false,
            in_progress: Mutex::new(Some(Box::new(self.held))),
        }
    }
}

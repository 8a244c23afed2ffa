//! Stored answers of unsigned requests with an idempotency key: the answer itself, or a reference to an action of the
//! log.

use std::sync::{Arc, OnceLock};

use crate::error::{ApiError, ApiResult};
use crate::reply::HttpReply;
use hyper::StatusCode;
use hyper::header::{HeaderValue, LOCATION};
use kedge_actors::api::IdempotencyClaim;
use kedge_storage::{IdempotencyRow, SideWrite};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::in_flight::KeyReservation;

/// A key used for the first time, reserved until this is dropped.
pub struct IdempotentKey {
    /// Digest of the key.
    pub key: [u8; 32],
    pub request: [u8; 32],
    pub request_id: Arc<str>,
    /// Expiry, Unix seconds.
    pub until_s: u64,
    pub held: KeyReservation,
}

#[derive(Serialize, Deserialize)]
pub struct IdempotentAnswer {
    status: u16,
    location: Option<String>,
    body: Box<RawValue>,
}

impl IdempotentAnswer {
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

    /// The reply to a caller that sees the log up to `sequence`.
    pub fn reply(&self, sequence: u64) -> ApiResult<HttpReply> {
        let status =
            StatusCode::from_u16(self.status).map_err(|error| ApiError::internal(&error))?;
        let json = HeaderValue::from_static("application/json");
        let reply = HttpReply::bytes(status, sequence, json, self.body.get().as_bytes().to_vec());
        Ok(match &self.location {
            Some(location) => reply.with(LOCATION, location),
            None => reply,
        })
    }

    fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("numbers, texts and JSON that was written before")
    }
}

impl IdempotentKey {
    /// The write that stores the answer. The key stays reserved.
    pub fn write(&self, answer: &IdempotentAnswer) -> SideWrite {
        let row = IdempotencyRow {
            until_s: self.until_s,
            request: self.request,
            first_sequence: 0,
            residue: answer.bytes(),
        };
        SideWrite::Idempotency { key: self.key, row }
    }

    /// For an engine request that carries out this one; its answer is made from the log.
    pub fn into_keep(self) -> IdempotencyClaim {
        IdempotencyClaim {
            key: self.key,
            request: self.request,
            until_s: self.until_s,
            request_id: self.request_id,
            minted: 0,
            shows_resources: false,
            sealed_secret: OnceLock::new(),
            in_progress: Mutex::new(Some(Box::new(self.held))),
        }
    }
}

//! The keys of requests in flight: of two requests with one key, one is carried out.

use std::collections::HashSet;
use std::sync::Arc;

use kedge_actors::{Engine, Published};
use kedge_protocol::Code;
use kedge_storage::IdempotencyRow;
use parking_lot::Mutex;

use crate::clock::now_s;
use crate::error::ApiError;

/// The keys of requests in flight.
#[derive(Clone, Default)]
pub struct InProgress {
    keys: Arc<Mutex<HashSet<[u8; 32]>>>,
}

/// Holds a key's place among those in flight.
pub struct Held {
    keys: InProgress,
    key: [u8; 32],
}

impl Drop for Held {
    fn drop(&mut self) {
        self.keys.locked().remove(&self.key);
    }
}

impl InProgress {
    fn locked(&self) -> parking_lot::MutexGuard<'_, HashSet<[u8; 32]>> {
        self.keys.lock()
    }
}

/// The state of a key.
pub enum Claimed {
    /// It is unused, and no other request can use it while it is held.
    New {
        /// Its place among those in flight.
        held: Held,
        /// The state in which it is unused.
        published: Arc<Published>,
    },
    /// The same request was carried out with it.
    Before {
        /// What was stored for it.
        row: IdempotencyRow,
        /// The state that has it.
        published: Arc<Published>,
    },
}

/// The key was used before, and what was stored for it is not for this request.
pub fn used_by_another() -> ApiError {
    ApiError::new(
        Code::IdempotencyMismatch,
        "the key was used for another request, or by another caller of the organization; use a new key for a new request",
    )
}

/// Takes a key's place among those in flight, unless its request was carried out before.
pub fn claim(
    in_flight: &InProgress,
    engine: &Engine,
    key: [u8; 32],
    request: [u8; 32],
) -> Result<Claimed, ApiError> {
    let is_new = in_flight.locked().insert(key);
    let held = is_new.then(|| Held {
        keys: in_flight.clone(),
        key,
    });
    // Read after the place was taken: requests that ended before that are visible now.
    let published = engine.published();
    if let Some(row) = published.snapshot.idempotency(key)?
        && row.until_s > now_s()
    {
        if row.request != request {
            return Err(used_by_another());
        }
        return Ok(Claimed::Before { row, published });
    }
    match held {
        Some(held) => Ok(Claimed::New { held, published }),
        None => Err(ApiError::new(
            Code::IdempotencyInProgress,
            "a request with this key is in flight; try again shortly to get its answer",
        )),
    }
}

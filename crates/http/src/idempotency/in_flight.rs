//! Idempotency keys of requests in flight: of concurrent requests with the same key, one is carried out.

use std::collections::HashSet;
use std::sync::Arc;

use kedge_actors::{Engine, PublishedState};
use kedge_protocol::Code;
use kedge_storage::IdempotencyRow;
use parking_lot::Mutex;

use crate::clock::now_s;
use crate::error::{ApiError, ApiResult};

#[derive(Clone, Default)]
pub struct KeysInFlight {
    keys: Arc<Mutex<HashSet<[u8; 32]>>>,
}

/// Reservation of a key, released on drop.
pub struct KeyReservation {
    keys: KeysInFlight,
    key: [u8; 32],
}

impl Drop for KeyReservation {
    fn drop(&mut self) {
        self.keys.locked().remove(&self.key);
    }
}

impl KeysInFlight {
    fn locked(&self) -> parking_lot::MutexGuard<'_, HashSet<[u8; 32]>> {
        self.keys.lock()
    }
}

pub enum KeyState {
    /// Unused, and reserved for this request.
    New {
        held: KeyReservation,
        /// The state in which it is unused.
        published: Arc<PublishedState>,
    },
    /// The same request was carried out with it.
    Before {
        /// The stored row.
        row: IdempotencyRow,
        /// The state that has the row.
        published: Arc<PublishedState>,
    },
}

/// The key was used by another request or caller, so the stored answer is not for this one.
pub fn used_by_another() -> ApiError {
    ApiError::new(
        Code::IdempotencyMismatch,
        "the key was used for another request, or by another caller of the organization; use a new key for a new request",
    )
}

/// Reserves a key, unless its request was carried out before.
pub fn claim(
    in_flight: &KeysInFlight,
    engine: &Engine,
    key: [u8; 32],
    request: [u8; 32],
) -> ApiResult<KeyState> {
    let is_new = in_flight.locked().insert(key);
    let held = is_new.then(|| KeyReservation {
        keys: in_flight.clone(),
        key,
    });
    // Read after the reservation, so requests that ended before it are visible.
    let published = engine.published();
    if let Some(row) = published.snapshot.idempotency(key)?
        && row.until_s > now_s()
    {
        if row.request != request {
            return Err(used_by_another());
        }
        return Ok(KeyState::Before { row, published });
    }
    match held {
        Some(held) => Ok(KeyState::New { held, published }),
        None => Err(ApiError::new(
            Code::IdempotencyInProgress,
            "a request with this key is in flight; try again shortly to get its answer",
        )),
    }
}

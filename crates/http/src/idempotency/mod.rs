//! What an `Idempotency-Key` holds while its request is in flight, and what is kept for it. The server's own part, which
//! knows the endpoints, is in its module of the same name.

pub mod in_flight;
pub mod kept;

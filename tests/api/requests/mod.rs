//! What a request may be, and what its answer states.

mod answers;
mod bad_input;
mod client;
mod idempotency;
mod transport;
mod v2;

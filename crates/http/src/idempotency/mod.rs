//! Reservations of idempotency keys in flight, and stored answers. The server's module of the same name covers the
//! endpoints.

pub mod answer;
pub mod in_flight;

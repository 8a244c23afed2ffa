//! Connections, whatever is asked for over them.
//!
//! Outbound:
//! - `trust` (root certificates), `outbound` (the HTTP client over TLS).
//!
//! Inbound, with the feature `listener`:
//! - Who connects: `addresses` (also behind trusted proxies), `room` and `seats` (how many at one time, and which give
//!   way), `window` (counts in windows of time), `tls`.
//! - What arrives: `connection` (its state), `heads` (the time of each wait), `flood` (frames that serve no request),
//!   `shedding` (requests that wait unseen), `refusals` and `request_ids`.
//! - What leaves: `coding` (compressed forms).
//! - Small listeners for the operator: `local_listener`.

pub mod outbound;
pub mod trust;

#[cfg(feature = "listener")]
pub mod addresses;
#[cfg(feature = "listener")]
pub mod coding;
#[cfg(feature = "listener")]
pub mod connection;
#[cfg(feature = "listener")]
pub mod flood;
#[cfg(feature = "listener")]
pub mod heads;
#[cfg(feature = "listener")]
pub mod local_listener;
#[cfg(feature = "listener")]
pub mod refusals;
#[cfg(feature = "listener")]
pub mod request_ids;
#[cfg(feature = "listener")]
pub mod room;
#[cfg(feature = "listener")]
mod seats;
#[cfg(feature = "listener")]
pub mod shedding;
#[cfg(feature = "listener")]
pub mod tls;
#[cfg(feature = "listener")]
pub mod window;

/// Header fields of one request.
pub const HEADERS_MAX: usize = 100;

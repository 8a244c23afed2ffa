//! Connection handling of the listeners, independent of what requests ask for.
//!
//! - Who connects: `addresses` (also behind trusted proxies), `room` and `seats` (how many, and which gives way),
//!   `window` (counts in time windows), `tls`.
//! - What arrives: `line` (the connection's state), `heads` (timers), `flood` (frames that serve no request),
//!   `shedding` (overload), `refusals`, `request_ids`.
//! - What leaves: `coding` (compression).
//! - Small listeners for the operator: `page`.

pub mod addresses;
pub mod coding;
pub mod flood;
pub mod heads;
pub mod line;
pub mod page;
pub mod refusals;
pub mod request_ids;
pub mod room;
mod seats;
pub mod shedding;
pub mod tls;
pub mod window;

/// Header fields of one request.
pub const HEADERS_MAX: usize = 100;

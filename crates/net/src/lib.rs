//! What a listener keeps of its connections, whatever they ask for.
//!
//! - Who connects: `addresses` (also behind trusted proxies), `room` and `seats` (how many at one time, and who
//!   gives way), `window` (counts in
//!   windows of time), `tls`.
//! - What arrives: `line` (how a connection stands), `heads` (the time of each wait), `flood` (frames that serve no
//!   request), `shedding` (requests that wait unseen), `refusals` and `request_ids`.
//! - What leaves: `coding` (compressed forms).
//! - Small listeners for whoever runs the program: `page`.

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

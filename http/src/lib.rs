//! HTTP as the server speaks it, whatever is asked for: this crate knows no route.
//!
//! - A connection: `server` (TLS, bounds on time and number), `parsing`, `shedding`.
//! - A request: `body`, `files` (contents, received and kept), `query`, `conditional`, `cors`, `limits`.
//! - An answer: `reply`, `stream`, `range`, `cursor`, `error` and how it is written (`envelope`).
//! - `clock`, and the metrics of all of it (`metric_definitions`).

pub mod body;
pub mod clock;
pub mod conditional;
pub mod cors;
pub mod cursor;
pub mod envelope;
pub mod error;
pub mod files;
pub mod limits;
pub mod metric_definitions;
pub mod query;
pub mod range;
pub mod reply;
pub mod server;
pub mod stream;

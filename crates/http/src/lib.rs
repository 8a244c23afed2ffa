//! HTTP as the server speaks it, and who may ask: this crate knows no route.
//!
//! - A connection: `server`, with what [`kedge_net`] keeps of each.
//! - A request: `auth`, `limits`, `body`, `signing`, `files` (contents, received and kept), `query`, `conditional`,
//!   `cors`, and the redirects of v2's paths (`v2`).
//! - An answer: `reply`, `fixed` (bodies that never change), `batches` (sealed ones with their trees), `stream`, `events`
//!   (streams of them), `range`, `cursor`, `error` and how it is written (`envelope`).
//! - A change: `submit` (to the engine), `idempotency` (keys in flight, kept answers), `operator` (the operator's own actions),
//!   `claims` (checking them), `trust` (what evidence is judged by).
//! - `clock`, and the metrics of all of it (`metric_definitions`).

pub mod auth;
pub mod batches;
pub mod body;
pub mod claims;
pub mod clock;
pub mod conditional;
pub mod cors;
pub mod cursor;
pub mod envelope;
pub mod error;
pub mod events;
pub mod field;
pub mod files;
pub mod fixed;
pub mod idempotency;
pub mod limits;
pub mod metric_definitions;
pub mod operator;
pub mod outward;
pub mod query;
pub mod range;
pub mod reply;
pub mod scalars;
pub mod server;
pub mod signing;
pub mod stream;
pub mod submit;
pub mod trust;
pub mod v2;

//! HTTP and access control of the server, independent of its routes.
//!
//! - Connections: `server`, on top of [`kedge_net`].
//! - Requests: `auth`, `limits`, `body`, `signing`, `files`, `query`, `field` and `scalars` (values of members),
//!   `preconditions`, `cors`, and redirects of v2 paths (`v2`).
//! - Answers: `reply`, `fixed_body` (immutable bodies), `batches` (sealed batches with their trees), `stream`,
//!   `events`, `range`, `cursor`, `redaction`, `error` and its encoding (`envelope`).
//! - Changes: `submitter` (to the engine), `idempotency`, `operator` (the operator's own actions), `claims`, `trust`
//!   (facts that evidence is judged by).
//! - `clock` and `metric_definitions`.

pub mod auth;
pub mod batches;
pub mod body;
pub mod claims;
pub mod clock;
pub mod cors;
pub mod cursor;
pub mod envelope;
pub mod error;
pub mod events;
pub mod field;
pub mod files;
pub mod fixed_body;
pub mod idempotency;
pub mod limits;
pub mod metric_definitions;
pub mod operator;
pub mod preconditions;
pub mod query;
pub mod range;
pub mod redaction;
pub mod reply;
pub mod scalars;
pub mod server;
pub mod signing;
pub mod stream;
pub mod submitter;
pub mod trust;
pub mod v2;

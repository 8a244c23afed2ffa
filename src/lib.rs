//! The server without its command line: its routes, and everything that starts a server. The engine
//! (`kedge-actors`) carries requests out, and `kedge-http` speaks HTTP and lets in only what is well-formed and signed;
//! this crate joins the two, and writes the answers.
//!
//! - One request: `server` (its way is in `server/dispatch.rs`), `api` (the endpoints, one folder a heading).
//! - Other processes and pages: `edge` (`kedge edge`), `console`.
//! - The operator's side: `start`, `admin`, `metrics`.
//!
//! The command line is `kedge-cli`; the program (`main.rs`) passes it the server.

pub mod admin;
pub mod api;
pub mod console;
pub mod edge;
pub mod metrics;
pub mod server;
pub mod start;

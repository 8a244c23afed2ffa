//! Webhooks: what is sent to whom, when, and how.
//!
//! - [`delivery`]: which events are sent, in which order, and what is stored of it. It knows neither HTTP nor the server, so
//!   a simulator can run it.
//! - [`transport`]: the deliveries' thread, and what the server adds to an attempt.
//! - [`WebhookSender`]: one signed message. [`message`] makes its body, [`secret`] its signatures, [`post`] sends it, and
//!   [`guard`] decides which addresses may be reached.

mod bounded_connection;
pub mod delivery;
pub mod guard;
mod idle_connections;
pub mod message;
pub mod metric_definitions;
pub mod post;
pub mod secret;
mod sender;
pub mod transport;

pub use sender::{MESSAGE_ID, SIGNATURE, TIMESTAMP, WebhookSender};

//! Events for callers that keep listening: streams of server-sent events (the WHATWG HTML standard, 9.2). A stream
//! holds a position and a socket. All streams of an organization are fed from a bounded tail that they share, and from
//! the store where one has fallen further back.

pub mod filter;
mod stream;
mod tail;

pub use stream::{Streams, Subscription};

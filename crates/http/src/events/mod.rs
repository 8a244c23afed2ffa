//! Event streams: server-sent events (WHATWG HTML, 9.2). A stream holds a position and a socket. All streams of an
//! organization share a bounded tail of recent events; one that has fallen further back reads the store.

pub mod filter;
mod stream;
mod tail;

pub use stream::{EventStreams, StreamRequest};

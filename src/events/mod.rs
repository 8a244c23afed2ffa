//! Events for callers who keep listening: streams of server-sent events (the WHATWG HTML standard,
//! 9.2), fed from what all of an organization's streams share.

pub mod filter;
mod stream;
mod tail;

pub use stream::{Streams, Subscription};

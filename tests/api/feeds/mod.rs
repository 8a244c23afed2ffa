//! What the server reports by itself: events, streams and webhooks.

pub(crate) mod event_stream;
mod events;
mod streams;
mod streams_many;
mod webhooks;

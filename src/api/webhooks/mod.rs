//! Webhooks and their deliveries.

pub mod bodies;
pub mod handlers;
pub mod rows;
pub mod transport;
pub mod views;

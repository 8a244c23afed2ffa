//! API keys.

pub mod bodies;
pub mod handlers;
pub mod rows;
pub mod views;

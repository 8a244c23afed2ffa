//! Disputes and claims.

pub mod bodies;
pub mod handlers;
pub mod recorder;
pub mod rows;
pub mod views;

//! Templates and their variations.

pub mod bodies;
pub mod handlers;
pub mod rows;
pub mod views;

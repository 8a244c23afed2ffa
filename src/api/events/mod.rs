//! Events: lists and streams.

pub mod handlers;
pub mod rows;
pub mod views;

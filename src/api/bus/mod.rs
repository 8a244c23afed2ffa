//! The action bus: actions, batches, previews, and their history.

pub mod actions;
pub mod batch_answer;
pub mod bodies;
pub mod handlers;
pub mod preview;
pub mod preview_views;
pub mod rows;
pub mod views;

//! The service itself: health, versions, documents.

pub mod handlers;
pub mod reference;
pub mod rows;
pub mod views;

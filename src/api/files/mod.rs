//! Files, and the export of an organization.

pub mod bodies;
pub mod export;
pub mod handlers;
pub mod rows;
pub mod views;

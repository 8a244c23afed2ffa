//! The organization: its members, invitations and usage.

pub mod bodies;
pub mod handlers;
pub mod members;
pub mod rows;
pub mod views;

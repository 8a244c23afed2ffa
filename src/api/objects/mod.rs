//! Objects: reading, searching and changing them.

pub mod bodies;
pub mod handlers;
pub mod history;
pub mod list;
pub mod rows;
pub mod search;
pub mod search_bodies;
pub mod views;

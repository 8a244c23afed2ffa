//! The attacks, by their target.

mod bodies;
mod connections;
mod floods;
mod heads;
mod json;
mod reads;
mod resets;
mod templates;
mod tenants;
mod unread;

pub(crate) use heads::slow_heads;
pub(crate) use resets::rapid_resets;

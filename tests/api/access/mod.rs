//! Access: accounts, members, API keys, and what ends with a right.

mod accounts;
mod content;
mod keys;
pub(crate) mod members;
mod names;
mod possession;
pub(crate) mod privileges;

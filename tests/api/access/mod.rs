//! Who may do what: accounts, members, API keys, and what ends with a right.

mod accounts;
mod keys;
mod members;
mod possession;
pub(crate) mod privileges;

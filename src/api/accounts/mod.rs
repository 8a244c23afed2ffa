//! Accounts: registering, logging in, a wallet and its signing keys.

pub mod bodies;
pub mod handlers;
pub mod rows;
pub mod views;

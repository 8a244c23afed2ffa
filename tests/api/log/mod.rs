//! The log for others: its parts, its export, and disputes about it.

mod claims;
mod disputes;
mod export;
mod honest_log;
mod public_log;
mod state;
mod state_pages;
mod strangers;

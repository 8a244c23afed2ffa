//! What is checked: receipts, the log, and what streams and webhooks delivered.

pub(crate) mod log_check;
pub(crate) mod places;
pub(crate) mod readers;
pub(crate) mod receipts;
pub(crate) mod receiver;

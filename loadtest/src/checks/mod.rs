//! Checks of receipts, of the log, and of deliveries by streams and webhooks.

pub(crate) mod log_check;
pub(crate) mod readers;
pub(crate) mod receipts;
pub(crate) mod receiver;
pub(crate) mod sequences;

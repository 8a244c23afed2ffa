//! The rows, by their heading in the documents.

pub(crate) mod accounts;
pub(crate) mod bus;
pub(crate) mod disputes;
pub(crate) mod files;
pub(crate) mod keys;
pub(crate) mod log;
pub(crate) mod objects;
pub(crate) mod organization;
pub(crate) mod service;
pub(crate) mod state;
pub(crate) mod templates;
pub(crate) mod webhooks;

//! Objects, templates and files: made, changed, listed and found.

pub(crate) mod files;
mod forms;
mod history;
mod index;
mod lists;
mod objects;
mod preview;
mod search;
mod supply;
mod templates;
mod torn_files;

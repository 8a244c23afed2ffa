//! Objects, templates and files: creation, changes, lists and searches.

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

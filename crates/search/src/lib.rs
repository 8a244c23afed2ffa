//! Search of objects for `POST /objects/search` and `/count`, on a snapshot. Filters are parsed (`parse`) and split
//! into branches (`branches`). For each branch, `plan` finds lists and indexes that contain all its matches; `planner`
//! combines them for the whole filter. Possible sources are objects by id, lists of templates, owners and the
//! organization, index entries of a value (`eq`, `in`) or of a range (`gt` … `lte`, `prefix`, `exists`, and their
//! negations; conditions on one path are intersected), and ranges of creation sequences between two times, which
//! bisection of the log finds. `candidates` chooses the smallest, and `execution` tests each object against the whole
//! filter, within the limits of `budget`.
//!
//! Counts use index entries alone where these suffice, and each template's object count is stored. A search runs on the
//! calling thread; the server calls it on a separate one.

mod branches;
mod budget;
mod candidates;
mod error;
mod execution;
mod filter;
pub mod parse;
mod plan;
mod planner;
mod ranges;
pub mod sort;
mod templates;
#[cfg(test)]
mod tests;

pub use error::SearchError;
pub use execution::{SearchCount, SearchPage, SearchPageRequest, count, search};
pub use filter::{SearchFilter, TestedBytes};

//! Searching objects: `POST /objects/search` and `/count`, answered from a snapshot. Filters are read (`parse`) and
//! split into branches (`branches`). For each branch, lists and indexes that hold all its matches are found (`plan`),
//! and for the whole filter those that hold the matches of all branches (`union`): objects by id, lists of templates,
//! of owners, of the organization, index entries of a value (`eq`, `in`) or of a range (`gt` … `lte`, `prefix`,
//! `exists`, and the contrary of each; several conditions on one place are intersected), and the creation sequences
//! between two times, which the log gives by bisection. The smallest is chosen (`candidates`), and everything read is
//! checked against the whole filter (`run`), within a bound on what one search may read (`budget`).
//!
//! Counts read entries alone where these suffice, and a template's own count is kept. A search
//! runs where it is called; the server calls it on a thread of its own.

mod branches;
mod budget;
mod candidates;
mod error;
mod filter;
pub mod parse;
mod plan;
mod ranges;
mod run;
pub mod sort;
mod templates;
#[cfg(test)]
mod tests;
mod union;

pub use error::SearchError;
pub use filter::{Filter, Tested};
pub use run::{Counted, Found, Wanted, count, search};

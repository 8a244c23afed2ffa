//! Searching objects: filters are read (`parse`) and taken apart into branches (`branches`); these are
//! turned into the lists and indexes that hold all their matches (`plan`, `union`), of which the smallest is taken (`candidates`); what is read there is
//! asked the whole filter (`run`), within a bound on what one search may read (`budget`).

mod branches;
mod budget;
mod candidates;
mod filter;
pub mod parse;
mod plan;
mod ranges;
mod run;
pub mod sort;
#[cfg(test)]
mod tests;
mod union;

pub use filter::Filter;
pub use run::{Counted, Found, Wanted, count, search};

//! Searching objects: filters are read (`parse`), turned into the lists and indexes that hold all
//! their matches (`plan`), of which the smallest is taken (`candidates`); what is read there is
//! asked the whole filter (`run`), within a bound on what one search may read (`budget`).

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

pub use filter::Filter;
pub use run::{Counted, Found, Wanted, count, search};

//! Searches on a real store: their results against a reference evaluator, and the rows that they read.

mod filters;
mod language;
mod model;
mod planner;
mod store;
mod values;

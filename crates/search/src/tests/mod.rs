//! Searches on a real store: compared with a plain evaluation of filters, and by the rows that they read.

mod filters;
mod language;
mod model;
mod planner;
mod store;
mod values;

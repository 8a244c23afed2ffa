//! The load: what is sent, when, by which threads and processes, and what is counted.

mod answer;
pub(crate) mod collect;
pub(crate) mod interval;
mod pace;
pub(crate) mod processes;
pub(crate) mod run;
mod sampler;
mod send;
pub(crate) mod workload;

//! Load generation: requests, pacing, threads and processes, and counts.

mod answer;
pub(crate) mod collect;
pub(crate) mod interval;
mod pace;
pub(crate) mod processes;
pub(crate) mod run;
mod sampler;
mod send;
pub(crate) mod workload;

//! Load generation: requests, pacing, threads and processes, and counts.

mod answer;
pub(crate) mod collector;
pub(crate) mod interval;
mod pace;
pub(crate) mod processes;
pub(crate) mod run;
mod sampler;
mod sender;
pub(crate) mod workload;

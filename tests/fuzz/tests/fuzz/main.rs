//! The targets: everything that reads what others wrote. Each asserts properties, not only that it does not crash: what is
//! read can be written again, a second implementation says the same, what verifies is what was signed.

#![allow(clippy::unwrap_used, reason = "a test file: a panic is the failure")]

mod bodies;
mod exports;
mod files;
mod filters;
mod frames;
mod merging;
mod nodes;
mod rows;
mod schemas;
mod segments;
mod vectors;

use std::path::PathBuf;

use kedge_fuzz::Fuzz;

/// The target with this name. What it finds is kept below the build's folder, or in `KEDGE_FUZZ_CACHE`.
fn fuzz(name: &str) -> Fuzz<'_> {
    let cache = std::env::var_os("KEDGE_FUZZ_CACHE").map(PathBuf::from);
    let cache = cache.unwrap_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("fuzz"));
    Fuzz::new(name, &cache)
}

//! Fuzz targets: every parser of foreign input. Each asserts properties beyond not crashing: parsed input can be
//! written again, a second implementation agrees, and verified content is the signed content.

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

use kedge_fuzz::FuzzTarget;

/// The target with this name. Its findings are kept in the build's folder, or in `KEDGE_FUZZ_CACHE`.
fn fuzz(name: &str) -> FuzzTarget<'_> {
    let cache = std::env::var_os("KEDGE_FUZZ_CACHE").map(PathBuf::from);
    let cache = cache.unwrap_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("fuzz"));
    FuzzTarget::new(name, &cache)
}

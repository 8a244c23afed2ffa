//! Reports the figures: a line for people as they come, and a file for programs.

use std::io::Write as _;
use std::path::Path;

use serde::Serialize;

use super::Options;
use super::fill::Filled;
use super::queries::Measure;
use crate::error::Result;
use crate::machine::Machine;

/// All results of one run.
#[derive(Serialize)]
pub(crate) struct Report<'a> {
    pub(crate) program: &'static str,
    pub(crate) version: &'static str,
    pub(crate) options: &'a Options,
    pub(crate) machine: Machine,
    pub(crate) load_average_before: String,
    pub(crate) load_average_after: String,
    pub(crate) filled: Filled,
    pub(crate) measures: Vec<Measure>,
}

/// Prints one measurement.
pub(crate) fn line(measure: &Measure) -> Result<()> {
    let latency = &measure.latency_ms;
    let mut stdout = std::io::stdout().lock();
    writeln!(
        stdout,
        "{:<32} {:>2} connections  {:>7.0}/s  p50 {:>7.3} ms  p99 {:>7.3} ms  max {:>7.3} ms  {:>6.1} found",
        measure.query,
        measure.connections,
        measure.searches_per_second,
        latency.p50,
        latency.p99,
        latency.max,
        measure.objects_found_on_average,
    )?;
    Ok(())
}

/// Writes the file.
pub(crate) fn write(report: &Report<'_>, path: Option<&Path>) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    let mut text = serde_json::to_string_pretty(report)?;
    text.push('\n');
    std::fs::write(path, text)?;
    Ok(())
}

//! Report of a bench: a table for people, JSON for programs.

use std::path::Path;

use kedge_load::figures::{print, write_json};
use kedge_load::machine::{HostMachine, load_average};
use serde::Serialize;

use crate::error::BenchResult;

/// Options, machine and figures of a bench.
#[derive(Serialize)]
pub(crate) struct BenchReport<'a, O, F> {
    program: &'static str,
    version: &'static str,
    pub(crate) options: &'a O,
    pub(crate) machine: HostMachine,
    pub(crate) load_average_before: String,
    pub(crate) load_average_after: String,
    #[serde(flatten)]
    pub(crate) figures: F,
}

impl<'a, O: Serialize, F: Serialize> BenchReport<'a, O, F> {
    /// Report of a bench that has just ended.
    pub(crate) fn new(
        program: &'static str,
        options: &'a O,
        load_average_before: String,
        figures: F,
    ) -> Self {
        Self {
            program,
            version: env!("CARGO_PKG_VERSION"),
            options,
            machine: HostMachine::here(),
            load_average_before,
            load_average_after: load_average(),
            figures,
        }
    }

    /// Prints the table, and writes the JSON if a file is given.
    pub(crate) fn write(&self, table: &str, json: Option<&Path>) -> BenchResult<()> {
        print(table)?;
        Ok(write_json(self, json)?)
    }
}

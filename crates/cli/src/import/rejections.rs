//! Rejected records: their unchanged input in one file, to be corrected and imported, and the reasons in another.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::csv::write_row;
use super::input::ImportInput;
use super::records::RecordSource;
use super::shape::RecordFault;
use crate::output::{CliResult, CommandFailure, print_error};

/// Limit of printed reasons.
const SHOWN_MAX: usize = 20;
/// Limit of reasons in the report.
const REPORTED_MAX: usize = 1_000;

/// A record's rejection.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ImportRejection {
    pub(super) line: u64,
    pub(super) key: Option<String>,
    pub(super) column: Option<String>,
    pub(super) reason: String,
}

pub(super) struct RejectionLog {
    count: u64,
    reasons: Vec<ImportRejection>,
    delimiter: u8,
    files: Option<RejectionFiles>,
}

struct RejectionFiles {
    path: PathBuf,
    records: BufWriter<File>,
    reasons: BufWriter<File>,
    has_header: bool,
}

fn create(path: &Path) -> CliResult<BufWriter<File>> {
    let file = File::create(path).map_err(CommandFailure::unreadable(path))?;
    Ok(BufWriter::new(file))
}

impl RejectionLog {
    /// Truncates both files: each run rejects the earlier run's records again.
    pub(super) fn create(path: Option<&Path>, input: &ImportInput) -> CliResult<Self> {
        let files = path.map(|path| -> CliResult<RejectionFiles> {
            let mut reasons = path.to_owned().into_os_string();
            reasons.push(".reasons");
            Ok(RejectionFiles {
                records: create(path)?,
                reasons: create(Path::new(&reasons))?,
                path: path.to_owned(),
                has_header: false,
            })
        });
        Ok(Self {
            count: 0,
            reasons: Vec::new(),
            delimiter: input.delimiter,
            files: files.transpose()?,
        })
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The first reasons.
    pub(super) fn reasons(&self) -> &[ImportRejection] {
        &self.reasons
    }

    pub(super) fn add(
        &mut self,
        line: u64,
        key: Option<&str>,
        fault: &RecordFault,
        source: &RecordSource,
    ) -> CliResult<()> {
        let reason = ImportRejection {
            line,
            key: key.map(str::to_owned),
            column: fault.column.clone(),
            reason: fault.reason.clone(),
        };
        let shown = self.reasons.len();
        if shown < SHOWN_MAX {
            let column = fault.column.as_ref();
            let column = column.map_or_else(String::new, |column| format!(", column {column}"));
            print_error(&format!("line {line}{column}: {}", fault.reason));
        } else if shown == SHOWN_MAX {
            print_error("more records are not valid; --rejected writes all of them to a file");
        }
        if let Some(files) = &mut self.files {
            files.write(self.delimiter, &reason, source)?;
        }
        self.count += 1;
        if shown < REPORTED_MAX {
            self.reasons.push(reason);
        }
        Ok(())
    }

    /// Flushes both files.
    pub(super) fn finish(&mut self) -> CliResult<()> {
        let Some(files) = &mut self.files else {
            return Ok(());
        };
        let written = files.records.flush().and_then(|()| files.reasons.flush());
        written.map_err(CommandFailure::at(&files.path))
    }
}

impl RejectionFiles {
    fn write(
        &mut self,
        delimiter: u8,
        reason: &ImportRejection,
        source: &RecordSource,
    ) -> CliResult<()> {
        let written = serde_json::to_writer(&mut self.reasons, reason)
            .map_err(std::io::Error::from)
            .and_then(|()| self.reasons.write_all(b"\n"));
        written.map_err(CommandFailure::at(&self.path))?;
        let records = &mut self.records;
        let written = match source {
            RecordSource::Line(line) => records
                .write_all(line)
                .and_then(|()| records.write_all(b"\n")),
            RecordSource::Fields(fields, header) => {
                let header = header.as_ref().filter(|_| !self.has_header);
                self.has_header = true;
                let first = header.map_or(Ok(()), |header| write_row(records, header, delimiter));
                first.and_then(|()| write_row(records, fields, delimiter))
            }
        };
        written.map_err(CommandFailure::at(&self.path))
    }
}

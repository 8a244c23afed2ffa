//! The import's report, and the list of minted objects.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use kedge_protocol::{Hash, Id};
use serde::Serialize;
use tempfile::NamedTempFile;

use super::args::ImportArgs;
use super::check::ImportCheckResult;
use super::csv::write_row;
use super::input::ImportInput;
use super::journal::{self, ImportProgressEntry, MintedRow};
use super::progress::ImportProgress;
use super::rejections::{ImportRejection, RejectionLog};
use crate::output::{CliResult, CommandFailure, columns};

/// Results of an import.
#[derive(Serialize)]
pub(super) struct ImportReport {
    input: PathBuf,
    /// Digest of the uncompressed input.
    sha256: Hash,
    bytes: u64,
    template: Id,
    /// Whether records were only checked.
    check: bool,
    /// Number of records in the input.
    read: u64,
    /// CSV rows without any value, which do not count as records.
    empty_rows: u64,
    /// Lines of the first empty rows.
    empty_row_lines: Vec<u64>,
    /// Records minted by this run and earlier ones.
    minted: u64,
    minted_before: u64,
    /// Invalid or refused records.
    rejected: u64,
    /// Records that were not sent.
    not_sent: u64,
    batches: u64,
    first_sequence: Option<u64>,
    last_sequence: Option<u64>,
    seconds: f64,
    records_per_s: f64,
    /// The first rejected records.
    rejected_records: Vec<ImportRejection>,
    #[serde(skip)]
    begun: Instant,
    #[serde(skip)]
    rejects_path: Option<PathBuf>,
}

impl ImportReport {
    pub(super) fn new(args: &ImportArgs, input: &ImportInput, checked: &ImportCheckResult) -> Self {
        Self {
            input: input.name.clone(),
            sha256: checked.sha256,
            bytes: checked.bytes,
            template: args.template,
            check: args.consent.check,
            read: checked.records,
            empty_rows: checked.skipped.count,
            empty_row_lines: checked.skipped.lines.clone(),
            minted: 0,
            minted_before: 0,
            rejected: 0,
            not_sent: 0,
            batches: 0,
            first_sequence: None,
            last_sequence: None,
            seconds: 0.0,
            records_per_s: 0.0,
            rejected_records: Vec::new(),
            begun: Instant::now(),
            rejects_path: args.rejected.clone(),
        }
    }

    /// Adds the results of earlier runs.
    pub(super) fn resumes(&mut self, progress: &ImportProgress) {
        self.minted_before = progress.past.totals.minted;
        self.take_totals(progress);
    }

    fn take_totals(&mut self, progress: &ImportProgress) {
        let totals = &progress.past.totals;
        self.minted = totals.minted;
        self.batches = totals.batches;
        self.first_sequence = totals.first_sequence;
        self.last_sequence = totals.last_sequence;
    }

    /// Adds the results of this run.
    pub(super) fn ended(&mut self, progress: &ImportProgress) {
        self.take_totals(progress);
        self.seconds = self.begun.elapsed().as_secs_f64();
        let now = self.minted - self.minted_before;
        if self.seconds > 0.0 {
            self.records_per_s = now as f64 / self.seconds;
        }
    }

    /// Adds the rejected records.
    pub(super) fn rejects(&mut self, rejected: &RejectionLog) {
        self.rejected = rejected.count();
        self.rejected_records = rejected.reasons().to_vec();
        if !self.check {
            self.not_sent = self.read - self.minted - self.rejected;
        }
    }

    /// Why the import is incomplete, if it is.
    pub(super) fn missing(&self) -> Option<String> {
        let read = self.read;
        if self.check {
            let rejected = self.rejected;
            return (rejected > 0).then(|| format!("{rejected} of {read} records are not valid"));
        }
        let missing = read - self.minted;
        (missing > 0).then(|| format!("{missing} of {read} records are not minted"))
    }

    /// Writes the report as JSON.
    pub(super) fn write(&self, path: &Path) -> CliResult<()> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        std::fs::write(path, text).map_err(CommandFailure::at(path))
    }

    /// The report for people.
    pub(super) fn as_text(&self) -> String {
        let mut rows = vec![("records", self.read.to_string())];
        if self.empty_rows > 0 {
            let lines: Vec<String> = self.empty_row_lines.iter().map(u64::to_string).collect();
            let more = if self.empty_rows > lines.len() as u64 {
                ", …"
            } else {
                ""
            };
            let lines = lines.join(", ");
            rows.push((
                "empty rows",
                format!("{} skipped, in lines {lines}{more}", self.empty_rows),
            ));
        }
        if self.check {
            rows.push(("valid", (self.read - self.rejected).to_string()));
        } else {
            let before = match self.minted_before {
                0 => String::new(),
                before => format!(", {before} of them by earlier runs"),
            };
            rows.push(("minted", format!("{}{before}", self.minted)));
        }
        let file = self.rejects_path.as_ref().filter(|_| self.rejected > 0);
        let file = file.map_or_else(String::new, |path| format!(", in {}", path.display()));
        rows.push(("rejected", format!("{}{file}", self.rejected)));
        if !self.check {
            rows.push(("not sent", self.not_sent.to_string()));
            rows.push(("batches", self.batches.to_string()));
            if let (Some(first), Some(last)) = (self.first_sequence, self.last_sequence) {
                rows.push(("sequences", format!("{first} to {last}")));
            }
            let speed = self.records_per_s;
            rows.push((
                "time",
                format!("{:.1} s, {speed:.0} records a second", self.seconds),
            ));
        }
        rows.push(("template", self.template.to_string()));
        rows.push(("sha-256", self.sha256.to_string()));
        columns(&rows)
    }
}

#[derive(Serialize)]
struct ImportedObject {
    line: u64,
    key: Option<String>,
    object_id: Id,
    sequence: u64,
}

/// Writes the minted objects from the progress file, in the input's order, except for records that were sent more than
/// once.
pub(super) fn write_objects(objects: &Path, progress: &Path) -> CliResult<()> {
    let failed = CommandFailure::at(objects);
    let mut places = Vec::new();
    journal::read(progress, |byte, entry| {
        if let ImportProgressEntry::Done { minted, .. } = entry
            && let Some((first, ..)) = minted.first()
        {
            places.push((*first, byte));
        }
        Ok(())
    })?;
    places.sort_unstable();
    let folder = objects.parent().filter(|path| !path.as_os_str().is_empty());
    let made = NamedTempFile::new_in(folder.unwrap_or(Path::new("."))).map_err(failed)?;
    let mut file = File::open(progress).map_err(failed)?;
    let mut out = BufWriter::new(made.reopen().map_err(failed)?);
    let is_csv = objects.extension().is_some_and(|found| found == "csv");
    if is_csv {
        let names = ["line", "key", "object_id", "sequence"];
        write_row(&mut out, &names, b',').map_err(failed)?;
    }
    for (_, byte) in places {
        for row in journal::minted_at(progress, &mut file, byte)? {
            write_object(&mut out, row, is_csv).map_err(failed)?;
        }
    }
    out.flush().map_err(failed)?;
    made.persist(objects).map_err(|error| failed(error.error))?;
    Ok(())
}

fn write_object(to: &mut BufWriter<File>, row: MintedRow, is_csv: bool) -> io::Result<()> {
    let (_, line, key, object_id, sequence) = row;
    if is_csv {
        let row = [
            line.to_string(),
            key.unwrap_or_default(),
            object_id.to_string(),
            sequence.to_string(),
        ];
        return write_row(to, &row, b',');
    }
    let object = ImportedObject {
        line,
        key,
        object_id,
        sequence,
    };
    serde_json::to_writer(&mut *to, &object)?;
    to.write_all(b"\n")
}

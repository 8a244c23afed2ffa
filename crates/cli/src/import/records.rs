//! Records of the input in order, each with its mint request or its fault.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

use kedge_rules::json;

use super::args::ImportFormat;
use super::check::ImportTemplateRules;
use super::csv::{CsvFields, CsvReader};
use super::input::{ImportInput, ImportInputStream, InputDigest};
use super::shape::{CsvColumns, ImportMint, RecordFault, RecordShape};
use crate::output::CliResult;

/// A record's text in the input.
#[derive(Clone, Debug)]
pub(super) enum RecordSource {
    Line(Vec<u8>),
    /// Fields of a CSV record, and of the header if the file has one.
    Fields(CsvFields, Option<Arc<CsvFields>>),
}

pub(super) struct InputRecord {
    /// Ordinal in the input, from 0.
    pub(super) ordinal: u64,
    /// First line, from 1.
    pub(super) line: u64,
    pub(super) source: RecordSource,
    /// The mint request, not yet checked against the template.
    pub(super) mint: Result<ImportMint, RecordFault>,
}

/// Context for reading records.
pub(super) struct ImportRecordReader<'a> {
    pub(super) input: &'a ImportInput,
    pub(super) shape: &'a RecordShape,
    pub(super) rules: &'a ImportTemplateRules,
}

/// Iterator over the input's records.
pub(super) struct RecordStream<'a> {
    reader: &'a ImportRecordReader<'a>,
    kind: RecordStreamKind,
    seen: Rc<RefCell<InputDigest>>,
    next: u64,
    skipped: SkippedRows,
}

/// Rows without any value, as spreadsheets write them below a table. They do not count as records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SkippedRows {
    pub(super) count: u64,
    /// Lines of the first skipped rows.
    pub(super) lines: Vec<u64>,
}

/// Limit of reported lines of skipped rows.
const SKIPPED_LINES_MAX: usize = 10;

impl SkippedRows {
    fn add(&mut self, line: u64) {
        self.count += 1;
        if self.lines.len() < SKIPPED_LINES_MAX {
            self.lines.push(line);
        }
    }
}

/// Excel's "CSV" without "UTF-8" is Windows-1252 in most of Europe and America.
const NOT_UTF_8: &str = "is not UTF-8; convert the file, as with iconv -f WINDOWS-1252 -t UTF-8";

/// A record's line, text, and mint request.
type RecordRead = (u64, RecordSource, Result<ImportMint, RecordFault>);

enum RecordStreamKind {
    Lines {
        stream: ImportInputStream,
        line: u64,
    },
    Csv {
        reader: Box<CsvReader>,
        columns: CsvColumns,
        header: Option<Arc<CsvFields>>,
        /// One record is read ahead, because the last one needs a closer look.
        ahead: Option<(u64, CsvFields)>,
    },
}

impl ImportRecordReader<'_> {
    /// Starts reading.
    pub(super) fn records(&self) -> CliResult<RecordStream<'_>> {
        let (stream, seen) = self.input.stream()?;
        let kind = match self.input.format {
            ImportFormat::Ndjson | ImportFormat::Qldb => {
                RecordStreamKind::Lines { stream, line: 0 }
            }
            ImportFormat::Csv => self.csv(stream)?,
        };
        Ok(RecordStream {
            reader: self,
            kind,
            seen,
            next: 0,
            skipped: SkippedRows::default(),
        })
    }

    fn csv(&self, stream: ImportInputStream) -> CliResult<RecordStreamKind> {
        let input = self.input;
        let mut reader = CsvReader::new(stream, input.delimiter);
        let mut header = None;
        let mut names = input.columns.clone();
        if names.is_empty() {
            let read = reader.read().map_err(|error| input.failed(error))?;
            let Some((_, fields)) = read else {
                return Err(input.failed("is empty: a CSV file begins with its columns' names"));
            };
            let name = |field: &Vec<u8>| String::from_utf8(field.clone()).ok();
            let read: Option<Vec<String>> = fields.iter().map(name).collect();
            names = read.ok_or_else(|| input.failed("its header is not UTF-8"))?;
            header = Some(Arc::new(fields));
        }
        let columns = self.shape.columns(names, self.rules.schema_value())?;
        let mut kind = RecordStreamKind::Csv {
            reader: Box::new(reader),
            columns,
            header,
            ahead: None,
        };
        kind.read_ahead().map_err(|error| input.failed(error))?;
        Ok(kind)
    }
}

impl RecordStreamKind {
    /// Returns the record read ahead, and reads the next one.
    fn read_ahead(&mut self) -> io::Result<Option<(u64, CsvFields)>> {
        let Self::Csv { reader, ahead, .. } = self else {
            return Ok(None);
        };
        let next = reader.read()?;
        Ok(std::mem::replace(ahead, next))
    }
}

impl RecordStream<'_> {
    /// The next record; `None` at the end.
    pub(super) fn next(&mut self) -> CliResult<Option<InputRecord>> {
        let input = self.reader.input;
        let read = match self.kind {
            RecordStreamKind::Lines { .. } => {
                self.next_line().map_err(|error| input.failed(error))?
            }
            RecordStreamKind::Csv { .. } => {
                self.next_fields().map_err(|error| input.failed(error))?
            }
        };
        let ordinal = self.next;
        self.next += u64::from(read.is_some());
        Ok(read.map(|(line, source, mint)| InputRecord {
            ordinal,
            line,
            source,
            mint,
        }))
    }

    /// Statistics of the input so far.
    pub(super) fn seen(&self) -> InputDigest {
        self.seen.borrow().clone()
    }

    /// Rows without any value so far.
    pub(super) fn skipped(&self) -> &SkippedRows {
        &self.skipped
    }

    fn next_line(&mut self) -> io::Result<Option<RecordRead>> {
        let RecordStreamKind::Lines { stream, line } = &mut self.kind else {
            return Ok(None);
        };
        loop {
            let Some(bytes) = stream.line()? else {
                return Ok(None);
            };
            *line += 1;
            if bytes.trim_ascii().is_empty() {
                continue;
            }
            let mint = self.reader.of_line(&bytes);
            return Ok(Some((*line, RecordSource::Line(bytes), mint)));
        }
    }

    fn next_fields(&mut self) -> io::Result<Option<RecordRead>> {
        let (line, record) = loop {
            let Some((line, record)) = self.kind.read_ahead()? else {
                return Ok(None);
            };
            let is_empty = |field: &Vec<u8>| field.trim_ascii().is_empty();
            if !record.iter().all(is_empty) {
                break (line, record);
            }
            self.skipped.add(line);
        };
        let RecordStreamKind::Csv {
            columns,
            header,
            ahead,
            ..
        } = &self.kind
        else {
            return Ok(None);
        };
        // An unclosed field takes in all that follows.
        let spans = record.iter().any(|field| field.contains(&b'\n'));
        let is_open = ahead.is_none() && spans && !self.seen.borrow().quotes.is_multiple_of(2);
        let mint = if is_open {
            let reason =
                "a field begins with a quotation mark, and none ends it before the file ends";
            Err(RecordFault::new(reason))
        } else {
            self.reader.of_fields(columns, &record)
        };
        let source = RecordSource::Fields(record, header.clone());
        Ok(Some((line, source, mint)))
    }
}

impl ImportRecordReader<'_> {
    fn of_line(&self, bytes: &[u8]) -> Result<ImportMint, RecordFault> {
        let text = std::str::from_utf8(bytes).map_err(|_| RecordFault::new(NOT_UTF_8))?;
        let text = text.trim_ascii();
        if let Err(error) = json::check(text) {
            return Err(RecordFault::new(format!("is not acceptable JSON: {error}")));
        }
        self.shape
            .mint(&self.shape.json_row(text)?, self.rules.schema_value())
    }

    fn of_fields(
        &self,
        columns: &CsvColumns,
        record: &CsvFields,
    ) -> Result<ImportMint, RecordFault> {
        let mut fields = Vec::with_capacity(record.len());
        for (place, field) in record.iter().enumerate() {
            let name = columns.names.get(place).map_or("", String::as_str);
            let text = std::str::from_utf8(field);
            fields.push(text.map_err(|_| RecordFault::of(name, NOT_UTF_8))?);
        }
        self.shape
            .mint(&self.shape.csv_row(columns, &fields)?, None)
    }
}

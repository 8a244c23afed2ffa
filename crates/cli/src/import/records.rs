//! Records of the input in order, each with its mint request or its fault.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

use kedge_rules::json;

use super::args::Format;
use super::check::Rules;
use super::csv::{CsvReader, Fields};
use super::input::{Input, Seen, Stream};
use super::shape::{Columns, Fault, Mint, Shape};
use crate::output::Failure;

/// A record's text in the input.
#[derive(Clone, Debug)]
pub(super) enum Source {
    Line(Vec<u8>),
    /// Fields of a CSV record, and of the header if the file has one.
    Fields(Fields, Option<Arc<Fields>>),
}

pub(super) struct Item {
    /// Ordinal in the input, from 0.
    pub(super) ordinal: u64,
    /// First line, from 1.
    pub(super) line: u64,
    pub(super) source: Source,
    /// The mint request, not yet checked against the template.
    pub(super) mint: Result<Mint, Fault>,
}

/// Context for reading records.
pub(super) struct Reader<'a> {
    pub(super) input: &'a Input,
    pub(super) shape: &'a Shape,
    pub(super) rules: &'a Rules,
}

/// Iterator over the input's records.
pub(super) struct Records<'a> {
    reader: &'a Reader<'a>,
    kind: Kind,
    seen: Rc<RefCell<Seen>>,
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
type Read = (u64, Source, Result<Mint, Fault>);

enum Kind {
    Lines {
        stream: Stream,
        line: u64,
    },
    Csv {
        reader: Box<CsvReader>,
        columns: Columns,
        header: Option<Arc<Fields>>,
        /// One record is read ahead, because the last one needs a closer look.
        ahead: Option<(u64, Fields)>,
    },
}

impl Reader<'_> {
    /// Starts reading.
    pub(super) fn records(&self) -> Result<Records<'_>, Failure> {
        let (stream, seen) = self.input.stream()?;
        let kind = match self.input.format {
            Format::Ndjson | Format::Qldb => Kind::Lines { stream, line: 0 },
            Format::Csv => self.csv(stream)?,
        };
        Ok(Records {
            reader: self,
            kind,
            seen,
            next: 0,
            skipped: SkippedRows::default(),
        })
    }

    fn csv(&self, stream: Stream) -> Result<Kind, Failure> {
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
        let mut kind = Kind::Csv {
            reader: Box::new(reader),
            columns,
            header,
            ahead: None,
        };
        kind.read_ahead().map_err(|error| input.failed(error))?;
        Ok(kind)
    }
}

impl Kind {
    /// Returns the record read ahead, and reads the next one.
    fn read_ahead(&mut self) -> io::Result<Option<(u64, Fields)>> {
        let Self::Csv { reader, ahead, .. } = self else {
            return Ok(None);
        };
        let next = reader.read()?;
        Ok(std::mem::replace(ahead, next))
    }
}

impl Records<'_> {
    /// The next record; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Item>, Failure> {
        let input = self.reader.input;
        let read = match self.kind {
            Kind::Lines { .. } => self.next_line().map_err(|error| input.failed(error))?,
            Kind::Csv { .. } => self.next_fields().map_err(|error| input.failed(error))?,
        };
        let ordinal = self.next;
        self.next += u64::from(read.is_some());
        Ok(read.map(|(line, source, mint)| Item {
            ordinal,
            line,
            source,
            mint,
        }))
    }

    /// Statistics of the input so far.
    pub(super) fn seen(&self) -> Seen {
        self.seen.borrow().clone()
    }

    /// Rows without any value so far.
    pub(super) fn skipped(&self) -> &SkippedRows {
        &self.skipped
    }

    fn next_line(&mut self) -> io::Result<Option<Read>> {
        let Kind::Lines { stream, line } = &mut self.kind else {
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
            return Ok(Some((*line, Source::Line(bytes), mint)));
        }
    }

    fn next_fields(&mut self) -> io::Result<Option<Read>> {
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
        let Kind::Csv {
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
            Err(Fault::new(reason))
        } else {
            self.reader.of_fields(columns, &record)
        };
        let source = Source::Fields(record, header.clone());
        Ok(Some((line, source, mint)))
    }
}

impl Reader<'_> {
    fn of_line(&self, bytes: &[u8]) -> Result<Mint, Fault> {
        let text = std::str::from_utf8(bytes).map_err(|_| Fault::new(NOT_UTF_8))?;
        let text = text.trim_ascii();
        if let Err(error) = json::check(text) {
            return Err(Fault::new(format!("is not acceptable JSON: {error}")));
        }
        self.shape
            .mint(&self.shape.json_row(text)?, self.rules.schema_value())
    }

    fn of_fields(&self, columns: &Columns, record: &Fields) -> Result<Mint, Fault> {
        let mut fields = Vec::with_capacity(record.len());
        for (place, field) in record.iter().enumerate() {
            let name = columns.names.get(place).map_or("", String::as_str);
            let text = std::str::from_utf8(field);
            fields.push(text.map_err(|_| Fault::of(name, NOT_UTF_8))?);
        }
        self.shape
            .mint(&self.shape.csv_row(columns, &fields)?, None)
    }
}

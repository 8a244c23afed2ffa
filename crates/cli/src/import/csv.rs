//! CSV (RFC 4180) as rows of fields.

use std::io::{self, Write};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use super::input::ImportInputStream;

/// Initial capacity for a record's bytes and fields.
const BYTES_FIRST: usize = 4096;
const FIELDS_FIRST: usize = 64;

pub(super) type CsvFields = Vec<Vec<u8>>;

pub(super) struct CsvReader {
    core: Reader,
    stream: ImportInputStream,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl CsvReader {
    pub(super) fn new(stream: ImportInputStream, delimiter: u8) -> Self {
        Self {
            core: ReaderBuilder::new().delimiter(delimiter).build(),
            stream,
            bytes: vec![0; BYTES_FIRST],
            ends: vec![0; FIELDS_FIRST],
        }
    }

    /// The next record and its first line, from 1; `None` at the end. Empty lines are skipped.
    pub(super) fn read(&mut self) -> io::Result<Option<(u64, CsvFields)>> {
        self.skip_empty_lines()?;
        let line = self.stream.lines_seen() + 1;
        let (mut bytes, mut ends) = (0, 0);
        loop {
            let input = self.stream.chunk()?;
            let (into, into_ends) = (&mut self.bytes[bytes..], &mut self.ends[ends..]);
            let (result, read, written, ended) = self.core.read_record(input, into, into_ends);
            self.stream.consume(read);
            bytes += written;
            ends += ended;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.bytes.resize(self.bytes.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(self.ends.len() * 2, 0),
                ReadRecordResult::End => return Ok(None),
                ReadRecordResult::Record => {
                    let mut begin = 0;
                    let field = |&end: &usize| {
                        let field = self.bytes[begin..end].to_vec();
                        begin = end;
                        field
                    };
                    return Ok(Some((line, self.ends[..ends].iter().map(field).collect())));
                }
            }
        }
    }

    fn skip_empty_lines(&mut self) -> io::Result<()> {
        loop {
            let chunk = self.stream.chunk()?;
            let ends = |byte: &&u8| matches!(byte, b'\n' | b'\r');
            let count = chunk.iter().take_while(ends).count();
            if count == 0 {
                return Ok(());
            }
            self.stream.consume(count);
        }
    }
}

pub(super) fn write_row<T: AsRef<[u8]>>(
    to: &mut impl Write,
    fields: &[T],
    delimiter: u8,
) -> io::Result<()> {
    for (place, field) in fields.iter().enumerate() {
        let field = field.as_ref();
        if place > 0 {
            to.write_all(&[delimiter])?;
        }
        let special = |byte: &u8| matches!(*byte, b'"' | b'\n' | b'\r') || *byte == delimiter;
        // A row of one empty field would be written as an empty line.
        let is_lost = fields.len() == 1 && field.is_empty();
        if !is_lost && !field.iter().any(special) {
            to.write_all(field)?;
            continue;
        }
        to.write_all(b"\"")?;
        for (part, piece) in field.split(|byte| *byte == b'"').enumerate() {
            if part > 0 {
                to.write_all(b"\"\"")?;
            }
            to.write_all(piece)?;
        }
        to.write_all(b"\"")?;
    }
    to.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &[u8], delimiter: u8) -> Vec<(u64, CsvFields)> {
        let mut reader = CsvReader::new(ImportInputStream::of_bytes(text), delimiter);
        std::iter::from_fn(|| reader.read().unwrap()).collect()
    }

    fn fields(of: &[&str]) -> CsvFields {
        of.iter().map(|field| field.as_bytes().to_vec()).collect()
    }

    #[test]
    fn rows_have_their_fields_and_lines() {
        let text = "a,b\r\n1,\"x \"\"y\"\"\nz\"\r\n\r\n2,\n,\"\"\n3,last";
        assert_eq!(
            rows(text.as_bytes(), b','),
            [
                (1, fields(&["a", "b"])),
                (2, fields(&["1", "x \"y\"\nz"])),
                (5, fields(&["2", ""])),
                (6, fields(&["", ""])),
                (7, fields(&["3", "last"])),
            ]
        );
        assert_eq!(rows(b"a\tb,c\n", b'\t'), [(1, fields(&["a", "b,c"]))]);
        assert_eq!(rows(b"", b','), []);
        assert_eq!(rows(b"\n\n", b','), []);
    }

    #[test]
    fn rows_larger_than_the_first_room_are_whole() {
        let long = "x".repeat(3 * BYTES_FIRST);
        let wide = vec!["y"; 5 * FIELDS_FIRST];
        let text = format!("{long},1\n{}\n", wide.join(","));
        assert_eq!(
            rows(text.as_bytes(), b','),
            [(1, fields(&[&long, "1"])), (2, fields(&wide))]
        );
    }

    #[test]
    fn what_is_written_reads_back() {
        let all = [
            fields(&["plain", "a,b", "a;b", "q\"q", "two\nlines", "r\r", ""]),
            fields(&[""]),
            fields(&["\"", "\"\"", " "]),
        ];
        for delimiter in [b',', b';', b'\t'] {
            let mut text = Vec::new();
            for row in &all {
                write_row(&mut text, row, delimiter).unwrap();
            }
            let read: Vec<CsvFields> = rows(&text, delimiter).into_iter().map(|r| r.1).collect();
            assert_eq!(read, all);
        }
    }
}

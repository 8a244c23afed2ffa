//! Detection of the input's file type before any record is read, because minting cannot be undone.

use std::collections::BTreeMap;

use super::args::{ImportArgs, ImportFormat};
use super::csv::{CsvFields, CsvReader};
use super::input::{ImportInput, ImportInputStream};
use crate::output::{CliResult, refuse_usage};

/// Number of examined bytes at the beginning of the input.
const SAMPLE_BYTES: usize = 64 * 1024;
/// Number of records whose fields are counted.
const SAMPLE_RECORDS: usize = 100;
/// Common field delimiters.
const DELIMITERS: [u8; 4] = *b",;\t|";
/// Magic bytes of other file types, with advice.
const OTHER_KINDS: [(&[u8], &str); 11] = [
    (
        b"PK\x03\x04",
        "is a ZIP archive, perhaps an Excel workbook; save the sheet as CSV in UTF-8",
    ),
    (
        b"\xd0\xcf\x11\xe0",
        "is an old Excel workbook; save the sheet as CSV in UTF-8",
    ),
    (
        b"\xe0\x01\x00\xea",
        "is binary Ion; a QLDB export is read with --format qldb",
    ),
    (b"%PDF-", "is a PDF; export the data as CSV or NDJSON"),
    (
        b"PAR1",
        "is a Parquet file; convert it to NDJSON, as with duckdb",
    ),
    (
        b"SQLite format 3\0",
        "is a SQLite database; export the table as CSV, as with sqlite3 -header -csv",
    ),
    (
        b"Obj\x01",
        "is an Avro file; convert it to NDJSON, as with avro-tools tojson",
    ),
    (
        b"\x28\xb5\x2f\xfd",
        "is compressed by zstd; decompress it, or compress it by gzip",
    ),
    (
        b"BZh",
        "is compressed by bzip2; decompress it, or compress it by gzip",
    ),
    (
        b"\xfd7zXZ\0",
        "is compressed by xz; decompress it, or compress it by gzip",
    ),
    (b"<", "is XML or HTML; export the data as CSV or NDJSON"),
];

/// Rejects an input that does not match its format.
pub(super) fn check(input: &ImportInput, args: &ImportArgs) -> CliResult<()> {
    let (mut stream, _) = input.stream()?;
    let (sample, is_whole) = beginning(&mut stream).map_err(|error| input.failed(error))?;
    let wrong = kind_fault(&sample).or_else(|| match input.format {
        ImportFormat::Csv => csv_fault(&sample, is_whole, input, args),
        ImportFormat::Ndjson | ImportFormat::Qldb => lines_fault(&sample, is_whole),
    });
    match wrong {
        None => Ok(()),
        Some(why) => refuse_usage(format!("{}: {why}", input.name.display())),
    }
}

/// The first bytes, and whether they are the whole input.
fn beginning(stream: &mut ImportInputStream) -> std::io::Result<(Vec<u8>, bool)> {
    let mut sample = Vec::new();
    while sample.len() < SAMPLE_BYTES {
        let chunk = stream.chunk()?;
        if chunk.is_empty() {
            return Ok((sample, true));
        }
        let count = chunk.len().min(SAMPLE_BYTES - sample.len());
        sample.extend_from_slice(&chunk[..count]);
        stream.consume(count);
    }
    Ok((sample, stream.chunk()?.is_empty()))
}

fn kind_fault(sample: &[u8]) -> Option<String> {
    let known = OTHER_KINDS
        .iter()
        .find(|(begins, _)| sample.starts_with(begins));
    if let Some((_, why)) = known {
        return Some((*why).to_owned());
    }
    sample
        .contains(&0)
        .then(|| "holds zero bytes, so it is UTF-16 or no text; convert it to UTF-8, as with iconv -f UTF-16 -t UTF-8".to_owned())
}

/// The fault of an input that should have one JSON object per line.
fn lines_fault(sample: &[u8], is_whole: bool) -> Option<String> {
    let text = sample.trim_ascii_start();
    let first = *text.first()?;
    if first == b'[' {
        return Some("is a JSON array: NDJSON has one object on each line. Convert it, as with jq -c '.[]', which rounds numbers of more than 17 digits before version 1.7".to_owned());
    }
    if first != b'{' {
        let shown = String::from_utf8_lossy(text.split(|byte| *byte == b'\n').next()?);
        let shown: String = shown.chars().take(40).collect();
        return Some(format!(
            "its first line begins with {shown:?}, and NDJSON has a JSON object on each line; --format csv reads CSV"
        ));
    }
    let line = text.split(|byte| *byte == b'\n').next()?;
    let ends = is_whole || line.len() < text.len();
    if ends && line.trim_ascii() == b"{" {
        return Some("is JSON over several lines: NDJSON has one object on each line".to_owned());
    }
    let line = String::from_utf8_lossy(line);
    let is_block = ["blockAddress", "blockHash", "entriesHash"];
    is_block
        .iter()
        .all(|member| line.contains(member))
        .then(|| "holds blocks of a QLDB journal; --format qldb reads them".to_owned())
}

/// The fault of an input that should be CSV.
fn csv_fault(
    sample: &[u8],
    is_whole: bool,
    input: &ImportInput,
    args: &ImportArgs,
) -> Option<String> {
    let text = sample.trim_ascii_start();
    if matches!(text.first(), Some(b'{' | b'[')) {
        return Some("looks like JSON; --format ndjson reads NDJSON".to_owned());
    }
    let line = text.split(|byte| *byte == b'\n').next()?.trim_ascii_end();
    let line = String::from_utf8_lossy(line);
    if let Some(named) = line
        .strip_prefix("sep=")
        .filter(|named| named.chars().count() == 1)
    {
        return Some(format!(
            "begins with the line sep={named}, which only Excel reads; remove it and pass --delimiter '{named}'"
        ));
    }
    if args.delimiter.is_some() {
        return None;
    }
    let own = records(sample, is_whole, input.delimiter);
    if width(&own).is_none_or(|own| own > 1) {
        return None;
    }
    let widths: BTreeMap<usize, u8> = DELIMITERS
        .iter()
        .filter(|other| **other != input.delimiter)
        .filter_map(|other| Some((width(&records(sample, is_whole, *other))?, *other)))
        .collect();
    let (columns, other) = widths
        .last_key_value()
        .filter(|(columns, _)| **columns > 1)?;
    let shown = |delimiter: u8| match delimiter {
        b'\t' => "\\t".to_owned(),
        other => char::from(other).to_string(),
    };
    Some(format!(
        "has one column by {:?}, and {columns} by {:?}: pass --delimiter '{}', or --delimiter '{}' if it has one column",
        char::from(input.delimiter),
        char::from(*other),
        shown(*other),
        shown(input.delimiter),
    ))
}

/// The whole records at the beginning, for a delimiter.
fn records(sample: &[u8], is_whole: bool, delimiter: u8) -> Vec<CsvFields> {
    let mut reader = CsvReader::new(ImportInputStream::of_bytes(sample), delimiter);
    let mut found = Vec::new();
    while found.len() < SAMPLE_RECORDS {
        if let Ok(Some((_, fields))) = reader.read() {
            found.push(fields);
            continue;
        }
        // The sample may end within a record.
        if !is_whole {
            found.pop();
        }
        break;
    }
    found
}

/// The common number of fields; `None` if it varies, or without records.
fn width(records: &[CsvFields]) -> Option<usize> {
    let first = records.first()?.len();
    records
        .iter()
        .all(|fields| fields.len() == first)
        .then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_other_kinds_are_named() {
        for (text, word) in [
            (b"PK\x03\x04rest".as_slice(), "Excel"),
            (b"<html>", "HTML"),
            (b"a\0b\0", "UTF-16"),
        ] {
            let why = kind_fault(text).unwrap();
            assert!(why.contains(word), "{why}");
        }
        assert_eq!(kind_fault(b"sku,name\n"), None);
    }

    #[test]
    fn lines_are_objects() {
        for (text, word) in [
            ("[{}]", "array"),
            ("sku,name\n1,2\n", "--format csv"),
            ("{\n  \"a\": 1\n}\n", "several lines"),
            (
                "{\"blockAddress\":{},\"blockHash\":\"\",\"entriesHash\":\"\"}\n",
                "qldb",
            ),
        ] {
            let why = lines_fault(text.as_bytes(), true).unwrap();
            assert!(why.contains(word), "{why}");
        }
        assert_eq!(lines_fault(b"{\"a\":1}\n{\"a\":2}\n", true), None);
        assert_eq!(lines_fault(b"", true), None);
    }

    #[test]
    fn a_sample_that_ends_within_a_record_is_judged_by_the_others() {
        let all = records(b"a;b\n1;2\n3", false, b';');
        assert_eq!(width(&all), Some(2));
        assert_eq!(width(&records(b"a;b\n1;2\n3", true, b';')), None);
        assert_eq!(width(&[]), None);
    }
}

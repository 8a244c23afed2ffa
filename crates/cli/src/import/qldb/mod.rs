//! Conversion of a QLDB journal's export to NDJSON: one line for each document's last revision.
//!
//! The journal holds every revision of every document, in order. Revisions go to a temporary file while being read, and
//! memory holds one position per document. A document whose last revision has no data was deleted.

mod ion;
mod json;

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use kedge_rules::json::quoted;
use tempfile::NamedTempFile;

use super::input::GZIP;
use crate::output::{CliResult, CommandFailure, print_error, refuse_usage};

#[derive(Debug, Default, PartialEq, Eq)]
struct Revision {
    id: String,
    version: u64,
    /// All of the metadata, as JSON.
    metadata: String,
    /// The document as JSON; `None` if it was deleted or redacted.
    data: Option<String>,
}

/// A block of the journal, or a row of a committed view.
#[derive(Debug, Default, PartialEq, Eq)]
struct QldbBlock {
    revisions: Vec<Revision>,
    /// Document id and table of each document changed by the block's transaction.
    tables: Vec<(String, String)>,
}

struct LastRevision {
    version: u64,
    /// Offset and length of its line in the temporary file; `None` if the document was deleted.
    place: Option<(u64, usize)>,
}

/// State of reading an export.
struct QldbJournal {
    revisions: BufWriter<File>,
    written: u64,
    last: HashMap<String, LastRevision>,
    /// Index in `names` of each document's table.
    tables: HashMap<String, u32>,
    names: Vec<String>,
}

impl QldbJournal {
    fn take(&mut self, block: QldbBlock) -> io::Result<()> {
        for (id, table) in block.tables {
            let known = self.names.iter().position(|name| *name == table);
            let number = known.unwrap_or(self.names.len());
            if known.is_none() {
                self.names.push(table);
            }
            self.tables.insert(id, number as u32);
        }
        for revision in block.revisions {
            let known = self.last.get(&revision.id);
            if known.is_some_and(|known| known.version > revision.version) {
                continue;
            }
            let place = match &revision.data {
                None => None,
                Some(data) => {
                    let line = format!(r#"{{"data":{data},"metadata":{}}}"#, revision.metadata);
                    self.revisions.write_all(line.as_bytes())?;
                    let begin = self.written;
                    self.written += line.len() as u64;
                    Some((begin, line.len()))
                }
            };
            let version = revision.version;
            self.last
                .insert(revision.id, LastRevision { version, place });
        }
        Ok(())
    }

    /// Number of documents per table.
    fn counts(&self) -> BTreeMap<&str, u64> {
        let mut counts = BTreeMap::new();
        for (id, _) in self.last.iter().filter(|(_, last)| last.place.is_some()) {
            let name = self
                .tables
                .get(id)
                .and_then(|number| self.names.get(*number as usize));
            *counts.entry(name.map_or("", String::as_str)).or_default() += 1;
        }
        counts
    }

    /// Whether a document belongs to the imported table.
    fn is_in(&self, id: &str, table: Option<&str>) -> bool {
        let number = self.tables.get(id);
        let name = number.and_then(|number| self.names.get(*number as usize));
        table.is_none_or(|table| name.is_some_and(|name| name == table))
    }
}

/// The files of an export in the order of their blocks, which is that of their names; or the single file.
fn files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_ascii_lowercase();
        let is_data = !name.starts_with('.') && !name.ends_with(".manifest");
        if is_data && entry.file_type()?.is_file() {
            found.push(entry.path());
        }
    }
    found.sort_by_key(|path| order(&path.file_name().unwrap_or_default().to_string_lossy()));
    Ok(found)
}

/// Names end in `<strand>.<first block>-<last block>.<ending>`; 10 comes after 9.
fn order(name: &str) -> (Vec<u64>, String) {
    let numbers = name
        .rsplit('.')
        .find_map(|part| part.split_once('-'))
        .map(|(first, last)| {
            [first, last]
                .map(|number| number.parse().unwrap_or(u64::MAX))
                .to_vec()
        });
    (numbers.unwrap_or_default(), name.to_owned())
}

fn opened(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let file: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(path)?)
    };
    let mut plain = BufReader::new(file);
    if plain.fill_buf()?.starts_with(GZIP) {
        return Ok(Box::new(BufReader::new(MultiGzDecoder::new(plain))));
    }
    Ok(Box::new(plain))
}

/// Reads every block of a file: JSON if its first member name is quoted, otherwise Ion.
fn read(path: &Path, take: &mut dyn FnMut(QldbBlock) -> Result<(), String>) -> Result<(), String> {
    let mut source = opened(path).map_err(|error| error.to_string())?;
    let beginning = source.fill_buf().map_err(|error| error.to_string())?;
    let text: Vec<u8> = beginning
        .iter()
        .copied()
        .filter(|byte| !byte.is_ascii_whitespace())
        .take(2)
        .collect();
    if text.is_empty() {
        return Ok(());
    }
    if text == b"{\"" {
        json::read(source, take)
    } else {
        ion::read(source, take)
    }
}

/// Writes the last revision of each of a table's documents to `into`, one per line.
pub(super) fn convert(
    path: &Path,
    table: Option<&str>,
    into: &mut NamedTempFile,
    folder: &Path,
) -> CliResult<()> {
    let failed = CommandFailure::at(folder);
    let temporary = tempfile::tempfile_in(folder).map_err(failed)?;
    let kept = temporary.try_clone().map_err(failed)?;
    let mut journal = QldbJournal {
        revisions: BufWriter::new(kept),
        written: 0,
        last: HashMap::new(),
        tables: HashMap::new(),
        names: Vec::new(),
    };
    for file in files(path).map_err(CommandFailure::at(path))? {
        read(&file, &mut |block| {
            journal.take(block).map_err(|error| error.to_string())
        })
        .map_err(CommandFailure::at(&file))?;
    }
    journal.revisions.flush().map_err(failed)?;
    choose_table(path, table, &journal)?;
    write_last(&journal, table, temporary, into).map_err(failed)
}

/// Rejects a mix of tables.
fn choose_table(path: &Path, table: Option<&str>, journal: &QldbJournal) -> CliResult<()> {
    let counts = journal.counts();
    let named: Vec<String> = counts
        .iter()
        .map(|(name, count)| match *name {
            "" => format!("{count} of a table that the export does not name"),
            name => format!("{name} ({count})"),
        })
        .collect();
    let named = named.join(", ");
    let why = match table {
        Some(table) if !counts.contains_key(table) => {
            format!("option --table: the export has no document of {table:?}; it has {named}")
        }
        None if counts.len() > 1 => {
            format!("option --table: name one, because the export has documents of {named}")
        }
        _ => return Ok(()),
    };
    refuse_usage(format!("{}: {why}", path.display()))
}

fn write_last(
    journal: &QldbJournal,
    table: Option<&str>,
    mut revisions: File,
    into: &mut NamedTempFile,
) -> io::Result<()> {
    let chosen = journal
        .last
        .iter()
        .filter(|(id, _)| journal.is_in(id, table));
    let mut places = Vec::new();
    let mut deleted = 0_u64;
    for (_, last) in chosen {
        match last.place {
            Some(place) => places.push(place),
            None => deleted += 1,
        }
    }
    places.sort_unstable();
    let mut out = BufWriter::new(into.as_file_mut());
    for (begin, bytes) in places {
        revisions.seek(SeekFrom::Start(begin))?;
        let mut line = vec![0; bytes];
        revisions.read_exact(&mut line)?;
        out.write_all(&line)?;
        out.write_all(b"\n")?;
    }
    if deleted > 0 {
        print_error(&format!("{deleted} deleted documents are not imported"));
    }
    out.flush()
}

#[cfg(test)]
mod tests;

//! The input as a file that can be read twice, decompressed, and hashed while being read.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use flate2::bufread::MultiGzDecoder;
use kedge_protocol::Hash;
use kedge_protocol::hash::Sha256Stream;
use tempfile::NamedTempFile;

use super::args::{ImportArgs, ImportFormat};
use super::qldb;
use crate::output::{CliResult, CommandFailure, refuse_usage};

/// Magic bytes of gzip (RFC 1952, 2.3.1).
pub(super) const GZIP: &[u8] = &[0x1f, 0x8b];
/// UTF-8's byte order mark.
const BYTE_ORDER_MARK: &[u8] = &[0xef, 0xbb, 0xbf];
/// UTF-16's byte order marks.
const UTF_16: [&[u8]; 2] = [&[0xff, 0xfe], &[0xfe, 0xff]];
/// Size of the read buffer.
const BUFFER_BYTES: usize = 256 * 1024;

/// The input file.
pub(super) struct ImportInput {
    /// The user's name for it.
    pub(super) name: PathBuf,
    pub(super) format: ImportFormat,
    pub(super) delimiter: u8,
    /// Column names, if the file has no header.
    pub(super) columns: Vec<String>,
    path: PathBuf,
    /// A copy of standard input, removed at the end.
    _spooled: Option<NamedTempFile>,
}

/// Statistics of the bytes read so far.
#[derive(Clone, Default)]
pub(super) struct InputDigest {
    hash: Sha256Stream,
    pub(super) bytes: u64,
    /// Number of quotation marks, which is even in well-formed CSV.
    pub(super) quotes: u64,
    /// Number of line ends.
    lines: u64,
}

impl InputDigest {
    pub(super) fn sha256(&self) -> Hash {
        self.hash.clone().finish()
    }
}

pub(super) struct ImportInputStream {
    inner: Box<dyn BufRead>,
    seen: Rc<RefCell<InputDigest>>,
}

impl ImportInput {
    /// Opens the file; standard input is first copied to the folder of the progress file.
    pub(super) fn open(args: &ImportArgs, progress: &Path) -> CliResult<Self> {
        let name = args.file.to_string_lossy().to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let ends = |ending: &str| name.ends_with(ending);
        let format = match args.format {
            Some(format) => format,
            None if ends(".csv") || ends(".tsv") => ImportFormat::Csv,
            None if ends(".ndjson") || ends(".jsonl") || ends(".json") => ImportFormat::Ndjson,
            None => {
                let why =
                    "option --format: state ndjson, csv or qldb, because the file's name does not";
                return refuse_usage(why);
            }
        };
        if format != ImportFormat::Qldb && args.table.is_some() {
            let why = "option --table is for --format qldb";
            return refuse_usage(why);
        }
        if format != ImportFormat::Csv && !(args.columns.is_empty() && args.types.is_empty()) {
            let why = "options --columns and --type are for CSV: NDJSON names and types its values itself";
            return refuse_usage(why);
        }
        let spooled = if format == ImportFormat::Qldb {
            Some(journal(args, progress)?)
        } else if args.file == Path::new("-") {
            Some(spool(progress)?)
        } else {
            None
        };
        let tab = if ends(".tsv") { b'\t' } else { b',' };
        Ok(Self {
            name: args.file.clone(),
            format,
            delimiter: args.delimiter.unwrap_or(tab),
            columns: args.columns.clone(),
            path: match &spooled {
                Some(file) => file.path().to_owned(),
                None => args.file.clone(),
            },
            _spooled: spooled,
        })
    }

    /// The error of a failed read.
    pub(super) fn failed(&self, error: impl std::fmt::Display) -> CommandFailure {
        CommandFailure::refused(format!("{}: {error}", self.name.display()))
    }

    /// A stream of its bytes from the beginning, and the stream's statistics.
    pub(super) fn stream(&self) -> CliResult<(ImportInputStream, Rc<RefCell<InputDigest>>)> {
        let failed = CommandFailure::unreadable(&self.name);
        let file = File::open(&self.path).map_err(failed)?;
        let mut plain = BufReader::with_capacity(BUFFER_BYTES, file);
        let mut inner: Box<dyn BufRead> = if plain.fill_buf().map_err(failed)?.starts_with(GZIP) {
            let decoder = MultiGzDecoder::new(plain);
            Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder))
        } else {
            Box::new(plain)
        };
        let beginning = inner.fill_buf().map_err(failed)?;
        if UTF_16.iter().any(|mark| beginning.starts_with(mark)) {
            return Err(self.failed("is UTF-16; convert it to UTF-8, as with iconv"));
        }
        if beginning.starts_with(BYTE_ORDER_MARK) {
            inner.consume(BYTE_ORDER_MARK.len());
        }
        let seen = Rc::new(RefCell::new(InputDigest::default()));
        let stream = ImportInputStream {
            inner,
            seen: Rc::clone(&seen),
        };
        Ok((stream, seen))
    }
}

/// Folder of temporary files: the progress file's, which has room for the records.
fn folder_of(progress: &Path) -> &Path {
    let folder = progress
        .parent()
        .filter(|path| !path.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Writes a QLDB export's documents to a file that is readable only by its owner.
fn journal(args: &ImportArgs, progress: &Path) -> CliResult<NamedTempFile> {
    let folder = folder_of(progress);
    let failed = CommandFailure::unreadable(folder);
    let mut file = NamedTempFile::new_in(folder).map_err(failed)?;
    qldb::convert(&args.file, args.table.as_deref(), &mut file, folder)?;
    Ok(file)
}

/// Copies standard input to a file that is readable only by its owner.
fn spool(progress: &Path) -> CliResult<NamedTempFile> {
    let spooled = || {
        let mut file = NamedTempFile::new_in(folder_of(progress))?;
        io::copy(&mut io::stdin().lock(), &mut file)?;
        file.flush()?;
        Ok(file)
    };
    spooled().map_err(|error: io::Error| CommandFailure::usage(format!("standard input: {error}")))
}

impl ImportInputStream {
    /// A stream of bytes in memory.
    pub(super) fn of_bytes(bytes: &[u8]) -> Self {
        Self {
            inner: Box::new(io::Cursor::new(bytes.to_vec())),
            seen: Rc::default(),
        }
    }

    fn see(seen: &RefCell<InputDigest>, bytes: &[u8]) {
        let mut seen = seen.borrow_mut();
        seen.hash.update(bytes);
        seen.bytes += bytes.len() as u64;
        for byte in bytes {
            seen.quotes += u64::from(*byte == b'"');
            seen.lines += u64::from(*byte == b'\n');
        }
    }

    /// Number of line ends among the consumed bytes.
    pub(super) fn lines_seen(&self) -> u64 {
        self.seen.borrow().lines
    }

    /// The next line without its end; `None` at the end.
    pub(super) fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        if self.inner.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        Self::see(&self.seen, &line);
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Ok(Some(line))
    }

    /// The next available bytes; empty at the end.
    pub(super) fn chunk(&mut self) -> io::Result<&[u8]> {
        loop {
            match self.inner.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
                Ok(_) => break,
            }
        }
        self.inner.fill_buf()
    }

    /// Marks bytes of the last chunk as consumed.
    pub(super) fn consume(&mut self, count: usize) {
        let chunk = self.inner.fill_buf().unwrap_or_default();
        Self::see(&self.seen, &chunk[..count.min(chunk.len())]);
        self.inner.consume(count);
    }
}

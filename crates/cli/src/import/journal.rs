//! The progress file: lines of JSON, each synced before any action depends on it. A crash can leave part of a last
//! line, which nothing depends on yet and which is cut off.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use kedge_client::SigningAttempt;
use kedge_config::state_file;
use kedge_protocol::{Hash, Id};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::progress::ImportProgressHeader;
use crate::output::{CliResult, CommandFailure, refuse};

/// A minted record: ordinal and line in the input, key, object, sequence.
pub(super) type MintedRow = (u64, u64, Option<String>, Id, u64);

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ImportProgressEntry {
    /// The first line, which identifies the import.
    Import(ImportProgressHeader),
    /// Written before the first attempt at a batch, with its records' ordinals as first and last of each range.
    Batch {
        number: u64,
        records: Vec<(u64, u64)>,
        /// Hash of all payloads.
        payloads: Hash,
        attempt: SigningAttempt,
    },
    /// Written before a batch is signed again.
    Attempt {
        number: u64,
        attempt: SigningAttempt,
    },
    /// Outcome of a batch. Unlisted records were not minted.
    Done { number: u64, minted: Vec<MintedRow> },
}

/// The progress file, open for appending and locked.
pub(super) struct ImportProgressFile {
    path: PathBuf,
    file: Mutex<File>,
}

impl ImportProgressFile {
    /// Opens the file and passes its entries after the header to `each`; creates it with `header` if it is missing.
    pub(super) fn open(
        path: &Path,
        header: &ImportProgressHeader,
        mut each: impl FnMut(ImportProgressEntry) -> CliResult<()>,
    ) -> CliResult<(Self, ImportProgressHeader)> {
        let failed = CommandFailure::at(path);
        let is_empty = |metadata: std::fs::Metadata| metadata.len() == 0;
        if !std::fs::metadata(path).is_ok_and(|found| !is_empty(found)) {
            let line = line_of(&ImportProgressEntry::Import(header.clone())).map_err(failed)?;
            state_file::put(path, &line).map_err(failed)?;
        }
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let why = "another import uses this progress file";
                return refuse(format!("{}: {why}", path.display()));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        let mut first = None;
        let whole = read(path, |_, entry| match (entry, &first) {
            (ImportProgressEntry::Import(header), None) => {
                first = Some(header);
                Ok(())
            }
            (_, None) | (ImportProgressEntry::Import(_), Some(_)) => Err(damaged(path, 1)),
            (entry, Some(_)) => each(entry),
        })?;
        file.set_len(whole).map_err(failed)?;
        let first = first.ok_or_else(|| damaged(path, 1))?;
        let journal = Self {
            path: path.to_owned(),
            file: Mutex::new(file),
        };
        Ok((journal, first))
    }

    /// Appends an entry durably.
    pub(super) fn append(&self, entry: &ImportProgressEntry) -> io::Result<()> {
        let line = line_of(entry)?;
        let mut file = self.file.lock();
        let end = file.seek(SeekFrom::End(0))?;
        let written = file.write_all(&line).and_then(|()| file.sync_data());
        if written.is_err() {
            // Half a line must not precede the next one.
            let _cut = file.set_len(end);
        }
        written
    }

    pub(super) fn failed(&self, error: impl std::fmt::Display) -> CommandFailure {
        CommandFailure::refused(format!("{}: {error}", self.path.display()))
    }
}

fn line_of(entry: &ImportProgressEntry) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(entry)?;
    line.push(b'\n');
    Ok(line)
}

fn damaged(path: &Path, line: u64) -> CommandFailure {
    let shown = path.display();
    CommandFailure::refused(format!(
        "{shown}: line {line} is not a line of a progress file; name another file with --progress"
    ))
}

/// Passes each whole line's offset and entry to `each`; returns the length of the whole lines in bytes.
pub(super) fn read(
    path: &Path,
    mut each: impl FnMut(u64, ImportProgressEntry) -> CliResult<()>,
) -> CliResult<u64> {
    let failed = CommandFailure::at(path);
    let mut reader = BufReader::new(File::open(path).map_err(failed)?);
    let (mut whole, mut number) = (0, 0);
    let mut line = Vec::new();
    loop {
        line.clear();
        let count = reader.read_until(b'\n', &mut line).map_err(failed)?;
        if count == 0 || line.last() != Some(&b'\n') {
            return Ok(whole);
        }
        number += 1;
        let entry = serde_json::from_slice(&line).map_err(|_| damaged(path, number))?;
        each(whole, entry)?;
        whole += count as u64;
    }
}

/// The minted records of the line at a byte offset.
pub(super) fn minted_at(path: &Path, file: &mut File, byte: u64) -> CliResult<Vec<MintedRow>> {
    let failed = CommandFailure::at(path);
    file.seek(SeekFrom::Start(byte)).map_err(failed)?;
    let mut line = Vec::new();
    BufReader::new(file)
        .read_until(b'\n', &mut line)
        .map_err(failed)?;
    match serde_json::from_slice(&line) {
        Ok(ImportProgressEntry::Done { minted, .. }) => Ok(minted),
        _ => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn header() -> ImportProgressHeader {
        let zero = format!("0x{}", "00".repeat(20));
        let header = json!({
            "version": 1, "id": Hash::ZERO, "sha256": Hash::ZERO, "bytes": 1, "records": 1, "options": "",
            "template": "tpl_7h8rh8fgrh07gkqn56z16p8nc6", "chain_id": 1, "contract": zero, "signer": zero,
        });
        serde_json::from_value(header).unwrap()
    }

    fn attempt(nonce: u64) -> ImportProgressEntry {
        let attempt = SigningAttempt {
            nonce,
            deadline_s: 7,
            seed: Hash::ZERO,
        };
        ImportProgressEntry::Attempt { number: 0, attempt }
    }

    fn numbers(path: &Path) -> CliResult<Vec<u64>> {
        let mut found = Vec::new();
        ImportProgressFile::open(path, &header(), |entry| {
            if let ImportProgressEntry::Attempt { attempt, .. } = entry {
                found.push(attempt.nonce);
            }
            Ok(())
        })?;
        Ok(found)
    }

    #[test]
    fn wherever_a_crash_cuts_the_whole_lines_stand_and_more_can_follow() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("progress");
        let (journal, _) = ImportProgressFile::open(&path, &header(), |_| Ok(())).unwrap();
        let begun = std::fs::read(&path).unwrap().len();
        journal.append(&attempt(1)).unwrap();
        let one = std::fs::read(&path).unwrap().len();
        journal.append(&attempt(2)).unwrap();
        drop(journal);
        let all = std::fs::read(&path).unwrap();
        for cut in begun..=all.len() {
            std::fs::write(&path, &all[..cut]).unwrap();
            let stands: &[u64] = match cut {
                cut if cut == all.len() => &[1, 2],
                cut if cut >= one => &[1],
                _ => &[],
            };
            assert_eq!(numbers(&path).unwrap(), stands, "cut at {cut}");
            let (journal, _) = ImportProgressFile::open(&path, &header(), |_| Ok(())).unwrap();
            journal.append(&attempt(3)).unwrap();
            drop(journal);
            assert_eq!(numbers(&path).unwrap(), [stands, &[3]].concat());
        }
    }

    #[test]
    fn what_is_no_progress_file_and_what_another_import_uses_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records.csv");
        std::fs::write(&path, "name,seat\nann,1\n").unwrap();
        let refused = numbers(&path).unwrap_err();
        assert!(refused.message().contains("line 1 is not"), "{refused:?}");
        let path = folder.path().join("progress");
        let held = ImportProgressFile::open(&path, &header(), |_| Ok(())).unwrap();
        let refused = numbers(&path).unwrap_err();
        assert!(refused.message().contains("another import"), "{refused:?}");
        drop(held);
        assert_eq!(numbers(&path).unwrap(), [] as [u64; 0]);
    }
}

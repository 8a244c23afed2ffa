//! Archiving of old log segments from a running server's data directory, and their return.
//!
//! A segment leaves the log only after the archive holds all of it and `ARCHIVED.json` in the log's directory names the
//! archive. The log then begins later: it is continued, backed up and read as before, and requests for archived parts
//! are answered with the archive's name. The trait [`Archive`] allows for an object store (adr/0014).

mod local;
mod proofs;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use kedge_config::state_file;
use kedge_log::SealedFile;
use kedge_protocol::Hash;
use kedge_protocol::proof::ProofFile;
use kedge_storage::{ARCHIVED_LIST, CommitError, LogUsage, Store};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use crate::backup::{BackupError, BackupFile, digest};

pub use local::LocalArchive;
pub use proofs::{KeyActionSource, KeyProofFiles};

/// Format version of the list.
const FORMAT: u32 = 1;

/// Storage for segments outside the log's directory, such as a directory or an object store.
pub trait Archive {
    /// Name for people and for the list.
    fn name(&self) -> String;

    /// Stores a file durably under a name. An existing file of this name stays unchanged.
    ///
    /// # Errors
    /// The I/O error.
    fn put(&self, name: &str, from: &Path) -> io::Result<()>;

    /// Reads a file back; returns its length and SHA-256.
    ///
    /// # Errors
    /// The I/O error, for instance if the file is missing.
    fn digest(&self, name: &str) -> io::Result<BackupFile>;

    /// Copies a file to a free path.
    ///
    /// # Errors
    /// The I/O error.
    fn get(&self, name: &str, to: &Path) -> io::Result<()>;
}

/// An archived segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchivedSegment {
    pub name: String,
    /// Sequence of its first action; of the log's next action if it holds none.
    pub first_sequence: u64,
    pub last_sequence: u64,
    pub first_batch: u64,
    /// Absent if the segment ends before the log's first batch.
    pub last_batch: Option<u64>,
    pub first_frame: u64,
    /// Number of frames.
    pub frames: u64,
    pub bytes: u64,
    pub sha256: Hash,
    /// The archive's name.
    pub archive: String,
}

/// The log's archived segments: `ARCHIVED.json` in the log's directory.
#[derive(Debug, Serialize, Deserialize)]
pub struct ArchiveRecord {
    format: u32,
    /// In the log's order.
    pub segments: Vec<ArchivedSegment>,
    /// Proof files of archived actions that name a key of the sequencer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub key_proofs: Vec<ProofFile>,
}

/// Selection of segments to archive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArchiveSelection {
    /// Segments that end before this sequence.
    ThanSequence(u64),
    /// All sealed segments but this number of the newest.
    ThanNewest(usize),
}

/// Why segments were not archived or not restored.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The archive would lie inside the data directory.
    #[error(
        "{0} lies in the data directory: an archive must lie elsewhere, best on another machine"
    )]
    Inside(PathBuf),
    /// The archive's file differs from the stored segment.
    #[error(
        "{name} in {archive} {what}. Nothing was removed from the log: empty that directory, or name another one"
    )]
    Differs {
        name: String,
        archive: String,
        what: String,
    },
    /// Actions that name the sequencer's keys would become unprovable.
    #[error(
        "the proof files of the actions that name the sequencer's keys cannot be made: {0}. Nothing was archived"
    )]
    KeyProofs(String),
    /// The list is invalid.
    #[error("{path}: {what}. Restore it from the newest backup", path = .path.display())]
    Record { path: PathBuf, what: String },
    #[error("{name} in {archive}: {source}")]
    Archive {
        name: String,
        archive: String,
        source: io::Error,
    },
    #[error(transparent)]
    Store(#[from] CommitError),
    #[error(transparent)]
    File(#[from] BackupError),
    #[error("{path}: {source}", path = .path.display())]
    Io { path: PathBuf, source: io::Error },
}

fn at(path: &Path) -> impl Fn(io::Error) -> ArchiveError {
    move |source| ArchiveError::Io {
        path: path.to_owned(),
        source,
    }
}

impl ArchiveRecord {
    /// Reads the list in a log's directory; empty if there is none.
    ///
    /// # Errors
    /// [`ArchiveError`] if the list cannot be read.
    pub fn read(log: &Path) -> Result<Self, ArchiveError> {
        let path = log.join(ARCHIVED_LIST);
        let wrong = |what: String| ArchiveError::Record {
            path: path.clone(),
            what,
        };
        let text = match std::fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Self {
                    format: FORMAT,
                    segments: Vec::new(),
                    key_proofs: Vec::new(),
                });
            }
            text => text.map_err(at(&path))?,
        };
        let record: Self =
            serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
        let is_file =
            |segment: &ArchivedSegment| kedge_log::SegmentName::of_file(&segment.name).is_some();
        if record.format != FORMAT || !record.segments.iter().all(is_file) {
            return Err(wrong(format!(
                "it is not a list of segments in format {FORMAT}"
            )));
        }
        Ok(record)
    }

    fn write(&self, log: &Path) -> Result<(), ArchiveError> {
        let path = log.join(ARCHIVED_LIST);
        let text = serde_json::to_vec_pretty(self).map_err(|error| at(&path)(error.into()))?;
        state_file::put(&path, &text).map_err(at(&path))
    }

    /// Segments that are missing from the log's directory.
    pub fn missing(&self, log: &Path) -> Vec<&ArchivedSegment> {
        let is_missing = |segment: &&ArchivedSegment| !log.join(&segment.name).exists();
        self.segments.iter().filter(is_missing).collect()
    }

    /// The archives' names, for messages.
    pub fn places(&self) -> String {
        let places: BTreeSet<&str> = self.segments.iter().map(|of| of.archive.as_str()).collect();
        places.into_iter().collect::<Vec<_>>().join(" and ")
    }
}

/// Makes the archives' names known to readers of the log; returns the list.
///
/// # Errors
/// [`ArchiveError`] if the list cannot be read.
pub fn announce(store: &Store, data: &Path) -> Result<ArchiveRecord, ArchiveError> {
    let record = ArchiveRecord::read(&data.join("log"))?;
    if !record.segments.is_empty() {
        store.set_archive(record.places());
    }
    Ok(record)
}

/// Amounts of a running server's log by form, and the store's size.
#[derive(Debug, Serialize)]
pub struct SegmentForms {
    raw: RawForm,
    sealed: SealedForm,
    archived: ArchivedForm,
    store_bytes: u64,
}

#[derive(Debug, Serialize)]
struct RawForm {
    segments: u64,
    bytes: u64,
}

#[derive(Debug, Serialize)]
struct SealedForm {
    segments: u64,
    bytes: u64,
    uncompressed_bytes: u64,
}

#[derive(Debug, Serialize)]
struct ArchivedForm {
    segments: usize,
    bytes: u64,
    /// Names of the archives; `None` if nothing is archived.
    place: Option<String>,
}

/// Amounts of the log by form. Reads the list of archived segments, and nothing of the log.
///
/// # Errors
/// [`ArchiveError`] if the list cannot be read.
pub fn forms(store: &Store, data: &Path) -> Result<SegmentForms, ArchiveError> {
    let LogUsage { raw, sealed } = store.held_segments().unwrap_or_default();
    let log = data.join("log");
    let record = ArchiveRecord::read(&log)?;
    let archived = record.missing(&log);
    Ok(SegmentForms {
        raw: RawForm {
            segments: raw.segments,
            bytes: raw.bytes,
        },
        sealed: SealedForm {
            segments: sealed.segments,
            bytes: sealed.bytes,
            uncompressed_bytes: sealed.frames_bytes,
        },
        archived: ArchivedForm {
            segments: archived.len(),
            bytes: archived.iter().map(|segment| segment.bytes).sum(),
            place: (!archived.is_empty()).then(|| record.places()),
        },
        store_bytes: store.size_bytes(),
    })
}

/// Serializes commands: each rewrites the list, and would lose the other's segments.
static ARCHIVING: Mutex<()> = Mutex::new(());

/// Moves old segments of a running server's log to an archive; returns them. Proof files of their actions that name a
/// key of the sequencer stay in the list, because clients request them.
///
/// # Errors
/// [`ArchiveError`]. Segments are removed from the log only after the archive's copy was read back.
pub fn archive(
    store: &Store,
    data: &Path,
    to: &dyn Archive,
    older: ArchiveSelection,
    named: &dyn KeyActionSource,
) -> Result<Vec<ArchivedSegment>, ArchiveError> {
    let _one_at_a_time = ARCHIVING.lock();
    let log = data.join("log");
    let files = store.settled_segments()?;
    let count = match older {
        ArchiveSelection::ThanSequence(sequence) => {
            files.partition_point(|file| file.next_sequence <= sequence)
        }
        ArchiveSelection::ThanNewest(count) => files.len().saturating_sub(count),
    };
    let files = &files[..count];
    let Some(last) = files.last() else {
        return Ok(Vec::new());
    };
    let key_proofs = named.proofs_before(last.next_sequence);
    let key_proofs = key_proofs.map_err(ArchiveError::KeyProofs)?;
    let archived = files.iter().map(|file| put(to, file));
    let archived = archived.collect::<Result<Vec<_>, _>>()?;
    let mut record = ArchiveRecord::read(&log)?;
    let is_new = |of: &ArchivedSegment| archived.iter().all(|new| new.name != of.name);
    record.segments.retain(is_new);
    record.segments.extend(archived.iter().cloned());
    record.segments.sort_by_key(|segment| segment.first_frame);
    record.key_proofs.clone_from(&key_proofs);
    record.write(&log)?;
    named.keep(key_proofs);
    store.set_archive(record.places());
    store.remove_segments_before(last.next_frame)?;
    Ok(archived)
}

/// Stores one segment in the archive and reads it back.
fn put(to: &dyn Archive, file: &SealedFile) -> Result<ArchivedSegment, ArchiveError> {
    let name = file.header.name().file_name(kedge_log::SegmentKind::Sealed);
    let failed = |source| ArchiveError::Archive {
        name: name.clone(),
        archive: to.name(),
        source,
    };
    let expected = digest(&file.path)?;
    to.put(&name, &file.path).map_err(failed)?;
    same(to, &name, &expected)?;
    Ok(ArchivedSegment {
        first_sequence: file.header.first_sequence,
        last_sequence: file.next_sequence - 1,
        first_batch: file.header.first_batch,
        last_batch: file.next_batch.checked_sub(1),
        first_frame: file.header.first_frame,
        frames: file.next_frame - file.header.first_frame,
        bytes: expected.bytes,
        sha256: expected.sha256,
        archive: to.name(),
        name,
    })
}

/// Checks that the archive's file has this digest.
fn same(archive: &dyn Archive, name: &str, expected: &BackupFile) -> Result<(), ArchiveError> {
    let found = archive.digest(name);
    let found = found.map_err(|source| ArchiveError::Archive {
        name: name.to_owned(),
        archive: archive.name(),
        source,
    })?;
    if found == *expected {
        return Ok(());
    }
    Err(ArchiveError::Differs {
        name: name.to_owned(),
        archive: archive.name(),
        what: format!(
            "has {} bytes with the digest {}, not {} with {}",
            found.bytes, found.sha256, expected.bytes, expected.sha256
        ),
    })
}

/// Copies archived segments back into the log's directory, which must not be in use, and removes the list.
///
/// # Errors
/// [`ArchiveError`] if a segment is missing or has another digest.
pub fn put_back(log: &Path, from: &dyn Archive) -> Result<(), ArchiveError> {
    let record = ArchiveRecord::read(log)?;
    for segment in record.missing(log) {
        let expected = BackupFile {
            bytes: segment.bytes,
            sha256: segment.sha256,
        };
        same(from, &segment.name, &expected)?;
        let path = log.join(&segment.name);
        from.get(&segment.name, &path).map_err(at(&path))?;
    }
    let path = log.join(ARCHIVED_LIST);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(&path)(error)),
        _ => {}
    }
    state_file::sync_directory(log).map_err(at(log))
}

//! Backups: consistent copies of a running server's data directory with a manifest, and their restoration.
//!
//! A backup is a directory with `BACKUP.json`, which is written last and has every file's digest, and `data/`, laid out
//! like a data directory. The log is copied up to a durable frame, which is a boundary of commit groups. Other files
//! are copied in an order without dangling references: the keys follow the log, so every key named by its frames is
//! present. The high-water mark is excluded: a copy does not know later releases, so a restored log opens read-only
//! unless something else shows them. Rows are excluded too: a restore rebuilds them from the log, which may be cut at
//! an earlier frame first (`crates/log/src/cut.rs`).

mod base_backup;
mod restore;

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use kedge_config::secrets::{SecretError, make_private_dir};
use kedge_config::state_file;
use kedge_protocol::eip712::Domain;
use kedge_protocol::{Address, Hash};
use kedge_storage::CONTENTS_FOLDER;
use kedge_storage::{ARCHIVED_LIST, Store, StoreCopyError, StoreReadError};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use self::base_backup::BaseBackup;

pub use restore::{RestorePoint, restore};

/// The manifest's file name.
const LIST: &str = "BACKUP.json";
/// Folder of the listed files, inside the backup.
const DATA: &str = "data";
/// Folder of the log, inside a data directory.
const LOG: &str = "log";
/// Version of the layout.
const FORMAT: u32 = 1;
/// Single files of a backup. The embedded chain's journal is copied before the store, so no copy of the chain is ahead
/// of its store.
const FIRST: [&str; 2] = ["chain.journal", "contract"];

/// A backup's manifest.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BackupManifest {
    format: u32,
    /// Version of the program that made it.
    pub version: String,
    /// Time of the backup.
    pub made_at_ms: u64,
    /// Domain of its log.
    pub domain: Domain,
    /// Signer of its log.
    pub sequencer: Address,
    /// Number of batches.
    pub batches: u64,
    /// Sequence of the last action.
    pub sequence: u64,
    /// Head of the hash chain.
    pub head: Hash,
    /// Every file by path inside the data directory.
    files: BTreeMap<String, BackupFile>,
}

/// Length and digest of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupFile {
    pub bytes: u64,
    pub sha256: Hash,
}

/// Why there is no backup, or it cannot be restored.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The target is not empty.
    #[error("{0} exists and is not empty: name a directory that does not exist")]
    Occupied(PathBuf),
    /// The backup would lie inside the data directory.
    #[error("{0} lies in the data directory: a backup must lie elsewhere, best on another machine")]
    Inside(PathBuf),
    /// The manifest is missing.
    #[error("{0} is not a complete backup: it has no {LIST}, which is written last")]
    Unfinished(PathBuf),
    /// The manifest is invalid.
    #[error("{path}: {what}", path = .path.display())]
    List { path: PathBuf, what: String },
    /// A file differs from the manifest.
    #[error("the backup is damaged: {path} {what}", path = .path.display())]
    Damaged { path: PathBuf, what: String },
    /// The older backup belongs to another log.
    #[error(
        "the older backup {path} is not of this log: {what}. Name a backup of this server, or leave out --since",
        path = .path.display()
    )]
    OtherLog { path: PathBuf, what: String },
    #[error(transparent)]
    Copy(#[from] StoreCopyError),
    #[error(transparent)]
    Read(#[from] StoreReadError),
    /// The log cannot be cut at the requested point.
    #[error("{0}")]
    Cut(String),
    #[error(transparent)]
    Directory(#[from] SecretError),
    #[error("{path}: {source}", path = .path.display())]
    Io { path: PathBuf, source: io::Error },
}

fn at(path: &Path) -> impl Fn(io::Error) -> BackupError {
    move |source| BackupError::Io {
        path: path.to_owned(),
        source,
    }
}

fn must_be_free(path: &Path) -> Result<(), BackupError> {
    let is_free = match std::fs::read_dir(path) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => return Err(at(path)(error)),
    };
    if is_free {
        return Ok(());
    }
    Err(BackupError::Occupied(path.to_owned()))
}

/// The backed-up server.
#[derive(Clone, Copy)]
pub struct BackupSource<'a> {
    /// The open store, which accepts commits.
    pub store: &'a Store,
    /// The store's data directory.
    pub data: &'a Path,
    /// Domain of the log.
    pub domain: Domain,
    /// Signer of the log.
    pub sequencer: Address,
}

/// A finished backup.
#[derive(Debug)]
pub struct BackupSummary {
    pub list: BackupManifest,
    /// Total of all files.
    pub bytes: u64,
    /// Files copied from the server; the others come from the older backup.
    pub new_bytes: u64,
}

/// Makes a backup in the directory `to` of a running server. Immutable files (sealed segments and contents of files)
/// are linked from the backup `older` if it has them, or copied from there if linking fails.
///
/// # Errors
/// [`BackupError`]; `to` then has no manifest and is no backup.
pub fn make(
    source: BackupSource<'_>,
    to: &Path,
    older: Option<&Path>,
    now_ms: u64,
) -> Result<BackupSummary, BackupError> {
    let BackupSource {
        store,
        data,
        domain,
        sequencer,
    } = source;
    must_be_free(to)?;
    let mut older = older
        .map(|path| BaseBackup::open(path, &source))
        .transpose()?;
    make_private_dir(to)?;
    let absolute = |path: &Path| path.canonicalize().map_err(at(path));
    if absolute(to)?.starts_with(absolute(data)?) {
        std::fs::remove_dir(to).map_err(at(to))?;
        return Err(BackupError::Inside(to.to_owned()));
    }
    let copy = to.join(DATA);
    make_private_dir(&copy)?;
    for name in FIRST {
        copy_file(&data.join(name), &copy.join(name))?;
    }
    let log_folder = older.as_ref().map(|older| older.folder(LOG));
    let log = store.copy_log_to(&copy.join(LOG), log_folder.as_deref())?;
    // After the segments: a key exists before anything is sealed under it.
    copy_folder(&data.join("keys"), &copy.join("keys"))?;
    // After the segments: a segment archived meanwhile is either in the copy or in this list.
    let archived = Path::new(LOG).join(ARCHIVED_LIST);
    copy_file(&data.join(&archived), &copy.join(&archived))?;
    if let Some(older) = &mut older {
        log.taken.iter().for_each(|name| older.took(LOG, name));
    }
    // A content is in place before the store names it, and stays, so every named content is present.
    copy_contents(data, &copy, older.as_mut())?;
    let taken = older.map(BaseBackup::taken).unwrap_or_default();
    let files = listed(&copy, &taken)?;
    let bytes = files.values().map(|file| file.bytes).sum();
    let taken_bytes: u64 = taken.values().map(|file| file.bytes).sum();
    let list = BackupManifest {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        made_at_ms: now_ms,
        domain,
        sequencer,
        batches: log.head.batches,
        sequence: log.head.sequence,
        head: log.head.head,
        files,
    };
    let path = to.join(LIST);
    let text = serde_json::to_vec_pretty(&list).map_err(|error| BackupError::List {
        path: path.clone(),
        what: error.to_string(),
    })?;
    state_file::put_new(&path, &text).map_err(at(&path))?;
    Ok(BackupSummary {
        list,
        bytes,
        new_bytes: bytes - taken_bytes,
    })
}

fn copy_file(from: &Path, to: &Path) -> Result<(), BackupError> {
    match std::fs::copy(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        copied => copied.map(|_| ()).map_err(at(from)),
    }
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), BackupError> {
    make_private_dir(to)?;
    for entry in std::fs::read_dir(from).map_err(at(from))? {
        let entry = entry.map_err(at(from))?;
        if entry.file_type().map_err(at(from))?.is_file() {
            copy_file(&entry.path(), &to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// Copies the contents of files, except unfinished uploads.
fn copy_contents(
    data: &Path,
    copy: &Path,
    mut older: Option<&mut BaseBackup>,
) -> Result<(), BackupError> {
    let (from, to) = (data.join(CONTENTS_FOLDER), copy.join(CONTENTS_FOLDER));
    make_private_dir(&to)?;
    for shelf in std::fs::read_dir(&from).map_err(at(&from))? {
        let shelf = shelf.map_err(at(&from))?.file_name();
        let (Some(name), 2) = (shelf.to_str(), shelf.len()) else {
            continue;
        };
        let folder = format!("{CONTENTS_FOLDER}/{name}");
        make_private_dir(&copy.join(&folder))?;
        let path = from.join(name);
        for content in std::fs::read_dir(&path).map_err(at(&path))? {
            let content = content.map_err(at(&path))?;
            let (name, target) = (content.file_name(), to.join(name).join(content.file_name()));
            let is_taken = match (&mut older, name.to_str()) {
                (Some(older), Some(name)) => older.take(&folder, name, &target)?,
                _ => false,
            };
            if !is_taken {
                copy_file(&content.path(), &target)?;
            }
        }
    }
    Ok(())
}

/// Lists every file below a directory and syncs it. `known` files are not read.
fn listed(
    root: &Path,
    known: &BTreeMap<String, BackupFile>,
) -> Result<BTreeMap<String, BackupFile>, BackupError> {
    let mut files = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(at(&folder))? {
            let entry = entry.map_err(at(&folder))?;
            let path = entry.path();
            if entry.file_type().map_err(at(&path))?.is_dir() {
                folders.push(path);
                continue;
            }
            let inside = path.strip_prefix(root).unwrap_or(&path);
            let name = inside.to_string_lossy().into_owned();
            let listed = match known.get(&name) {
                Some(known) => known.clone(),
                None => digest(&path)?,
            };
            files.insert(name, listed);
            let file = std::fs::File::open(&path);
            file.and_then(|file| file.sync_all()).map_err(at(&path))?;
        }
        state_file::sync_directory(&folder).map_err(at(&folder))?;
    }
    Ok(files)
}

/// Reads a file to its end, copies it to `to`, and returns its digest.
fn read_through(path: &Path, to: impl Write) -> Result<BackupFile, BackupError> {
    copied_to(path, to).map_err(at(path))
}

fn copied_to(path: &Path, mut to: impl Write) -> io::Result<BackupFile> {
    let mut file = std::fs::File::open(path)?;
    let mut hasher = Sha256::new();
    let mut bytes = 0;
    let mut piece = vec![0; 256 * 1024];
    loop {
        match file.read(&mut piece)? {
            0 => break,
            count => {
                hasher.update(&piece[..count]);
                to.write_all(&piece[..count])?;
                bytes += count as u64;
            }
        }
    }
    Ok(BackupFile {
        bytes,
        sha256: Hash(hasher.finalize().into()),
    })
}

/// Length and SHA-256 of a file.
pub(crate) fn digest_of(path: &Path) -> io::Result<BackupFile> {
    copied_to(path, io::sink())
}

/// Like [`digest_of`]; the error names the file.
pub(crate) fn digest(path: &Path) -> Result<BackupFile, BackupError> {
    read_through(path, io::sink())
}

/// Reads the manifest of the backup in `from`.
pub fn list(from: &Path) -> Result<BackupManifest, BackupError> {
    let path = from.join(LIST);
    let text = match std::fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(BackupError::Unfinished(from.to_owned()));
        }
        text => text.map_err(at(&path))?,
    };
    let wrong = |what: String| BackupError::List {
        path: path.clone(),
        what,
    };
    let list: BackupManifest =
        serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
    if list.format != FORMAT {
        let what = format!(
            "it has format {}, and this program reads {FORMAT}",
            list.format
        );
        return Err(wrong(what));
    }
    // Every listed path must lie inside the data directory.
    let is_inside = |name: &String| {
        let mut parts = Path::new(name).components();
        !name.is_empty() && parts.all(|part| matches!(part, std::path::Component::Normal(_)))
    };
    match list.files.keys().find(|name| !is_inside(name)) {
        Some(name) => Err(wrong(format!(
            "{name:?} is not a path inside a data directory"
        ))),
        None => Ok(list),
    }
}

/// The data directory inside a backup.
pub fn data(from: &Path) -> PathBuf {
    from.join(DATA)
}

/// Checks that every file of a backup exists and matches the manifest.
pub fn check(from: &Path, list: &BackupManifest) -> Result<(), BackupError> {
    for (name, expected) in &list.files {
        let path = data(from).join(name);
        let found = digest(&path)?;
        same(&path, expected, &found)?;
    }
    Ok(())
}

fn same(path: &Path, expected: &BackupFile, found: &BackupFile) -> Result<(), BackupError> {
    let what = if found.bytes != expected.bytes {
        format!("has {} bytes, not {}", found.bytes, expected.bytes)
    } else if found.sha256 != expected.sha256 {
        format!("has the digest {}, not {}", found.sha256, expected.sha256)
    } else {
        return Ok(());
    };
    Err(BackupError::Damaged {
        path: path.to_owned(),
        what,
    })
}

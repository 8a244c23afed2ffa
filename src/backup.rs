//! Backups: a consistent copy of a running server's data directory, with a list of everything in it,
//! and back.
//!
//! A backup is a directory with `BACKUP.json`, which is written last, and `data/`, laid out like a
//! data directory. The high-water mark is no part of it: a copy says nothing of what was let out after
//! it was made, so a restored one opens read-only wherever nothing else says it.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use kedge_protocol::eip712::Domain;
use kedge_protocol::{Address, Hash};
use kedge_storage::{CopyError, OpenError, ReadError, Store};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::config::secrets::{SecretError, make_private_dir};
use crate::{durable, files};

/// The list of a backup.
const LIST: &str = "BACKUP.json";
/// What it lists, inside the backup.
const DATA: &str = "data";
/// The version of the layout.
const FORMAT: u32 = 1;
/// Files of the data directory itself that belong to it. The journal of the embedded chain is copied
/// before the store, so that no copy of the chain holds what its store does not know.
const FIRST: [&str; 2] = ["chain.journal", "contract"];

/// What a backup says of itself.
#[derive(Debug, Serialize, Deserialize)]
pub struct List {
    format: u32,
    /// The version of the program that made it.
    pub version: String,
    /// When it was made, Unix milliseconds.
    pub made_at_ms: u64,
    /// The log that it holds.
    pub domain: Domain,
    /// Who signs that log.
    pub sequencer: Address,
    /// How many batches it holds.
    pub batches: u64,
    /// The last action's sequence.
    pub sequence: u64,
    /// The hash chain's head.
    pub head: Hash,
    /// Every file, by its path inside the data directory.
    files: BTreeMap<String, Listed>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Listed {
    bytes: u64,
    sha256: Hash,
}

/// Why there is no backup, or none that can be restored.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// Something is in the way.
    #[error("{0} is there already and not empty: name a directory that is not there")]
    Occupied(PathBuf),
    /// A backup inside what it is made of.
    #[error("{0} lies in the data directory: a backup must lie elsewhere, best on another machine")]
    Inside(PathBuf),
    /// A backup without its list.
    #[error("{0} is no whole backup: it has no {LIST}, which is written last")]
    Unfinished(PathBuf),
    /// Its list cannot be used.
    #[error("{path}: {what}", path = .path.display())]
    List {
        /// The list.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A file is not what the list says.
    #[error("the backup is damaged: {path} {what}", path = .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The store gives no copy of itself.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// The copy of the store does not open.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The copy of the store cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A directory.
    #[error(transparent)]
    Directory(#[from] SecretError),
    /// The system.
    #[error("{path}: {source}", path = .path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
}

fn at(path: &Path) -> impl Fn(io::Error) -> BackupError {
    move |source| BackupError::Io {
        path: path.to_owned(),
        source,
    }
}

/// Refuses a directory in which something is.
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

/// What is copied.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// The store, which is open and takes commits.
    pub store: &'a Store,
    /// The data directory that it lies in.
    pub data: &'a Path,
    /// The log.
    pub domain: Domain,
    /// Who signs it.
    pub sequencer: Address,
}

/// Makes a backup in the directory `to`, while the server continues.
pub fn make(source: Source<'_>, to: &Path, now_ms: u64) -> Result<List, BackupError> {
    let Source {
        store,
        data,
        domain,
        sequencer,
    } = source;
    must_be_free(to)?;
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
    copy_folder(&data.join("keys"), &copy.join("keys"))?;
    let head = store.copy_log_to(&copy.join("log"))?;
    // A content is in its place before the store names it, and stays: whatever the copy names is there.
    copy_contents(&data.join(files::FOLDER), &copy.join(files::FOLDER))?;
    let list = List {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        made_at_ms: now_ms,
        domain,
        sequencer,
        batches: head.batches,
        sequence: head.sequence,
        head: head.head,
        files: listed(&copy)?,
    };
    let path = to.join(LIST);
    let text = serde_json::to_vec_pretty(&list).map_err(|error| BackupError::List {
        path: path.clone(),
        what: error.to_string(),
    })?;
    durable::put_new(&path, &text).map_err(at(&path))?;
    Ok(list)
}

/// Copies a file, if it is there.
fn copy_file(from: &Path, to: &Path) -> Result<(), BackupError> {
    match std::fs::copy(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        copied => copied.map(|_| ()).map_err(at(from)),
    }
}

/// Copies the files of a folder.
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

/// Copies the contents of files, without those that are being received.
fn copy_contents(from: &Path, to: &Path) -> Result<(), BackupError> {
    make_private_dir(to)?;
    for shelf in std::fs::read_dir(from).map_err(at(from))? {
        let shelf = shelf.map_err(at(from))?;
        if shelf.file_name().len() == 2 {
            copy_folder(&shelf.path(), &to.join(shelf.file_name()))?;
        }
    }
    Ok(())
}

/// Every file below a directory, made durable on the way.
fn listed(root: &Path) -> Result<BTreeMap<String, Listed>, BackupError> {
    let mut files = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(at(&folder))? {
            let entry = entry.map_err(at(&folder))?;
            let path = entry.path();
            let name = entry.file_name();
            if entry.file_type().map_err(at(&path))?.is_dir() {
                folders.push(path);
            } else if !is_diary(&name.to_string_lossy()) {
                let inside = path.strip_prefix(root).unwrap_or(&path);
                let (listed, _) = read_through(&path, io::sink())?;
                files.insert(inside.to_string_lossy().into_owned(), listed);
                let file = std::fs::File::open(&path);
                file.and_then(|file| file.sync_all()).map_err(at(&path))?;
            }
        }
        durable::sync_directory(&folder).map_err(at(&folder))?;
    }
    Ok(files)
}

/// What RocksDB writes for people, and its lock: no part of the store.
fn is_diary(name: &str) -> bool {
    name == "LOCK" || name == "LOG" || name.starts_with("LOG.old")
}

/// Reads a file to its end, writing it elsewhere on the way.
fn read_through<W: Write>(path: &Path, mut to: W) -> Result<(Listed, W), BackupError> {
    let mut read = || {
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
        Ok(Listed {
            bytes,
            sha256: Hash(hasher.finalize().into()),
        })
    };
    let listed = read().map_err(at(path))?;
    Ok((listed, to))
}

/// The list of the backup in `from`.
pub fn list(from: &Path) -> Result<List, BackupError> {
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
    let list: List = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
    if list.format != FORMAT {
        let what = format!(
            "it has format {}, and this program reads {FORMAT}",
            list.format
        );
        return Err(wrong(what));
    }
    // A list leads nowhere but into the data directory.
    let is_inside = |name: &String| {
        let mut parts = Path::new(name).components();
        !name.is_empty() && parts.all(|part| matches!(part, std::path::Component::Normal(_)))
    };
    match list.files.keys().find(|name| !is_inside(name)) {
        Some(name) => Err(wrong(format!(
            "{name:?} is no path inside a data directory"
        ))),
        None => Ok(list),
    }
}

/// The data directory in a backup.
pub fn data(from: &Path) -> PathBuf {
    from.join(DATA)
}

/// Checks that every file of a backup is there and is what the list says.
pub fn check(from: &Path, list: &List) -> Result<(), BackupError> {
    for (name, expected) in &list.files {
        let path = data(from).join(name);
        let (found, _) = read_through(&path, io::sink())?;
        same(&path, expected, &found)?;
    }
    Ok(())
}

fn same(path: &Path, expected: &Listed, found: &Listed) -> Result<(), BackupError> {
    let what = if found.bytes != expected.bytes {
        format!("has {} bytes and not {}", found.bytes, expected.bytes)
    } else if found.sha256 != expected.sha256 {
        format!(
            "has the digest {} and not {}",
            found.sha256, expected.sha256
        )
    } else {
        return Ok(());
    };
    Err(BackupError::Damaged {
        path: path.to_owned(),
        what,
    })
}

/// Copies what a backup holds to the directory `to`, which must not be there or be empty. It has this
/// name only when all of it is there and `accept` has found nothing wrong with it.
pub fn restore<E: From<BackupError>>(
    from: &Path,
    list: &List,
    to: &Path,
    accept: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<(), E> {
    must_be_free(to)?;
    let mut making = to.components().as_path().as_os_str().to_owned();
    making.push(".restoring");
    let making = PathBuf::from(making);
    copy_back(from, list, &making)?;
    accept(&making)?;
    let put = || {
        std::fs::rename(&making, to)?;
        let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty());
        durable::sync_directory(parent.unwrap_or(Path::new(".")))
    };
    put().map_err(at(to))?;
    Ok(())
}

fn copy_back(from: &Path, list: &List, making: &Path) -> Result<(), BackupError> {
    // What an interrupted restore left; the name is nobody else's.
    match std::fs::remove_dir_all(making) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(making)(error)),
        _ => {}
    }
    make_private_dir(making)?;
    for (name, expected) in &list.files {
        let (source, target) = (data(from).join(name), making.join(name));
        make_private_dir(target.parent().unwrap_or(making))?;
        let file = std::fs::File::create_new(&target).map_err(at(&target))?;
        let (found, _) = read_through(&source, file)?;
        same(&source, expected, &found)?;
    }
    // Everything is durable before it gets its name.
    listed(making).map(|_| ())
}

//! Creation of a store: a file marks it until it is complete. A directory that a crash left with that file holds no
//! data yet, and is removed when the store is created again.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

/// The file's name in the directory of the store.
const NAME: &str = "MAKING";

/// Lock held while a store is being created, so that other openers leave it alone.
pub(crate) struct CreationLock<'a> {
    path: &'a Path,
    _locked: File,
}

/// Whether a store was begun and not finished.
pub(crate) fn is_unfinished(path: &Path) -> bool {
    path.join(NAME).exists()
}

/// Creates the directory and marks it as unfinished.
pub(crate) fn begin(path: &Path) -> io::Result<CreationLock<'_>> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)?;
    let file = File::create_new(path.join(NAME))?;
    lock(&file)?;
    file.sync_all()?;
    File::open(path)?.sync_all()?;
    Ok(CreationLock {
        path,
        _locked: file,
    })
}

impl CreationLock<'_> {
    /// Removes the mark, durably, before anything is committed to the store.
    pub(crate) fn end(self) -> io::Result<()> {
        std::fs::remove_file(self.path.join(NAME))?;
        File::open(self.path)?.sync_all()
    }
}

/// Removes the remains of a store that was never finished.
pub(crate) fn clear(path: &Path) -> io::Result<()> {
    let named = path.join(NAME);
    let file = match File::open(&named) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    lock(&file)?;
    // The process that held the lock may have ended meanwhile.
    match std::fs::metadata(&named) {
        Ok(now) if now.ino() == file.metadata()?.ino() => {}
        _ => return Ok(()),
    }
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_name() == NAME {
            continue;
        }
        if entry.file_type()?.is_dir() {
            std::fs::remove_dir_all(entry.path())?;
        } else {
            std::fs::remove_file(entry.path())?;
        }
    }
    std::fs::remove_file(named)
}

fn lock(file: &File) -> io::Result<()> {
    file.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => io::Error::other("another process is creating a store in it"),
        TryLockError::Error(error) => error,
    })
}

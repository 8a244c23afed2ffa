//! An archive in a directory.

use std::io;
use std::path::{Path, PathBuf};

use kedge_config::secrets::make_private_dir;
use kedge_config::state_file;
use tempfile::NamedTempFile;

use super::{Archive, ArchiveError, at};
use crate::backup::{BackupFile, digest_of};

/// A local or mounted directory.
pub struct LocalArchive {
    directory: PathBuf,
}

impl LocalArchive {
    /// Opens or creates the directory, which must not lie inside the data directory `data`.
    ///
    /// # Errors
    /// [`ArchiveError`] if it lies there or cannot be created.
    pub fn make(directory: &Path, data: &Path) -> Result<Self, ArchiveError> {
        make_private_dir(directory).map_err(|error| at(directory)(io::Error::other(error)))?;
        let absolute = |path: &Path| path.canonicalize().map_err(at(path));
        if absolute(directory)?.starts_with(absolute(data)?) {
            return Err(ArchiveError::Inside(directory.to_owned()));
        }
        Ok(Self::of(directory))
    }

    /// The archive in an existing directory.
    pub fn of(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
        }
    }
}

/// Copies a file, which gets its name only when it is durable; an existing file of that name stays.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let directory = to.parent().unwrap_or(Path::new("."));
    let mut file = NamedTempFile::new_in(directory)?;
    io::copy(&mut std::fs::File::open(from)?, &mut file)?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(to) {
        Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => Err(error.error),
        _ => state_file::sync_directory(directory),
    }
}

impl Archive for LocalArchive {
    fn name(&self) -> String {
        format!("the directory {}", self.directory.display())
    }

    fn put(&self, name: &str, from: &Path) -> io::Result<()> {
        copy(from, &self.directory.join(name))
    }

    fn digest(&self, name: &str) -> io::Result<BackupFile> {
        digest_of(&self.directory.join(name))
    }

    fn get(&self, name: &str, to: &Path) -> io::Result<()> {
        copy(&self.directory.join(name), to)
    }
}

//! Small state files, written so that a crash leaves the old content or the new one: into a temporary file, synced,
//! renamed, and the directory synced.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

fn parent(path: &Path) -> &Path {
    path.parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Makes the names in a directory durable.
pub fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// A new file, readable only by its owner, like all temporary files.
fn written(path: &Path, content: &[u8]) -> io::Result<NamedTempFile> {
    let mut file = NamedTempFile::new_in(parent(path))?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// Writes a file, replacing an existing one.
pub fn put(path: &Path, content: &[u8]) -> io::Result<()> {
    let file = written(path, content)?;
    file.persist(path).map_err(|error| error.error)?;
    sync_directory(parent(path))
}

/// Writes a file that must not exist yet.
pub fn put_new(path: &Path, content: &[u8]) -> io::Result<()> {
    let file = written(path, content)?;
    file.persist_noclobber(path).map_err(|error| error.error)?;
    sync_directory(parent(path))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    // Holds invariant 90.
    #[test]
    fn a_file_is_replaced_and_never_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state");
        put(&path, b"one").unwrap();
        // A reader with the old file open reads all of it: the new one is a different file.
        let old = File::open(&path).unwrap();
        put(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        let metadata = std::fs::metadata(&path).unwrap();
        assert_ne!(old.metadata().unwrap().ino(), metadata.ino());
        assert_eq!(metadata.mode() & 0o777, 0o600);
        let refused = put_new(&path, b"three").unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}

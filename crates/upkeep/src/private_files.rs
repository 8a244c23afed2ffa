//! Permissions of the data directory, which holds keys, password hashes and webhook secrets and is private to its
//! owner.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::Mode;

/// Permission bits of group and others.
const OTHERS: u32 = 0o077;
/// Depth of checked files. The store's files are checked; contents in `files/ab` are not, because their directory keeps
/// other users out.
const DEPTH_MAX: u32 = 1;

/// The data directory stays accessible to other users.
#[derive(Debug, thiserror::Error)]
#[error(
    "{path} is open to other users of this machine, and its mode cannot be changed ({source}): it \
     must belong to the user that runs the server, with mode 0700, and 0600 for files",
    path = .path.display()
)]
pub struct PrivateFileError {
    path: PathBuf,
    source: io::Error,
}

/// Makes all files that this process creates from now on private to its owner.
pub fn make_private_from_now_on() {
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
}

/// Removes other users' permissions in the data directory; reports what was accessible.
pub fn tighten(data: &Path) -> Result<(), PrivateFileError> {
    let mut tightened = Vec::new();
    directory(data, 0, &mut tightened)?;
    if let Some(first) = tightened.first() {
        tracing::warn!(
            first = %first.display(),
            count = tightened.len(),
            "the data directory was open to other users of this machine; now only its owner can read it"
        );
    }
    Ok(())
}

fn directory(
    path: &Path,
    depth: u32,
    tightened: &mut Vec<PathBuf>,
) -> Result<(), PrivateFileError> {
    let failed = |source| PrivateFileError {
        path: path.to_owned(),
        source,
    };
    one(path, 0o700, tightened)?;
    // A key that was readable to others is no longer secret, and is refused when read.
    if path.ends_with("keys") || depth > DEPTH_MAX {
        return Ok(());
    }
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        match std::fs::metadata(&path) {
            Ok(found) if found.is_dir() => directory(&path, depth + 1, tightened)?,
            Ok(found) if found.is_file() => one(&path, 0o600, tightened)?,
            // A socket, or a file that disappeared.
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(PrivateFileError { path, source }),
        }
    }
    Ok(())
}

fn one(path: &Path, mode: u32, tightened: &mut Vec<PathBuf>) -> Result<(), PrivateFileError> {
    let mut tighten = || -> io::Result<()> {
        let found = std::fs::metadata(path)?.permissions().mode();
        if found & OTHERS != 0 {
            std::fs::set_permissions(path, Permissions::from_mode(mode))?;
            tightened.push(path.to_owned());
        }
        Ok(())
    };
    match tighten() {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(PrivateFileError {
            path: path.to_owned(),
            source,
        }),
        _ => Ok(()),
    }
}

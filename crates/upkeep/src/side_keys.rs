//! Keys that seal the log's side entries, such as password hashes. Each is a file in the keys' folder, named by its
//! number; the highest number seals. A rotation makes the new key's file durable, then `Store::seal_with` seals the
//! next frame under it.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use kedge_config::secrets::{self, SecretError};
use kedge_storage::{KeyId, SealError, SideKeys, Store};
use parking_lot::Mutex;

/// Number of a log's first key.
pub const FIRST: KeyId = 1;

const START: &str = "side-entries-";
const END: &str = ".key";

/// Why a rotation failed.
#[derive(Debug, thiserror::Error)]
pub enum SideKeyRotationError {
    /// The log accepts nothing, so its key numbers are unknown.
    #[error("no key was made: {0}")]
    NotMade(#[source] SealError),
    /// The key file was not written.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The key exists, but the log does not use it yet.
    #[error("{path} was made, but seals only from the next start on: {source}", path = .path.display())]
    NotUsed { path: PathBuf, source: SealError },
}

/// Result of a rotation.
#[derive(Debug)]
pub struct SideKeyRotation {
    pub number: KeyId,
    pub path: PathBuf,
    /// Earlier keys, which still open their entries.
    pub older: Vec<KeyId>,
    /// The previous sealing key, if its file is gone.
    pub lost: Option<KeyId>,
}

pub fn name(number: KeyId) -> String {
    format!("{START}{number}{END}")
}

/// The key number of a file name.
fn number(file: &str) -> Option<KeyId> {
    let number = file.strip_prefix(START)?.strip_suffix(END)?.parse().ok()?;
    // Each number has exactly one name: no 01, no +1.
    (name(number) == file).then_some(number)
}

/// Reads every key of a folder.
///
/// # Errors
/// [`SecretError`] if the folder or a key cannot be read.
pub fn read(folder: &Path) -> Result<SideKeys, SecretError> {
    let failed = |source| SecretError::File {
        path: folder.to_owned(),
        source,
    };
    let mut keys = SideKeys::none();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if let Some(number) = entry.file_name().to_str().and_then(number) {
            keys.add(number, secrets::read_32(&entry.path())?);
        }
    }
    Ok(keys)
}

/// Creates the key with this number; returns every key of the folder.
///
/// # Errors
/// [`SecretError`] if it cannot be written, or already exists.
pub fn make(folder: &Path, number: KeyId) -> Result<SideKeys, SecretError> {
    secrets::write_32(&folder.join(name(number)), &secrets::random()?)?;
    read(folder)
}

/// Simultaneous rotations would choose the same number.
static ROTATING: Mutex<()> = Mutex::new(());

/// Creates the next key, with which a running server seals from then on. The key is durable before its first use.
///
/// # Errors
/// [`SideKeyRotationError`]; the previous key then stays in use.
pub fn rotate(folder: &Path, store: &Store) -> Result<SideKeyRotation, SideKeyRotationError> {
    let _one_at_a_time = ROTATING.lock();
    let keys = read(folder)?;
    // The log may seal under a key whose file was removed since the start; that number must not be reused.
    let sealing = store
        .seal_with(&keys)
        .map_err(SideKeyRotationError::NotMade)?;
    let number = sealing.map_or(FIRST, |sealing| sealing.saturating_add(1));
    let older: Vec<KeyId> = keys.ids().collect();
    let lost = sealing.filter(|sealing| !older.contains(sealing));
    let keys = make(folder, number)?;
    let path = folder.join(name(number));
    match store.seal_with(&keys) {
        Ok(_) => Ok(SideKeyRotation {
            number,
            path,
            older,
            lost,
        }),
        Err(source) => Err(SideKeyRotationError::NotUsed { path, source }),
    }
}

/// An unused number for the case that lost keys' numbers are unknown: the current time, as usual numbers are small.
pub fn unused() -> KeyId {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(FIRST + 1, |now| now.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_one_name() {
        for (file, expected) in [
            ("side-entries-1.key", Some(1)),
            ("side-entries-1795000000.key", Some(1_795_000_000)),
            ("side-entries-01.key", None),
            ("side-entries-+1.key", None),
            ("side-entries-.key", None),
            ("side-entries-1.key.old", None),
            ("token-1.key", None),
        ] {
            assert_eq!(number(file), expected, "{file}");
        }
    }
}

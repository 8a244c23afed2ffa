//! The keys that seal the log's side entries: what the log holds beside its actions, such as password hashes. Each is a
//! file of its own in the folder of keys, named by its number; the one with the highest number seals.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use kedge_storage::SideKeys;

use crate::config::secrets::{self, SecretError};

/// The number of a log's first key.
pub const FIRST: u64 = 1;

const START: &str = "side-entries-";
const END: &str = ".key";

/// The file of a key.
pub fn name(number: u64) -> String {
    format!("{START}{number}{END}")
}

/// Every key in a folder.
///
/// # Errors
/// [`SecretError`] where the folder or a key cannot be read.
pub fn read(folder: &Path) -> Result<SideKeys, SecretError> {
    let failed = |source| SecretError::File {
        path: folder.to_owned(),
        source,
    };
    let mut keys = SideKeys::none();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let file = entry.file_name();
        let number = file.to_str().and_then(|name| {
            let number = name.strip_prefix(START)?.strip_suffix(END)?;
            number.parse().ok()
        });
        if let Some(number) = number {
            keys.add(number, secrets::read_32(&entry.path())?);
        }
    }
    Ok(keys)
}

/// Makes the key of this number; gives every key of the folder.
///
/// # Errors
/// [`SecretError`] where it cannot be written, or is there.
pub fn make(folder: &Path, number: u64) -> Result<SideKeys, SecretError> {
    secrets::write_32(&folder.join(name(number)), &secrets::random()?)?;
    read(folder)
}

/// A number that no key has had: those that were lost cannot be asked. The first ones are small, and this is the time.
pub fn unused() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(FIRST + 1, |now| now.as_secs())
}

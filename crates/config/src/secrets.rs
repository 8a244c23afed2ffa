//! Secrets from private files or the environment; never from the configuration file, and never in a log.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use kedge_protocol::hash::{from_hex, to_hex};
use kedge_protocol::signature::SigningKey;

use crate::state_file;

/// Error while reading or making a secret.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    /// Other users can read the file.
    #[error("{path} can be read by others; run: chmod 600 {path}", path = .0.display())]
    Open(PathBuf),
    #[error(
        "{path} is empty: it should hold 0x and 64 hexadecimal digits. Restore the key from a backup; docs/operations/reference.md lists what the loss of each key costs",
        path = .0.display()
    )]
    Empty(PathBuf),
    /// Malformed; the error does not show the content.
    #[error("{from} must hold 0x and 64 hexadecimal digits")]
    Form {
        /// The file or the variable.
        from: String,
    },
    /// Neither an option nor a variable names it.
    #[error("option {option}: name a file, or put the key into the variable {variable}")]
    Missing {
        /// The option for the file.
        option: &'static str,
        variable: &'static str,
    },
    #[error("the system returned no random bytes: {0}")]
    Random(String),
}

fn file_error(path: &Path) -> impl Fn(io::Error) -> SecretError {
    let path = path.to_owned();
    move |source| SecretError::File {
        path: path.clone(),
        source,
    }
}

/// `N` random bytes from the system.
pub fn random<const N: usize>() -> Result<[u8; N], SecretError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| SecretError::Random(error.to_string()))?;
    Ok(bytes)
}

/// Creates a directory that only its owner can enter.
pub fn make_private_dir(path: &Path) -> Result<(), SecretError> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(file_error(path))
}

/// Reads 32 bytes as `0x…` from a private file.
pub fn read_32(path: &Path) -> Result<[u8; 32], SecretError> {
    let text = read_private(path)?;
    if text.trim().is_empty() {
        return Err(SecretError::Empty(path.to_owned()));
    }
    parse_32(&text, || path.display().to_string())
}

/// Reads a text from a file that only its owner may read.
pub fn read_private(path: &Path) -> Result<String, SecretError> {
    let mut file = File::open(path).map_err(file_error(path))?;
    let mode = file
        .metadata()
        .map_err(file_error(path))?
        .permissions()
        .mode();
    if mode & 0o077 != 0 {
        return Err(SecretError::Open(path.to_owned()));
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(file_error(path))?;
    Ok(text)
}

fn parse_32(text: &str, from: impl Fn() -> String) -> Result<[u8; 32], SecretError> {
    from_hex(text.trim()).map_err(|_| SecretError::Form { from: from() })
}

/// Writes 32 bytes as `0x…` into a new private file, durably: a key that has signed must not get lost, and a crash must
/// not leave an empty file.
pub fn write_32(path: &Path, bytes: &[u8; 32]) -> Result<(), SecretError> {
    let text = format!("{}\n", to_hex(bytes));
    state_file::put_new(path, text.as_bytes()).map_err(file_error(path))
}

/// Reads the file, or creates it with random bytes.
pub fn read_or_make_32(path: &Path) -> Result<[u8; 32], SecretError> {
    if path.exists() {
        return read_32(path);
    }
    let bytes = random()?;
    write_32(path, &bytes)?;
    Ok(bytes)
}

/// A signing key from its file or its variable.
pub fn signing_key(
    file: Option<&Path>,
    option: &'static str,
    variable: &'static str,
) -> Result<SigningKey, SecretError> {
    let (bytes, from) = match (file, std::env::var(variable)) {
        (Some(file), _) => (read_32(file)?, file.display().to_string()),
        (None, Ok(text)) => (
            parse_32(&text, || variable.to_owned())?,
            variable.to_owned(),
        ),
        (None, Err(_)) => return Err(SecretError::Missing { option, variable }),
    };
    SigningKey::from_bytes(&bytes).map_err(|_| SecretError::Form { from })
}

/// A signing key of a development server, made on first use.
pub fn development_key(path: &Path) -> Result<SigningKey, SecretError> {
    let bytes = read_or_make_32(path)?;
    SigningKey::from_bytes(&bytes).map_err(|_| SecretError::Form {
        from: path.display().to_string(),
    })
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::*;

    #[test]
    fn secrets_are_private_and_stay() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let made = read_or_make_32(&path).unwrap();
        assert_eq!(read_or_make_32(&path).unwrap(), made);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        std::fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(read_32(&path), Err(SecretError::Open(_))));
    }

    #[test]
    fn a_damaged_secret_is_not_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        write_32(&path, &[7; 32]).unwrap();
        std::fs::write(&path, "0xabcdef-secret").unwrap();
        let error = read_32(&path).unwrap_err().to_string();
        assert!(!error.contains("abcdef"), "{error}");
        std::fs::write(&path, "").unwrap();
        let error = read_or_make_32(&path).unwrap_err().to_string();
        assert!(error.contains("is empty"), "{error}");
    }
}

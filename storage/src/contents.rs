//! Contents of files in a data directory: next to the store, in files named by their digest.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use kedge_protocol::Hash;

/// Folder of contents, inside the data directory.
pub const CONTENTS_FOLDER: &str = "files";

/// Path of the content with this SHA-256 digest: `<first two hex digits>/<the other 62>`.
pub fn content_path(folder: &Path, sha256: &Hash) -> PathBuf {
    let mut digits = String::with_capacity(64);
    for byte in sha256.0 {
        // Writing to a string cannot fail.
        let _written = write!(digits, "{byte:02x}");
    }
    folder.join(&digits[..2]).join(&digits[2..])
}

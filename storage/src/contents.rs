//! Contents of files in a data directory: next to the store, in files named by their digest.

use std::path::{Path, PathBuf};

use kedge_protocol::Hash;

/// Folder of contents, inside the data directory.
pub const CONTENTS_FOLDER: &str = "files";

/// Path of the content with this SHA-256 digest: `<first two hex digits>/<the other 62>`.
pub fn content_path(folder: &Path, sha256: &Hash) -> PathBuf {
    let text = sha256.to_string();
    let digits = &text["0x".len()..];
    folder.join(&digits[..2]).join(&digits[2..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_is_in_a_folder_of_its_first_two_digits() {
        let path = content_path(Path::new("files"), &Hash([0xab; 32]));
        let rest = "ab".repeat(31);
        assert_eq!(path, Path::new("files").join("ab").join(rest));
    }
}

//! Check of the table files that the manifest names. RocksDB opens a file when it first reads it. A start looks at all
//! of them, so that an incomplete copy never serves.

use std::path::Path;

use crate::open::StoreOpenError;
use crate::rocks::{RocksDatabase, WHAT_TO_DO};

/// How many files an error names.
const NAMED_MAX: usize = 5;

/// Checks that every file exists with the size that the manifest names.
pub(crate) fn check(database: &RocksDatabase, path: &Path) -> Result<(), StoreOpenError> {
    let files = database.raw().live_files().map_err(|error| {
        let text = error.into_string();
        let path = path.to_owned();
        StoreOpenError::Corruption { path, text }
    })?;
    let mut wrong = Vec::new();
    for file in files {
        let name = file.name.trim_start_matches('/');
        let what = match std::fs::metadata(path.join(name)) {
            Ok(found) if found.len() == file.size as u64 => continue,
            Ok(found) => format!("has {} bytes instead of {}", found.len(), file.size),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => "is missing".to_owned(),
            Err(error) => error.to_string(),
        };
        wrong.push(format!("{name} (table {}) {what}", file.column_family_name));
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let more = wrong.len().saturating_sub(NAMED_MAX);
    wrong.truncate(NAMED_MAX);
    let mut text = wrong.join("; ");
    if more > 0 {
        text.push_str(&format!("; and {more} more"));
    }
    Err(StoreOpenError::Incomplete {
        path: path.to_owned(),
        text,
        help: WHAT_TO_DO.to_owned(),
    })
}

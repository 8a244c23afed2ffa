//! The table files that the manifest names. RocksDB looks at a file when it first reads it; a start
//! looks at all of them, so that a copy that lacks some never serves.

use std::collections::BTreeSet;
use std::path::Path;

use crate::open::OpenError;
use crate::rocks::Database;
use crate::tables::Table;

/// How many files are named in a text.
const NAMED_MAX: usize = 5;

/// What helps where these tables are damaged.
pub(crate) fn what_to_do(tables: impl IntoIterator<Item = Table>) -> String {
    let lost: BTreeSet<&str> = tables
        .into_iter()
        .filter(|table| !Table::DERIVED.contains(table))
        .map(Table::name)
        .collect();
    if lost.is_empty() {
        return "The log explains every row of it: `kedge rebuild` makes it again from the log"
            .to_owned();
    }
    let lost = Vec::from_iter(lost).join(", ");
    format!(
        "The log does not explain what stands in {lost}: restore the newest backup; where there is none, `kedge rebuild` tells what can be saved"
    )
}

/// Checks that every file is there with the size that the manifest names.
pub(crate) fn check(database: &Database, path: &Path) -> Result<(), OpenError> {
    let files = database.raw().live_files().map_err(|error| {
        let text = error.into_string();
        let path = path.to_owned();
        OpenError::Corruption { path, text }
    })?;
    let mut wrong = Vec::new();
    let mut tables = Vec::new();
    for file in files {
        let name = file.name.trim_start_matches('/');
        let what = match std::fs::metadata(path.join(name)) {
            Ok(found) if found.len() == file.size as u64 => continue,
            Ok(found) => format!("has {} bytes and not {}", found.len(), file.size),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => "is missing".to_owned(),
            Err(error) => error.to_string(),
        };
        wrong.push(format!("{name} (table {}) {what}", file.column_family_name));
        tables.extend(Table::named(&file.column_family_name));
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
    Err(OpenError::Incomplete {
        path: path.to_owned(),
        text,
        help: what_to_do(tables),
    })
}

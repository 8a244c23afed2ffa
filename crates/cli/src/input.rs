//! Input files of commands.

use std::io::Read;
use std::path::Path;

use serde::Deserialize;

use super::output::{CliResult, CommandFailure};

/// Reads a file, or standard input for `-`.
pub(crate) fn read(file: &Path) -> CliResult<String> {
    let read = if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(file)
    };
    read.map_err(CommandFailure::unreadable(file))
}

/// Parses JSON; `what` names the expected content.
pub(crate) fn parse<'a, T: Deserialize<'a>>(text: &'a str, what: &str) -> CliResult<T> {
    serde_json::from_str(text)
        .map_err(|error| CommandFailure::refused(format!("not {what}: {error}")))
}

//! Input files of commands.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use kedge_config::secrets::SecretError;
use serde::Deserialize;

use super::output::{CliResult, CommandFailure, refuse_usage};

/// Environment variable of the API key.
pub(crate) const API_KEY: &str = "KEDGE_API_KEY";
/// Environment variable of the password.
pub(crate) const PASSWORD: &str = "KEDGE_PASSWORD";

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

/// The first line of a private file, or a variable's value.
pub(crate) fn secret(file: Option<&Path>, variable: &str) -> CliResult<Option<String>> {
    let Some(file) = file else {
        return Ok(std::env::var(variable).ok());
    };
    let failed = CommandFailure::unreadable(file);
    let mode = std::fs::metadata(file)
        .map_err(failed)?
        .permissions()
        .mode();
    if mode & 0o077 != 0 {
        return refuse_usage(SecretError::Open(file.to_owned()));
    }
    let text = std::fs::read_to_string(file).map_err(failed)?;
    let line = text.lines().next().unwrap_or_default();
    if line.is_empty() {
        return refuse_usage(format!("{} is empty", file.display()));
    }
    Ok(Some(line.to_owned()))
}

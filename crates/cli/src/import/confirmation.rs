//! Preview of the first objects, and the question whether to mint, which a ledger cannot undo.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use super::args::ImportArgs;
use super::check::{ImportCheckResult, SampleObject};
use crate::output::{CliResult, CommandFailure, refuse, refuse_usage};

/// Limit of displayed characters per object.
const OBJECT_CHARACTERS_MAX: usize = 400;

/// Shows the first objects. Asks for confirmation, unless this is a check, the answer was given, or the import is
/// resumed.
pub(super) fn confirm(
    args: &ImportArgs,
    checked: &ImportCheckResult,
    rejected: u64,
    progress: &Path,
) -> CliResult<()> {
    let begun = progress.exists();
    if checked.sample.is_empty() || (begun && !args.consent.check) {
        return Ok(());
    }
    let failed = |error: io::Error| CommandFailure::refused(format!("standard error: {error}"));
    io::stderr()
        .lock()
        .write_all(shown(args, checked, rejected).as_bytes())
        .map_err(failed)?;
    if args.consent.check || args.consent.yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        let why = "option --yes: standard input is not a terminal, so the command cannot ask. Look at the objects above, and pass --yes to mint them";
        return refuse_usage(why);
    }
    let mut stderr = io::stderr().lock();
    write!(stderr, "Mint them? They cannot be unminted. [y/N] ").map_err(failed)?;
    stderr.flush().map_err(failed)?;
    let mut answer = String::new();
    io::stdin()
        .read_line(&mut answer)
        .map_err(|error| CommandFailure::refused(format!("standard input: {error}")))?;
    match answer.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => refuse("nothing was minted"),
    }
}

fn shown(args: &ImportArgs, checked: &ImportCheckResult, rejected: u64) -> String {
    let count = checked.records - rejected;
    let mut text = format!("{count} objects from {}", args.template);
    if rejected > 0 {
        text += &format!(", {rejected} records rejected");
    }
    if checked.skipped.count > 0 {
        text += &format!(", {} empty rows skipped", checked.skipped.count);
    }
    text += "; the first ones:\n";
    for object in &checked.sample {
        let SampleObject {
            line,
            owner,
            variation,
            properties,
        } = object;
        text += &format!("  line {line}: {}", printable(properties));
        if let Some(variation) = variation {
            text += &format!(", variation {}", printable(variation));
        }
        if let Some(owner) = owner {
            text += &format!(", owner {}", printable(owner));
        }
        text.push('\n');
    }
    text
}

/// Shortens a text and removes control characters.
fn printable(text: &str) -> String {
    let plain = |shown: char| {
        if shown.is_control() {
            '\u{fffd}'
        } else {
            shown
        }
    };
    let mut beginning: String = text
        .chars()
        .take(OBJECT_CHARACTERS_MAX)
        .map(plain)
        .collect();
    if text.chars().nth(OBJECT_CHARACTERS_MAX).is_some() {
        beginning.push('…');
    }
    beginning
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_short_and_moves_no_cursor() {
        assert_eq!(printable("{\"a\":\"\u{9b}2J\"}"), "{\"a\":\"\u{fffd}2J\"}");
        let shown = printable(&"x".repeat(OBJECT_CHARACTERS_MAX + 1));
        assert_eq!(shown.chars().count(), OBJECT_CHARACTERS_MAX + 1);
        assert!(shown.ends_with('…'), "{shown}");
    }
}

//! Output and errors of commands.

use std::fmt::Display;
use std::io::{self, IsTerminal as _, Write};
use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;

#[derive(Debug)]
pub(crate) enum CommandFailure {
    /// Refused, unreachable, or invalid: exit code 1.
    Refused(String),
    /// Wrong usage: exit code 2.
    Usage(String),
    /// Shown already, on standard output: this exit code.
    Shown(u8),
}

/// The result of a step of a command.
pub(crate) type CliResult<T> = Result<T, CommandFailure>;

/// Ends a command because it is refused.
pub(crate) fn refuse<T>(why: impl Display) -> CliResult<T> {
    Err(CommandFailure::refused(why))
}

/// Ends a command because of wrong usage.
pub(crate) fn refuse_usage<T>(why: impl Display) -> CliResult<T> {
    Err(CommandFailure::usage(why))
}

impl CommandFailure {
    pub(crate) fn refused(error: impl Display) -> Self {
        Self::Refused(error.to_string())
    }

    pub(crate) fn usage(error: impl Display) -> Self {
        Self::Usage(error.to_string())
    }

    /// Names the file of an error.
    pub(crate) fn at<E: Display>(file: &Path) -> impl Fn(E) -> Self + Copy {
        move |error| Self::refused(format!("{}: {error}", file.display()))
    }

    /// Names the file of an argument that cannot be read.
    pub(crate) fn unreadable<E: Display>(file: &Path) -> impl Fn(E) -> Self + Copy {
        move |error| Self::usage(format!("{}: {error}", file.display()))
    }

    /// What is left to be shown; empty if nothing is.
    pub(crate) fn message(&self) -> &str {
        match self {
            Self::Refused(text) | Self::Usage(text) => text,
            Self::Shown(_) => "",
        }
    }

    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Refused(_) => 1,
            Self::Usage(_) => 2,
            Self::Shown(code) => *code,
        }
    }
}

/// Errors of libraries refuse the command. What is wrong usage says so.
impl<E: std::error::Error> From<E> for CommandFailure {
    fn from(error: E) -> Self {
        Self::refused(error)
    }
}

/// Shows the progress through the log's batches on standard error, if that is a terminal.
pub(crate) fn progress_bar(what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(0).with_message(what);
    if let Ok(style) = ProgressStyle::with_template("{msg} {bar:40} batch {pos} of {len} {eta}") {
        bar.set_style(style);
    }
    bar
}

/// Shows how many of several things are done on standard error, if that is a terminal.
pub(crate) fn count_bar(what: &'static str, count: usize) -> ProgressBar {
    let bar = ProgressBar::new(count as u64).with_message(what);
    if let Ok(style) = ProgressStyle::with_template("{msg} {bar:40} {pos} of {len} {eta}") {
        bar.set_style(style);
    }
    bar
}

/// Writes text to standard output. A reader that closes the pipe early is not an error.
pub(crate) fn print(text: &str) -> CliResult<()> {
    print_bytes(text.as_bytes())
}

/// Writes bytes to standard output: to a file or another program as they are, to a terminal so that they cannot steer it.
pub(crate) fn print_bytes(bytes: &[u8]) -> CliResult<()> {
    let mut stdout = io::stdout().lock();
    let written = if stdout.is_terminal() {
        stdout.write_all(printable(&String::from_utf8_lossy(bytes)).as_bytes())
    } else {
        stdout.write_all(bytes)
    };
    let written = written.and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            refuse(format!("standard output: {error}"))
        }
        _ => Ok(()),
    }
}

/// Writes one line to standard output.
pub(crate) fn print_line(line: impl Display) -> CliResult<()> {
    print(&format!("{line}\n"))
}

/// Writes a value as indented JSON to standard output.
pub(crate) fn print_json(value: &impl Serialize) -> CliResult<()> {
    print_line(serde_json::to_string_pretty(value)?)
}

pub(crate) fn print_error(message: &str) {
    let mut stderr = io::stderr().lock();
    // There is nowhere left to report it.
    let _ = writeln!(stderr, "kedge: {}", printable(message));
}

/// Characters that move a terminal's cursor, change its colours or turn the direction of reading.
fn steers(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// Text of others without [what steers a terminal](steers): such characters are shown by their numbers. Lines stay.
fn printable(text: &str) -> String {
    escaped(text, |character| {
        steers(character) && !matches!(character, '\n' | '\t')
    })
}

/// [`printable`], in one line: nothing in it looks like a line of this program.
pub(crate) fn one_line(text: &str) -> String {
    escaped(text, steers)
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        if is_escaped(character) {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown
}

/// Formats rows of two aligned columns.
pub(crate) fn columns(rows: &[(&str, String)]) -> String {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, value): &(&str, String)| format!("{name:width$}  {}\n", one_line(value));
    rows.iter().map(line).collect()
}

/// Formats rows of any number of columns, each as wide as its longest cell.
pub(crate) fn table(lines: &[Vec<String>]) -> String {
    let lines: Vec<Vec<String>> = lines
        .iter()
        .map(|line| line.iter().map(|cell| one_line(cell)).collect())
        .collect();
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in &lines {
        let cells = line.iter().zip(&widths);
        let cells: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_of_others_moves_the_cursor() {
        let text = "a\u{1b}[2J\rb\u{9b}1m\u{202e}c\n\td";
        let shown = r"a\u{1b}[2J\u{d}b\u{9b}1m\u{202e}c".to_owned() + "\n\td";
        assert_eq!(printable(text), shown);
        assert_eq!(columns(&[("a", "b\nc  d".to_owned())]), "a  b\\u{a}c  d\n");
        assert_eq!(
            one_line("\u{200f}é 名 \u{1f600}"),
            "\\u{200f}é 名 \u{1f600}"
        );
    }

    #[test]
    fn columns_are_aligned() {
        let rows = [("a", "1".to_owned()), ("long", "2".to_owned())];
        assert_eq!(columns(&rows), "a     1\nlong  2\n");
    }
}

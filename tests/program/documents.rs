//! Commands of the program that the documents show: the real program knows each subcommand and each option.

use std::collections::BTreeMap;

use crate::ran;
use crate::support::markdown::{code, documents};
use crate::support::program::kedge;

/// Texts in the log's files that begin with the program's name: no commands.
const TEXTS: &[&str] = &["kedge log ", "kedge side entries "];

/// A line's words, as a shell reads them. What separates commands is a word by itself.
fn words(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut word, mut quote) = (String::new(), None);
    for of in line.chars() {
        match (quote, of) {
            (Some(open), of) if of == open => quote = None,
            (None, '\'' | '"') => quote = Some(of),
            (None, ' ' | ';' | '|' | '&' | '(' | ')') => {
                if !word.is_empty() {
                    found.push(std::mem::take(&mut word));
                }
                if of != ' ' {
                    found.push(";".to_owned());
                }
            }
            // Not a word that begins with a dash, whatever it is.
            (Some(_), '-') if word.is_empty() => word.push('_'),
            (_, of) => word.push(of),
        }
    }
    if !word.is_empty() {
        found.push(word);
    }
    found
}

/// The words after the program's name, if a command runs the program.
fn arguments(command: &[String]) -> Option<&[String]> {
    let mut rest = command;
    loop {
        let (first, after) = rest.split_first()?;
        rest = match first.as_str() {
            "$" | "sudo" => after,
            "-u" => after.get(1..)?,
            "podman" if after.first().is_some_and(|word| word == "exec") => after.get(2..)?,
            word if word.starts_with("KEDGE_") && word.contains('=') => after,
            word if word == "kedge" || word.ends_with("/kedge") => return Some(after),
            _ => return None,
        };
    }
}

/// The program's help for each of its subcommands, asked once.
#[derive(Default)]
struct Help {
    asked: BTreeMap<Vec<String>, Option<String>>,
}

impl Help {
    /// The help for a subcommand, or nothing if the program does not know it.
    fn of(&mut self, path: &[String]) -> Option<&str> {
        let ask = || {
            let (code, printed, _) = ran(kedge().arg("help").args(path));
            (code == Some(0)).then_some(printed)
        };
        let known = self.asked.entry(path.to_vec()).or_insert_with(ask);
        known.as_deref()
    }

    /// What is wrong with the arguments of a command that a document shows.
    fn fault(&mut self, arguments: &[String]) -> Option<String> {
        let mut path = Vec::new();
        let mut words = arguments.iter().peekable();
        while let Some(&word) = words.peek() {
            let has_subcommands = self.of(&path)?.contains("\nCommands:\n");
            // What stands for any of them is no subcommand.
            let is_name = word
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'-');
            if !has_subcommands || !is_name || word.starts_with('-') {
                break;
            }
            path.push(word.clone());
            if self.of(&path).is_none() {
                return Some(format!("there is no subcommand {}", path.join(" ")));
            }
            words.next();
        }
        let help = self.of(&path)?;
        let known: Vec<&str> = help
            .split(|of: char| of.is_whitespace() || matches!(of, ',' | '=' | '[' | ']'))
            .collect();
        words
            .take_while(|word| !word.starts_with(['#', '>']))
            .filter_map(|word| word.split('=').next())
            .filter(|word| word.starts_with("--") && word.len() > 2)
            .find(|option| !known.contains(option))
            .map(|option| format!("kedge {} knows no {option}", path.join(" ")))
    }
}

#[test]
fn the_program_knows_every_command_that_the_documents_show() {
    let mut help = Help::default();
    let (mut faults, mut tried) = (Vec::new(), 0);
    for (path, text) in documents() {
        for (number, line) in code(&text) {
            if TEXTS.iter().any(|text| line.starts_with(text)) {
                continue;
            }
            let words = words(&line);
            for command in words.split(|word| word == ";") {
                let Some(arguments) = arguments(command) else {
                    continue;
                };
                let fault = help.fault(arguments);
                faults.extend(fault.map(|fault| format!("{path}:{number}: {fault}: {line}")));
                tried += 1;
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(tried > 100, "the commands were not found: {tried}");
}

#[test]
fn a_command_that_the_program_does_not_know_is_found() {
    let mut help = Help::default();
    let mut fault = |line: &str| {
        let words = words(line);
        help.fault(arguments(&words).unwrap())
    };
    let mut is_fine = |line: &str| assert_eq!(fault(line), None, "{line}");
    is_fine("$ sudo -u kedge target/release/kedge verify data ./data --dev --memory=1GiB");
    is_fine("podman exec kedge kedge admin tier ORGANIZATION custom --requests-per-minute 9");
    is_fine("kedge demo --kill-leader-with 'kill --now {node}' # --loudly");
    for (line, why) in [
        (
            "kedge verify date ./data",
            "there is no subcommand verify date",
        ),
        ("kedge serves --dev", "there is no subcommand serves"),
        ("kedge serve --def", "kedge serve knows no --def"),
        (
            "kedge backup x --sockets s",
            "kedge backup knows no --sockets",
        ),
    ] {
        assert_eq!(fault(line).as_deref(), Some(why), "{line}");
    }
}

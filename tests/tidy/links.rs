//! What the documents name is there: every link's file and heading, every target of `make`, every script.

#[path = "../support/markdown.rs"]
mod markdown;

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::{files, root};
use markdown::{code, documents, paragraphs, parts};

/// The name that GitHub gives to a heading, for links to it.
fn anchor(heading: &str) -> String {
    let is_kept = |of: &char| of.is_alphanumeric() || matches!(of, ' ' | '-' | '_');
    let text: String = without_targets(heading).chars().filter(is_kept).collect();
    text.to_lowercase().replace(' ', "-")
}

/// A text with its links' labels, and without what they lead to.
fn without_targets(text: &str) -> String {
    let mut pieces = text.split("](");
    let mut found = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        found.push_str(piece.split_once(')').map_or(piece, |(_, after)| after));
    }
    found
}

/// The anchors of a page: of headings that are alike, the second and later ones have a number.
fn anchors(text: &str) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for (_, paragraph) in paragraphs(text) {
        let Some(heading) = paragraph
            .strip_prefix('#')
            .map(|rest| rest.trim_start_matches('#'))
            .filter(|rest| rest.starts_with(' '))
        else {
            continue;
        };
        let name = anchor(heading.trim());
        let count = seen.entry(name.clone()).or_default();
        found.push(match *count {
            0 => name,
            before => format!("{name}-{before}"),
        });
        *count += 1;
    }
    found
}

/// What a page's links lead to, each with the number of its paragraph's first line.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, paragraph) in paragraphs(text) {
        let prose: Vec<&str> = parts(&paragraph).into_iter().step_by(2).collect();
        let prose = prose.join("`");
        let inline = prose.split("](").skip(1);
        let inline = inline.filter_map(|rest| rest.split_once(')'));
        let targets = inline.filter_map(|(target, _)| target.split_whitespace().next());
        found.extend(targets.map(|target| (number, target.to_owned())));
        let definition = prose.strip_prefix('[').and_then(|rest| {
            let (label, target) = rest.split_once("]: ")?;
            (!label.contains(']')).then_some(target)
        });
        found.extend(definition.map(|target| (number, target.trim().to_owned())));
    }
    found
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut found = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => assert!(found.pop(), "{} leads out", path.display()),
            Component::CurDir => {}
            other => found.push(other),
        }
    }
    found
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let pages = files(&[".md"]);
    let mut tried = 0;
    for (path, text) in &pages {
        let folder = Path::new(path).parent().unwrap();
        for (number, link) in links(text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (target, heading) = match link.split_once('#') {
                Some((target, heading)) => (target, Some(heading)),
                None => (link.as_str(), None),
            };
            let target = match target {
                "" => PathBuf::from(path),
                other => plain(&folder.join(other)),
            };
            assert!(
                root().join(&target).exists(),
                "{path}:{number}: {link} leads to no file"
            );
            let page = pages.get(target.to_str().unwrap());
            if let Some((heading, page)) = heading.zip(page) {
                assert!(
                    anchors(page).iter().any(|anchor| anchor == heading),
                    "{path}:{number}: {link} leads to no heading of {}",
                    target.display()
                );
            }
            tried += 1;
        }
    }
    assert!(tried > 300, "the links were not found: {tried}");
}

#[test]
fn headings_have_the_anchors_of_github() {
    let page = "# A *page*, of `two_words`\n\n## [Links](x.md#y) & more\n\n## Twice\n\n## Twice\n\n\
                ```sh\n# no heading\n```\n\n    # nor this\n";
    assert_eq!(
        anchors(page),
        ["a-page-of-two_words", "links--more", "twice", "twice-1"]
    );
}

/// The target that a command of `make` names, after variables.
fn made(command: &str) -> Option<&str> {
    let is_variable = |word: &&str| word.split_once('=').is_some();
    let mut words = command.trim_start_matches("$ ").split_whitespace();
    let first = words.by_ref().find(|word| !is_variable(word));
    let is_target = |word: &&str| {
        word.bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'-')
            && !word.starts_with('-')
    };
    first
        .filter(|&word| word == "make")
        .and_then(|_| words.next().filter(is_target))
}

#[test]
fn every_target_of_make_that_a_page_names_exists() {
    let makefile = std::fs::read_to_string(root().join("Makefile")).unwrap();
    let targets: Vec<&str> = makefile
        .lines()
        .filter(|line| line.starts_with(|of: char| of.is_ascii_lowercase()))
        .filter_map(|line| Some(line.split_once(':')?.0))
        .collect();
    let mut tried = 0;
    for (path, text) in documents() {
        for (number, command) in code(&text) {
            if let Some(target) = made(&command) {
                assert!(
                    targets.contains(&target),
                    "{path}:{number}: there is no make {target}"
                );
                tried += 1;
            }
        }
    }
    assert!(tried > 40, "the commands were not found: {tried}");
}

#[test]
fn every_script_that_a_page_names_exists() {
    let is_path = |of: char| of.is_ascii_alphanumeric() || matches!(of, '/' | '.' | '_' | '-');
    let mut tried = 0;
    for (path, text) in documents() {
        let folder = Path::new(&path).parent().unwrap();
        for (number, line) in (1..).zip(text.lines()) {
            for name in line.split(|of: char| !is_path(of)) {
                let name = name.trim_end_matches('.');
                let ending = name.rsplit_once('.').map(|(_, ending)| ending);
                if !name.contains("scripts/") || ending != Some("sh") {
                    continue;
                }
                let is_there = |from: &Path| root().join(from).join(name).is_file();
                assert!(
                    is_there(Path::new("")) || is_there(folder),
                    "{path}:{number}: there is no {name}"
                );
                tried += 1;
            }
        }
    }
    assert!(tried > 10, "the scripts were not found: {tried}");
}

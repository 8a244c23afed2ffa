//! What a page in Markdown consists of: code, in blocks and between back quotes, and paragraphs of prose.

use std::path::Path;

/// A piece of a page: the number of its first line, and its text.
pub(crate) type Piece = (usize, String);

/// Pages whose commands are tried, next to everything in `docs/`.
const PAGES: &[&str] = &[
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "dashboards/README.md",
    "dashboards/RUNBOOK.md",
    "scripts/packages/README.md",
];

/// The pages whose commands are tried: paths relative to the root, and texts.
pub(crate) fn documents() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths: Vec<String> = PAGES.iter().map(|&page| page.to_owned()).collect();
    let mut folders = vec!["docs".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root.join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{folder}/{}", entry.file_name().to_str().unwrap());
            if entry.path().is_dir() {
                folders.push(path);
            } else if entry.path().extension().is_some_and(|of| of == "md") {
                paths.push(path);
            }
        }
    }
    paths.sort_unstable();
    let read = |path: String| {
        let text = std::fs::read_to_string(root.join(&path)).unwrap();
        (path, text)
    };
    paths.into_iter().map(read).collect()
}

/// The width of the mark with which a line begins an item of a list.
fn item_mark(line: &str) -> Option<usize> {
    if line.starts_with("- ") || line.starts_with("* ") {
        return Some(2);
    }
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0 && line[digits..].starts_with(". ")).then_some(digits + 2)
}

/// A page's lines, each with whether it is in a block of code: a fenced one, or one that is four columns further in
/// than the text around it. The fences themselves are empty lines here.
fn lines(text: &str) -> Vec<(bool, &str)> {
    let mut found = Vec::new();
    let mut fence = None;
    let (mut item, mut is_after_blank, mut is_code) = (0, true, false);
    for line in text.lines() {
        let trimmed = line.trim_start();
        let indent = line.len() - trimmed.len();
        if let Some(mark) = fence {
            let ends = trimmed.starts_with(mark);
            if ends {
                fence = None;
            }
            found.push(if ends { (false, "") } else { (true, line) });
        } else if trimmed.starts_with("```") || trimmed.starts_with("~~~") {
            fence = Some(&trimmed[..3]);
            found.push((false, ""));
        } else if trimmed.is_empty() {
            is_after_blank = true;
            found.push((false, ""));
        } else {
            is_code = indent >= item + 4 && (is_after_blank || is_code);
            if let Some(width) = item_mark(trimmed).filter(|_| !is_code) {
                item = indent + width;
            } else if indent == 0 && is_after_blank {
                item = 0;
            }
            is_after_blank = false;
            found.push((is_code, line));
        }
    }
    found
}

/// The paragraphs of prose. A heading, an item of a list and a row of a table each begin one.
pub(crate) fn paragraphs(text: &str) -> Vec<Piece> {
    let mut found: Vec<Piece> = Vec::new();
    let mut is_open = false;
    for (number, (is_code, line)) in (1..).zip(lines(text)) {
        let trimmed = line.trim();
        if is_code || trimmed.is_empty() {
            is_open = false;
            continue;
        }
        let is_heading = line.starts_with('#');
        let begins = is_heading || trimmed.starts_with('|') || item_mark(trimmed).is_some();
        match found.last_mut() {
            Some((_, paragraph)) if is_open && !begins => {
                paragraph.push(' ');
                paragraph.push_str(trimmed);
            }
            _ => found.push((number, trimmed.to_owned())),
        }
        is_open = !is_heading;
    }
    found
}

/// A paragraph's parts: those at odd places stand between back quotes.
pub(crate) fn parts(paragraph: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut begin, mut at) = (0, 0);
    while let Some(open) = paragraph[at..].find('`').map(|place| at + place) {
        let run = paragraph[open..].len() - paragraph[open..].trim_start_matches('`').len();
        let (mark, inside) = (&paragraph[open..open + run], open + run);
        let Some(length) = closing(&paragraph[inside..], mark) else {
            at = inside;
            continue;
        };
        found.push(&paragraph[begin..open]);
        found.push(&paragraph[inside..inside + length]);
        begin = inside + length + run;
        at = begin;
    }
    found.push(&paragraph[begin..]);
    found
}

/// Where a text has as many back quotes in a row as `mark`.
fn closing(text: &str, mark: &str) -> Option<usize> {
    text.match_indices(mark)
        .map(|(at, _)| at)
        .find(|&at| !text[..at].ends_with('`') && !text[at + mark.len()..].starts_with('`'))
}

/// All code of a page: the lines of its blocks, with those that a backslash continues, and what stands between back
/// quotes.
pub(crate) fn code(text: &str) -> Vec<Piece> {
    let mut found: Vec<Piece> = Vec::new();
    let mut continues = false;
    for (number, (is_code, line)) in (1..).zip(lines(text)) {
        let (line, broken) = match line.strip_suffix('\\') {
            Some(begin) => (begin, true),
            None => (line, false),
        };
        match found.last_mut() {
            Some((_, command)) if continues && is_code => command.push_str(line),
            _ if is_code => found.push((number, line.trim().to_owned())),
            _ => {}
        }
        continues = broken && is_code;
    }
    for (number, paragraph) in paragraphs(text) {
        let quoted = parts(&paragraph).into_iter().skip(1).step_by(2);
        found.extend(quoted.map(|part| (number, part.trim().to_owned())));
    }
    found
}

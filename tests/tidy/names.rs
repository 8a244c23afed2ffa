//! Names: a type's name is used once, most have two words or more, modules are nouns, and comments say what names do not.
//! The lists of exceptions are complete, so they can only shrink.

use std::collections::{BTreeMap, BTreeSet};

use super::{is_test_file, sources, without_tests};

#[path = "names/lists.rs"]
mod lists;

use lists::{ONE_WORD, PARTICIPLES, SHARED};

/// Largest share of types whose name another type has too, in percent.
const SHARED_PERCENT_MAX: usize = 10;
/// Largest share of types whose name is one word, in percent.
const ONE_WORD_PERCENT_MAX: usize = 20;
/// Most uses of [`ACCENT`] in all comments.
const ACCENT_MAX: usize = 20;
/// Words and phrases that read as translated.
const ACCENT: &[&str] = &[
    concat!("no", "body"),
    concat!("some", "body"),
    concat!("who", "ever"),
    concat!("any", "body"),
    concat!("of its", " own"),
    concat!("at", " once"),
    concat!("until", " when"),
    concat!("is made", " of"),
];
/// Where doc comments are published: in the SDK, the API's document, or the help of a command.
const DOCUMENTED: &[&str] = &[
    "crates/protocol/",
    "sdk/rust/",
    "crates/config/",
    "crates/cli/",
    "crates/http/src/scalars",
    "loadtest/src/options",
    "src/api/",
];
/// Words that a comment may add to a name without saying more.
const EMPTY_WORDS: &[&str] = &["a", "an", "its", "the", "this", "their", "of"];

/// The words of a name in camel case.
fn words(name: &str) -> usize {
    let starts = |pair: &[u8]| pair[1].is_ascii_uppercase() && !pair[0].is_ascii_uppercase();
    1 + name
        .as_bytes()
        .windows(2)
        .filter(|pair| starts(pair))
        .count()
}

/// The name of the type that begins in a line of code.
fn type_name(line: &str) -> Option<&str> {
    let code = line.trim_start();
    let code = match code.strip_prefix("pub") {
        Some(rest) => rest
            .strip_prefix('(')
            .map_or(Some(rest), |rest| {
                rest.split_once(')').map(|(_, rest)| rest)
            })?
            .strip_prefix(' ')?,
        None => code,
    };
    let keywords = ["struct ", "enum ", "trait ", "union ", "type "];
    let (keyword, rest) = keywords
        .iter()
        .find_map(|keyword| Some((*keyword, code.strip_prefix(keyword)?)))?;
    // An associated type is the trait's.
    if keyword == "type " && line.starts_with(' ')
        || !rest.starts_with(|c: char| c.is_ascii_uppercase())
    {
        return None;
    }
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
    Some(&rest[..end.unwrap_or(rest.len())])
}

/// All types outside tests, by name, with their files.
fn types() -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, text) in sources(&[".rs"]) {
        let is_product = !is_test_file(&path) || is_library_of_tests(&path);
        if !is_product
            || path.contains("/benches/")
            || path.contains("/examples/")
            || path.starts_with("bench/peers/")
        {
            continue;
        }
        for name in without_tests(&text).lines().filter_map(type_name) {
            found.entry(name.to_owned()).or_default().push(path.clone());
        }
    }
    assert!(
        found.len() > 1_000,
        "the types were not found: {}",
        found.len()
    );
    found
}

/// The simulator and the fuzzer are programs that stand with the tests.
fn is_library_of_tests(path: &str) -> bool {
    let programs = ["tests/simulation/src/", "tests/fuzz/src/"];
    let inside = programs.iter().find_map(|folder| path.strip_prefix(folder));
    inside.is_some_and(|inside| !inside.contains("tests/") && !inside.ends_with("tests.rs"))
}

#[test]
fn a_types_name_is_used_once() {
    let types = types();
    let count: usize = types.values().map(Vec::len).sum();
    let shared: BTreeMap<_, _> = types.iter().filter(|(_, files)| files.len() > 1).collect();
    for (name, files) in &shared {
        assert!(
            SHARED.contains(&name.as_str()),
            "{name} is the name of several types: {files:?}. Say in the name what it belongs to"
        );
    }
    for name in SHARED {
        assert!(
            shared.contains_key(&(*name).to_owned()),
            "{name} is no longer shared: remove it from SHARED"
        );
    }
    let types_shared: usize = shared.values().map(|files| files.len()).sum();
    assert!(
        types_shared * 100 <= count * SHARED_PERCENT_MAX,
        "{types_shared} of {count} types share their name"
    );
}

#[test]
fn most_types_have_names_of_several_words() {
    let types = types();
    let count: usize = types.values().map(Vec::len).sum();
    let short: BTreeSet<&str> = types
        .keys()
        .map(String::as_str)
        .filter(|name| words(name) == 1)
        .collect();
    for name in &short {
        assert!(
            ONE_WORD.contains(name),
            "{name} ({:?}) is one word: add the word that tells it from others",
            types[*name]
        );
    }
    for name in ONE_WORD {
        assert!(
            short.contains(name),
            "{name} is gone: remove it from ONE_WORD"
        );
    }
    let short: usize = short.iter().map(|name| types[*name].len()).sum();
    assert!(
        short * 100 <= count * ONE_WORD_PERCENT_MAX,
        "{short} of {count} types have a name of one word"
    );
}

#[test]
fn modules_are_nouns() {
    let mut found = BTreeSet::new();
    for path in sources(&[".rs"]).into_keys() {
        let stem = path.rsplit('/').next().unwrap().trim_end_matches(".rs");
        let last = stem.rsplit('_').next().unwrap();
        let is_participle = last.len() > 4 && (last.ends_with("ed") && !last.ends_with("eed"));
        if is_participle && !is_test_file(&path) {
            assert!(
                PARTICIPLES.contains(&path.as_str()),
                "{path} is named after a participle: use a noun for what it holds"
            );
            found.insert(path);
        }
    }
    for path in PARTICIPLES {
        assert!(
            found.contains(*path),
            "{path} is gone: remove it from PARTICIPLES"
        );
    }
}

/// A line's comment, in lower case.
fn comment(line: &str) -> Option<String> {
    let at = line.find("//")?;
    let before = &line[..at];
    // A URL in a string is no comment.
    let is_inside = before.matches('"').count() % 2 == 1;
    (!is_inside).then(|| line[at..].to_lowercase())
}

#[test]
fn comments_have_no_accent() {
    let mut found = Vec::new();
    for (path, text) in sources(&[".rs"]) {
        for (number, line) in (1..).zip(text.lines()) {
            let Some(comment) = comment(line) else {
                continue;
            };
            for word in ACCENT {
                let is_letter = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
                let uses = comment.match_indices(word).filter(|(at, _)| {
                    let bytes = comment.as_bytes();
                    let before = at.checked_sub(1).and_then(|at| bytes.get(at));
                    !is_letter(before) && !is_letter(bytes.get(at + word.len()))
                });
                found.extend(uses.map(|_| format!("{path}:{number}: {word}")));
            }
        }
    }
    assert!(
        found.len() <= ACCENT_MAX,
        "{} uses, at most {ACCENT_MAX}: {found:#?}",
        found.len()
    );
}

/// The name of a field, function or type that a line declares.
fn declared(line: &str) -> Option<String> {
    let code = line.trim_start();
    let code = code
        .strip_prefix("pub ")
        .or_else(|| Some(code.strip_prefix("pub(")?.split_once(") ")?.1))
        .unwrap_or(code);
    let code = ["fn ", "struct ", "enum ", "const ", "type "]
        .iter()
        .find_map(|keyword| code.strip_prefix(keyword))
        .unwrap_or(code);
    let end = code.find(|c: char| !c.is_alphanumeric() && c != '_')?;
    (end > 0).then(|| code[..end].to_owned())
}

/// The words of a name or a sentence, in lower case.
fn plain_words(text: &str) -> BTreeSet<String> {
    let mut spaced = String::new();
    for c in text.chars() {
        if c.is_uppercase() {
            spaced.push(' ');
        }
        spaced.extend(c.to_lowercase());
    }
    let parts = spaced.split(|c: char| !c.is_alphanumeric());
    parts
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

#[test]
fn docs_say_what_names_do_not() {
    let mut empty = Vec::new();
    for (path, text) in sources(&[".rs"]) {
        let is_published = DOCUMENTED.iter().any(|folder| path.starts_with(folder));
        if is_published {
            continue;
        }
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let Some(doc) = line.trim_start().strip_prefix("/// ") else {
                continue;
            };
            let around = |offset: usize| {
                lines
                    .get(offset)
                    .is_some_and(|line| line.trim_start().starts_with("///"))
            };
            let is_alone = !around(at.wrapping_sub(1)) && !around(at + 1);
            let Some(name) = lines
                .get(at + 1)
                .filter(|_| is_alone)
                .and_then(|next| declared(next))
            else {
                continue;
            };
            let known = plain_words(&name);
            let adds =
                |word: &String| !known.contains(word) && !EMPTY_WORDS.contains(&word.as_str());
            if !plain_words(doc).iter().any(adds) {
                empty.push(format!("{path}:{}: {doc}", at + 1));
            }
        }
    }
    assert!(empty.is_empty(), "these docs repeat a name: {empty:#?}");
}

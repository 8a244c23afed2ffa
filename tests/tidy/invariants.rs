//! Tests hold every invariant: a comment above each test names the numbers, and a page lists the tests of each number.

use std::collections::BTreeMap;

use super::{SOURCES, root, sources};

const PAGE: &str = "docs/INVARIANTS.md";
const INDEX: &str = "docs/INVARIANTS-INDEX.md";
/// How the index begins.
const HEADER: &str = "\
# Tests of the invariants

Made from the comments above the tests; do not edit it. [INVARIANTS.md](INVARIANTS.md) has the text of each number, and
says how this page is written.

| invariant | tests |
|---|---|
";
/// How a marker begins, after the mark of a comment.
const MARKER: &str = "Holds invariant";
/// How the names of the contracts' tests begin.
const CONTRACT_TESTS: &[&str] = &["test", "check_", "invariant_", "afterInvariant"];

/// A marker: the numbers that it names, and the name of the test under it.
type TestMarker = (Vec<usize>, String);

/// A file's ending, by which its language is known.
fn ending(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or_default()
}

/// What a comment says, if the line is one.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim();
    let is_comment = ["//", "/*", "*", "# "]
        .iter()
        .any(|mark| line.starts_with(mark));
    is_comment.then(|| line.trim_start_matches(['/', '*', '#', ' ']))
}

fn is_marker(line: &str) -> bool {
    comment(line).is_some_and(|text| text.starts_with(MARKER))
}

/// The one way to write a marker of these numbers.
fn marker(path: &str, numbers: &[usize]) -> String {
    let mark = match ending(path) {
        "py" | "sh" => "#",
        _ => "//",
    };
    let plural = if numbers.len() == 1 { "" } else { "s" };
    let listed: Vec<String> = numbers.iter().map(usize::to_string).collect();
    format!("{mark} {MARKER}{plural} {}.", listed.join(", "))
}

/// The numbers that a marker names, in order.
fn numbers(line: &str) -> Vec<usize> {
    let digits = line.split(|of: char| !of.is_ascii_digit());
    let mut found: Vec<usize> = digits.filter_map(|digits| digits.parse().ok()).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The name of the test that a line defines, with the attributes above it.
fn defined<'l>(path: &str, line: &'l str, attributes: &str) -> Option<&'l str> {
    let identifier = |after: &'l str| after.split(['(', '<']).next();
    let is_rust_test = || attributes.contains("#[test]") || attributes.contains("::test");
    match ending(path) {
        "rs" => identifier(line.split_once("fn ")?.1).filter(|_| is_rust_test()),
        "sol" => identifier(line.strip_prefix("function ")?)
            .filter(|name| CONTRACT_TESTS.iter().any(|begin| name.starts_with(begin))),
        "py" => identifier(line.trim_start_matches("async ").strip_prefix("def ")?)
            .filter(|name| name.starts_with("test_")),
        "mjs" | "js" | "ts" => {
            let call = line
                .strip_prefix("test(")
                .or_else(|| line.strip_prefix("it("))?;
            let quote = call
                .chars()
                .next()
                .filter(|of| matches!(of, '\'' | '"' | '`'))?;
            call[1..].split(quote).next()
        }
        _ => None,
    }
}

/// The name of the test that these lines begin with, after its documentation and attributes.
fn test_below<'l>(path: &str, lines: &[&'l str]) -> Option<&'l str> {
    let mut attributes = String::new();
    let open = |text: &str| text.matches(['(', '[']).count() > text.matches([')', ']']).count();
    for line in lines.iter().map(|line| line.trim()) {
        if open(&attributes) || line.starts_with("#[") || line.starts_with('@') {
            attributes.push_str(line);
        } else if comment(line).is_none() || is_marker(line) {
            return defined(path, line, &attributes);
        }
    }
    None
}

/// A file's markers, or what is wrong with one.
fn markers(path: &str, text: &str) -> Vec<Result<TestMarker, String>> {
    let mut found = Vec::new();
    if !text.contains(MARKER) {
        return found;
    }
    let lines: Vec<&str> = text.lines().collect();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| is_marker(line)) {
        let place = format!("{path}:{}", at + 1);
        let numbers = numbers(line);
        let written = marker(path, &numbers);
        let above = at.checked_sub(1).map_or("", |above| lines[above].trim());
        found.push(match test_below(path, &lines[at + 1..]) {
            _ if line.trim() != written => Err(format!(
                "{place}: write `{written}`, or begin the comment with another word"
            )),
            _ if ["///", "#[", "@"]
                .iter()
                .any(|begin| above.starts_with(begin)) =>
            {
                Err(format!(
                    "{place}: move it above the test's documentation and attributes"
                ))
            }
            None => Err(format!("{place}: move it directly above a test")),
            Some(test) => Ok((numbers, test.to_owned())),
        });
    }
    found
}

/// How many invariants the page has. Their numbers have no gaps.
fn count() -> usize {
    let page = std::fs::read_to_string(root().join(PAGE)).unwrap();
    let mut count = 0;
    for line in page.lines() {
        let number = line.split_once(". **").map(|(number, _)| number);
        let Some(Ok(number)) = number.map(str::parse::<usize>) else {
            continue;
        };
        count += 1;
        assert_eq!(
            number, count,
            "{PAGE}: give this its number {count}: {line}"
        );
    }
    assert!(count > 200, "the invariants were not found: {count}");
    count
}

/// The tests that hold each invariant, in the order of their files.
fn holders() -> BTreeMap<usize, Vec<String>> {
    let count = count();
    let mut holders: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (path, text) in sources(SOURCES) {
        for marker in markers(&path, &text) {
            match marker {
                Ok((numbers, test)) => {
                    for number in numbers {
                        let holder = format!("{path}::{test}");
                        holders.entry(number).or_default().push(holder);
                    }
                }
                Err(what) => wrong.push(what),
            }
        }
    }
    for (number, tests) in &holders {
        if !(1..=count).contains(number) {
            wrong.push(format!(
                "{PAGE} has no invariant {number}: {}",
                tests.join(", ")
            ));
        }
    }
    for number in (1..=count).filter(|number| !holders.contains_key(number)) {
        wrong.push(format!(
            "no test holds invariant {number}: write `// {MARKER} {number}.` above each that does"
        ));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    holders
}

#[test]
fn every_invariant_has_a_test_and_the_index_lists_it() {
    let row = |(number, tests): (usize, Vec<String>)| {
        let tests = tests.join("`, `").replace('|', "\\|");
        format!("| {number} | `{tests}` |\n")
    };
    let rows: Vec<String> = holders().into_iter().map(row).collect();
    let made = format!("{HEADER}{}", rows.concat());
    let path = root().join(INDEX);
    if std::env::var_os("KEDGE_WRITE_INDEX").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == made,
        "{INDEX} is not what the markers give: \
         `KEDGE_WRITE_INDEX=1 scripts/cargo.sh test --test tidy invariants` writes it again"
    );
}

#[test]
fn a_marker_stands_directly_above_a_test() {
    let good = [
        ("a.rs", "// Holds invariant 3.\n#[test]\nfn one() {", "one"),
        (
            "a.rs",
            "// Holds invariant 3.\n/// Why.\n#[tokio::test(\n    start_paused\n)]\nasync fn one() {",
            "one",
        ),
        (
            "a.py",
            "# Holds invariant 3.\n@with(\n  1,\n)\ndef test_one(x):",
            "test_one",
        ),
        (
            "a.sol",
            "// Holds invariant 3.\n/// @dev Why.\nfunction check_one() {",
            "check_one",
        ),
        (
            "a.mjs",
            "  // Holds invariant 3.\n  test('one, two', () => {",
            "one, two",
        ),
    ];
    for (path, text, name) in good {
        let marker = (vec![3], name.to_owned());
        assert_eq!(markers(path, text), [Ok(marker)], "{text}");
    }
    let wrong = [
        ("a.rs", "// Holds invariant 3.\n\n#[test]\nfn one() {"),
        ("a.rs", "// Holds invariant 3.\nfn one() {"),
        ("a.rs", "#[test]\n// Holds invariant 3.\nfn one() {"),
        ("a.rs", "/// Holds invariant 3.\n#[test]\nfn one() {"),
        ("a.rs", "// Holds invariants 4, 3.\n#[test]\nfn one() {"),
        ("a.rs", "// Holds invariants 3 and 4.\n#[test]\nfn one() {"),
        ("a.py", "# Holds invariant 3.\ndef one():"),
        ("a.sol", "// Holds invariant 3.\nfunction one() {"),
        ("a.ts", "// Holds invariant 3.\nbeforeAll('one', () => {"),
        ("a.sh", "# Holds invariant 3.\none() {"),
    ];
    for (path, text) in wrong {
        let found = markers(path, text);
        assert!(matches!(&found[..], [Err(_)]), "{text}: {found:?}");
    }
}

//! What stands on the top level, how many test programs a package has, and how long a function may be.

use std::collections::BTreeMap;
use std::process::Command;

use super::{root, sources};

/// What stands on the top level: it fits on one screen. A new entry needs an ADR.
const TOP_LEVEL: &[&str] = &[
    ".ci",
    ".git-blame-ignore-revs",
    ".gitignore",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "Makefile",
    "README.md",
    "actors",
    "bench",
    "build.rs",
    "clippy.toml",
    "contracts",
    "crates",
    "dashboards",
    "deny.toml",
    "docs",
    "loadtest",
    "rustfmt.toml",
    "scripts",
    "sdk",
    "src",
    "storage",
    "tests",
];

/// Most programs of integration tests of the root package; every other package has one. Each is linked with the whole
/// server, which takes longer than most tests.
const TEST_PROGRAMS_MAX: usize = 9;

/// Most lines of a function, from its `fn` to its closing brace.
const FUNCTION_LINES_MAX: usize = 70;
/// Functions that are longer today. One that no longer needs the exception fails too.
const LONG_FUNCTIONS: &[&str] = &[
    "crates/chain/src/contract/bond/calldata.rs::every_call_encodes_with_the_artifacts_abi",
    "crates/config/src/ranges.rs::ranges",
    "crates/search/src/tests/filters.rs::filters_that_are_not_right_are_refused_with_a_pointer",
    "tests/api/feeds/events.rs::every_action_tells_what_it_did",
    "tests/api/resources/objects.rs::an_object_from_mint_to_transfer",
    "tests/api/resources/search.rs::others_objects_are_found_only_where_they_are_public_and_named",
    "tests/api/resources/search.rs::searches_that_are_not_right_are_refused",
    "tests/api/verdicts/receipts.rs::signed_by_the_sequencer",
    "tests/cluster/feeds.rs::survive_the_leader",
    "tests/cluster/main.rs::writes_go_on_when_the_leader_is_lost_and_nothing_acknowledged_is",
    "tests/ethereum/anchor.rs::on_anvil_that_goes_away_and_comes_back",
    "tests/ethereum/resolver.rs::a_claim_is_resolved_on_the_chain",
    "tests/ethereum/rotation/mod.rs::a_batch_is_signed_with_its_key_or_not_at_all",
    "tests/ethereum/rotation/mod.rs::three_rotations_under_load_leave_a_log_that_everybody_verifies",
    "tests/ethereum/watch.rs::faults",
    "tests/faults/stalled.rs::what_waits_for_new_rules_is_decided_by_them",
    "tests/model/main.rs::random_histories_are_the_oracles",
    "tests/program/running.rs::the_demo_does_what_it_says_and_its_proof_is_proven_on",
    "tests/program/running.rs::what_sign_prints_is_taken",
    "tests/program/upkeep/drill.rs::a_killed_server_is_restored_as_it_stood_at_a_sequence",
];

#[test]
fn the_top_level_fits_on_one_screen() {
    let listed = Command::new("git")
        .args(["ls-tree", "--name-only", "HEAD"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(listed.status.success(), "{listed:?}");
    let listed = String::from_utf8(listed.stdout).unwrap();
    let mut found: Vec<&str> = listed.lines().collect();
    found.sort_unstable();
    assert_eq!(found, TOP_LEVEL);
}

/// Features answer calls; what starts, serves and administers them is above.
#[test]
fn no_arrow_in_the_api_runs_up() {
    for (path, text) in sources(&[".rs"]) {
        for above in ["start", "server", "admin", "edge", "console"] {
            assert!(
                !path.starts_with("src/api/") || !text.contains(&format!("crate::{above}")),
                "{path} imports from {above}: a feature borrows what it needs from services"
            );
        }
    }
}

/// The package's folder, if cargo makes a test program of this file.
fn package_of_program(path: &str) -> Option<&str> {
    let (folder, name) = path.rsplit_once("tests/")?;
    let depth = name.matches('/').count();
    let is_program = depth == 0 || (depth == 1 && name.ends_with("/main.rs"));
    (is_program && (folder.is_empty() || folder.ends_with('/'))).then_some(folder)
}

#[test]
fn test_programs_are_few() {
    let mut packages: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in sources(&[".rs"]).into_keys() {
        let manifest = |folder: &str| root().join(folder).join("Cargo.toml").exists();
        if let Some(folder) = package_of_program(&path).filter(|folder| manifest(folder)) {
            packages.entry(folder.to_owned()).or_default().push(path);
        }
    }
    assert!(packages.len() > 10, "{packages:?}");
    for (folder, programs) in packages {
        let most = if folder.is_empty() {
            TEST_PROGRAMS_MAX
        } else {
            1
        };
        assert!(
            programs.len() <= most,
            "{folder}tests has more programs than {most}: {programs:?}; make modules of one program of them"
        );
    }
}

/// The name of the function that begins in a line of code.
fn function_name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let qualifiers = [
        "pub", "const", "async", "unsafe", "extern", "\"C\"", "default",
    ];
    let is_qualifier = |word: &str| qualifiers.contains(&word) || word.starts_with("pub(");
    if !before.split_whitespace().all(is_qualifier) {
        return None;
    }
    let end = after.find(|of: char| !of.is_alphanumeric() && of != '_');
    Some(&after[..end?])
}

/// The functions of a file as rustfmt formats it, with how many lines each has.
fn functions(text: &str) -> Vec<(&str, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else {
            continue;
        };
        let signature = lines[start..].iter();
        let Some(body) = signature
            .clone()
            .position(|line| line.ends_with(['{', ';', '}']))
        else {
            continue;
        };
        if !lines[start + body].ends_with('{') {
            continue;
        }
        let indent = &line[..line.len() - line.trim_start().len()];
        let closing = format!("{indent}}}");
        let length = lines[start..].iter().position(|line| *line == closing);
        found.push((name, length.map_or(0, |last| last + 1)));
    }
    found
}

#[test]
fn functions_are_short() {
    let mut long = BTreeMap::new();
    for (path, text) in &sources(&[".rs"]) {
        for (name, lines) in functions(text) {
            assert!(
                lines > 0,
                "{path}: the end of {name} was not found: run rustfmt"
            );
            if lines > FUNCTION_LINES_MAX {
                long.insert(format!("{path}::{name}"), lines);
            }
        }
    }
    for (function, lines) in &long {
        assert!(
            LONG_FUNCTIONS.contains(&function.as_str()),
            "{function} has {lines} lines: split it into steps with names of their own"
        );
    }
    for function in LONG_FUNCTIONS {
        assert!(
            long.contains_key(*function),
            "{function} needs no exception any more: remove it from LONG_FUNCTIONS"
        );
    }
}

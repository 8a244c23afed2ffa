//! The project's rules that no compiler checks: allowed dependencies, file lengths, forbidden content in sources, that
//! files and commands named in documents exist, and that tests hold every invariant.

#![allow(clippy::unwrap_used, reason = "a test file: a panic is the failure")]

#[path = "tidy/circles.rs"]
mod circles;
#[path = "tidy/dependencies.rs"]
mod dependencies;
#[path = "tidy/invariants.rs"]
mod invariants;
#[path = "tidy/layout.rs"]
mod layout;
#[path = "tidy/links.rs"]
mod links;
#[path = "tidy/lists.rs"]
mod lists;
#[path = "tidy/names.rs"]
mod names;
#[path = "tidy/order.rs"]
mod order;
#[path = "tidy/words.rs"]
mod words;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Most lines of a source file. An idea is not cut for a number, so this is far above what most files have.
const LINES_MAX: usize = 800;
/// The endings of source files.
const SOURCES: &[&str] = &[".rs", ".sol", ".sh", ".py", ".mjs", ".js", ".ts"];
/// Folders with generated files only.
const MADE: &[&str] = &[
    "target",
    "node_modules",
    "out",
    "cache",
    "artifacts",
    "data",
    "dist",
    "generated",
];
/// The allowed dependencies within the workspace, without the names' `kedge-`; there are no others. The root package may
/// use all crates except the load tester.
const ARROWS: &[(&str, &str)] = &[
    ("runtime", ""),
    ("protocol", ""),
    ("config", "protocol"),
    ("net", "config"),
    ("log", "protocol runtime"),
    ("chain", "protocol net devchain"),
    ("devchain", "protocol"),
    ("prover", "protocol"),
    ("rules", "protocol"),
    ("storage", "log protocol runtime"),
    ("replay", "storage rules protocol"),
    ("search", "storage rules protocol"),
    ("client", "prover net protocol"),
    ("actors", "replay storage rules chain protocol runtime"),
    ("cluster", "actors storage log net config protocol runtime"),
    (
        "http",
        "net replay actors storage rules prover config protocol",
    ),
    ("telemetry", "net actors config"),
    (
        "webhooks",
        "actors replay storage rules net config protocol runtime",
    ),
    ("watchtower", "client chain protocol"),
    ("upkeep", "replay storage log config protocol"),
    (
        "cli",
        "upkeep watchtower cluster client devchain storage rules prover chain log net config protocol runtime",
    ),
    ("load", "client protocol"),
    (
        "sim",
        "webhooks actors cluster replay storage rules devchain chain log protocol runtime",
    ),
    (
        "fuzz",
        "http actors search storage rules chain log protocol",
    ),
    (
        "kedge",
        "cli upkeep webhooks telemetry http net cluster actors replay client search storage rules prover devchain chain log config protocol runtime fuzz",
    ),
];
/// Folders of the sources that get time, randomness and files only from an `Env`.
const CORE: &[&str] = &[
    "actors/src/",
    "crates/log/src/",
    "crates/protocol/src/",
    "crates/replay/src/",
    "crates/rules/src/",
    "crates/webhooks/src/delivery/",
    "storage/src/",
];
/// Calls that bypass the `Env`, and calls that would block in the middle of a step.
const SYSTEM: &[&str] = &[
    "SystemTime",
    "Instant::now",
    ".elapsed()",
    "getrandom",
    "rand::",
    "thread_rng",
    "OsRng",
    "RandomState",
    "std::fs",
    "tokio::fs",
    "File::open",
    "File::create",
    "OpenOptions",
    ".exists()",
    ".is_file()",
    ".is_dir()",
    ".metadata()",
    "read_dir",
    "libc",
    "rustix",
    "thread::sleep",
    "RealEnv",
];
/// Permitted exceptions: the file, what it contains, and why.
const SYSTEM_ALLOWED: &[(&str, &[&str], &str)] = &[
    (
        "storage/src/creation_lock.rs",
        &[
            "std::fs",
            "File::open",
            "File::create",
            ".exists()",
            ".is_dir()",
            ".metadata()",
            "read_dir",
        ],
        "locks, and clears, RocksDB's own directory: it must see what RocksDB sees",
    ),
    (
        "storage/src/live_files.rs",
        &["std::fs"],
        "looks at RocksDB's own table files",
    ),
    (
        "storage/src/open.rs",
        &["std::fs", "read_dir"],
        "looks whether RocksDB has written to its directory",
    ),
    (
        "storage/src/store.rs",
        &["RealEnv"],
        "`Options::of_store` says that it is for the system's own disk",
    ),
    (
        "actors/src/commit/sealer.rs",
        &["rustix"],
        "the threads around `Store::maintain`, `Store::prepare` and `Store::flush_gathered`: the keeper's priority",
    ),
];
/// The crate that measures everything, and so may use everything.
const SEES_ALL: &str = "bench";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All files with one of these endings, with paths relative to the root, and their text; there are many.
fn sources(endings: &[&str]) -> BTreeMap<String, String> {
    let found = files(endings);
    assert!(
        found.len() > 20,
        "the sources were not found: {:?}",
        found.keys()
    );
    found
}

/// All files with one of these endings, however few.
fn files(endings: &[&str]) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                if !name.starts_with('.') && !MADE.contains(&name.as_str()) {
                    folders.push(path);
                }
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                let relative = path.strip_prefix(root()).unwrap().to_str().unwrap();
                let text = std::fs::read_to_string(&path).unwrap();
                found.insert(relative.to_owned(), text);
            }
        }
    }
    found
}

fn is_test_file(path: &str) -> bool {
    path.contains("tests/") || path.ends_with("/tests.rs")
}

/// The part of a file before the unit tests at its end.
fn without_tests(text: &str) -> &str {
    let end = text.find("#[cfg(test)]\nmod tests {");
    &text[..end.unwrap_or(text.len())]
}

// Holds invariant 12.
#[test]
fn arrows_go_down_only() {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
        ])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let name = |value: &Value| {
        let name = value["name"].as_str().unwrap();
        name.strip_prefix("kedge-").unwrap_or(name).to_owned()
    };
    let members: Vec<String> = packages.iter().map(name).collect();
    for (known, _) in ARROWS {
        assert!(
            members.iter().any(|member| member == known),
            "{known} is gone: {members:?}"
        );
    }
    for package in packages {
        let from = name(package);
        if from == SEES_ALL {
            continue;
        }
        let (_, allowed) = ARROWS
            .iter()
            .find(|(known, _)| *known == from)
            .unwrap_or_else(|| panic!("{from} is new: say what it may see"));
        // Of every kind: normal, build and dev.
        for dependency in package["dependencies"].as_array().unwrap() {
            let to = name(dependency);
            let inside = members.contains(&to);
            assert!(
                !inside || allowed.split(' ').any(|allowed| allowed == to),
                "{from} must not see {to} (kind {})",
                dependency["kind"]
            );
            let tells = inside || dependency["path"].is_null();
            assert!(
                tells,
                "{from} has {to} from outside the workspace: {}",
                dependency["path"]
            );
        }
    }
}

#[test]
fn files_are_short() {
    let files = sources(SOURCES);
    for (path, text) in &files {
        let lines = text.lines().count();
        assert!(
            lines <= LINES_MAX,
            "{path} has {lines} lines: split it by what it does"
        );
    }
}

#[test]
fn nothing_is_left_undone() {
    // Assembled here, so that this file does not find itself.
    let everywhere = [
        concat!("to", "do!("),
        concat!("unimple", "mented!("),
        concat!("dbg", "!("),
    ];
    let outside_tests = [concat!(".unw", "rap()"), concat!(".unw", "rap_err()")];
    let marks = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X:"),
        concat!("HA", "CK"),
    ];
    for (path, text) in sources(&[".rs"]) {
        for banned in everywhere.iter().chain(&marks) {
            assert!(!text.contains(banned), "{path} holds {banned}");
        }
        if is_test_file(&path) {
            continue;
        }
        for (number, line) in (1..).zip(without_tests(&text).lines()) {
            let code = line.split("//").next().unwrap_or_default();
            for banned in outside_tests {
                assert!(!code.contains(banned), "{path}:{number} holds {banned}");
            }
        }
    }
}

// Holds invariant 162.
/// A simulator controls only calls that go through the `Env`.
#[test]
fn the_core_asks_the_system_through_its_env_alone() {
    let files: Vec<(String, String)> = sources(&[".rs"])
        .into_iter()
        .filter(|(path, _)| {
            let is_in = |folder: &&str| path.starts_with(*folder);
            CORE.iter().any(is_in) && !is_test_file(path)
        })
        .collect();
    let mut used = Vec::new();
    for (path, text) in &files {
        let allowed = SYSTEM_ALLOWED.iter().find(|(file, ..)| file == path);
        for (number, line) in (1..).zip(without_tests(text).lines()) {
            let code = line.split("//").next().unwrap_or_default();
            for &call in SYSTEM.iter().filter(|call| code.contains(**call)) {
                assert!(
                    allowed.is_some_and(|(_, calls, _)| calls.contains(&call)),
                    "{path}:{number} holds {call}: take it from the Env, or say here why not"
                );
                used.push((path.as_str(), call));
            }
        }
    }
    for (path, calls, why) in SYSTEM_ALLOWED {
        for call in *calls {
            assert!(
                used.contains(&(path, call)),
                "{path} may hold {call} ({why}), and does not"
            );
        }
    }
}

// Holds invariant 140.
/// Tests run the program under test, which is the release build that users run; only one place knows its path.
#[test]
fn tests_ask_one_place_for_the_program() {
    // Assembled here, so that this file does not find itself.
    let built = concat!("CARGO_BIN_", "EXE_kedge\"");
    let naming: Vec<String> = sources(&[".rs"])
        .into_iter()
        .filter(|(_, text)| text.contains(built))
        .map(|(path, _)| path)
        .collect();
    assert_eq!(
        naming,
        ["tests/support/program.rs"],
        "call kedge() of tests/support/program.rs instead"
    );
}

#[test]
fn every_module_says_what_it_is_about() {
    let vague = [
        "util", "utils", "common", "helper", "helpers", "misc", "shared", "stuff",
    ];
    for (path, text) in sources(&[".rs"]) {
        for part in Path::new(&path).components() {
            let part = part.as_os_str().to_str().unwrap();
            let stem = part.strip_suffix(".rs").unwrap_or(part);
            assert!(!vague.contains(&stem), "{path} says nothing by its name");
        }
        assert!(
            text.starts_with("//! "),
            "{path} does not begin with what it is about"
        );
    }
}

/// Whether a text is a metric's name: the project's prefix, then lower-case words.
fn is_metric(text: &str) -> bool {
    text.strip_prefix("kedge_").is_some_and(|rest| {
        !rest.is_empty()
            && rest
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    })
}

#[test]
fn metrics_are_named_in_one_place_of_a_crate() {
    let files: BTreeMap<String, String> = sources(&[".rs"])
        .into_iter()
        .filter(|(path, _)| !is_test_file(path))
        .collect();
    let defines = |path: &str| path.ends_with("/metric_definitions.rs") || path == "src/metrics.rs";
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    for (path, text) in &files {
        let code = without_tests(text);
        for name in code
            .split('"')
            .skip(1)
            .step_by(2)
            .filter(|text| is_metric(text))
        {
            if defines(path) {
                let before = names.insert(name.to_owned(), path.clone());
                assert_eq!(before, None, "{name} is defined twice, also in {path}");
            } else {
                assert!(
                    !code.contains(&format!("!(\"{name}\"")),
                    "{path} names the metric {name}: define it with the others"
                );
            }
        }
    }
    assert!(names.len() > 20, "{names:?}");
    for (path, text) in files.iter().filter(|(path, _)| defines(path)) {
        let crate_folder = path.split_once("src/").unwrap().0;
        let inside = format!("{crate_folder}src/");
        for line in text
            .lines()
            .filter_map(|line| line.strip_prefix("pub const "))
        {
            let constant = line.split(':').next().unwrap();
            let described = text.matches(constant).count() > 1;
            let used = path == "src/metrics.rs"
                || files
                    .iter()
                    .filter(|(other, _)| other.starts_with(&inside) && *other != path)
                    .any(|(_, text)| text.contains(constant));
            assert!(
                described && used,
                "{path}: {constant} is not described, or not used"
            );
        }
    }
}

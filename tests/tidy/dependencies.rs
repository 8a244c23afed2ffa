//! Dependencies that come from npm and PyPI: each file is pinned by its hash, and none is run by its installation.

use std::path::Path;

use serde_json::Value;

use super::{files, root, sources};

/// The requirement lines of a file for pip, with the lines that continue them.
fn requirements(text: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    joined
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect()
}

// Holds invariant 246.
#[test]
fn python_packages_are_pinned_by_their_hashes() {
    let found = files(&["requirements.txt"]);
    assert!(found.len() >= 8, "not all were found: {:?}", found.keys());
    for (path, text) in found {
        for requirement in requirements(&text) {
            assert!(
                requirement.contains("==") && requirement.contains("--hash=sha256:"),
                "{path}: pin this with its hashes, by pip-compile --generate-hashes: {requirement}"
            );
        }
    }
}

// Holds invariant 246.
#[test]
fn node_packages_are_pinned_by_their_hashes() {
    let found = files(&["package-lock.json"]);
    assert!(found.len() >= 9, "not all were found: {:?}", found.keys());
    for (path, text) in found {
        let lock: Value = serde_json::from_str(&text).unwrap();
        for (name, package) in lock["packages"].as_object().unwrap() {
            let ours = !name.contains("node_modules/") || package["link"] == true;
            assert!(
                ours || package["integrity"].is_string(),
                "{path}: {name} has no integrity"
            );
        }
        let settings = root().join(Path::new(&path).with_file_name(".npmrc"));
        let settings = std::fs::read_to_string(settings).unwrap_or_default();
        assert!(
            settings.lines().any(|line| line == "ignore-scripts=true"),
            "{path}: an .npmrc next to it must say ignore-scripts=true"
        );
    }
}

// Holds invariant 246.
#[test]
fn installing_runs_nothing_and_takes_no_file_without_a_hash() {
    let mut installs = 0;
    for (path, text) in sources(&[".sh"]) {
        for (number, line) in (1..).zip(text.lines()) {
            let wanted = if line.contains("npm ci ") {
                "--ignore-scripts"
            } else if line.contains("pip\" install ") || line.contains("pip install --") {
                "--require-hashes"
            } else {
                continue;
            };
            assert!(line.contains(wanted), "{path}:{number} lacks {wanted}");
            installs += 1;
        }
    }
    assert!(installs >= 4, "the installs were not found: {installs}");
}

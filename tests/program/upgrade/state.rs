//! Recorded states: an archive each, with the data directory, its high-water mark, and the answers read from it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The file of answers in an archive.
pub(crate) const ANSWERS: &str = "answers.json";
/// The ending of an archive's name.
const END: &str = ".tar.gz";

/// A state's recorded answers, by path.
pub(crate) type Answers = BTreeMap<String, Value>;

pub(crate) struct State {
    pub(crate) name: String,
    pub(crate) answers: Answers,
}

impl State {
    pub(crate) fn paths(&self) -> Vec<String> {
        self.answers.keys().cloned().collect()
    }
}

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/upgrade/states")
}

/// The names of all states.
pub(crate) fn all() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names
        .filter_map(|name| name.strip_suffix(END).map(str::to_owned))
        .collect();
    names.sort_unstable();
    names
}

fn tar(arguments: &[&str], archive: &Path, directory: &Path) {
    let status = Command::new("tar")
        .args(arguments)
        .arg(archive)
        .arg("-C")
        .arg(directory)
        .arg(".")
        .status();
    assert!(status.unwrap().success(), "tar {arguments:?}");
}

pub(crate) fn pack(name: &str, directory: &Path) {
    std::fs::create_dir_all(folder()).unwrap();
    let archive = folder().join(format!("{name}{END}"));
    let owners = ["--owner=0", "--group=0", "--sort=name", "-czf"];
    tar(&owners, &archive, directory);
}

/// Unpacks a state into an empty directory.
pub(crate) fn unpack(name: &str, directory: &Path) -> State {
    tar(&["-xzf"], &folder().join(format!("{name}{END}")), directory);
    let answers = std::fs::read(directory.join(ANSWERS)).unwrap();
    State {
        name: name.to_owned(),
        answers: serde_json::from_slice(&answers).unwrap(),
    }
}

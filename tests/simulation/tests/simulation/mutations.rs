//! Mutations that prove the simulator: each patch applies, and FOUND.md has its result.

use std::path::Path;
use std::process::Command;

#[test]
fn every_mutation_fits_the_code_and_is_in_the_list() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let folder = root.join("tests/simulation/mutations");
    let list = std::fs::read_to_string(folder.join("FOUND.md")).unwrap();
    let mut wrong = Vec::new();
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "patch") {
            continue;
        }
        count += 1;
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let checked = Command::new("git")
            .args(["apply", "--check"])
            .arg(&path)
            .current_dir(root)
            .output()
            .unwrap();
        if !checked.status.success() {
            wrong.push(format!(
                "{name}: {}",
                String::from_utf8_lossy(&checked.stderr)
            ));
        }
        if !list.contains(&format!("`{name}`")) {
            wrong.push(format!("{name} is not in FOUND.md"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(count > 30, "{count} mutations");
}

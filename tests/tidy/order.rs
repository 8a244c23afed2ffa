//! What a simulator runs leaves no order to chance: a seed takes the same steps each time (docs/TESTING.md).

use super::{is_test_file, sources, without_tests};

/// Folders of the crates that a simulator runs.
const SIMULATED: &[&str] = &[
    "actors",
    "crates/chain",
    "crates/cluster",
    "crates/log",
    "crates/replay",
    "crates/rules",
    "crates/runtime",
    "storage",
    "tests/simulation",
];
/// The chain for development: the simulator has another one.
const NOT_SIMULATED: &str = "crates/devchain/src/";

#[test]
fn who_waits_for_several_things_says_which_comes_first() {
    let mut selects = 0;
    for (path, text) in sources(&[".rs"]) {
        let is_in = |name: &&str| path.starts_with(&format!("{name}/src/"));
        if !SIMULATED.iter().any(is_in) || is_test_file(&path) || path.starts_with(NOT_SIMULATED) {
            continue;
        }
        for branches in without_tests(&text).split("select! {").skip(1) {
            let branches = branches.trim_start();
            assert!(
                branches.starts_with("biased;"),
                "{path}: without `biased;`, `select!` draws which branch it looks at first: {}",
                branches.lines().next().unwrap_or_default()
            );
            selects += 1;
        }
    }
    assert!(selects > 5, "the selects were not found: {selects}");
}

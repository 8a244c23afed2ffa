//! What a simulator runs leaves no order to chance: a seed takes the same steps each time (docs/TESTING.md).

use super::{is_test_file, sources, without_tests};

/// Folders of the sources that a simulator runs.
const SIMULATED: &[&str] = &[
    "actors/src/",
    "crates/chain/src/",
    "crates/cluster/src/",
    "crates/log/src/",
    "crates/replay/src/",
    "crates/rules/src/",
    "crates/runtime/src/",
    "crates/webhooks/src/delivery/",
    "storage/src/",
    "tests/simulation/src/",
];
/// The chain for development: the simulator has another one.
const NOT_SIMULATED: &str = "crates/devchain/src/";

#[test]
fn who_waits_for_several_things_says_which_comes_first() {
    let mut selects = 0;
    for (path, text) in sources(&[".rs"]) {
        let is_in = |folder: &&str| path.starts_with(*folder);
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

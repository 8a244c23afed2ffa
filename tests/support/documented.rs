//! Whether a server answered as its document says: it logs where it did not.

/// What a server logs where an answer is not as its document describes it (`src/server/finish.rs`).
pub(crate) const UNDOCUMENTED: &str = "an answer is not as the document describes it";

/// Looks through the log of a server that has ended, for the test that drops it: a failed test shows the
/// end, and no test passes whose server gave answers that its document does not describe.
pub(crate) fn look_through(log: &str) {
    if std::thread::panicking() {
        let lines: Vec<&str> = log.lines().collect();
        let last = &lines[lines.len().saturating_sub(30)..];
        eprintln!("the server's log ends with:\n{}", last.join("\n"));
        return;
    }
    let found = log.lines().find(|line| line.contains(UNDOCUMENTED));
    assert_eq!(found, None, "the document does not tell the truth");
}

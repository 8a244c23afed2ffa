//! Checks that a server's answers were as its document states: the server logs those that were not.

/// The server's log message for an answer that contradicts its document (`src/server/response.rs`).
pub(crate) const UNDOCUMENTED: &str = "an answer is not as the document describes it";

/// Examines the log of a server that has ended, for the test that drops it. A failed test shows the log's end; a test
/// whose server gave undocumented answers fails.
pub(crate) fn look_through(log: &str) {
    if std::thread::panicking() {
        eprintln!("the server's log ends with:\n{}", tail(log));
        return;
    }
    let found = log.lines().find(|line| line.contains(UNDOCUMENTED));
    assert_eq!(found, None, "the document does not tell the truth");
}

/// The last lines of a log.
pub(crate) fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}

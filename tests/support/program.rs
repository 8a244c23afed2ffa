//! The program that these tests run: the one that was built with them, or the one that `KEDGE_BIN` names.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `named` (an absolute path), or `built` if there is none.
pub(crate) fn chosen(named: Option<OsString>, built: &Path) -> PathBuf {
    let Some(named) = named else {
        return built.to_owned();
    };
    let program = PathBuf::from(named);
    let shown = program.display();
    assert!(
        program.is_absolute(),
        "KEDGE_BIN must be an absolute path, not {shown:?}"
    );
    assert!(
        program.is_file(),
        "KEDGE_BIN names {shown}, and there is no such file"
    );
    program
}

/// A command of the program. Nothing of the caller's own settings reaches it.
pub(crate) fn kedge() -> Command {
    let built = Path::new(env!("CARGO_BIN_EXE_kedge"));
    let mut command = Command::new(chosen(std::env::var_os("KEDGE_BIN"), built));
    let ours = |name: &OsString| name.to_string_lossy().starts_with("KEDGE_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| ours(name)) {
        command.env_remove(name);
    }
    command
}

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

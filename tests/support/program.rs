//! The program under test: the one built with the tests, or the one that `KEDGE_BIN` names.

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

/// A command of the program that inherits no options from the caller's environment.
pub(crate) fn kedge() -> Command {
    let built = Path::new(env!("CARGO_BIN_EXE_kedge"));
    let mut command = Command::new(chosen(std::env::var_os("KEDGE_BIN"), built));
    let ours = |name: &OsString| name.to_string_lossy().starts_with("KEDGE_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| ours(name)) {
        command.env_remove(name);
    }
    command
}

//! Executable of the load harness; see the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    kedge_load::run()
}

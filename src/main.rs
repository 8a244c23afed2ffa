//! The `kedge` program: the server and the tools around it.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}

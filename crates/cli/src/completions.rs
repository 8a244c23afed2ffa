//! `kedge completions` and `kedge man`: shell completions and manual pages, generated from the command line's
//! definition.

use std::path::PathBuf;

use clap::Command;
use clap_complete::Shell;

use super::output::{CliResult, CommandFailure, print};

#[derive(clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

#[derive(clap::Args)]
pub(crate) struct ManArgs {
    /// The directory for the pages; it is created if it is missing.
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
}

pub(crate) fn run(args: &CompletionsArgs, mut program: Command) -> CliResult<()> {
    let name = program.get_name().to_owned();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, name, &mut script);
    print(&String::from_utf8(script)?)
}

/// Writes a page for the program and each of its visible commands.
pub(crate) fn man(args: &ManArgs, program: Command) -> CliResult<()> {
    std::fs::create_dir_all(&args.to)
        .and_then(|()| clap_mangen::generate_to(program, &args.to))
        .map_err(CommandFailure::at(&args.to))
}

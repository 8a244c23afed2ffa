//! `kedge init`: writes a commented configuration from the server's table of options.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use kedge_config::commented_toml;

use super::output::{CliResult, CommandFailure, print, print_line};

#[derive(clap::Args)]
pub(crate) struct InitArgs {
    /// The file to write; - for standard output.
    #[arg(default_value = "kedge.toml")]
    file: PathBuf,
    /// Overwrite an existing file.
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &InitArgs) -> CliResult<()> {
    let text = commented_toml();
    if args.file == Path::new("-") {
        return print(&text);
    }
    let mut options = OpenOptions::new();
    options.write(true);
    if args.force {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    let name = args.file.display();
    options
        .open(&args.file)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                CommandFailure::Refused(format!("{name} exists; --force overwrites it"))
            }
            _ => CommandFailure::Refused(format!("{name}: {error}")),
        })?;
    print_line(format_args!(
        "{name} written; start the server with: kedge serve --config {name}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_exists_is_kept_unless_forced() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("kedge.toml");
        let args = |force| InitArgs {
            file: file.clone(),
            force,
        };
        run(&args(false)).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), commented_toml());
        std::fs::write(&file, "mine").unwrap();
        assert_eq!(run(&args(false)).unwrap_err().code(), 1);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
        run(&args(true)).unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), commented_toml());
    }
}

//! `kedge backup` and `kedge restore`.

use std::path::{Path, PathBuf};

use kedge::backup::{self, BackupError, List};
use kedge::files;
use kedge::start::make_private_from_now_on;
use kedge::verify::{Checks, Summary, Verifier};
use kedge_storage::{HighWater, Mark};
use serde_json::json;

use super::admin;
use super::output::{Failure, columns, print, print_json};

#[derive(clap::Args)]
pub(crate) struct BackupArgs {
    /// Where the backup goes: a directory that is not there yet, outside the data directory.
    dir: PathBuf,
    #[command(flatten)]
    socket: admin::SocketArgs,
}

#[derive(clap::Args)]
pub(crate) struct RestoreArgs {
    /// The backup.
    backup: PathBuf,
    /// Where the data directory goes; it must not be there, or be empty.
    #[arg(long, value_name = "DIR", default_value = "data")]
    data: PathBuf,
    /// The server's high-water mark (its option high_water_path); <data>.high-water where it has none.
    #[arg(long, value_name = "PATH")]
    high_water_path: Option<PathBuf>,
    /// Print what was restored as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: BackupArgs) -> Result<(), Failure> {
    make_private_from_now_on();
    let dir = std::path::absolute(&args.dir).map_err(Failure::usage)?;
    admin::backup(&args.socket.socket, &dir).await?;
    let checked = backup::list(&dir)
        .map_err(Failure::refused)
        .and_then(|list| {
            backup::check(&dir, &list).map_err(Failure::refused)?;
            let scratch = tempfile::tempdir().map_err(Failure::refused)?;
            let store = scratch.path().join("store");
            let summary = verify(&backup::data(&dir), &store, &list)?;
            Ok((list, summary))
        });
    let (list, summary) = checked.map_err(|failure| {
        let (message, dir) = (failure.message(), dir.display());
        Failure::refused(format!(
            "{message}\n  the backup in {dir} does not hold and is not to be kept"
        ))
    })?;
    report(&dir, &list, &summary, None, args.socket.json)
}

pub(crate) fn restore(args: &RestoreArgs) -> Result<(), Failure> {
    make_private_from_now_on();
    let list = backup::list(&args.backup).map_err(Failure::refused)?;
    let mut summary = None;
    backup::restore(&args.backup, &list, &args.data, |made| {
        summary = Some(verify(made, &made.join("store"), &list)?);
        Ok::<_, Failure>(())
    })?;
    let mark = args.high_water_path.clone().unwrap_or_else(|| {
        let mut path = args.data.components().as_path().as_os_str().to_owned();
        path.push(".high-water");
        path.into()
    });
    let next = next(&mark, &list);
    let summary = summary.unwrap_or_default();
    report(&args.data, &list, &summary, Some(next), args.json)
}

impl From<BackupError> for Failure {
    fn from(error: BackupError) -> Self {
        Self::refused(error)
    }
}

/// Makes the rows of a data directory from its log, in `store`, and checks the log, the rules and the contents of files.
fn verify(data: &Path, store: &Path, list: &List) -> Result<Summary, Failure> {
    let verifier = Verifier::derive(data, store, list.domain, list.sequencer);
    let verifier = verifier.map_err(Failure::refused)?;
    let summary = verifier
        .check(Checks::Signatures, |_| ())
        .map_err(Failure::refused)?;
    let mut wrong = Vec::new();
    let folder = data.join(files::FOLDER);
    let found = verifier.contents(&folder, |file, what| {
        wrong.push(format!("file {} ({:?}): {what}", file.id, file.name));
    });
    found.map_err(Failure::refused)?;
    if summary.batches != list.batches {
        wrong.push(format!(
            "it holds {} batches, and its list names {}",
            summary.batches, list.batches
        ));
    }
    match wrong.first() {
        Some(first) => Err(Failure::refused(first)),
        None => Ok(summary),
    }
}

/// What a start with the restored directory will do.
fn next(mark: &Path, list: &List) -> String {
    let path = mark.display();
    let batches = list.batches;
    match HighWater::read(mark) {
        Mark::Released(released) if released.batches > batches => format!(
            "it opens read-only: the mark {path} says that the headers of {} batches were let out, and the backup holds {batches}",
            released.batches
        ),
        Mark::Released(_) => {
            format!("the mark {path} names no batch beyond the backup's {batches}")
        }
        Mark::Missing | Mark::Unreadable(_) => format!(
            "it opens read-only: no mark in {path} says how far headers were let out. Put the mark of the lost server there, if there is one; docs/OPERATIONS.md says what else there is"
        ),
    }
}

fn report(
    dir: &Path,
    list: &List,
    summary: &Summary,
    next: Option<String>,
    as_json: bool,
) -> Result<(), Failure> {
    if as_json {
        return print_json(&json!({
            "directory": dir,
            "batches": list.batches,
            "sequence": list.sequence,
            "head": list.head,
            "actions": summary.actions,
            "made_at_ms": list.made_at_ms,
            "next": next,
        }));
    }
    let mut rows = vec![
        ("directory", dir.display().to_string()),
        ("checked", "every file, hash and signature".to_owned()),
        ("batches", list.batches.to_string()),
        ("sequence", list.sequence.to_string()),
        ("head", list.head.to_string()),
    ];
    if let Some(next) = next {
        rows.push(("at the next start", next));
    }
    print(&columns(&rows))
}

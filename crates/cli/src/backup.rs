//! `kedge backup` and `kedge restore`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kedge_log::LogReader;
use kedge_log::env::RealEnv;
use kedge_log::verify::LogVerifyPlan;
use kedge_protocol::time::{parse_rfc3339, rfc3339};
use kedge_storage::CONTENTS_FOLDER;
use kedge_storage::{HighWater, HighWaterMark};
use kedge_upkeep::archive::{self, ArchiveRecord, LocalArchive};
use kedge_upkeep::backup::{self, BackupManifest, RestorePoint};
use kedge_upkeep::bounds::MemoryBounds;
use kedge_upkeep::private_files::make_private_from_now_on;
use kedge_upkeep::side_keys;
use kedge_upkeep::verify::{StoreCheckLevel, StoreVerifier, StoreVerifySummary};
use serde_json::{Value, json};

use super::admin;

use super::output::{CliResult, CommandFailure, columns, print, print_json, progress_bar, refuse};
use super::verify::bounds::BoundsArgs;

/// Bytes of cached decompressed blocks: a check reads each block once.
const CACHE_BYTES: u64 = 16 * 1024 * 1024;

#[derive(clap::Args)]
pub(crate) struct BackupArgs {
    /// The backup's directory; it must not exist yet and must lie outside the data directory.
    dir: PathBuf,
    /// An older backup of the same server. Files that never change are linked from there, or copied if the file systems
    /// differ; the new backup is complete by itself.
    #[arg(long, value_name = "OLDER_BACKUP")]
    since: Option<PathBuf>,
    #[command(flatten)]
    bounds: BoundsArgs,
    #[command(flatten)]
    socket: admin::SocketArgs,
}

#[derive(clap::Args)]
pub(crate) struct RestoreArgs {
    /// The backup.
    backup: PathBuf,
    /// The new data directory; it must be missing or empty.
    #[arg(long, value_name = "DIR", default_value = "data")]
    data: PathBuf,
    /// The server's high-water mark (its option high_water_path); <data>.high-water if it has none.
    #[arg(long, value_name = "PATH")]
    high_water_path: Option<PathBuf>,
    /// Leave out everything after this sequence. The log is cut between two commit groups: after the last one that ends
    /// at or before this sequence. The sequence of the cut is printed.
    #[arg(long, value_name = "N", conflicts_with = "to_time")]
    to_sequence: Option<u64>,
    /// Leave out everything after this time, such as 2026-01-31T08:15:00Z. The log is cut after the last commit group
    /// whose batches were all sealed at or before this time. The sequence of the cut is printed.
    #[arg(long, value_name = "T", value_parser = parse_time)]
    to_time: Option<u64>,
    /// The archive's directory, if segments of the log were archived before the backup was made: the rows cannot be
    /// rebuilt without them.
    #[arg(long, value_name = "DIR")]
    archive: Option<PathBuf>,
    #[command(flatten)]
    bounds: BoundsArgs,
    /// Print what was restored as JSON.
    #[arg(long)]
    json: bool,
}

fn parse_time(text: &str) -> Result<u64, String> {
    parse_rfc3339(text).ok_or_else(|| "the time must look like 2026-01-31T08:15:00Z".to_owned())
}

pub(crate) async fn run(args: BackupArgs) -> CliResult<()> {
    make_private_from_now_on();
    let dir = std::path::absolute(&args.dir).map_err(CommandFailure::usage)?;
    let since = args.since.map(std::path::absolute).transpose();
    let since = since.map_err(CommandFailure::usage)?;
    let command = json!({ "command": "backup", "directory": dir, "since": since });
    // Before copying: a failure here says nothing about the backup.
    let bounds = args.bounds.bounds();
    let scratch = bounds.folder()?;
    let answer = admin::ask_to_copy(&args.socket.socket, &command).await?;
    let checked = backup::list(&dir)
        .map_err(CommandFailure::refused)
        .and_then(|list| {
            backup::check(&dir, &list)?;
            let data = backup::data(&dir);
            let record = ArchiveRecord::read(&data.join("log"))?;
            if record.missing(&data.join("log")).is_empty() {
                let summary = verify(&data, &scratch.path().join("store"), &list, bounds)?;
                return Ok((list, summary, None));
            }
            let summary = verify_rest(&data, &list, &record)?;
            Ok((list, summary, Some(record.places())))
        });
    let (list, summary, archive) = checked.map_err(|failure| {
        let (message, dir) = (failure.message(), dir.display());
        if message.contains(&scratch.path().display().to_string()) {
            return CommandFailure::refused(format!(
                "{message}\n  the backup in {dir} could not be checked: it may be whole. Name a directory with room (--scratch), \
                 and check it with kedge restore"
            ));
        }
        let hint = since.map_or_else(String::new, |since| {
            let since = since.display();
            format!(
                "\n  if the file was linked from {since}, that backup is damaged too: make a new one without --since"
            )
        });
        CommandFailure::refused(format!(
            "{message}\n  the backup in {dir} is not valid; do not keep it{hint}"
        ))
    })?;
    let bytes = |member| answer.get(member).and_then(Value::as_u64);
    let sizes = bytes("bytes").zip(bytes("new_bytes"));
    let more = BackupReportExtra {
        sizes,
        archive,
        ..BackupReportExtra::default()
    };
    report(&dir, &list, &summary, more, args.socket.json)
}

pub(crate) fn restore(args: &RestoreArgs) -> CliResult<()> {
    make_private_from_now_on();
    let list = backup::list(&args.backup)?;
    let cut_to = args.to_sequence.map(RestorePoint::Sequence);
    let cut_to = cut_to.or(args.to_time.map(RestorePoint::Time));
    let mut restored = list.clone();
    let (mut summary, mut left_out) = (None, None);
    backup::restore(&args.backup, &list, &args.data, |made| {
        bring_back(&made.join("log"), args.archive.as_deref())?;
        left_out = cut_to.map(|to| restored.cut(made, to)).transpose()?;
        let bounds = args.bounds.bounds();
        summary = Some(verify(made, &made.join("store"), &restored, bounds)?);
        Ok::<_, CommandFailure>(())
    })?;
    let mark = args.high_water_path.clone().unwrap_or_else(|| {
        let mut path = args.data.components().as_path().as_os_str().to_owned();
        path.push(".high-water");
        path.into()
    });
    let more = BackupReportExtra {
        next: Some(next(&mark, &restored)),
        left_out,
        ..BackupReportExtra::default()
    };
    let summary = summary.unwrap_or_default();
    report(&args.data, &restored, &summary, more, args.json)
}

/// Copies a restored log's archived segments back, if there are any.
fn bring_back(log: &Path, archive: Option<&Path>) -> CliResult<()> {
    let record = ArchiveRecord::read(log)?;
    let Some(last) = record.missing(log).last().map(|last| last.last_sequence) else {
        return Ok(());
    };
    match archive {
        Some(directory) => {
            archive::put_back(log, &LocalArchive::of(directory)).map_err(CommandFailure::refused)
        }
        None => refuse(format!(
            "sequences up to {last} are not part of the backup: they were archived in {}. Name that directory with --archive",
            record.places()
        )),
    }
}

/// Checks the segments of a partly archived log, from which no rows can be built. Their side entries must open with the
/// available keys.
fn verify_rest(
    data: &Path,
    list: &BackupManifest,
    record: &ArchiveRecord,
) -> CliResult<StoreVerifySummary> {
    let log = &data.join("log");
    let identity = Some(list.domain.separator());
    let (reader, _) = LogReader::open(Arc::new(RealEnv), log, identity, CACHE_BYTES)?;
    let side_keys = side_keys::read(&data.join("keys"))?;
    let plan = LogVerifyPlan {
        request_signatures: true,
        side_keys: Some(side_keys),
        ..LogVerifyPlan::default()
    };
    let found = kedge_log::verify::verify(&reader, &plan, |_| ())?;
    let archived = record.segments.iter().map(|segment| segment.last_sequence);
    let first = reader.first_sequence();
    if archived.max().is_none_or(|last| last + 1 < first) {
        return refuse(format!(
            "its log begins with sequence {first}, but its list of archived segments ends earlier"
        ));
    }
    let batches = reader.position().next_batch;
    if batches != list.batches {
        return refuse(format!(
            "it ends after {batches} batches, but its list names {}",
            list.batches
        ));
    }
    Ok(StoreVerifySummary {
        batches,
        requests: found.requests,
        actions: found.actions,
        ..StoreVerifySummary::default()
    })
}

/// Rebuilds a data directory's rows from its log in `store`, and checks the log, the rules and the contents of files.
fn verify(
    data: &Path,
    store: &Path,
    list: &BackupManifest,
    bounds: MemoryBounds,
) -> CliResult<StoreVerifySummary> {
    let bar = progress_bar("making the rows");
    bar.set_length(list.batches);
    let of = (list.domain, list.sequencer);
    let verifier = StoreVerifier::derive(data, store, of, bounds, |done| bar.set_position(done))?;
    bar.set_message("verifying");
    let summary = verifier.check(StoreCheckLevel::Signatures, |done| {
        bar.set_position(done.batches);
    })?;
    bar.finish_and_clear();
    let mut wrong = Vec::new();
    let folder = data.join(CONTENTS_FOLDER);
    let found = verifier.contents(&folder, |file, what| {
        wrong.push(format!("file {} ({:?}): {what}", file.id, file.name));
    });
    found?;
    if summary.batches != list.batches {
        wrong.push(format!(
            "it holds {} batches, but its list names {}",
            summary.batches, list.batches
        ));
    }
    match wrong.first() {
        Some(first) => refuse(first),
        None => Ok(summary),
    }
}

/// Describes the server's behaviour when started with the restored directory.
fn next(mark: &Path, list: &BackupManifest) -> String {
    let path = mark.display();
    let batches = list.batches;
    match HighWater::read(&RealEnv, mark) {
        HighWaterMark::Released(released) if released.batches > batches => format!(
            "it opens read-only: by the mark {path} the headers of {} batches were released, and the directory holds {batches}",
            released.batches
        ),
        HighWaterMark::Released(_) => {
            format!("the mark {path} names no batch beyond the directory's {batches}")
        }
        HighWaterMark::Missing | HighWaterMark::Unreadable(_) => format!(
            "it opens read-only: there is no mark in {path} to show how far headers were released. \
             Put the lost server's mark there if you have it; docs/operations/backup.md \
             lists the alternatives"
        ),
    }
}

/// Report fields that only one of the two commands has.
#[derive(Default)]
struct BackupReportExtra {
    /// Bytes of a backup, and the new ones among them.
    sizes: Option<(u64, u64)>,
    /// Archive of the segments missing from a backup.
    archive: Option<String>,
    /// Number of actions dropped by a cut.
    left_out: Option<u64>,
    /// Description of the server's next start.
    next: Option<String>,
}

fn report(
    dir: &Path,
    list: &BackupManifest,
    summary: &StoreVerifySummary,
    more: BackupReportExtra,
    as_json: bool,
) -> CliResult<()> {
    if as_json {
        return print_json(&json!({
            "directory": dir,
            "batches": list.batches,
            "sequence": list.sequence,
            "head": list.head,
            "actions": summary.actions,
            "made_at_ms": list.made_at_ms,
            "bytes": more.sizes.map(|(bytes, _)| bytes),
            "new_bytes": more.sizes.map(|(_, new)| new),
            "archived_in": more.archive,
            "actions_left_out": more.left_out,
            "next": more.next,
        }));
    }
    let checked = match more.archive {
        None => "every file, hash and signature",
        Some(_) => "every file, and every hash and signature that is not archived",
    };
    let mut rows = vec![
        ("directory", dir.display().to_string()),
        ("checked", checked.to_owned()),
        ("made at", rfc3339(list.made_at_ms)),
        ("batches", list.batches.to_string()),
        ("sequence", list.sequence.to_string()),
        ("head", list.head.to_string()),
    ];
    if let Some((bytes, new)) = more.sizes {
        rows.push(("bytes", bytes.to_string()));
        rows.push(("of these new", new.to_string()));
    }
    if let Some(archive) = more.archive {
        rows.push(("archived in", archive));
    }
    if let Some(left_out) = more.left_out {
        rows.push(("actions left out", left_out.to_string()));
    }
    if let Some(next) = more.next {
        rows.push(("at the next start", next));
    }
    print(&columns(&rows))
}

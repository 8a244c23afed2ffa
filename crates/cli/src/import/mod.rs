//! `kedge import`: mints objects from existing records in NDJSON, CSV or a QLDB export.
//!
//! The input is read twice. The first pass checks every record with the server's rules; the second sends the records in
//! signed batches. The progress file gets a batch's signing parameters before it is sent, and its records' outcomes
//! after the answer. So a killed run continues where it ended, and no record is minted twice
//! ([`kedge_client::OnceBatch`]).

mod access;
mod args;
mod batches;
mod check;
mod confirmation;
mod csv;
mod csv_types;
mod format_detection;
mod input;
mod journal;
mod progress;
mod qldb;
mod records;
mod rejections;
mod report;
mod send;
mod shape;

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::output::{CliResult, print, print_json, refuse, refuse_usage};
use args::ImportErrorPolicy;
use check::ImportTemplateRules;
use input::ImportInput;
use progress::{ImportProgress, ImportProgressHeader};
use records::ImportRecordReader;
use rejections::RejectionLog;
use report::ImportReport;
use shape::RecordShape;

pub(crate) use args::ImportArgs;

/// Path of the input's progress file.
fn progress_path(args: &ImportArgs) -> CliResult<PathBuf> {
    if let Some(path) = &args.progress {
        return Ok(path.clone());
    }
    if args.file == Path::new("-") {
        let why = "option --progress: name a file, because standard input has no name";
        return refuse_usage(why);
    }
    let mut path = args.file.clone().into_os_string();
    path.push(".kedge-import");
    Ok(path.into())
}

/// Rejects options that would overwrite the input.
fn spares_input(args: &ImportArgs) -> CliResult<()> {
    let outputs = [
        ("--rejected", &args.rejected),
        ("--progress", &args.progress),
        ("--objects", &args.objects),
        ("--report", &args.report),
    ];
    let real = |path: &PathBuf| std::fs::canonicalize(path).ok();
    for (option, path) in outputs {
        let path = path.as_ref().and_then(real);
        if path.is_some() && path == real(&args.file) {
            let why = format!("option {option}: names the input; name another file");
            return refuse_usage(why);
        }
    }
    Ok(())
}

pub(crate) async fn run(args: ImportArgs) -> CliResult<()> {
    let path = progress_path(&args)?;
    spares_input(&args)?;
    if args.on_error == ImportErrorPolicy::Skip && args.rejected.is_none() && !args.consent.check {
        let why = "option --rejected: name a file for the records that --on-error skip leaves out";
        return refuse_usage(why);
    }
    let key = args.key_args.read()?;
    let shape = RecordShape::new(&args)?;
    let input = ImportInput::open(&args, &path)?;
    format_detection::check(&input, &args)?;
    let account = args.access.account(&args.url, key).await?;
    let rules =
        ImportTemplateRules::fetch(&account, args.template, args.variation.is_some()).await?;
    let reader = ImportRecordReader {
        input: &input,
        shape: &shape,
        rules: &rules,
    };

    let mut rejected = RejectionLog::create(args.rejected.as_deref(), &input)?;
    let checked = check::check(&reader, &mut rejected)?;
    let mut report = ImportReport::new(&args, &input, &checked);
    let stops = args.on_error == ImportErrorPolicy::Stop && rejected.count() > 0;
    if !stops {
        confirmation::confirm(&args, &checked, rejected.count(), &path)?;
    }
    if args.consent.check {
        return end(&args, report, rejected, None);
    }
    let header = ImportProgressHeader::new(&args, &input, &shape, &checked, &account)?;
    let mut progress = ImportProgress::open(&path, &header)?;
    report.resumes(&progress);
    if stops {
        let why = "records are not valid, so none was sent; --on-error skip imports the others";
        return end(&args, report, rejected, Some(why.to_owned()));
    }
    let sending = send::ImportSender {
        account,
        template: args.template,
        records_max: args.batch_size,
        batches_max: usize::from(args.in_flight),
        deadline_ahead: Duration::from_secs(args.deadline),
        patience: Duration::from_secs(args.patience),
        stops: args.on_error == ImportErrorPolicy::Stop,
    };
    let why = sending
        .run(&reader, &checked, &mut progress, &mut rejected)
        .await?;
    report.ended(&progress);
    if let Some(objects) = &args.objects {
        report::write_objects(objects, &path)?;
    }
    end(&args, report, rejected, why)
}

/// Prints the report; fails if any record is missing.
fn end(
    args: &ImportArgs,
    mut report: ImportReport,
    mut rejected: RejectionLog,
    why: Option<String>,
) -> CliResult<()> {
    rejected.finish()?;
    report.rejects(&rejected);
    if let Some(path) = &args.report {
        report.write(path)?;
    }
    if args.json {
        print_json(&report)?;
    } else {
        print(&report.as_text())?;
    }
    match why.or_else(|| report.missing()) {
        None => Ok(()),
        Some(why) => refuse(why),
    }
}

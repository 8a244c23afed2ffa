//! `kedge verify log`: checks a log's segments without the store.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use kedge_config::secrets;
use kedge_log::env::RealEnv;
use kedge_log::verify::{LogVerifyPlan, LogVerifySummary};
use kedge_log::{KeyId, LogReader, SideKeys};
use kedge_protocol::{KeyActivation, SequencerKeys};
use kedge_upkeep::bounds::MemoryBounds;
use kedge_upkeep::fold::LogFold;
use serde_json::json;

use super::super::output::{CliResult, CommandFailure, print_error, progress_bar};
use super::super::trust::TrustArgs;
use super::bounds::BoundsArgs;
use super::rows::{VerifyRows, report};

/// Bytes of cached decompressed blocks: a check reads each block once.
const CACHE_BYTES: u64 = 16 * 1024 * 1024;

#[derive(clap::Args)]
pub(crate) struct VerifyLogArgs {
    /// The directory of the segments, `data/log` of a server. The server may be running.
    dir: PathBuf,
    /// Also check the signature of every request, not only those of batches.
    #[arg(long)]
    signatures: bool,
    /// A key that opens side entries, with its number in the segments; repeat for each key. With keys the log is folded
    /// under the rules, and the root of the state in every signed checkpoint is compared.
    #[arg(long, value_name = "ID:FILE", value_parser = parse_key)]
    key: Vec<(KeyId, PathBuf)>,
    #[command(flatten)]
    bounds: BoundsArgs,
    #[command(flatten)]
    trust: TrustArgs,
    /// Print what was checked as JSON.
    #[arg(long)]
    json: bool,
}

/// Parses `ID:FILE`.
fn parse_key(text: &str) -> Result<(KeyId, PathBuf), String> {
    let (id, file) = text
        .split_once(':')
        .ok_or("must be a number, a colon and a file, such as 1:keys/log.key")?;
    let id = id.parse().map_err(|_| "the key's id must be a number")?;
    Ok((id, PathBuf::from(file)))
}

pub(crate) async fn run(args: VerifyLogArgs) -> CliResult<()> {
    let mut side_keys = None;
    for (id, file) in &args.key {
        let key = secrets::read_32(file).map_err(CommandFailure::usage)?;
        side_keys.get_or_insert_with(SideKeys::none).add(*id, key);
    }
    let (identity, keys) = if args.trust.is_given() {
        let (domain, keys) = args.trust.resolve().await?.of_log().await?;
        (Some(domain.separator()), Some(keys))
    } else {
        (None, None)
    };
    let (reader, recovery) = LogReader::open(Arc::new(RealEnv), &args.dir, identity, CACHE_BYTES)?;
    if let Some(torn) = &recovery.torn {
        print_error(&format!(
            "{}: frame {} at byte {} is torn ({} bytes): it is being written, or the next start will cut it off",
            torn.segment.display(),
            torn.frame,
            torn.offset,
            torn.bytes
        ));
    }
    let plan = LogVerifyPlan {
        keys,
        request_signatures: args.signatures,
        side_keys,
    };
    let (summary, actions_per_s) = check(&reader, &plan)?;
    let roots = check_roots(&args.dir, args.bounds.bounds(), &plan, &summary)?;
    let rows = rows(&plan, &reader, &summary, (actions_per_s, roots));
    report(&rows, args.json)
}

/// Compares the roots of the state in signed checkpoints with a fold of the log. Returns how many there are; `None` if
/// they cannot be read or made.
fn check_roots(
    dir: &Path,
    bounds: MemoryBounds,
    plan: &LogVerifyPlan,
    summary: &LogVerifySummary,
) -> CliResult<Option<u64>> {
    let Some(side_keys) = plan.side_keys.clone().filter(|_| summary.histories) else {
        return Ok(None);
    };
    let signers = summary.signers.iter().map(|(batch, signer)| KeyActivation {
        key: *signer,
        from_batch: *batch,
    });
    let signers: Vec<KeyActivation> = signers.collect();
    if signers.is_empty() {
        return Ok(Some(0));
    }
    let keys = SequencerKeys::new(signers)?;
    let fold = LogFold::open(dir, None, side_keys, bounds)?;
    let checkpoints = fold.checkpoints()?;
    let bar = progress_bar("folding");
    bar.set_length(fold.batches());
    let roots = fold.verify_roots(&checkpoints, &keys, |batches| bar.set_position(batches))?;
    bar.finish_and_clear();
    Ok(Some(roots))
}

/// Checks the log; also returns its speed in actions per second.
fn check(reader: &LogReader, plan: &LogVerifyPlan) -> CliResult<(LogVerifySummary, u64)> {
    let bar = ProgressBar::new(reader.position().next_sequence - 1).with_message("verifying");
    if let Ok(style) = ProgressStyle::with_template("{msg} {bar:40} sequence {pos} of {len} {eta}")
    {
        bar.set_style(style);
    }
    let started = Instant::now();
    let summary = kedge_log::verify::verify(reader, plan, |sequence| bar.set_position(sequence))?;
    bar.finish_and_clear();
    let actions_per_s = summary.actions as f64 / started.elapsed().as_secs_f64();
    Ok((summary, actions_per_s as u64))
}

fn rows(
    plan: &LogVerifyPlan,
    reader: &LogReader,
    summary: &LogVerifySummary,
    (actions_per_s, roots): (u64, Option<u64>),
) -> VerifyRows {
    let mut unchecked = Vec::new();
    if !plan.request_signatures {
        unchecked.push("signatures of requests");
    }
    if roots.is_none_or(|roots| roots == 0) {
        unchecked.push("the rules and the state");
    }
    if plan.keys.is_none() {
        unchecked.push("whether the signers are to be trusted");
    }
    if !summary.histories {
        unchecked.push("histories, because older segments are missing");
    }
    if plan.side_keys.is_none() {
        unchecked.push("what side entries hold");
    }
    let not_checked = match unchecked.as_slice() {
        [] => "nothing".to_owned(),
        unchecked => unchecked.join(", "),
    };
    let signers = summary.signers.iter().map(|(batch, signer)| match batch {
        0 => signer.to_string(),
        from => format!("{signer} from batch {from} on"),
    });
    let sealed_under: Vec<String> = summary.side_keys.iter().map(KeyId::to_string).collect();
    let sealed_under = match sealed_under.len() {
        0 => "no key".to_owned(),
        1 => format!("key {}", sealed_under[0]),
        _ => format!("keys {}", sealed_under.join(", ")),
    };
    let mut rows = vec![
        ("valid", json!(true)),
        ("not checked", json!(not_checked)),
        ("log", json!(reader.identity())),
        ("first frame", json!(reader.first_frame())),
        ("frames", json!(summary.frames)),
        ("batches", json!(summary.batches)),
        ("requests", json!(summary.requests)),
        ("actions", json!(summary.actions)),
        (
            "key additions without consent",
            json!(summary.additions_without_consent),
        ),
        ("actions per s", json!(actions_per_s)),
        ("side entries", json!(summary.side_entries)),
        ("sealed under", json!(sealed_under)),
        ("signed by", json!(signers.collect::<Vec<_>>().join(", "))),
        ("last frame", json!(reader.position().frame)),
        ("hash", json!(reader.position().hash)),
    ];
    if let Some(roots) = roots {
        rows.push(("roots of the state", json!(roots)));
    }
    rows
}

//! `kedge rebuild`: a store made again from its log.

use std::path::PathBuf;

use indicatif::{ProgressBar, ProgressStyle};
use kedge::rebuild::{Rebuilt, rebuild};
use kedge::start::make_private_from_now_on;
use kedge_storage::Table;
use serde_json::json;

use super::output::{Failure, columns, print, print_json};
use super::trust::TrustArgs;
use super::verify::data::development;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The data directory of a server that is stopped.
    dir: PathBuf,
    /// A development server's directory: take its contract and its key from the directory itself.
    #[arg(long, conflicts_with_all = ["url", "domain", "sequencer", "rpc"])]
    dev: bool,
    /// Let a table go that the log does not explain and that cannot be read; may be given again.
    #[arg(long, value_name = "TABLE")]
    discard: Vec<String>,
    #[command(flatten)]
    trust: TrustArgs,
    /// Print what was done as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    make_private_from_now_on();
    // The log itself names the keys after the first one.
    let (domain, first_key) = if args.dev {
        development(&args.dir)?
    } else {
        let (domain, keys) = args.trust.resolve().await?.of_log().await?;
        (domain, keys.first())
    };
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{msg} {bar:40} batch {pos} of {len} {eta}") {
        bar.set_style(style);
    }
    let rebuilt = rebuild(&args.dir, domain, first_key, &args.discard, |what, at| {
        bar.set_message(what);
        bar.set_length(at.batches_total);
        bar.set_position(at.batches);
    });
    bar.finish_and_clear();
    report(&rebuilt.map_err(Failure::refused)?, args.json)
}

fn names(tables: impl Iterator<Item = Table>) -> Vec<&'static str> {
    tables.map(Table::name).collect()
}

fn report(rebuilt: &Rebuilt, as_json: bool) -> Result<(), Failure> {
    let Rebuilt {
        summary,
        kept,
        discarded,
        damaged,
    } = rebuilt;
    let made = names(Table::DERIVED.iter().copied());
    let discarded = names(discarded.iter().copied());
    if as_json {
        let kept: serde_json::Map<_, _> = kept
            .iter()
            .map(|(table, rows)| (table.name().to_owned(), json!(rows)))
            .collect();
        return print_json(&json!({
            "valid": true,
            "batches": summary.batches,
            "requests": summary.requests,
            "actions": summary.actions,
            "resources": summary.resources,
            "made": made,
            "kept": kept,
            "discarded": discarded,
            "damaged": damaged,
        }));
    }
    let kept: Vec<String> = kept
        .iter()
        .map(|(table, rows)| format!("{} ({rows})", table.name()))
        .collect();
    let or_none = |text: String| {
        if text.is_empty() {
            "-".to_owned()
        } else {
            text
        }
    };
    print(&columns(&[
        (
            "valid",
            "yes: the new store was verified, its state too".to_owned(),
        ),
        ("batches", summary.batches.to_string()),
        ("actions", summary.actions.to_string()),
        ("resources", summary.resources.to_string()),
        ("made from the log", made.join(", ")),
        ("kept, with rows", kept.join(", ")),
        ("discarded", or_none(discarded.join(", "))),
        ("the damaged store", damaged.display().to_string()),
    ]))
}

//! `kedge rebuild`: rebuilds a store from its log.

use std::path::PathBuf;

use kedge_upkeep::private_files::make_private_from_now_on;
use kedge_upkeep::rebuild::{RebuildSummary, rebuild};
use serde_json::json;

use super::output::{CliResult, columns, print, print_json, progress_bar};
use super::trust::TrustArgs;
use super::verify::bounds::MemoryArg;
use super::verify::data::development;

#[derive(clap::Args)]
pub(crate) struct RebuildArgs {
    /// The data directory of a stopped server.
    dir: PathBuf,
    /// A development server's directory: read its contract and its key from the directory itself.
    #[arg(long, conflicts_with_all = ["url", "domain", "sequencer", "rpc"])]
    dev: bool,
    #[command(flatten)]
    memory: MemoryArg,
    #[command(flatten)]
    trust: TrustArgs,
    /// Print what was done as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: RebuildArgs) -> CliResult<()> {
    make_private_from_now_on();
    // The log names all keys after the first.
    let (domain, first_key) = if args.dev {
        development(&args.dir)?
    } else {
        let (domain, keys) = args.trust.resolve().await?.of_log().await?;
        (domain, keys.first())
    };
    let bar = progress_bar("making");
    let bounds = args.memory.bounds();
    let rebuilt = rebuild(&args.dir, (domain, first_key), &bounds, |what, at| {
        bar.set_message(what);
        bar.set_length(at.batches_total);
        bar.set_position(at.batches);
    });
    bar.finish_and_clear();
    report(&rebuilt?, args.json)
}

fn report(rebuilt: &RebuildSummary, as_json: bool) -> CliResult<()> {
    let RebuildSummary { summary, damaged } = rebuilt;
    if as_json {
        return print_json(&json!({
            "valid": true,
            "batches": summary.batches,
            "requests": summary.requests,
            "actions": summary.actions,
            "resources": summary.resources,
            "damaged": damaged,
        }));
    }
    print(&columns(&[
        (
            "valid",
            "yes: the new store and its state were verified".to_owned(),
        ),
        ("batches", summary.batches.to_string()),
        ("actions", summary.actions.to_string()),
        ("resources", summary.resources.to_string()),
        ("the damaged store", damaged.display().to_string()),
    ]))
}

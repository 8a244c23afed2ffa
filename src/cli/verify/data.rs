//! `kedge verify data`: a whole data directory, replayed.

use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressStyle};
use kedge::config::secrets;
use kedge::{files, verify};
use kedge_chain::embedded::DEFAULT_CHAIN_ID;
use kedge_protocol::Address;
use kedge_protocol::eip712::Domain;
use kedge_protocol::signature::SigningKey;

use super::super::output::{Failure, columns, print, print_error, print_json};
use super::super::trust::TrustArgs;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// The data directory of a server that is stopped.
    dir: PathBuf,
    /// A development server's directory: take its contract and its key from the directory itself.
    ///
    /// That finds damage, but no forgery: whoever can write the directory can write both.
    #[arg(long, conflicts_with_all = ["url", "domain", "sequencer", "rpc"])]
    dev: bool,
    #[command(flatten)]
    trust: TrustArgs,
    /// Print what was checked as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args) -> Result<(), Failure> {
    let (domain, sequencer) = if args.dev {
        development(&args.dir)?
    } else {
        args.trust.resolve().await?.of_log().await?
    };
    let bar = ProgressBar::new(0).with_message("replaying");
    if let Ok(style) = ProgressStyle::with_template("{msg} {bar:40} batch {pos} of {len} {eta}") {
        bar.set_style(style);
    }
    let summary = verify::store(&args.dir.join("store"), domain, sequencer, |progress| {
        bar.set_length(progress.batches_total);
        bar.set_position(progress.batches);
    })
    .map_err(Failure::refused)?;
    bar.finish_and_clear();
    let mut wrong = 0u64;
    let trusted = (domain, sequencer);
    let folder = args.dir.join(files::FOLDER);
    let files = verify::contents(&args.dir.join("store"), &folder, trusted, |file, what| {
        wrong += 1;
        print_error(&format!("file {} ({:?}): {what}", file.id, file.name));
    })
    .map_err(Failure::refused)?;
    if wrong > 0 {
        return Err(Failure::refused(format!(
            "the log and the state hold, but {wrong} of {files} files are missing or damaged"
        )));
    }
    if args.json {
        return print_json(&serde_json::json!({
            "valid": true,
            "batches": summary.batches,
            "requests": summary.requests,
            "actions": summary.actions,
            "resources": summary.resources,
            "anchors": summary.anchors,
            "files": files,
        }));
    }
    print(&columns(&[
        (
            "valid",
            "yes: every hash and signature, and the state that a replay makes".to_owned(),
        ),
        ("batches", summary.batches.to_string()),
        ("requests", summary.requests.to_string()),
        ("actions", summary.actions.to_string()),
        ("resources", summary.resources.to_string()),
        ("anchors", summary.anchors.to_string()),
        ("files", files.to_string()),
        ("signed by", sequencer.to_string()),
    ]))
}

/// What a development server keeps beside its store.
fn development(dir: &Path) -> Result<(Domain, Address), Failure> {
    let file = dir.join("contract");
    let contract = std::fs::read_to_string(&file)
        .map_err(|error| Failure::usage(format!("{}: {error}", file.display())))?;
    let verifying_contract = contract
        .trim()
        .parse()
        .map_err(|error| Failure::refused(format!("{}: {error}", file.display())))?;
    let key = secrets::read_32(&dir.join("keys/sequencer.key")).map_err(Failure::usage)?;
    let key = SigningKey::from_bytes(&key).map_err(Failure::refused)?;
    let domain = Domain {
        chain_id: DEFAULT_CHAIN_ID,
        verifying_contract,
    };
    Ok((domain, key.address()))
}

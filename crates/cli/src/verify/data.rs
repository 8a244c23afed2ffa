//! `kedge verify data`: checks a whole data directory, and replays it on request.

use std::path::{Path, PathBuf};
use std::time::Instant;

use kedge_config::secrets;
use kedge_devchain::DEFAULT_CHAIN_ID;
use kedge_protocol::Address;
use kedge_protocol::eip712::Domain;
use kedge_protocol::signature::SigningKey;
use kedge_storage::CONTENTS_FOLDER;
use kedge_upkeep::verify::{StoreVerifier, StoreVerifySummary};

use super::super::output::{
    CliResult, CommandFailure, columns, print, print_error, print_json, progress_bar, refuse,
};
use super::super::trust::TrustArgs;
use super::bounds::BoundsArgs;

#[derive(clap::Args)]
pub(crate) struct VerifyDataArgs {
    /// The data directory of a stopped server.
    dir: PathBuf,
    /// A development server's directory: read its contract and its key from the directory itself.
    ///
    /// This detects damage but no forgery: anyone who can write the directory can change both.
    #[arg(long, conflicts_with_all = ["url", "domain", "sequencer", "rpc"])]
    dev: bool,
    /// How much to check; each level includes the ones before it.
    #[arg(long, value_enum, default_value_t)]
    checks: DataCheckLevel,
    #[command(flatten)]
    bounds: BoundsArgs,
    #[command(flatten)]
    trust: TrustArgs,
    /// Print what was checked as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Default, clap::ValueEnum)]
enum DataCheckLevel {
    /// Every hash, tree, chain and index of the log, the signatures of batches and anchors, and the
    /// contents of files.
    Hashes,
    /// Also the signature of every request.
    Signatures,
    /// Also the state: replaying the log under the rules must produce every row of it, and the root of the state in every
    /// signed checkpoint.
    #[default]
    State,
}

impl DataCheckLevel {
    fn of_library(self) -> kedge_upkeep::verify::StoreCheckLevel {
        match self {
            Self::Hashes => kedge_upkeep::verify::StoreCheckLevel::Hashes,
            Self::Signatures => kedge_upkeep::verify::StoreCheckLevel::Signatures,
            Self::State => kedge_upkeep::verify::StoreCheckLevel::State,
        }
    }

    /// The performed and the omitted checks.
    fn reported(self) -> [&'static str; 2] {
        match self {
            Self::Hashes => [
                "every hash of the log, the signatures of batches and anchors",
                "signatures of requests, the rules and the state",
            ],
            Self::Signatures => [
                "every hash and signature of the log",
                "the rules and the state",
            ],
            Self::State => [
                "every hash and signature of the log, and the state by replay",
                "nothing",
            ],
        }
    }
}

pub(crate) async fn run(args: VerifyDataArgs) -> CliResult<()> {
    let (domain, keys) = if args.dev {
        let (domain, first) = development(&args.dir)?;
        (domain, first.into())
    } else {
        args.trust.resolve().await?.of_log().await?
    };
    let (store, bounds) = (args.dir.join("store"), args.bounds.bounds());
    let verifier = StoreVerifier::open(&store, domain, keys, bounds)?;
    let (summary, actions_per_s) = check(&verifier, args.checks)?;
    let mut wrong = 0u64;
    let folder = args.dir.join(CONTENTS_FOLDER);
    let files = verifier.contents(&folder, |file, what| {
        wrong += 1;
        print_error(&format!("file {} ({:?}): {what}", file.id, file.name));
    })?;
    let [checked, not_checked] = args.checks.reported();
    if wrong > 0 {
        return refuse(format!(
            "{checked} are valid, but {wrong} of {files} files are missing or damaged"
        ));
    }
    if args.json {
        return print_json(&serde_json::json!({
            "valid": true,
            "checked": checked,
            "not_checked": not_checked,
            "batches": summary.batches,
            "requests": summary.requests,
            "actions": summary.actions,
            "actions_per_s": actions_per_s,
            "key_additions_without_consent": summary.additions_without_consent,
            "resources": summary.resources,
            "anchors": summary.anchors,
            "checkpoints": summary.checkpoints,
            "files": files,
        }));
    }
    print(&columns(&[
        ("valid", format!("yes: {checked}")),
        ("not checked", not_checked.to_owned()),
        ("batches", summary.batches.to_string()),
        ("requests", summary.requests.to_string()),
        (
            "actions",
            format!("{}, {actions_per_s} a second", summary.actions),
        ),
        (
            "key additions without consent",
            summary.additions_without_consent.to_string(),
        ),
        ("resources", summary.resources.to_string()),
        ("anchors", summary.anchors.to_string()),
        ("checkpoints", summary.checkpoints.to_string()),
        ("files", files.to_string()),
        ("signed by", signed_by(&verifier)?),
    ]))
}

/// The log's keys, each with its first batch.
fn signed_by(verifier: &StoreVerifier) -> CliResult<String> {
    let keys = verifier.sequencer_keys()?;
    let texts = keys.entries().iter().map(|entry| match entry.from_batch {
        0 => entry.key.to_string(),
        from => format!("{} from batch {from} on", entry.key),
    });
    Ok(texts.collect::<Vec<_>>().join(", "))
}

/// Checks the store; also returns its speed in actions per second.
fn check(verifier: &StoreVerifier, checks: DataCheckLevel) -> CliResult<(StoreVerifySummary, u64)> {
    let bar = progress_bar("verifying");
    let started = Instant::now();
    let summary = verifier.check(checks.of_library(), |progress| {
        bar.set_length(progress.batches_total);
        bar.set_position(progress.batches);
    })?;
    bar.finish_and_clear();
    let actions_per_s = summary.actions as f64 / started.elapsed().as_secs_f64();
    Ok((summary, actions_per_s as u64))
}

/// Domain and key of a development server, from its data directory.
pub(crate) fn development(dir: &Path) -> CliResult<(Domain, Address)> {
    let file = dir.join("contract");
    let contract = std::fs::read_to_string(&file).map_err(CommandFailure::unreadable(&file))?;
    let verifying_contract = contract.trim().parse().map_err(CommandFailure::at(&file))?;
    let key = secrets::read_32(&dir.join("keys/sequencer.key")).map_err(CommandFailure::usage)?;
    let key = SigningKey::from_bytes(&key)?;
    let domain = Domain {
        chain_id: DEFAULT_CHAIN_ID,
        verifying_contract,
    };
    Ok((domain, key.address()))
}

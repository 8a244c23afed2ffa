//! `kedge verify claim`: checks a claim's disclosed words of one action.

use std::path::PathBuf;

use kedge_protocol::json::JsonObject;
use kedge_protocol::time::rfc3339;
use kedge_protocol::{Id, Prefix};
use kedge_prover::claim::{ClaimFile, ClaimSummary, DisclosedText, verify};
use kedge_prover::groth16::VerifyingKey;
use kedge_prover::keys;
use serde_json::{Value, json};

use super::super::output::{CliResult, CommandFailure};
use super::super::trust::{CliTrust, TrustArgs};
use super::anchor_check::anchored;
use super::rows::{VerifyRows, report};
use crate::input::{parse, read};

#[derive(clap::Args)]
pub(crate) struct VerifyClaimArgs {
    /// The file; - for standard input.
    file: PathBuf,
    #[command(flatten)]
    key: VerifyingKeyArgs,
    #[command(flatten)]
    trust: TrustArgs,
    /// Print what the claim shows as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct VerifyingKeyArgs {
    /// The verification key of the circuit's ceremony, as snarkjs writes it.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// The development key. Anybody can forge claims for it: for test chains only.
    #[arg(long)]
    dev_insecure: bool,
}

impl VerifyingKeyArgs {
    fn read(&self) -> CliResult<VerifyingKey> {
        match &self.key {
            None => Ok(keys::dev_insecure().clone()),
            Some(path) => VerifyingKey::of_snarkjs(&read(path)?).map_err(CommandFailure::at(path)),
        }
    }
}

pub(crate) async fn run(args: VerifyClaimArgs) -> CliResult<()> {
    let JsonObject(claim) = parse(&read(&args.file)?, "a claim file")?;
    let rows = check(&claim, &args.key.read()?, &args.trust.resolve().await?).await?;
    report(&rows, args.json)
}

pub(super) async fn check(
    claim: &ClaimFile,
    key: &VerifyingKey,
    trust: &CliTrust,
) -> CliResult<VerifyRows> {
    let (domain, sequencer) = trust.of(claim.domain).await?;
    keys::check_allowed(key, domain.chain_id)?;
    let shown = verify(claim, &domain, &sequencer, key)?;
    let anchored = anchored(claim.anchor.as_ref(), trust).await?;
    Ok(rows(claim, shown, &anchored))
}

fn rows(claim: &ClaimFile, shown: ClaimSummary, anchored: &str) -> VerifyRows {
    let disclosed = &claim.disclosed;
    let text = |text: &Option<DisclosedText>| match text {
        None => json!("hidden"),
        Some(DisclosedText { hash, text: None }) => json!(format!("of hash {hash}")),
        Some(DisclosedText {
            text: Some(text), ..
        }) => json!(text),
    };
    let signer = disclosed
        .signer
        .map_or(Value::from("hidden"), |signer| json!(signer));
    vec![
        ("valid", json!(true)),
        (
            "action",
            json!(Id::of_hash(Prefix::Action, &claim.leaf.content)),
        ),
        ("kind", text(&disclosed.kind)),
        ("target", text(&disclosed.target)),
        ("payload", text(&disclosed.payload)),
        ("signer", signer),
        // A claim shows content of the log; an authorship proof shows the signer.
        ("signature checked", json!(false)),
        ("claimant", json!(claim.binding.claimant)),
        ("resolver", json!(claim.binding.resolver)),
        ("purpose", json!(claim.binding.purpose)),
        ("context", json!(shown.context)),
        ("key", json!(claim.key_hash)),
        ("sequence", json!(claim.leaf.sequence)),
        ("time", json!(rfc3339(claim.leaf.timestamp_ms))),
        ("batch", json!(claim.batch.header.number)),
        ("anchored", json!(anchored)),
    ]
}

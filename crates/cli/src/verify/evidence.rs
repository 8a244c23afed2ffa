//! `kedge verify evidence`: the judge's verdict on an evidence file.

use std::path::PathBuf;

use kedge_chain::rpc::BlockTag;
use kedge_protocol::Hash;
use kedge_protocol::evidence::{self, FaultFile};
use kedge_runtime::env::{Env as _, RealEnv};
use serde_json::json;

use super::super::output::CliResult;
use super::super::trust::{CliTrust, TrustArgs, read_failure};
use super::rows::{VerifyRows, report};
use crate::input::read;

#[derive(clap::Args)]
pub(crate) struct VerifyEvidenceArgs {
    /// The file; - for standard input.
    file: PathBuf,
    /// Trust that this checkpoint is anchored: its number of batches, a colon, and its history.
    #[arg(long, value_name = "BATCHES:HISTORY", value_parser = parse_checkpoint, conflicts_with = "rpc")]
    checkpoint: Vec<(u64, Hash)>,
    #[command(flatten)]
    trust: TrustArgs,
    /// Print what the evidence shows as JSON.
    #[arg(long)]
    json: bool,
}

/// Parses `BATCHES:HISTORY`.
fn parse_checkpoint(text: &str) -> Result<(u64, Hash), String> {
    let (batches, history) = text
        .split_once(':')
        .ok_or("must be a number of batches, a colon and a history, such as 3:0x…")?;
    let batches = batches
        .parse()
        .map_err(|_| "the batches must be a number")?;
    let history = history.parse().map_err(|error| format!("{error}"))?;
    Ok((batches, history))
}

pub(crate) async fn run(args: VerifyEvidenceArgs) -> CliResult<()> {
    let file = FaultFile::parse(&read(&args.file)?)?;
    let trust = args.trust.resolve().await?;
    let trust = trust_of(&file, &trust, &args.checkpoint).await?;
    report(&check(&file, &trust)?, args.json)
}

pub(super) fn check(file: &FaultFile, trust: &evidence::ContractView) -> CliResult<VerifyRows> {
    let (fault, batch, subject) = match file {
        FaultFile::Log(file) => {
            let verdict = file.check(trust)?;
            (verdict.fault.text(), verdict.batch, file.evidence.subject())
        }
        FaultFile::State(file) => {
            let fault = file.check(trust)?;
            (fault.text(), file.evidence.batch(), file.evidence.subject())
        }
    };
    Ok(vec![
        ("fault", json!(fault)),
        ("proven", json!(true)),
        ("batch", json!(batch)),
        ("about", json!(subject)),
        ("checkpoints", json!(file.anchored_batches())),
    ])
}

/// The log's trust anchors, from the caller or the contract.
async fn trust_of(
    file: &FaultFile,
    trust: &CliTrust,
    checkpoints: &[(u64, Hash)],
) -> CliResult<evidence::ContractView> {
    let (domain, keys) = trust.of(file.domain()).await?;
    if let Some(contract) = trust.contract() {
        let batches = file.anchored_batches();
        let reported = contract.trust_for(
            &batches,
            domain,
            BlockTag::Finalized,
            RealEnv.unix_ms() / 1_000,
        );
        return reported.await.map_err(read_failure);
    }
    let mut known = evidence::ContractView::of_known_keys(domain, &keys);
    known.anchored.extend(checkpoints.iter().copied());
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints() {
        let history = Hash([7; 32]);
        assert_eq!(parse_checkpoint(&format!("3:{history}")), Ok((3, history)));
        for bad in ["", "3", "3:", "x:0x00", "3:0x00"] {
            assert!(parse_checkpoint(bad).is_err(), "{bad}");
        }
    }
}

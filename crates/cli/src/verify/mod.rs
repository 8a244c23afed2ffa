//! `kedge verify`: checks of receipts, proof files, state proofs and claims against trusted keys, and of whole data directories.

pub(crate) mod anchor_check;
pub(crate) mod bounds;
mod claim;
pub(crate) mod data;
mod evidence;
mod export;
mod log;
mod object;
mod rows;
pub(crate) mod state;

use std::path::PathBuf;

use clap::Subcommand;
use kedge_protocol::json::JsonObject;
use kedge_protocol::proof::{ProofFile, ProofSummary};
use kedge_protocol::receipt::{BatchReceipt, Receipt};
use kedge_protocol::time::rfc3339;
use kedge_protocol::{BatchKeys, Hash, Id, Prefix};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use self::anchor_check::anchored;
use self::rows::{VerifyRows, report};
use super::input::{parse, read};
use super::output::{CliResult, refuse, refuse_usage};
use super::trust::{CliTrust, TrustArgs};

#[derive(Subcommand)]
pub(crate) enum VerifyCommand {
    /// Verify a receipt: that the sequencer signed a batch that holds the action.
    ///
    /// The file is a receipt, or an answer of the server that contains one. A receipt of a request of many actions
    /// needs the contents of the actions that were carried out, in request order.
    Receipt {
        /// The file; - for standard input.
        file: PathBuf,
        /// The content of the action that was sent, as printed by `kedge sign --json`; repeat for
        /// each action.
        #[arg(long, value_name = "HASH")]
        content: Vec<Hash>,
        #[command(flatten)]
        trust: TrustArgs,
        /// Print what the receipt shows as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Verify a proof file: offline, and with --rpc also against the contract.
    Proof {
        /// The file; - for standard input.
        file: PathBuf,
        #[command(flatten)]
        trust: TrustArgs,
        /// Print what the proof shows as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Verify evidence of a fault: whether the sequencer signed or anchored contradictory statements.
    ///
    /// With --rpc the contract provides its keys and its checkpoints; without it, --checkpoint gives the checkpoints
    /// that the evidence names.
    Evidence(evidence::VerifyEvidenceArgs),
    /// Verify a claim file: that the log holds an action with the disclosed words.
    ///
    /// Offline, and with --rpc also against the contract. It does not show that the signer signed.
    Claim(claim::VerifyClaimArgs),
    /// Verify a data directory: recompute every hash and signature, and replay the log.
    ///
    /// Names the first sequence that does not hold, and reports what was checked. --checks leaves out what takes long.
    /// Nothing in the directory is changed.
    Data(data::VerifyDataArgs),
    /// Verify an export of the log: every header, leaf and request, up to its signed head.
    ///
    /// Names the line and the sequence that do not hold. With --rpc the contract must hold the same
    /// history at its newest checkpoint. If the export holds every request of the log, the rules
    /// are replayed too.
    Export(export::VerifyExportArgs),
    /// Verify the segments of a log: every checksum, hash and batch signature, without the store.
    ///
    /// Names the segment, byte and sequences that do not hold. Naming whom to trust is optional: without it the signers
    /// are reported but not compared. Nothing in the directory is changed.
    Log(log::VerifyLogArgs),
    /// Verify a state proof: what the log had made of one id after a signed checkpoint, or that it had made nothing.
    ///
    /// The file is an answer of GET /state/{id}, of an object's or a template's state-proof, or of a request with
    /// ?prove=true, whole: each item that it shows is compared with its proof, and what no proof covers is named, such as
    /// times. That a list is complete is not proven. Offline, and with --rpc also against the contract, which must hold
    /// the checkpoint with this history and this root.
    State(state::VerifyStateArgs),
    /// Verify one resource: replay its own history, and compare every field and text with its state proof.
    ///
    /// Takes an id and a server, or files that an earlier check saved or that hold the server's answers. Checks every
    /// signature and hash, that the checkpoint's log holds every action, and that none is missing between nothing and
    /// the proven entry; then repeats the actions by the rules. Differences are listed with both values. With --rpc the
    /// contract must hold the checkpoint with this history and this root.
    Object(Box<object::VerifyObjectArgs>),
}

pub(crate) async fn run(command: VerifyCommand) -> CliResult<()> {
    match command {
        VerifyCommand::Receipt {
            file,
            content,
            trust,
            json,
        } => {
            let text = read(&file)?;
            let rows = check_receipt(&text, &content, &trust.resolve().await?).await?;
            report(&rows, json)
        }
        VerifyCommand::Proof { file, trust, json } => {
            let JsonObject(proof) = parse(&read(&file)?, "a proof file")?;
            let rows = check_proof(&proof, &trust.resolve().await?).await?;
            report(&rows, json)
        }
        VerifyCommand::Evidence(args) => evidence::run(args).await,
        VerifyCommand::Claim(args) => claim::run(args).await,
        VerifyCommand::Data(args) => data::run(args).await,
        VerifyCommand::Export(args) => export::run(args).await,
        VerifyCommand::Log(args) => log::run(args).await,
        VerifyCommand::State(args) => state::run(args).await,
        VerifyCommand::Object(args) => object::run(*args).await,
    }
}

/// A server's answer with a receipt in a member, or the receipt itself.
#[derive(Deserialize)]
struct ReceiptEnvelope<'a> {
    #[serde(borrow)]
    receipt: Option<&'a RawValue>,
}

/// Distinguishes a batch receipt, which has this member, from a single action's receipt.
#[derive(Deserialize)]
struct BatchReceiptProbe<'a> {
    #[serde(borrow)]
    actions: Option<&'a RawValue>,
}

async fn check_receipt(text: &str, contents: &[Hash], trust: &CliTrust) -> CliResult<VerifyRows> {
    let JsonObject(answer): JsonObject<ReceiptEnvelope> = parse(text, "a receipt")?;
    let text = answer.receipt.map_or(text, RawValue::get);
    let JsonObject(many): JsonObject<BatchReceiptProbe> = parse(text, "a receipt")?;
    if many.actions.is_some() {
        let JsonObject(receipt) = parse(text, "a receipt")?;
        return check_batch_receipt(&receipt, contents, trust).await;
    }
    let JsonObject(receipt): JsonObject<Receipt> = parse(text, "a receipt")?;
    let number = receipt.batch.header.number;
    let (domain, keys) = trust.of(receipt.domain).await?;
    receipt.verify(&domain, &keys)?;
    let content = receipt.leaf.content;
    match contents {
        [] => {}
        [sent] if *sent == content => {}
        [sent] => {
            return refuse(format!("the receipt is for content {content}, not {sent}"));
        }
        _ => {
            return refuse_usage("a receipt of one action takes one --content");
        }
    }
    Ok(vec![
        ("valid", json!(true)),
        ("action", json!(Id::of_hash(Prefix::Action, &content))),
        ("content", json!(content)),
        ("content compared", json!(!contents.is_empty())),
        ("sequence", json!(receipt.leaf.sequence)),
        ("time", json!(rfc3339(receipt.leaf.timestamp_ms))),
        ("batch", json!(number)),
        ("signed by", json!(keys.key_of(number))),
    ])
}

async fn check_batch_receipt(
    receipt: &BatchReceipt,
    contents: &[Hash],
    trust: &CliTrust,
) -> CliResult<VerifyRows> {
    if contents.len() != receipt.actions.len() {
        return refuse_usage(format!(
            "this receipt covers {} actions: give --content for each, in request order",
            receipt.actions.len()
        ));
    }
    let number = receipt.batch.header.number;
    let (domain, keys) = trust.of(receipt.domain).await?;
    receipt.verify(&domain, &keys, contents)?;
    let first = receipt.actions.first().map(|action| action.sequence);
    let last = receipt.actions.last().map(|action| action.sequence);
    Ok(vec![
        ("valid", json!(true)),
        ("actions", json!(receipt.actions.len())),
        ("first sequence", json!(first)),
        ("last sequence", json!(last)),
        ("batch", json!(number)),
        ("signed by", json!(keys.key_of(number))),
    ])
}

async fn check_proof(proof: &ProofFile, trust: &CliTrust) -> CliResult<VerifyRows> {
    let (domain, keys) = trust.of(proof.domain).await?;
    let shown = proof.verify(&domain, &keys)?;
    let anchored = anchored(proof.anchor.as_ref(), trust).await?;
    Ok(proof_rows(proof, shown, &anchored))
}

fn proof_rows(proof: &ProofFile, shown: ProofSummary, anchored: &str) -> VerifyRows {
    let action = &proof.action;
    vec![
        ("valid", json!(true)),
        (
            "action",
            json!(Id::of_hash(Prefix::Action, &proof.leaf.content)),
        ),
        ("kind", json!(action.kind)),
        ("target", json!(action.target)),
        ("signer", json!(action.signer)),
        ("signature checked", json!(shown.authorship)),
        ("sequence", json!(proof.leaf.sequence)),
        ("time", json!(rfc3339(proof.leaf.timestamp_ms))),
        ("batch", json!(proof.batch.header.number)),
        ("anchored", json!(anchored)),
    ]
}

#[cfg(test)]
mod tests;

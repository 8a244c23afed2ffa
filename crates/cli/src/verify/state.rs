//! `kedge verify state`: checks state proofs.

use std::collections::BTreeSet;
use std::path::PathBuf;

use kedge_chain::contract::AnchorContract;
use kedge_chain::rpc::BlockTag;
use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::json::JsonObject;
use kedge_protocol::state::{StateAnswer, StateAnswers, StateStatement, StateTexts};
use kedge_protocol::time::rfc3339;
use kedge_protocol::{BatchKeys, Hash};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::super::output::{CliResult, CommandFailure, refuse};
use super::super::trust::{CliTrust, TrustArgs, read_failure};
use super::rows::{VerifyRows, report};
use crate::input::{parse, read};

/// What the file has to be.
const WHAT: &str = "a state proof";

#[derive(clap::Args)]
pub(crate) struct VerifyStateArgs {
    /// The file; - for standard input.
    file: PathBuf,
    #[command(flatten)]
    trust: TrustArgs,
    /// Print what the proof shows as JSON.
    #[arg(long)]
    json: bool,
}

/// An answer of the server with a proof in a member.
#[derive(Deserialize)]
struct StateEnvelope<'a> {
    #[serde(borrow)]
    state_proof: Option<&'a RawValue>,
    #[serde(borrow)]
    state_proofs: Option<&'a RawValue>,
    /// A member of the proofs of a list.
    #[serde(borrow)]
    proofs: Option<&'a RawValue>,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
    /// A member of an item.
    #[serde(borrow)]
    id: Option<&'a RawValue>,
}

/// A file of which everything can be checked.
enum StateFile<'a> {
    /// A proof, with the item that shows it if there is one.
    Single(&'a str, Option<&'a RawValue>),
    /// Proofs of a list, with the items if there are some.
    List(&'a str, Option<Vec<&'a RawValue>>),
}

impl<'a> StateFile<'a> {
    /// Tells the forms apart. An answer whose items and proofs do not belong together is none of them.
    fn of(text: &'a str) -> CliResult<Self> {
        let JsonObject(envelope): JsonObject<StateEnvelope> = parse(text, WHAT)?;
        match (envelope.state_proof, envelope.state_proofs, envelope.items) {
            (Some(proof), None, None) if envelope.proofs.is_none() => {
                Ok(Self::Single(proof.get(), Some(parse(text, WHAT)?)))
            }
            (None, Some(list), Some(items)) if envelope.proofs.is_none() => {
                Ok(Self::List(list.get(), Some(items)))
            }
            (None, Some(_), None) => refuse(
                "the answer has proofs and no items: give the whole answer, or its member state_proofs alone",
            ),
            (None, None, Some(_)) => refuse(
                "the list has no proofs: read it with ?prove=true, and give the whole answer",
            ),
            (None, None, None) if envelope.id.is_some() => refuse(
                "the item has no proof: read it with ?prove=true, or give the answer of its state-proof",
            ),
            (None, None, None) if envelope.proofs.is_some() => Ok(Self::List(text, None)),
            (None, None, None) => Ok(Self::Single(text, None)),
            _ => refuse("the answer has the proof of an item and of a list: give one of them"),
        }
    }
}

pub(crate) async fn run(args: VerifyStateArgs) -> CliResult<()> {
    let rows = check(&read(&args.file)?, &args.trust.resolve().await?).await?;
    report(&rows, args.json)
}

pub(super) async fn check(text: &str, trust: &CliTrust) -> CliResult<VerifyRows> {
    let file = StateFile::of(text)?;
    let (domain, keys) = trust.of_log().await?;
    match file {
        StateFile::Single(text, item) => {
            let JsonObject(answer): JsonObject<StateAnswer> = parse(text, WHAT)?;
            let shown = answer.verify(&domain, &keys)?;
            let unproven = item.map(|item| shown.check_item(item, &answer.texts));
            let unproven = unproven.transpose()?;
            let anchored = anchored(&shown.checkpoint, shown.anchored, trust).await?;
            let mut rows = rows(&answer, &shown, &keys, &anchored);
            rows.extend(unproven.map(|names| ("not proven", json!(names.join(", ")))));
            Ok(rows)
        }
        StateFile::List(text, items) => {
            let JsonObject(answers): JsonObject<StateAnswers> = parse(text, WHAT)?;
            let shown = answers.verify(&domain, &keys)?;
            let unproven = items.map(|items| check_items(&items, &answers, &shown));
            let unproven = unproven.transpose()?;
            let checkpoint = &answers.checkpoint.checkpoint;
            let anchored = anchored(checkpoint, answers.anchor.is_some(), trust).await?;
            let mut rows = list_rows(checkpoint, &shown, &keys, &anchored);
            rows.extend(unproven.map(|names| ("not proven", json!(names))));
            Ok(rows)
        }
    }
}

/// Compares the items of a list with their proofs, in order; returns what of them is not proven.
fn check_items(
    items: &[&RawValue],
    answers: &StateAnswers,
    shown: &[StateStatement],
) -> CliResult<String> {
    if items.len() != shown.len() {
        return refuse(format!(
            "the list has {} items and {} proofs",
            items.len(),
            shown.len()
        ));
    }
    let mut unproven = BTreeSet::new();
    for (index, (item, one)) in items.iter().zip(shown).enumerate() {
        let names = one.check_item(item, &answers.proofs[index].texts);
        let names =
            names.map_err(|error| CommandFailure::refused(format!("item {index}: {error}")))?;
        unproven.extend(names);
    }
    unproven.insert("that the list is complete".to_owned());
    Ok(unproven.into_iter().collect::<Vec<_>>().join(", "))
}

fn rows(
    answer: &StateAnswer,
    shown: &StateStatement,
    keys: &impl BatchKeys,
    anchored: &str,
) -> VerifyRows {
    let entry = shown.entry.as_ref();
    let mut rows = vec![
        ("valid", json!(true)),
        ("shows", json!(shown.to_string())),
        ("key", json!(shown.key)),
        ("present", json!(answer.present)),
        ("version", json!(entry.map(|entry| entry.version))),
        ("made by sequence", json!(entry.map(|entry| entry.sequence))),
        ("integrity", json!(entry.map(|entry| entry.integrity))),
        ("fields", json!(answer.fields)),
        ("texts checked", json!(names_of(&answer.texts))),
    ];
    rows.extend(checkpoint_rows(&shown.checkpoint, keys, anchored));
    rows
}

fn list_rows(
    checkpoint: &Checkpoint,
    shown: &[StateStatement],
    keys: &impl BatchKeys,
    anchored: &str,
) -> VerifyRows {
    let present = shown.iter().filter(|one| one.entry.is_some()).count();
    let ids: Vec<String> = shown.iter().map(|one| one.key.to_string()).collect();
    let mut rows = vec![
        ("valid", json!(true)),
        ("proofs", json!(shown.len())),
        ("keys", json!(ids)),
        ("present", json!(present)),
    ];
    rows.extend(checkpoint_rows(checkpoint, keys, anchored));
    rows
}

pub(super) fn checkpoint_rows(
    checkpoint: &Checkpoint,
    keys: &impl BatchKeys,
    anchored: &str,
) -> VerifyRows {
    vec![
        ("after sequence", json!(checkpoint.sequence)),
        ("batches", json!(checkpoint.batches)),
        ("state", json!(checkpoint.state)),
        ("signed at", json!(rfc3339(checkpoint.issued_at_ms))),
        (
            "signed by",
            json!(keys.key_of_checkpoint(checkpoint.batches)),
        ),
        ("anchored", json!(anchored)),
    ]
}

/// The texts that the answer has, and the check compared.
fn names_of(texts: &StateTexts) -> String {
    let names = [
        ("properties", texts.properties.is_some()),
        ("schema", texts.schema.is_some()),
        ("name", texts.name.is_some()),
        ("rules", texts.rules.is_some()),
    ];
    let names = names.iter().filter(|(_, is_there)| *is_there);
    let names: Vec<&str> = names.map(|(name, _)| *name).collect();
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

/// Describes whether the checkpoint is anchored.
pub(super) async fn anchored(
    checkpoint: &Checkpoint,
    says_so: bool,
    trust: &CliTrust,
) -> CliResult<String> {
    match (trust.contract(), says_so) {
        (None, false) => Ok("no: the proof has no anchor yet".to_owned()),
        (None, true) => Ok(format!(
            "by the proof alone, at {} batches; --rpc asks the chain",
            checkpoint.batches
        )),
        // The chain may know more than the server did.
        (Some(contract), _) => check_on_chain(checkpoint, contract).await,
    }
}

/// Compares the checkpoint with the contract's record at the chain's finalized block.
async fn check_on_chain(checkpoint: &Checkpoint, contract: &AnchorContract) -> CliResult<String> {
    let (batches, address) = (checkpoint.batches, contract.address());
    let record = contract.record(batches, BlockTag::Finalized).await;
    let Some(record) = record.map_err(read_failure)? else {
        return refuse(format!(
            "the contract {address} holds no checkpoint of {batches} batches at a final block: ask for the proof at an \
             anchored checkpoint, or check again once this one is anchored"
        ));
    };
    if (record.sequence, record.history) != (checkpoint.sequence, checkpoint.history) {
        return refuse(format!(
            "at {batches} batches the contract {address} holds another log: sequence {} and history {}, not {} and {}",
            record.sequence, record.history, checkpoint.sequence, checkpoint.history
        ));
    }
    let mut state = record.state;
    if state == Hash::ZERO {
        // A contract that keeps no root has shown it in its event.
        let event = contract.anchored_event(batches).await;
        let event = event.map_err(read_failure)?;
        state = event.map_or(Hash::ZERO, |event| event.checkpoint.state);
    }
    if state == Hash::ZERO {
        return refuse(format!(
            "the contract {address} holds no root of the state at {batches} batches, so the chain cannot confirm the \
             proof: ask for it at a later checkpoint"
        ));
    }
    if state != checkpoint.state {
        return refuse(format!(
            "at {batches} batches the contract {address} holds the state {state}, not {}: keep both, they are evidence",
            checkpoint.state
        ));
    }
    Ok(format!(
        "in block {} by contract {address}, asked at the finalized block",
        record.block_number
    ))
}

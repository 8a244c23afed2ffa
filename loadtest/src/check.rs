//! After a measure: do the kept answers hold, and is what they tell of in the log, once?

use std::collections::BTreeMap;

use kedge_client::sign::{ActionText, RequestTerms, SignedRequest, sign};
use kedge_client::types::BatchLeaves;
use kedge_client::{Client, VerificationError};
use kedge_protocol::action::Kind;
use kedge_protocol::chain::{self, Leaf};
use kedge_protocol::receipt::{BatchReceipt, Receipt};
use kedge_protocol::{Hash, Id, Prefix};
use serde::Deserialize;

use crate::error::{Error, Result};
use crate::options::Scenario;
use crate::progress;
use crate::run::Sample;
use crate::workload::Turn;

/// What the checks found.
#[derive(Default)]
pub(crate) struct Findings {
    pub(crate) receipts_verified: u64,
    /// Actions that the API shows at their sequence, and whose leaf their batch holds once.
    pub(crate) actions_found: u64,
    /// What does not hold; empty if all is well.
    pub(crate) problems: Vec<String>,
}

/// One done action, as its receipt places it.
struct Placed {
    index: usize,
    content: Hash,
    sequence: u64,
    leaf_index: u32,
    leaf: Hash,
}

/// A receipt that holds, opened.
struct Opened {
    batch: u64,
    /// The first, the middle and the last done action; for a single one that one.
    shown: Vec<Placed>,
}

#[derive(Deserialize)]
struct SingleAnswer {
    id: Id,
    receipt: Receipt,
}

#[derive(Deserialize)]
struct ManyAnswer {
    results: Vec<ManyResult>,
    receipt: BatchReceipt,
}

#[derive(Deserialize)]
struct ManyResult {
    error: Option<serde_json::Value>,
    sequence: Option<u64>,
}

/// Verifies the samples' receipts offline, then looks their actions up.
pub(crate) async fn samples(
    client: &Client,
    turn: &Turn,
    samples: &[Sample],
    scenario: Scenario,
) -> Findings {
    let mut findings = Findings::default();
    let mut leaves = BTreeMap::new();
    let bar = progress::bar("receipts verified", samples.len());
    for sample in samples {
        match one(client, turn, sample, scenario, &mut leaves).await {
            Ok(found) => {
                findings.receipts_verified += 1;
                findings.actions_found += found;
            }
            Err(error) => {
                let index = sample.index;
                findings.problems.push(format!("request {index}: {error}"));
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    findings
}

async fn one(
    client: &Client,
    turn: &Turn,
    sample: &Sample,
    scenario: Scenario,
    leaves: &mut BTreeMap<u64, BatchLeaves>,
) -> Result<u64> {
    let signed = sign_again(client, turn, sample)?;
    let opened = match scenario {
        Scenario::BatchUpdates => open_many(client, &signed, &sample.body)?,
        Scenario::SingleUpdates => open_single(client, &signed, &sample.body)?,
    };
    if let std::collections::btree_map::Entry::Vacant(place) = leaves.entry(opened.batch) {
        let told = client.leaves(opened.batch).await;
        place.insert(told.map_err(Error::at("the leaves of a batch"))?);
    }
    let account = &turn.workload.texts(sample.index).organization.account;
    for placed in &opened.shown {
        let hashes = &leaves[&opened.batch].leaves;
        let once = hashes.iter().filter(|leaf| **leaf == placed.leaf).count() == 1;
        if !once || hashes.get(placed.leaf_index as usize) != Some(&placed.leaf) {
            let sequence = placed.sequence;
            return wrong(format!("the batch does not hold leaf {sequence} once"));
        }
        let id = Id::of_hash(Prefix::Action, &placed.content);
        let action = account.action(id).await.map_err(Error::at("an action"))?;
        if (action.sequence, action.content) != (placed.sequence, placed.content) {
            let index = placed.index;
            return wrong(format!("the log shows action {index} of it elsewhere"));
        }
    }
    Ok(opened.shown.len() as u64)
}

/// Signatures are deterministic: signing again tells the contents, which were not kept.
fn sign_again(client: &Client, turn: &Turn, sample: &Sample) -> Result<SignedRequest> {
    let texts = turn.workload.texts(sample.index);
    let targets: Vec<String> = texts.targets.iter().map(Id::to_string).collect();
    let actions: Vec<ActionText<'_>> = targets
        .iter()
        .map(|target| ActionText {
            kind: &Kind::Update,
            target,
            payload: texts.payload.as_bytes(),
        })
        .collect();
    let head = turn.head(sample.index);
    let terms = RequestTerms {
        key: &texts.organization.key,
        domain_separator: client.domain_separator(),
        nonce: head.nonce,
        deadline_s: head.deadline_s,
        atomic: head.atomic,
        seed: sample.seed,
    };
    sign(&terms, &actions).map_err(Error::at("signing"))
}

fn open_single(client: &Client, signed: &SignedRequest, body: &[u8]) -> Result<Opened> {
    let SingleAnswer { id, receipt } = read(body)?;
    let content = signed.contents[0];
    let verified = receipt.verify(&client.domain(), &client.sequencer());
    verified.map_err(not_verified)?;
    if receipt.leaf.content != content || id != Id::of_hash(Prefix::Action, &content) {
        return wrong("the receipt is of another action".to_owned());
    }
    let leaf = receipt.leaf.hash().map_err(not_verified)?;
    Ok(Opened {
        batch: receipt.batch.header.number,
        shown: vec![Placed {
            index: 0,
            content,
            sequence: receipt.leaf.sequence,
            leaf_index: receipt.leaf_index,
            leaf,
        }],
    })
}

fn open_many(client: &Client, signed: &SignedRequest, body: &[u8]) -> Result<Opened> {
    let ManyAnswer { results, receipt } = read(body)?;
    let told = results.iter().map(|result| result.sequence);
    let proven = receipt.actions.iter().map(|action| Some(action.sequence));
    if results.iter().any(|result| result.error.is_some()) || !told.eq(proven) {
        return wrong("not every action was done and is in the receipt".to_owned());
    }
    let verified = receipt.verify(&client.domain(), &client.sequencer(), &signed.contents);
    verified.map_err(not_verified)?;
    let last = receipt.actions.len() - 1;
    let mut chosen = vec![0, last / 2, last];
    chosen.dedup();
    let place = |index: usize| {
        let (action, content) = (&receipt.actions[index], signed.contents[index]);
        let leaf = Leaf {
            sequence: action.sequence,
            timestamp_ms: action.timestamp_ms,
            content,
            integrity: chain::next_integrity(&action.previous_integrity, &content),
        };
        Placed {
            index,
            content,
            sequence: action.sequence,
            leaf_index: action.leaf_index,
            leaf: leaf.hash(),
        }
    };
    Ok(Opened {
        batch: receipt.batch.header.number,
        shown: chosen.into_iter().map(place).collect(),
    })
}

fn read<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T> {
    serde_json::from_slice(body)
        .map_err(|error| Error::Answer(format!("the answer cannot be read: {error}")))
}

fn wrong<T>(why: String) -> Result<T> {
    Err(Error::Answer(why))
}

fn not_verified(error: impl Into<VerificationError>) -> Error {
    let error: VerificationError = error.into();
    Error::Answer(format!("the receipt does not verify: {error}"))
}

/// The log must have grown by what was acknowledged; by more only as far as answers got lost.
pub(crate) fn growth(grown: u64, acknowledged: u64, unknown: u64) -> Option<String> {
    if grown < acknowledged {
        Some(format!(
            "the log grew by {grown} actions, but {acknowledged} were acknowledged: some are lost"
        ))
    } else if grown > acknowledged + unknown {
        Some(format!(
            "the log grew by {grown} actions, but only {acknowledged} were acknowledged: some are in it twice, or somebody else writes too"
        ))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_must_be_what_was_acknowledged() {
        assert_eq!(growth(500, 500, 0), None);
        assert_eq!(growth(510, 500, 10), None);
        assert!(growth(499, 500, 10).is_some());
        assert!(growth(511, 500, 10).is_some());
    }
}

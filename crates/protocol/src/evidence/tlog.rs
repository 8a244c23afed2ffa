//! Evidence of the faults of the SHA-256 tree that witnesses cosign ([`crate::tlog`]), and the answer to a demand of one
//! of its entries. The sequencer signs both roots, so a false one is evidence without any witness.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::check::{EvidenceJudge, require_inclusion};
use super::records::path;
use super::{ContractView, NoFault};
use crate::batch::BatchHeader;
use crate::hash::keccak;
use crate::json::object;
use crate::limits::TLOG_ENTRY_BYTES_MAX;
use crate::merkle::TreeHash;
use crate::tlog::SignedTlogCheckpoint;
use crate::{Hash, log_tree};

/// Records that show one fault of the SHA-256 tree.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "snake_case", deny_unknown_fields)]
pub enum TlogEvidence {
    /// Equivocation: equally many batches with another root or another history.
    ConflictingTlog {
        /// What was signed first.
        #[serde(deserialize_with = "object")]
        first: SignedTlogCheckpoint,
        /// What was signed for equally many batches.
        #[serde(deserialize_with = "object")]
        second: SignedTlogCheckpoint,
    },
    /// False history: the signed history is not the anchored log's beginning.
    FalseTlogHistory {
        /// What was signed.
        #[serde(deserialize_with = "object")]
        signed: SignedTlogCheckpoint,
        /// The batch count of an anchored checkpoint over no fewer batches.
        anchored_batches: u64,
        /// The root over equally many batches of the anchored log.
        beginning: Hash,
        /// Consistency proof from `beginning` to the anchored checkpoint's history.
        #[serde(deserialize_with = "path")]
        proof: Vec<Hash>,
    },
    /// False root: the two signed trees hold different batches at one place. Needs no anchor.
    FalseTlogRoot(#[serde(deserialize_with = "object")] FalseRootRecords),
}

/// What the two trees hold at one place.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FalseRootRecords {
    /// What was signed.
    #[serde(deserialize_with = "object")]
    pub signed: SignedTlogCheckpoint,
    /// The place in both trees, from 0.
    pub index: u64,
    /// The entry of the SHA-256 tree, whatever its bytes: at most [`TLOG_ENTRY_BYTES_MAX`].
    #[serde(with = "crate::state::trie::hex")]
    pub entry: Vec<u8>,
    /// Inclusion path of the entry to `root`.
    #[serde(deserialize_with = "path")]
    pub entry_path: Vec<Hash>,
    /// The batch hash that the log tree holds.
    pub held: Hash,
    /// Inclusion path of `held` to `history`.
    #[serde(deserialize_with = "path")]
    pub held_path: Vec<Hash>,
}

/// A fault of the SHA-256 tree by the name of its evidence.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum TlogFault {
    /// Two signed states over equally many batches.
    ConflictingTlog,
    /// A signed history that is not the anchored log's beginning.
    FalseTlogHistory,
    /// A signed root over other batches than the signed history.
    FalseTlogRoot,
}

impl TlogFault {
    /// Its text in files.
    pub fn text(self) -> &'static str {
        match self {
            Self::ConflictingTlog => "conflicting_tlog",
            Self::FalseTlogHistory => "false_tlog_history",
            Self::FalseTlogRoot => "false_tlog_root",
        }
    }
}

impl fmt::Display for TlogFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl TlogEvidence {
    /// The fault that the evidence is meant to show.
    pub fn fault(&self) -> TlogFault {
        match self {
            Self::ConflictingTlog { .. } => TlogFault::ConflictingTlog,
            Self::FalseTlogHistory { .. } => TlogFault::FalseTlogHistory,
            Self::FalseTlogRoot(_) => TlogFault::FalseTlogRoot,
        }
    }
}

/// Why evidence shows no fault of the SHA-256 tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoTlogFault {
    /// A record is not the operator's, a path leads elsewhere, or nothing contradicts.
    #[error(transparent)]
    Record(#[from] NoFault),
    /// No entry bundle can hold the entry.
    #[error("the entry has {0} bytes; the limit is {TLOG_ENTRY_BYTES_MAX}")]
    EntryTooLong(usize),
    /// A demand is about a batch that the signed state does not hold, or that the anchored checkpoint does not cover.
    #[error("entry {index} is not below {batches} batches")]
    NotBelow {
        /// The entry's place.
        index: u64,
        /// The batches of the signed state, or of the anchored checkpoint.
        batches: u64,
    },
}

/// Checks evidence of a fault of the SHA-256 tree against a log that the caller trusts. Signatures count as the
/// sequencer key's of the last batch alone.
///
/// # Errors
/// Why the evidence shows no fault.
pub fn judge_tlog(evidence: &TlogEvidence, trust: &ContractView) -> Result<TlogFault, NoTlogFault> {
    let judge = EvidenceJudge::of(trust);
    let contradicts = match evidence {
        TlogEvidence::ConflictingTlog { first, second } => {
            judge.signed_tlog(first)?;
            judge.signed_tlog(second)?;
            let (one, other) = (&first.checkpoint, &second.checkpoint);
            one.batches == other.batches && one != other
        }
        TlogEvidence::FalseTlogHistory {
            signed,
            anchored_batches,
            beginning,
            proof,
        } => {
            judge.signed_tlog(signed)?;
            let batches = signed.checkpoint.batches;
            judge.require_beginning(batches, *anchored_batches, beginning, proof)?;
            signed.checkpoint.history != *beginning
        }
        TlogEvidence::FalseTlogRoot(records) => holds_another(&judge, records)?,
    };
    if contradicts {
        Ok(evidence.fault())
    } else {
        Err(NoFault::NoContradiction.into())
    }
}

/// Whether the SHA-256 tree holds another entry than the one whose hash the log tree holds.
fn holds_another(
    judge: &EvidenceJudge<'_>,
    records: &FalseRootRecords,
) -> Result<bool, NoTlogFault> {
    if records.entry.len() > TLOG_ENTRY_BYTES_MAX {
        return Err(NoTlogFault::EntryTooLong(records.entry.len()));
    }
    judge.signed_tlog(&records.signed)?;
    let checkpoint = &records.signed.checkpoint;
    let (index, batches) = (records.index, checkpoint.batches);
    let leaf = TreeHash::Sha256.leaf(&records.entry);
    require_entry(checkpoint.root, leaf, index, batches, &records.entry_path)?;
    let leaf = log_tree::leaf(&records.held);
    require_inclusion(
        &checkpoint.history,
        &leaf,
        index,
        batches,
        &records.held_path,
    )?;
    Ok(keccak(&records.entry) != records.held)
}

fn require_entry(
    root: Hash,
    leaf: Hash,
    index: u64,
    batches: u64,
    path: &[Hash],
) -> Result<(), NoFault> {
    TreeHash::Sha256
        .verify_proof(&root, batches, &[index], &[leaf], path)
        .map_err(|_| NoFault::PathLeadsElsewhere)
}

/// A demand to show an entry of the SHA-256 tree: the operator answers, or loses the bond.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EntryDemand {
    /// The signed root.
    pub signed: SignedTlogCheckpoint,
    /// The entry's place, below the batches of `signed` and of the newest anchored checkpoint.
    pub index: u64,
}

/// The answer to a demand: a header that is in both trees.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DemandedEntry {
    /// The header.
    pub header: BatchHeader,
    /// Inclusion path of its encoding, from the demanded place to the signed root.
    pub entry_path: Vec<Hash>,
    /// The batch count of an anchored checkpoint.
    pub anchored_batches: u64,
    /// Inclusion path of its hash, from its number to that checkpoint's history.
    pub held_path: Vec<Hash>,
}

/// Checks that a demand may be made, and that the answer fulfils it.
///
/// # Errors
/// Why there is no demand, or why the answer is wrong.
pub fn check_demanded_entry(
    demand: &EntryDemand,
    answer: &DemandedEntry,
    trust: &ContractView,
) -> Result<(), NoTlogFault> {
    let judge = EvidenceJudge::of(trust);
    judge.signed_tlog(&demand.signed)?;
    let checkpoint = &demand.signed.checkpoint;
    let index = demand.index;
    let latest = trust.anchored.keys().next_back().copied().unwrap_or(0);
    for batches in [checkpoint.batches, latest] {
        if index >= batches {
            return Err(NoTlogFault::NotBelow { index, batches });
        }
    }
    let encoding = answer.header.encoding();
    let leaf = TreeHash::Sha256.leaf(&encoding);
    require_entry(
        checkpoint.root,
        leaf,
        index,
        checkpoint.batches,
        &answer.entry_path,
    )?;
    let batches = answer.anchored_batches;
    let number = answer.header.number;
    let leaf = log_tree::leaf(&keccak(&encoding));
    let history = judge.history(batches)?;
    require_inclusion(&history, &leaf, number, batches, &answer.held_path)
        .map_err(|_| NoFault::NotInHistory { batches, number })?;
    Ok(())
}

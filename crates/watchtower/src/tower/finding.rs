//! Findings of a watchtower.

use std::collections::BTreeMap;

use kedge_protocol::Hash;
use kedge_protocol::Id;
use kedge_protocol::batch::{BatchHeader, SignedBatch};
use kedge_protocol::evidence::{
    EntryEvidence, Evidence, LeafEvidence, OpenedLeafEvidence, StateEvidence,
};
use kedge_protocol::state::StateProofError;
use serde::{Deserialize, Serialize};

/// The item is not signed by this log's sequencer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not signed by a key of this log's contract")]
pub struct UnsignedItem;

/// A state proof was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EntryRefusal {
    /// Its checkpoint is not signed by this log's sequencer.
    #[error("its checkpoint: {0}")]
    Unsigned(#[from] UnsignedItem),
    /// It does not hold.
    #[error("the state proof: {0}")]
    Proof(#[from] StateProofError),
}

/// A provable fault, or a breach that justifies a demand or a challenge.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Finding {
    Fault(Box<Evidence>),
    /// An entry, or a root, that no honest server signs.
    StateFault(Box<StateEvidence>),
    /// A signed header that is neither in the served nor in the anchored log; its anchoring can be demanded.
    Missing(Box<SignedBatch>),
    /// A signed, served and overdue header without a checkpoint; its anchoring can be demanded.
    Overdue(Box<SignedBatch>),
    /// An anchored batch with withheld leaves, which can be demanded.
    Withheld(WithheldLeaves),
    /// An anchored action without its signer's signature, or after its deadline; can be challenged.
    Unauthorised(Box<ActionChallenge>),
    /// A state that the server does not show at an anchored checkpoint; can be demanded.
    HiddenState(Box<StateDemand>),
    /// An entry of an anchored state whose leaf the server does not show; can be challenged.
    UnexplainedEntry(Box<EntryChallenge>),
}

impl Finding {
    /// Name of the kind, in files and for people.
    pub fn text(&self) -> &'static str {
        match self {
            Self::Fault(evidence) => evidence.fault().text(),
            Self::StateFault(evidence) => evidence.fault().text(),
            Self::Missing(_) => "missing_batch",
            Self::Overdue(_) => "overdue_batch",
            Self::Withheld(_) => "withheld_leaves",
            Self::Unauthorised(_) => "unauthorised_action",
            Self::HiddenState(_) => "hidden_state",
            Self::UnexplainedEntry(_) => "unexplained_entry",
        }
    }
}

/// Content of a demand for leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WithheldLeaves {
    pub number: u64,
    /// Batch count of a checkpoint that holds it.
    pub anchored_batches: u64,
}

/// Content of a challenge.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ActionChallenge {
    pub action: LeafEvidence,
    /// Batch count of a checkpoint that holds its batch.
    pub anchored_batches: u64,
    /// Path from the batch to that checkpoint's history.
    pub batch_path: Vec<Hash>,
}

/// Content of a demand for the state of an id.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StateDemand {
    pub key: Id,
    /// Batch count of the checkpoint that is asked about.
    pub anchored_batches: u64,
    /// What is known of the id otherwise.
    pub basis: StateDemandBasis,
}

/// What lets an account demand the state of an id.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateDemandBasis {
    /// An entry at another checkpoint.
    Entry(Box<EntryEvidence>),
    /// The opened leaf that made the id, as the first of its prefix.
    Maker(Box<OpenedLeafEvidence>),
}

/// What the server does not show of the state, and since when, Unix seconds of the chain.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct UnshownState {
    /// Ids without an answer.
    pub refused: BTreeMap<Id, u64>,
    /// Ids with entries of actions that are not shown.
    pub unexplained: BTreeMap<Id, u64>,
}

/// Content of a challenge of an entry.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EntryChallenge {
    pub entry: EntryEvidence,
    /// Batch count of the entry's checkpoint.
    pub anchored_batches: u64,
    /// The batch that holds the entry's sequence, and its path to that checkpoint's history.
    pub header: BatchHeader,
    pub path: Vec<Hash>,
    /// Whether the entry is an organization's in version 1, whose integrity is not its leaf's.
    pub is_first: bool,
    pub sequence: u64,
    pub integrity: Hash,
}

//! Evidence of the sequencer's faults (layer 5), as files: signed or anchored records, and the records that they
//! contradict. [`check()`] decides whether evidence shows its fault, by the same rules as the contract `KedgeJudge`. It
//! is pure: the caller states its view of the log as a [`ContractView`].

mod check;
mod opening;
mod records;
mod state;
mod state_file;
mod tlog;
mod trust;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::batch::BatchHeader;
use crate::checkpoint::Checkpoint;
use crate::eip712::Domain;
use crate::hash::sha256;
use crate::json::{JsonObject, object};
use crate::limits::{EVIDENCE_BYTES_MAX, EVIDENCE_PATH_MAX};
use crate::{Hash, Id, Prefix};

pub use check::{EvidenceVerdict, NoFault, check};
pub use opening::{ActionOpening, NotAuthorised, check_authorised};
pub use records::{
    AnchoredPath, CheckpointEvidence, HeaderEvidence, HeaderSignature, HeaderStatus, LeafEvidence,
};
pub use state::{
    ChangeEvidence, EntryEvidence, EntryPairEvidence, FalseEntryRecords, NoStateFault,
    OpenedLeafEvidence, StateEvidence, StateFault, TrespassRecords, judge_state,
};
pub use state_file::{FaultFile, StateEvidenceFile};
pub use tlog::{
    DemandedEntry, EntryDemand, FalseRootRecords, NoTlogFault, TlogEvidence, TlogFault,
    check_demanded_entry, judge_tlog,
};
pub use trust::{ContractCoverage, ContractView, KeyTerm};

use records::{leaves, path};
use state_file::require_length;

/// The `format` of evidence files.
pub const EVIDENCE_FORMAT: &str = "kedge.evidence";
/// The evidence file format's version.
pub const EVIDENCE_VERSION: u32 = 1;

/// Records that show one fault; a variant for each function of the contract `IKedgeJudge`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "snake_case", deny_unknown_fields)]
pub enum Evidence {
    /// Equivocation: two headers with one number.
    ConflictingBatches {
        /// The first header.
        #[serde(deserialize_with = "object")]
        first: HeaderEvidence,
        /// Another header with the same number.
        #[serde(deserialize_with = "object")]
        second: HeaderEvidence,
    },
    /// Equivocation: two checkpoints over equally many batches that differ in more than their time.
    ConflictingCheckpoints {
        /// The first checkpoint.
        #[serde(deserialize_with = "object")]
        first: CheckpointEvidence,
        /// Another checkpoint over equally many batches.
        #[serde(deserialize_with = "object")]
        second: CheckpointEvidence,
    },
    /// Omission: a header that the anchored history does not hold at its number.
    OmittedBatch {
        /// The omitted header.
        #[serde(deserialize_with = "object")]
        left: HeaderEvidence,
        /// The checkpoint's batch count.
        anchored_batches: u64,
        /// The batch hash that the history holds there.
        held: Hash,
        /// Inclusion path of `held`.
        #[serde(deserialize_with = "path")]
        path: Vec<Hash>,
    },
    /// False checkpoint: its head or sequence is not its last batch's.
    FalseCheckpoint {
        /// The checkpoint.
        #[serde(deserialize_with = "object")]
        signed: CheckpointEvidence,
        /// The header of its last batch.
        #[serde(deserialize_with = "object")]
        last: BatchHeader,
        /// Inclusion path of that header to the checkpoint's history.
        #[serde(deserialize_with = "path")]
        path: Vec<Hash>,
    },
    /// False history: a header's history is not the anchored log's beginning.
    FalseHistory {
        /// The header.
        #[serde(deserialize_with = "object")]
        batch: HeaderEvidence,
        /// The batch count of a checkpoint over at least the batches before the header.
        anchored_batches: u64,
        /// The root over the anchored log's batches before the header.
        beginning: Hash,
        /// Consistency proof from `beginning` to the checkpoint's history.
        #[serde(deserialize_with = "path")]
        proof: Vec<Hash>,
    },
    /// False history: a checkpoint's history is not the anchored log's beginning.
    FalseCheckpointHistory {
        /// The checkpoint.
        #[serde(deserialize_with = "object")]
        signed: CheckpointEvidence,
        /// The batch count of an anchored checkpoint over no fewer batches.
        anchored_batches: u64,
        /// The root over equally many batches of the anchored log.
        beginning: Hash,
        /// Consistency proof from `beginning` to the anchored checkpoint's history.
        #[serde(deserialize_with = "path")]
        proof: Vec<Hash>,
    },
    /// Broken link: a batch does not continue where the one before ended, in sequence, head or time.
    BrokenLink {
        /// The earlier header.
        #[serde(deserialize_with = "object")]
        before: HeaderEvidence,
        /// The header with the next number.
        #[serde(deserialize_with = "object")]
        next: HeaderEvidence,
    },
    /// Broken link: a count out of range, or a first batch that does not begin at the log's start.
    BrokenHeader {
        /// The header.
        #[serde(deserialize_with = "object")]
        batch: HeaderEvidence,
    },
    /// Broken link: a leaf whose sequence does not fit its index, or whose time is after its seal.
    BrokenLeaf {
        /// The leaf.
        #[serde(deserialize_with = "object")]
        action: LeafEvidence,
    },
    /// Broken link: the later of two actions has the earlier time.
    FallingTime {
        /// The action with the lower sequence.
        #[serde(deserialize_with = "object")]
        earlier: LeafEvidence,
        /// The action with the higher sequence.
        #[serde(deserialize_with = "object")]
        later: LeafEvidence,
    },
    /// Broken chain: a batch's leaves give its root but not its head.
    BrokenChain {
        /// The header.
        #[serde(deserialize_with = "object")]
        batch: HeaderEvidence,
        /// All its leaves.
        #[serde(deserialize_with = "leaves")]
        leaves: Vec<Hash>,
    },
    /// Replay: one content at two sequences.
    ReplayedContent {
        /// The first action.
        #[serde(deserialize_with = "object")]
        first: LeafEvidence,
        /// The second action.
        #[serde(deserialize_with = "object")]
        second: LeafEvidence,
    },
    /// Fork: two actions that extend one integrity.
    ForkedIntegrity {
        /// The first action.
        #[serde(deserialize_with = "object")]
        first: LeafEvidence,
        /// The second action.
        #[serde(deserialize_with = "object")]
        second: LeafEvidence,
        /// The integrity that both extend; not zero, which every resource begins with.
        previous: Hash,
    },
}

/// A fault by the name of its evidence.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Fault {
    /// Two headers with one number.
    ConflictingBatches,
    /// Two checkpoints over equally many batches.
    ConflictingCheckpoints,
    /// A signed header that the anchored history does not hold.
    OmittedBatch,
    /// A checkpoint whose head or sequence is not its last batch's.
    FalseCheckpoint,
    /// A header whose history is not the anchored log's beginning.
    FalseHistory,
    /// A checkpoint whose history is not the anchored log's beginning.
    FalseCheckpointHistory,
    /// Two consecutive headers that do not connect.
    BrokenLink,
    /// A header that no log can hold.
    BrokenHeader,
    /// A leaf that does not fit its position.
    BrokenLeaf,
    /// A later action with an earlier time.
    FallingTime,
    /// Leaves that give a batch's root but not its head.
    BrokenChain,
    /// One content at two sequences.
    ReplayedContent,
    /// Two actions that extend one integrity.
    ForkedIntegrity,
}

impl Fault {
    /// Every fault, in the order of the contract's functions.
    pub const ALL: [Self; 13] = [
        Self::ConflictingBatches,
        Self::ConflictingCheckpoints,
        Self::OmittedBatch,
        Self::FalseCheckpoint,
        Self::FalseHistory,
        Self::FalseCheckpointHistory,
        Self::BrokenLink,
        Self::BrokenHeader,
        Self::BrokenLeaf,
        Self::FallingTime,
        Self::BrokenChain,
        Self::ReplayedContent,
        Self::ForkedIntegrity,
    ];

    /// Its text in files.
    pub fn text(self) -> &'static str {
        match self {
            Self::ConflictingBatches => "conflicting_batches",
            Self::ConflictingCheckpoints => "conflicting_checkpoints",
            Self::OmittedBatch => "omitted_batch",
            Self::FalseCheckpoint => "false_checkpoint",
            Self::FalseHistory => "false_history",
            Self::FalseCheckpointHistory => "false_checkpoint_history",
            Self::BrokenLink => "broken_link",
            Self::BrokenHeader => "broken_header",
            Self::BrokenLeaf => "broken_leaf",
            Self::FallingTime => "falling_time",
            Self::BrokenChain => "broken_chain",
            Self::ReplayedContent => "replayed_content",
            Self::ForkedIntegrity => "forked_integrity",
        }
    }

    /// The fault with this text.
    pub fn of_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fault| fault.text() == text)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl Evidence {
    /// The fault that the evidence is meant to show.
    pub fn fault(&self) -> Fault {
        match self {
            Self::ConflictingBatches { .. } => Fault::ConflictingBatches,
            Self::ConflictingCheckpoints { .. } => Fault::ConflictingCheckpoints,
            Self::OmittedBatch { .. } => Fault::OmittedBatch,
            Self::FalseCheckpoint { .. } => Fault::FalseCheckpoint,
            Self::FalseHistory { .. } => Fault::FalseHistory,
            Self::FalseCheckpointHistory { .. } => Fault::FalseCheckpointHistory,
            Self::BrokenLink { .. } => Fault::BrokenLink,
            Self::BrokenHeader { .. } => Fault::BrokenHeader,
            Self::BrokenLeaf { .. } => Fault::BrokenLeaf,
            Self::FallingTime { .. } => Fault::FallingTime,
            Self::BrokenChain { .. } => Fault::BrokenChain,
            Self::ReplayedContent { .. } => Fault::ReplayedContent,
            Self::ForkedIntegrity { .. } => Fault::ForkedIntegrity,
        }
    }

    /// Batch counts of the anchored checkpoints that the evidence refers to, ascending and without repeats: a checker
    /// looks these up for [`ContractView::anchored`].
    pub fn anchored_batches(&self) -> Vec<u64> {
        let mut named: Vec<u64> = self
            .headers()
            .into_iter()
            .filter_map(|header| match &header.standing {
                HeaderStatus::Anchored(anchored) => Some(anchored.batches),
                HeaderStatus::Signed(_) => None,
            })
            .collect();
        if let Self::OmittedBatch {
            anchored_batches, ..
        }
        | Self::FalseHistory {
            anchored_batches, ..
        }
        | Self::FalseCheckpointHistory {
            anchored_batches, ..
        } = self
        {
            named.push(*anchored_batches);
        }
        named.sort_unstable();
        named.dedup();
        named
    }

    /// Id of the subject: the batch of the first header, or the anchor of the first signed checkpoint.
    pub fn subject(&self) -> Id {
        match self.first_checkpoint() {
            Some(checkpoint) => checkpoint.anchor_id(),
            None => Id::of_hash(Prefix::Batch, &self.headers()[0].header.hash()),
        }
    }

    /// Number of the batch of the first header, or of the last batch of the first signed checkpoint.
    pub fn batch(&self) -> u64 {
        match self.first_checkpoint() {
            Some(checkpoint) => checkpoint.batches.saturating_sub(1),
            None => self.headers()[0].header.number,
        }
    }

    fn first_checkpoint(&self) -> Option<&Checkpoint> {
        match self {
            Self::ConflictingCheckpoints { first: signed, .. }
            | Self::FalseCheckpoint { signed, .. }
            | Self::FalseCheckpointHistory { signed, .. } => Some(&signed.checkpoint),
            _ => None,
        }
    }

    /// The headers of the evidence; none if it begins with a checkpoint.
    fn headers(&self) -> Vec<&HeaderEvidence> {
        match self {
            Self::ConflictingBatches { first, second } => vec![first, second],
            Self::OmittedBatch { left, .. } => vec![left],
            Self::BrokenLink { before, next } => vec![before, next],
            Self::FalseHistory { batch, .. }
            | Self::BrokenHeader { batch }
            | Self::BrokenChain { batch, .. } => vec![batch],
            Self::BrokenLeaf { action } => vec![&action.batch],
            Self::FallingTime {
                earlier: first,
                later: second,
            }
            | Self::ReplayedContent { first, second }
            | Self::ForkedIntegrity { first, second, .. } => vec![&first.batch, &second.batch],
            Self::ConflictingCheckpoints { .. }
            | Self::FalseCheckpoint { .. }
            | Self::FalseCheckpointHistory { .. } => Vec::new(),
        }
    }
}

/// An evidence file.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvidenceFile {
    /// [`EVIDENCE_FORMAT`].
    format: String,
    /// [`EVIDENCE_VERSION`].
    version: u32,
    /// The log's domain.
    #[serde(deserialize_with = "object")]
    pub domain: Domain,
    /// The records that show the fault.
    #[serde(deserialize_with = "object")]
    pub evidence: Evidence,
}

/// Why a text is not an evidence file.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceFileError {
    /// Longer than evidence of its kind: [`EVIDENCE_BYTES_MAX`], or
    /// [`STATE_EVIDENCE_BYTES_MAX`](crate::limits::STATE_EVIDENCE_BYTES_MAX).
    #[error("the file has {bytes} bytes; evidence has at most {most}")]
    TooLong {
        /// Its length.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// Not the JSON of an evidence file.
    #[error("not an evidence file: {0}")]
    Json(#[from] serde_json::Error),
    /// A file of another format.
    #[error("the file's format is {0:?}, not {EVIDENCE_FORMAT:?}")]
    Format(String),
    /// Written by a newer program.
    #[error("evidence file version {0} is unknown; this program reads version {EVIDENCE_VERSION}")]
    Version(u32),
}

impl EvidenceFile {
    /// A file with this evidence, for the log of this domain.
    pub fn new(domain: Domain, evidence: Evidence) -> Self {
        Self {
            format: EVIDENCE_FORMAT.to_owned(),
            version: EVIDENCE_VERSION,
            domain,
            evidence,
        }
    }

    /// Parses a file strictly: rejects unknown and repeated members, other formats and versions, and lists longer than
    /// any evidence needs. Makes no other checks.
    ///
    /// # Errors
    /// The text is not an evidence file.
    pub fn parse(text: &str) -> Result<Self, EvidenceFileError> {
        require_length(text, EVIDENCE_BYTES_MAX)?;
        let JsonObject(file): JsonObject<Self> = serde_json::from_str(text)?;
        if file.format != EVIDENCE_FORMAT {
            return Err(EvidenceFileError::Format(file.format));
        }
        if file.version != EVIDENCE_VERSION {
            return Err(EvidenceFileError::Version(file.version));
        }
        Ok(file)
    }

    /// The file in its normal form: compact JSON, members in declared order.
    ///
    /// # Errors
    /// Never for a file that was parsed or built here.
    pub fn normal_form(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }

    /// SHA-256 of a normal form: identifies evidence.
    pub fn digest_of(normal_form: &str) -> Hash {
        sha256(normal_form.as_bytes())
    }

    /// Checks the evidence against the log that the caller trusts.
    ///
    /// # Errors
    /// Why the evidence shows no fault.
    pub fn check(&self, trust: &ContractView) -> Result<EvidenceVerdict, NoFault> {
        if self.domain != trust.domain {
            return Err(NoFault::OtherDomain);
        }
        check(&self.evidence, trust)
    }
}

const _: () = assert!(
    EVIDENCE_BYTES_MAX > 2 * 70 * (2 * EVIDENCE_PATH_MAX + crate::limits::BATCH_ACTIONS_MAX),
    "the longest evidence fits"
);

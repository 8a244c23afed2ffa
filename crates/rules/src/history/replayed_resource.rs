//! What a history is replayed for, and what the replay gives.

use kedge_protocol::Id;
use kedge_protocol::history::ResourceHistory;
use kedge_protocol::state::{StateEntry, StateTexts};

use crate::fold::FoldError;

/// The entry of a resource at the checkpoint, as its state proof shows it.
#[derive(Clone, Copy, Debug)]
pub struct ProvenResource<'a> {
    /// The resource.
    pub id: Id,
    /// What the checkpoint shows of it.
    pub entry: &'a StateEntry,
    /// The texts whose hashes the entry holds, as far as the proof has them.
    pub texts: &'a StateTexts,
    /// Its history, if that is known.
    pub history: Option<&'a ResourceHistory<'a>>,
}

/// What a history does not show.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnshownField {
    /// The field's name in the entry.
    pub name: &'static str,
    /// What else would be needed.
    pub why: String,
}

/// The entry that the rules give for a resource's history.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplayedResource {
    /// The entry. Its [unshown](Self::unshown) fields are those of the proven one.
    pub entry: StateEntry,
    /// The texts, as far as a proof shows them.
    pub texts: StateTexts,
    /// Fields that the history does not show.
    pub unshown: Vec<UnshownField>,
}

/// Why a history was not replayed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HistoryReplayError {
    /// The rules refuse an action, or it does not continue the history.
    #[error(transparent)]
    Rules(#[from] FoldError),
    /// A kind of another program.
    #[error(
        "sequence {sequence}: this program does not know the kind {kind:?}: use the version of the server"
    )]
    UnknownKind {
        /// The action's sequence.
        sequence: u64,
        /// The kind's text.
        kind: String,
    },
    /// The history has no action.
    #[error("the history of {0} has no action")]
    Empty(Id),
    /// Another resource takes part, and its state proof is missing.
    #[error(
        "the replay needs the state proof of {0} at the same checkpoint: add the answer of GET /state/{0}"
    )]
    NeedsProof(Id),
    /// The state proof of another resource lacks a text.
    #[error("the replay needs the text of the properties of {0}, and its state proof has none")]
    NeedsText(Id),
    /// A template has changed since the mint.
    #[error(
        "the replay needs the actions on {0}, which has changed since the mint: add their proof files"
    )]
    NeedsHistory(Id),
    /// The history makes another resource.
    #[error("the history of {0} makes another resource")]
    OtherResource(Id),
}

pub(super) type ReplayResult<T> = Result<T, HistoryReplayError>;

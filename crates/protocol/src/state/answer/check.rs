//! The checks of a state proof's answer, and what it shows.

use std::fmt;

use serde_json::{Map, Value};

use super::shown::{StateTexts, differing_members, members_of};
use crate::checkpoint::{Checkpoint, SignedCheckpoint};
use crate::eip712::Domain;
use crate::proof::AnchorProof;
use crate::sequencer_keys::BatchKeys;
use crate::signature::SignatureError;
use crate::state::entry::StateEntry;
use crate::state::trie::{PATH_NIBBLES, StateProofError, verify_nodes};
use crate::{Address, Hash, Id};

/// Most nodes of a proof: a branch for each nibble of the path, and a leaf.
pub const PROOF_NODES_MAX: usize = PATH_NIBBLES + 1;

/// Why a state proof's answer does not show what it says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StateAnswerError {
    /// A checkpoint over no batch.
    #[error("the checkpoint is of an empty log")]
    EmptyLog,
    /// The checkpoint's signature is invalid.
    #[error("the checkpoint's signature: {0}")]
    Checkpoint(SignatureError),
    /// Another key signed the checkpoint.
    #[error("the checkpoint was signed by {found}, not by the sequencer {expected}")]
    OtherSequencer {
        /// The key of the checkpoint's last batch.
        expected: Address,
        /// The key that signed.
        found: Address,
    },
    /// The anchor names another checkpoint.
    #[error("the anchor is of another checkpoint than the proof")]
    OtherAnchor,
    /// The anchor has a path.
    #[error("the anchor has a path, and a checkpoint's own anchor needs none")]
    AnchorPath,
    /// `present` and `entry` contradict each other.
    #[error("`present` says other than the entry")]
    Present,
    /// More nodes than a path has places.
    #[error("the proof has more than {PROOF_NODES_MAX} nodes")]
    Nodes,
    /// The nodes, the key or the entry.
    #[error(transparent)]
    Proof(#[from] StateProofError),
    /// Something is said of an entry that is absent.
    #[error("the proof shows fields or texts of an absent entry")]
    OfNothing,
    /// The proof of a present entry without its members.
    #[error("the proof lacks the entry's fields")]
    NoFields,
    /// Members that differ from the entry.
    #[error("{} of {key} differ from the proven entry", .members.join(", "))]
    Differs {
        /// The id.
        key: Id,
        /// Such as `fields.version` and `texts.name`.
        members: Vec<String>,
    },
    /// A list of more proofs than a list has items.
    #[error("the list has more than {} proofs", super::PROOFS_MAX)]
    Proofs,
    /// A common node that occurs twice, is named by no proof, or does not exist.
    #[error("the common nodes of the list: {0}")]
    CommonNodes(&'static str),
    /// A proof of a list.
    #[error("proof {index}: {source}")]
    Listed {
        /// Its place in the list, from 0.
        index: usize,
        /// What is wrong with it.
        source: Box<StateAnswerError>,
    },
}

/// What a valid state proof shows: the entry of an id after a checkpoint's last action.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StateStatement {
    /// The id.
    pub key: Id,
    /// Its entry; `None` if the log had made nothing under the id.
    pub entry: Option<StateEntry>,
    /// The signed checkpoint.
    pub checkpoint: Checkpoint,
    /// Whether the answer says that the checkpoint is anchored; only the contract can confirm it.
    pub anchored: bool,
}

impl fmt::Display for StateStatement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, sequence) = (&self.key, self.checkpoint.sequence);
        match &self.entry {
            None => write!(
                f,
                "after sequence {sequence}, the log had made nothing under {key}"
            ),
            Some(entry) => write!(
                f,
                "after sequence {sequence}, {key} is at version {}, made by sequence {}",
                entry.version, entry.sequence
            ),
        }
    }
}

/// Checks who signed the checkpoint, and that the anchor is its own.
pub(super) fn root(
    signed: &SignedCheckpoint,
    anchor: Option<&AnchorProof>,
    domain: &Domain,
    keys: &impl BatchKeys,
) -> Result<(), StateAnswerError> {
    if signed.checkpoint.state == Hash::ZERO {
        return Err(StateProofError::NoRoot.into());
    }
    signer(signed, domain, keys)?;
    let Some(anchor) = anchor else {
        return Ok(());
    };
    // It may have been signed again, at another time.
    let anchored = Checkpoint {
        issued_at_ms: signed.checkpoint.issued_at_ms,
        ..anchor.checkpoint.checkpoint
    };
    if anchored != signed.checkpoint {
        return Err(StateAnswerError::OtherAnchor);
    }
    if !anchor.path.is_empty() {
        return Err(StateAnswerError::AnchorPath);
    }
    signer(&anchor.checkpoint, domain, keys)
}

fn signer(
    signed: &SignedCheckpoint,
    domain: &Domain,
    keys: &impl BatchKeys,
) -> Result<(), StateAnswerError> {
    let checkpoint = &signed.checkpoint;
    if checkpoint.batches == 0 {
        return Err(StateAnswerError::EmptyLog);
    }
    let digest = checkpoint.digest(&domain.separator());
    let found = signed.signature.recover(&digest);
    let found = found.map_err(StateAnswerError::Checkpoint)?;
    let expected = keys.key_of_checkpoint(checkpoint.batches);
    if found != expected {
        return Err(StateAnswerError::OtherSequencer { expected, found });
    }
    Ok(())
}

/// What an answer says of one id.
pub(super) struct ProvenEntry<'a> {
    pub(super) key: Id,
    pub(super) present: bool,
    pub(super) entry: &'a [u8],
    pub(super) fields: Option<&'a Map<String, Value>>,
    pub(super) texts: &'a StateTexts,
}

impl ProvenEntry<'_> {
    /// Checks all of it against the root of a checkpoint, whose signer is checked elsewhere.
    pub(super) fn check<N: AsRef<[u8]>>(
        &self,
        nodes: &[N],
        checkpoint: &Checkpoint,
    ) -> Result<Option<StateEntry>, StateAnswerError> {
        if self.present == self.entry.is_empty() {
            return Err(StateAnswerError::Present);
        }
        if nodes.len() > PROOF_NODES_MAX {
            return Err(StateAnswerError::Nodes);
        }
        let entry = verify_nodes(&self.key, self.entry, nodes, checkpoint)?;
        let Some(entry) = entry else {
            return if self.fields.is_none() && self.texts.is_empty() {
                Ok(None)
            } else {
                Err(StateAnswerError::OfNothing)
            };
        };
        let fields = self.fields.ok_or(StateAnswerError::NoFields)?;
        let fields = differing_members(fields, &members_of(&entry));
        let fields = fields.iter().map(|name| format!("fields.{name}"));
        let texts = self.texts.differing(&entry);
        let texts = texts.iter().map(|name| format!("texts.{name}"));
        let members: Vec<String> = fields.chain(texts).collect();
        if members.is_empty() {
            Ok(Some(entry))
        } else {
            Err(StateAnswerError::Differs {
                key: self.key,
                members,
            })
        }
    }
}

//! State proofs as the API gives them: an entry with its proof, what people read of it, and the signed checkpoint whose
//! root it leads to. The server, the clients and `kedge verify state` read and write these forms alone.
//!
//! - [`StateAnswer`]: one proof, the answer of `GET /state/{id}`;
//! - [`StateAnswers`]: the proofs of a list under one checkpoint, its member `state_proofs`;
//! - [`StateStatement::check_item`]: the comparison of an item that an answer shows with what its proof shows.

mod check;
mod item;
mod list;
mod shown;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Id;
use crate::checkpoint::SignedCheckpoint;
use crate::eip712::Domain;
use crate::json::{distinct_or_null, object, object_or_null};
use crate::proof::AnchorProof;
use crate::sequencer_keys::BatchKeys;
use crate::state::entry::{EntryError, StateEntry};
use crate::state::trie::StateProof;
use crate::state::trie::{hex, hex_list};

use check::ProvenEntry;

pub use check::{PROOF_NODES_MAX, StateAnswerError, StateStatement};
pub use item::StateItemError;
pub use list::{ListedProof, PROOFS_MAX, StateAnswers};
pub use shown::StateTexts;

/// The entry of one id at a signed checkpoint, or its absence, with its proof.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StateAnswer {
    /// The id.
    pub key: Id,
    /// Whether the log had made it.
    pub present: bool,
    /// The entry's RLP in hexadecimal digits; `0x` for absence.
    #[serde(with = "hex")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub entry: Vec<u8>,
    /// The entry's members, for people; null for absence.
    #[serde(deserialize_with = "distinct_or_null")]
    pub fields: Option<Map<String, Value>>,
    /// The texts whose hashes are in the entry.
    #[serde(deserialize_with = "object")]
    pub texts: StateTexts,
    /// The nodes from the checkpoint's root to where the path ends, in hexadecimal digits.
    #[serde(with = "hex_list")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub nodes: Vec<Vec<u8>>,
    /// The checkpoint whose root the nodes begin with.
    #[serde(deserialize_with = "object")]
    pub checkpoint: SignedCheckpoint,
    /// The anchor of this very checkpoint, with an empty path; null until the chain has finalized one.
    #[serde(deserialize_with = "object_or_null")]
    pub anchor: Option<AnchorProof>,
}

impl StateAnswer {
    /// Adds to a proof what people read of it.
    ///
    /// # Errors
    /// The proof's entry is malformed.
    pub fn new(
        proof: StateProof,
        texts: StateTexts,
        (checkpoint, anchor): (SignedCheckpoint, Option<AnchorProof>),
    ) -> Result<Self, EntryError> {
        let sequence = checkpoint.checkpoint.sequence;
        Ok(Self {
            key: proof.key,
            present: !proof.entry.is_empty(),
            fields: fields_of(&proof, sequence)?,
            entry: proof.entry,
            texts,
            nodes: proof.nodes,
            checkpoint,
            anchor,
        })
    }

    /// Makes all checks that need no chain, for a log and keys that the caller trusts. Whether the chain holds the
    /// checkpoint, only the contract's record of [`StateStatement::checkpoint`] can show.
    ///
    /// # Errors
    /// The checkpoint has no root or another signer, the anchor is of another checkpoint, the nodes do not lead to the
    /// entry in the one form, the entry is malformed, or a field or a text differs from it.
    pub fn verify(
        &self,
        domain: &Domain,
        keys: &impl BatchKeys,
    ) -> Result<StateStatement, StateAnswerError> {
        check::root(&self.checkpoint, self.anchor.as_ref(), domain, keys)?;
        let proven = ProvenEntry {
            key: self.key,
            present: self.present,
            entry: &self.entry,
            fields: self.fields.as_ref(),
            texts: &self.texts,
        };
        let entry = proven.check(&self.nodes, &self.checkpoint.checkpoint)?;
        Ok(StateStatement {
            key: self.key,
            entry,
            checkpoint: self.checkpoint.checkpoint,
            anchored: self.anchor.is_some(),
        })
    }
}

/// The members of a proof's entry.
fn fields_of(proof: &StateProof, sequence: u64) -> Result<Option<Map<String, Value>>, EntryError> {
    if proof.entry.is_empty() {
        return Ok(None);
    }
    let entry = StateEntry::decode(&proof.key, &proof.entry, sequence)?;
    Ok(Some(shown::members_of(&entry)))
}

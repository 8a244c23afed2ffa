//! The proofs of a list: they share a checkpoint, and each node is sent once.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::check::{self, ProvenEntry, StateAnswerError, StateStatement};
use super::fields_of;
use super::shown::StateTexts;
use crate::Id;
use crate::checkpoint::SignedCheckpoint;
use crate::eip712::Domain;
use crate::json::{distinct_or_null, object, object_or_null, objects};
use crate::proof::AnchorProof;
use crate::sequencer_keys::BatchKeys;
use crate::state::entry::EntryError;
use crate::state::trie::StateProof;
use crate::state::trie::{hex, hex_list};

/// Most proofs of a list.
pub const PROOFS_MAX: usize = 100;

/// The proofs of a list's items, in the order of the items.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StateAnswers {
    /// The checkpoint whose root all nodes lead to.
    #[serde(deserialize_with = "object")]
    pub checkpoint: SignedCheckpoint,
    /// The anchor of this very checkpoint, with an empty path; null until the chain has finalized one.
    #[serde(deserialize_with = "object_or_null")]
    pub anchor: Option<AnchorProof>,
    /// The nodes of all proofs, each once, in the order in which the proofs first use them.
    #[serde(with = "hex_list")]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    pub nodes: Vec<Vec<u8>>,
    /// The proofs.
    #[serde(deserialize_with = "objects")]
    pub proofs: Vec<ListedProof>,
}

/// One proof of a list.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ListedProof {
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
    /// The places of its nodes in the list's nodes, from 0.
    pub nodes: Vec<u32>,
}

impl StateAnswers {
    /// Makes a list of proofs, with the texts of their ids, in this order.
    ///
    /// # Errors
    /// A proof's entry is malformed.
    pub fn new(
        proofs: impl IntoIterator<Item = (StateProof, StateTexts)>,
        (checkpoint, anchor): (SignedCheckpoint, Option<AnchorProof>),
    ) -> Result<Self, EntryError> {
        let mut list = Self {
            checkpoint,
            anchor,
            nodes: Vec::new(),
            proofs: Vec::new(),
        };
        let mut places: HashMap<Vec<u8>, u32> = HashMap::new();
        for (proof, texts) in proofs {
            let fields = fields_of(&proof, checkpoint.checkpoint.sequence)?;
            let nodes = proof.nodes.into_iter().map(|node| {
                let next = places.len() as u32;
                *places.entry(node).or_insert_with_key(|node| {
                    list.nodes.push(node.clone());
                    next
                })
            });
            let nodes = nodes.collect();
            list.proofs.push(ListedProof {
                key: proof.key,
                present: !proof.entry.is_empty(),
                entry: proof.entry,
                fields,
                texts,
                nodes,
            });
        }
        Ok(list)
    }

    /// Checks every proof as [`StateAnswer::verify`](super::StateAnswer::verify) does, and that the list has each node
    /// once, in the order of its first use.
    ///
    /// # Errors
    /// The first proof that does not hold, or the common nodes have another form.
    pub fn verify(
        &self,
        domain: &Domain,
        keys: &impl BatchKeys,
    ) -> Result<Vec<StateStatement>, StateAnswerError> {
        check::root(&self.checkpoint, self.anchor.as_ref(), domain, keys)?;
        if self.proofs.len() > PROOFS_MAX {
            return Err(StateAnswerError::Proofs);
        }
        let mut sorted: Vec<&[u8]> = self.nodes.iter().map(Vec::as_slice).collect();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(StateAnswerError::CommonNodes("one occurs twice"));
        }
        let mut used = 0;
        let mut statements = Vec::with_capacity(self.proofs.len());
        for (index, proof) in self.proofs.iter().enumerate() {
            let nodes = self.nodes_of(proof, &mut used)?;
            let proven = ProvenEntry {
                key: proof.key,
                present: proof.present,
                entry: &proof.entry,
                fields: proof.fields.as_ref(),
                texts: &proof.texts,
            };
            let checked = proven.check(&nodes, &self.checkpoint.checkpoint);
            let entry = checked.map_err(|error| StateAnswerError::Listed {
                index,
                source: Box::new(error),
            })?;
            statements.push(StateStatement {
                key: proof.key,
                entry,
                checkpoint: self.checkpoint.checkpoint,
                anchored: self.anchor.is_some(),
            });
        }
        if used < self.nodes.len() {
            return Err(StateAnswerError::CommonNodes("no proof uses one of them"));
        }
        Ok(statements)
    }

    /// The nodes of a proof; `used` of the common ones are in use before it.
    fn nodes_of(
        &self,
        proof: &ListedProof,
        used: &mut usize,
    ) -> Result<Vec<&[u8]>, StateAnswerError> {
        let wrong = StateAnswerError::CommonNodes;
        let nodes = proof.nodes.iter().map(|place| {
            let place = *place as usize;
            let node = self.nodes.get(place);
            let node = node.ok_or(wrong("a proof names one that the list lacks"))?;
            if place > *used {
                return Err(wrong("they are not in the order of their first use"));
            }
            *used = (*used).max(place + 1);
            Ok(node.as_slice())
        });
        nodes.collect()
    }
}

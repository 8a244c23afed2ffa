//! The log's record of a request: enough to replay all its actions and to check its signature again, failed actions
//! included.

use std::borrow::Cow;

use crate::action::{
    ActionHashes, ActionTexts, ActionWords, Kind, RequestHead, hash_actions, salt,
};
use crate::address::Address;
use crate::chain::{self, LogLeaf};
use crate::eip712::Domain;
use crate::hash::{Hash, keccak};
use crate::ids::Id;
use crate::signature::{Signature, SignatureError};

/// An action that was done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ActionRecord<'a> {
    /// Its index in the request; failed actions count too.
    pub index: u16,
    /// Kind of the action.
    pub kind: Kind,
    /// The target's text, as signed.
    pub target: Cow<'a, str>,
    /// The payload's exact text, as signed.
    pub payload: Cow<'a, str>,
    /// The non-secret members of a body with secrets, as JSON; `payload` is then a digest.
    pub disclosed: Option<Cow<'a, str>>,
    /// The resource that the action changed, or the first one that it made.
    pub resource: Id,
    /// That resource's version after this action.
    pub version: u64,
    /// That resource's integrity before it.
    pub previous_integrity: Hash,
    /// The sequence of the resource's action before it; 0 if there was none.
    pub previous_sequence: u64,
}

/// A refused action of the same request: only its hash is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FailedAction {
    /// Its index in the request.
    pub index: u16,
    /// Its action hash.
    pub action_hash: Hash,
}

/// A request with at least one action that was done. All its actions are in one batch, consecutively, with one
/// timestamp.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestRecord<'a> {
    /// The batch that holds it.
    pub batch_number: u64,
    /// The sequence of its first action that was done; the others follow without a gap.
    pub first_sequence: u64,
    /// The index of that action among the batch's leaves.
    pub first_leaf_index: u32,
    /// When the request was placed, Unix milliseconds.
    pub timestamp_ms: u64,
    /// The organization of the requesting wallet.
    pub organization_id: Id,
    /// The requesting wallet.
    pub wallet_id: Id,
    /// Signer, nonce, deadline, atomic.
    pub head: RequestHead,
    /// The signature over the request.
    pub signature: Signature,
    /// The seed of the actions' salts.
    pub salt_seed: Hash,
    /// The actions that were done, in order; at least one.
    pub actions: Vec<ActionRecord<'a>>,
    /// The refused ones, in order.
    pub failed: Vec<FailedAction>,
}

/// Why a record's signature is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// Indices of done and failed actions are not 0 .. n.
    #[error("the indices of the request's actions have gaps or repeat")]
    Indices,
    /// The signature recovers to no key.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// Another key signed.
    #[error("signed by {found}, not by {expected}")]
    Signer {
        /// The signer that the record names.
        expected: Address,
        /// The key that signed.
        found: Address,
    },
}

impl RequestRecord<'_> {
    /// The salt of an action.
    pub fn salt(&self, action: &ActionRecord<'_>) -> Hash {
        salt(&self.salt_seed, action.index)
    }

    /// The content of an action.
    pub fn content(&self, action: &ActionRecord<'_>) -> Hash {
        let words = ActionWords::of(&action.kind, &action.target, action.payload.as_bytes());
        let authority = self.authority(action);
        chain::content(&words, &self.head.signer, &authority)
    }

    /// The authority of an action.
    pub fn authority(&self, action: &ActionRecord<'_>) -> Hash {
        chain::authority_of_hash(&keccak(&self.signature.0), &self.salt(action))
    }

    /// The sequence of the last action that was done.
    pub fn last_sequence(&self) -> u64 {
        self.first_sequence + self.actions.len() as u64 - 1
    }

    /// The hashes of the actions that were done, in order.
    pub fn hashes(&self) -> Vec<ActionHashes> {
        let texts = |action| {
            let ActionRecord {
                index,
                kind,
                target,
                payload,
                ..
            }: &ActionRecord<'_> = action;
            ActionTexts {
                index: *index,
                kind,
                target,
                payload,
            }
        };
        let texts: Vec<ActionTexts<'_>> = self.actions.iter().map(texts).collect();
        let signature_hash = keccak(&self.signature.0);
        hash_actions(&texts, &self.salt_seed, &self.head.signer, &signature_hash)
    }

    /// Preimages of the leaves of the actions that were done; `hashes` are the hashes of these actions.
    pub fn placed(&self, hashes: &[ActionHashes]) -> Vec<LogLeaf> {
        let links = self.actions.iter().zip(hashes);
        let links = links.map(|(action, hashes)| (&action.previous_integrity, &hashes.content));
        let placed = hashes.iter().zip(chain::next_integrities(links));
        placed
            .zip(self.first_sequence..)
            .map(|((hashes, integrity), sequence)| LogLeaf {
                sequence,
                timestamp_ms: self.timestamp_ms,
                content: hashes.content,
                integrity,
            })
            .collect()
    }

    /// Leaf hashes of the actions that were done; `hashes` are the hashes of these actions.
    pub fn leaves(&self, hashes: &[ActionHashes]) -> Vec<Hash> {
        LogLeaf::hash_each(&self.placed(hashes))
    }

    /// The action hashes of all the request's actions, in request order.
    pub fn action_hashes(&self) -> Result<Vec<Hash>, RecordError> {
        self.with_failed(&self.hashes())
    }

    fn with_failed(&self, done: &[ActionHashes]) -> Result<Vec<Hash>, RecordError> {
        let count = self.actions.len() + self.failed.len();
        let mut hashes = vec![None; count];
        let done = self.actions.iter().zip(done);
        let done = done.map(|(action, hashes)| (action.index, hashes.action));
        let failed = self
            .failed
            .iter()
            .map(|action| (action.index, action.action_hash));
        for (index, hash) in done.chain(failed) {
            let slot = hashes
                .get_mut(usize::from(index))
                .ok_or(RecordError::Indices)?;
            *slot = Some(hash);
        }
        hashes
            .into_iter()
            .map(|hash| hash.ok_or(RecordError::Indices))
            .collect()
    }

    /// Checks that the signer signed the request.
    pub fn verify_signature(&self, domain: &Domain) -> Result<(), RecordError> {
        self.verify_signature_over(&domain.separator(), &self.hashes())
    }

    /// [`Self::verify_signature`] with the domain's separator and the hashes of the actions that were done.
    pub fn verify_signature_over(
        &self,
        separator: &Hash,
        done: &[ActionHashes],
    ) -> Result<(), RecordError> {
        let digest = self.head.digest(separator, &self.with_failed(done)?);
        let found = self.signature.recover(&digest)?;
        if found == self.head.signer {
            Ok(())
        } else {
            Err(RecordError::Signer {
                expected: self.head.signer,
                found,
            })
        }
    }
}

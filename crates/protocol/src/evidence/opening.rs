//! An action opened with its signed request: the answer to a challenge.

use crate::action::{ActionWords, RequestHead};
use crate::chain::{self, LogLeaf};
use crate::eip712::Domain;
use crate::hash::keccak;
use crate::limits::BATCH_ACTIONS_MAX;
use crate::record::{ActionRecord, RecordError, RequestRecord};
use crate::signature::{Signature, SignatureError};
use crate::{Address, Hash};

/// An opened action. Its texts are hashed, so a challenger learns only that they were signed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ActionOpening {
    /// Hashes of kind, target and payload.
    pub words: ActionWords,
    /// The action's salt.
    pub salt: Hash,
    /// The request's head.
    pub head: RequestHead,
    /// Index of the action in the request; failed actions count.
    pub index: u32,
    /// The hashes of all the request's actions.
    pub action_hashes: Vec<Hash>,
    /// The signer's signature over the request.
    pub signature: Signature,
}

/// Why an opening does not show that the action was requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotAuthorised {
    /// The words are not the leaf's, or the request does not hold the action at this index.
    #[error("the opened action is not the leaf's")]
    AnotherAction,
    /// The signature recovers to no key.
    #[error("the request's signature: {0}")]
    Signature(#[from] SignatureError),
    /// Another key signed.
    #[error("the request was signed by {recovered}, not by the action's signer {signer}")]
    NotTheSigner {
        /// The recovered signer.
        recovered: Address,
        /// The expected signer.
        signer: Address,
    },
    /// The action was placed after its request's deadline.
    #[error("the action was placed at {timestamp_ms} ms, after its deadline of {deadline_s} s")]
    PastDeadline {
        /// When it was placed.
        timestamp_ms: u64,
        /// The request's deadline.
        deadline_s: u64,
    },
}

impl ActionOpening {
    /// Opens an action of a request in the log.
    ///
    /// # Errors
    /// The record is incomplete.
    pub fn of_record(
        record: &RequestRecord<'_>,
        action: &ActionRecord<'_>,
    ) -> Result<Self, RecordError> {
        Ok(Self {
            words: ActionWords::of(&action.kind, &action.target, action.payload.as_bytes()),
            salt: record.salt(action),
            head: record.head,
            index: u32::from(action.index),
            action_hashes: record.action_hashes()?,
            signature: record.signature,
        })
    }
}

/// Checks that the signer of an action signed it, in time, like the contract's `requireAuthorised`.
///
/// # Errors
/// Why the signature does not show that.
pub fn check_authorised(
    leaf: &LogLeaf,
    opening: &ActionOpening,
    domain: &Domain,
) -> Result<(), NotAuthorised> {
    let signer = opening.head.signer;
    let authority = chain::authority_of_hash(&keccak(&opening.signature.0), &opening.salt);
    let listed = opening.action_hashes.get(opening.index as usize);
    if chain::content(&opening.words, &signer, &authority) != leaf.content
        || opening.action_hashes.len() > BATCH_ACTIONS_MAX
        || listed != Some(&opening.words.action_hash(&opening.salt))
    {
        return Err(NotAuthorised::AnotherAction);
    }
    let digest = opening
        .head
        .digest(&domain.separator(), &opening.action_hashes);
    let recovered = opening.signature.recover(&digest)?;
    if recovered != signer {
        return Err(NotAuthorised::NotTheSigner { recovered, signer });
    }
    let deadline_s = opening.head.deadline_s;
    if u128::from(leaf.timestamp_ms) > u128::from(deadline_s) * 1000 {
        return Err(NotAuthorised::PastDeadline {
            timestamp_ms: leaf.timestamp_ms,
            deadline_s,
        });
    }
    Ok(())
}

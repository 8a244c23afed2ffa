//! Follows the sequencer's keys: a reader that trusts the keys up to one of them learns the next from the log itself,
//! by the proof file of the action that names it.

use crate::action::Kind;
use crate::eip712::Domain;
use crate::proof::{ProofFile, ProofFileError};
use crate::sequencer_keys::{KeyActivation, KeyListError, SequencerKeys};

/// Why a proof file shows no next key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyProofError {
    /// The file does not hold under the trusted keys.
    #[error(transparent)]
    File(#[from] ProofFileError),
    /// The action names no key.
    #[error("the proof file's action names no sequencer key")]
    OtherAction,
    /// The action is in a batch that the new key should have signed.
    #[error("batch {batch} names a key from batch {from_batch} on, which is too late")]
    TooLate {
        /// The batch that holds the action.
        batch: u64,
        /// The first batch of the key.
        from_batch: u64,
    },
    /// The key cannot follow the trusted ones.
    #[error(transparent)]
    List(#[from] KeyListError),
}

impl SequencerKeys {
    /// Adds the key that a proof file's action names. The file is checked with this list's keys, which sign the batch
    /// that holds the action.
    ///
    /// # Errors
    /// The check that failed; the list stays unchanged.
    pub fn follow(
        &mut self,
        proof: &ProofFile,
        domain: &Domain,
    ) -> Result<KeyActivation, KeyProofError> {
        proof.verify(domain, self)?;
        let action = &proof.action;
        let named = if action.kind == Kind::SystemSequencerKey.text() {
            KeyActivation::named_by(&action.target, &action.payload)
        } else {
            None
        };
        let entry = named.ok_or(KeyProofError::OtherAction)?;
        let (batch, from_batch) = (proof.batch.header.number, entry.from_batch);
        if batch >= from_batch {
            return Err(KeyProofError::TooLate { batch, from_batch });
        }
        self.push(entry)?;
        Ok(entry)
    }
}

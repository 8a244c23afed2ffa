//! What is kept of archived actions that name a key of the sequencer: their proof files. Clients follow the log's keys
//! with them, and could not reach later keys without them.

use std::sync::Arc;

use arc_swap::ArcSwap;
use kedge_protocol::proof::ProofFile;

use crate::error::ApiError;

/// Who knows the actions that name the sequencer's keys.
pub trait NamedKeys {
    /// The proof files of those before a sequence, in the log's order, archived ones among them.
    ///
    /// # Errors
    /// [`ApiError`] where one is neither in the log nor kept.
    fn proofs_before(&self, sequence: u64) -> Result<Vec<ProofFile>, ApiError>;

    /// Takes the proof files that are to be shown where the log does not hold the action any more.
    fn keep(&self, proofs: Vec<ProofFile>);
}

/// The proof files that are kept, for a server that runs.
#[derive(Default)]
pub struct KeptProofs(ArcSwap<Vec<ProofFile>>);

impl KeptProofs {
    /// The proof file of the action with this sequence.
    pub fn of(&self, sequence: u64) -> Option<ProofFile> {
        let kept = self.0.load();
        let mut found = kept.iter().filter(|proof| proof.leaf.sequence == sequence);
        found.next().cloned()
    }

    /// Takes others in place of those that were kept.
    pub fn replace(&self, proofs: Vec<ProofFile>) {
        self.0.store(Arc::new(proofs));
    }
}

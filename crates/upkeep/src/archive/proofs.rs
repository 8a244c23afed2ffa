//! Proof files of archived actions that name a key of the sequencer. Clients need them to follow the log's keys.

use std::sync::Arc;

use arc_swap::ArcSwap;
use kedge_protocol::proof::ProofFile;

/// Provider of the actions that name the sequencer's keys.
pub trait KeyActionSource {
    /// Proof files of the actions before a sequence, in the log's order, including archived ones.
    ///
    /// # Errors
    /// The reason, if an action is neither in the log nor kept.
    fn proofs_before(&self, sequence: u64) -> Result<Vec<ProofFile>, String>;

    /// Keeps proof files for the time when the log no longer holds the actions.
    fn keep(&self, proofs: Vec<ProofFile>);
}

/// Kept proof files of a running server.
#[derive(Default)]
pub struct KeyProofFiles(ArcSwap<Vec<ProofFile>>);

impl KeyProofFiles {
    /// The proof file of the action with this sequence.
    pub fn of(&self, sequence: u64) -> Option<ProofFile> {
        let kept = self.0.load();
        let mut found = kept.iter().filter(|proof| proof.leaf.sequence == sequence);
        found.next().cloned()
    }

    pub fn replace(&self, proofs: Vec<ProofFile>) {
        self.0.store(Arc::new(proofs));
    }
}

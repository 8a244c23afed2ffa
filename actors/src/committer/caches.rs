//! What the committer remembers of rows that may not be in the published snapshot yet.

use kedge_protocol::Address;
use kedge_protocol::nonce::NonceWindow;

use super::{Committer, CommitterError};

/// Entries of the committer's caches before they are emptied, as soon as nothing is being written.
const CACHE_MAX: usize = 100_000;

impl Committer {
    /// The signer's window with everything of this and earlier groups.
    pub(super) fn window(&mut self, signer: Address) -> Result<&mut NonceWindow, CommitterError> {
        use std::collections::hash_map::Entry;
        Ok(match self.nonces.entry(signer) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let window = self.published.load().snapshot.nonces(signer)?;
                entry.insert(window)
            }
        })
    }

    /// Before a group: forgets what is in the published snapshot by now, where that is much.
    pub(super) fn trim_caches(&mut self) -> Result<(), CommitterError> {
        let entries = [
            self.nonces.len(),
            self.minted.len(),
            self.burned.len(),
            self.log_bytes.len(),
            self.secrets.len(),
            self.beside.remembered(),
        ];
        if entries.into_iter().any(|entries| entries > CACHE_MAX) {
            self.runtime.block_on(self.writing.settled())?;
            self.nonces.clear();
            self.minted.clear();
            self.burned.clear();
            self.log_bytes.clear();
            self.secrets.clear();
            self.beside.forget();
        }
        Ok(())
    }
}

//! What the committer remembers of rows that may not be in the published snapshot yet.

use std::collections::hash_map::Entry;

use kedge_protocol::nonce::NonceWindow;
use kedge_protocol::{Address, Id};
use kedge_storage::Group;

use super::{Committer, CommitterError};

/// Entries of the committer's caches before they are emptied, as soon as nothing is being written.
const CACHE_MAX: usize = 100_000;

impl Committer {
    /// The signer's window with everything of this and earlier groups.
    pub(super) fn window(&mut self, signer: Address) -> Result<&mut NonceWindow, CommitterError> {
        Ok(match self.nonces.entry(signer) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let window = self.published.load().snapshot.nonces(signer)?;
                entry.insert(window)
            }
        })
    }

    /// How many objects the template has made with this and earlier groups.
    pub(super) fn minted(&mut self, template: Id) -> Result<&mut u64, CommitterError> {
        Ok(match self.minted.entry(template) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(self.published.load().snapshot.minted(template)?),
        })
    }

    /// Counts what a request has added to the log and to what it makes on its organization.
    pub(super) fn count_bytes(
        &mut self,
        group: &mut Group,
        organization: Id,
        added: i64,
    ) -> Result<(), CommitterError> {
        let bytes = match self.log_bytes.entry(organization) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let published = self.published.load();
                entry.insert(published.snapshot.log_bytes(organization)?)
            }
        };
        *bytes = bytes.saturating_add_signed(added);
        group.put_log_bytes(organization, *bytes);
        Ok(())
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

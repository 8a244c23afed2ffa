//! Rows that may not be in the published snapshot yet.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use kedge_protocol::nonce::NonceWindow;
use kedge_protocol::{Address, Id};
use kedge_storage::{SecretRow, WriteGroup};

use super::Committer;
use crate::commit::error::CommitterError;

/// Entries after which the committer's caches are emptied, as soon as no write is in flight.
const CACHE_MAX: usize = 100_000;

/// Rows after this and earlier groups, by key.
#[derive(Default)]
pub(crate) struct CommitterCaches {
    nonces: HashMap<Address, NonceWindow>,
    minted: HashMap<Id, u64>,
    pub(super) burned: HashMap<Id, u64>,
    log_bytes: HashMap<Id, u64>,
    pub(super) secrets: HashMap<Id, SecretRow>,
}

impl Committer {
    /// The signer's window after this and earlier groups.
    pub(super) fn window(&mut self, signer: Address) -> Result<&mut NonceWindow, CommitterError> {
        Ok(match self.caches.nonces.entry(signer) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let window = self.published.load().snapshot.nonces(signer)?;
                entry.insert(window)
            }
        })
    }

    /// How many objects the template has minted, including those of this and earlier groups.
    pub(super) fn minted(&mut self, template: Id) -> Result<&mut u64, CommitterError> {
        Ok(match self.caches.minted.entry(template) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(self.published.load().snapshot.minted(template)?),
        })
    }

    /// Adds a request's log bytes to its organization, and those of its actions.
    pub(super) fn count_bytes(
        &mut self,
        group: &mut WriteGroup,
        organization: Id,
        added: i64,
    ) -> Result<(), CommitterError> {
        let bytes = match self.caches.log_bytes.entry(organization) {
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

    /// Whether the caches are full enough to be emptied.
    pub(crate) fn remembers_much(&self) -> bool {
        let entries = [
            self.caches.nonces.len(),
            self.caches.minted.len(),
            self.caches.burned.len(),
            self.caches.log_bytes.len(),
            self.caches.secrets.len(),
            self.side_events.remembered(),
        ];
        entries.into_iter().any(|entries| entries > CACHE_MAX)
    }

    /// Empties the caches, before a group and only when everything handed over is published.
    pub(crate) fn forget(&mut self) {
        self.caches = CommitterCaches::default();
        self.side_events.forget();
    }
}

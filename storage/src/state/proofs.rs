//! Proofs for a version of the state.

use kedge_protocol::state::trie::{
    NodePath, ProvenPlaces, StateNodes, StateTrieError, prove_state_at,
};
use kedge_protocol::state::{StateProof, state_path};
use kedge_protocol::{Hash, Id};

use super::versions::StoredVersion;
use crate::snapshot::{StoreReadError, StoreSnapshot};
use crate::tables::Table;

/// Above this number of leaves a missing topmost branch was dropped.
const BARE_LEAVES_MAX: u64 = 1 << 14;

impl StoreSnapshot {
    /// Whether the topmost place of a state is in memory, so that a proof reads only a few rows.
    pub fn remembers_state(&self, root: &Hash) -> bool {
        let places = self.database().proven_places();
        places.find(&NodePath::default(), root).is_some()
    }

    /// The proofs of these keys in the state after some number of batches, in the order of the keys; `None` if this copy has
    /// no such root. A key without an entry gets a proof of absence.
    ///
    /// # Errors
    /// The rows cannot be read, or do not give the root any more.
    pub fn state_proofs(
        &self,
        batches: u64,
        keys: &[Id],
    ) -> Result<Option<Vec<StateProof>>, StoreReadError> {
        let Some(root) = self.root_at(batches)? else {
            return Ok(None);
        };
        let paths: Vec<Hash> = keys.iter().map(state_path).collect();
        let version = StoredVersion::new(self, batches);
        let places = self.database().proven_places();
        let top = NodePath::default();
        // Only few leaves have no branch above them all that is stored.
        if places.find(&top, &root.root).is_none()
            && version.branch(&top)?.is_none()
            && self.estimated_rows(Table::StateEntries)? > BARE_LEAVES_MAX
        {
            return Ok(None);
        }
        let proven = prove_state_at(&version, &version, &root.root, &paths, places);
        let proven = proven.map_err(|error| match error {
            StateTrieError::Read(error) => error,
            StateTrieError::Order(error) => StoreReadError::Missing {
                table: Table::StateEntries,
                what: error.to_string(),
            },
        })?;
        let Some(proven) = proven else {
            // Its versions were dropped meanwhile.
            return Ok(None);
        };
        let mut proofs = Vec::with_capacity(keys.len());
        for ((key, path), proof) in keys.iter().zip(paths).zip(proven) {
            let entry = version.entry(&path)?;
            if entry.as_ref().map(|(value, _)| *value) != proof.value {
                // A remembered place shows what the rows have no more.
                return Ok(None);
            }
            proofs.push(StateProof {
                key: *key,
                entry: entry.map(|(_, entry)| entry).unwrap_or_default(),
                nodes: proof.nodes,
            });
        }
        Ok(Some(proofs))
    }
}

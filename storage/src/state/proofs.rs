//! Proofs for a version of the state.

use kedge_protocol::state::trie::{NodePath, StateNodes, StateTrieError, prove_state};
use kedge_protocol::state::{StateProof, state_path};
use kedge_protocol::{Hash, Id};

use super::versions::StoredVersion;
use crate::snapshot::{StoreReadError, StoreSnapshot};
use crate::tables::Table;

/// Above this number of leaves a missing topmost branch was dropped.
const BARE_LEAVES_MAX: u64 = 1 << 14;

impl StoreSnapshot {
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
        let mut paths: Vec<Hash> = keys.iter().map(state_path).collect();
        paths.sort_unstable();
        paths.dedup();
        let version = StoredVersion::new(self, batches);
        // Only few leaves have no branch above them all that is stored.
        let top = version.branch(&NodePath::default())?;
        if top.is_none() && self.estimated_rows(Table::StateEntries)? > BARE_LEAVES_MAX {
            return Ok(None);
        }
        let proven = prove_state(&version, &version, &paths).map_err(|error| match error {
            StateTrieError::Read(error) => error,
            StateTrieError::Order(error) => StoreReadError::Missing {
                table: Table::StateEntries,
                what: error.to_string(),
            },
        })?;
        let Some(proven) = proven.filter(|proven| proven.root == root.root) else {
            // Its versions were dropped meanwhile.
            return Ok(None);
        };
        let proofs = keys.iter().map(|key| {
            let path = state_path(key);
            let place = paths.partition_point(|other| *other < path);
            Ok(StateProof {
                key: *key,
                entry: version.entry(&path)?.unwrap_or_default(),
                nodes: proven.nodes[place].clone(),
            })
        });
        proofs.collect::<Result<_, _>>().map(Some)
    }
}

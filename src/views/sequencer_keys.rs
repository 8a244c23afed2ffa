//! The sequencer's keys as JSON.

use kedge_protocol::proof::ProofFile;
use schemars::JsonSchema;
use serde::Serialize;

use super::scalars::{AddressText, IdText, Time};
use super::schema;

/// A key of the sequencer, and where it is said that it signs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SequencerKeyView {
    /// The key's address.
    pub key: AddressText,
    /// The number of the first batch that it signs; the next key's first batch ends it.
    pub from_batch: u64,
    /// The sequence of the action that names it; null for the log's first key, which no action names, and
    /// where the contract alone names it.
    pub sequence: Option<u64>,
    /// That action.
    pub action_id: Option<IdText>,
    /// When it was placed.
    pub named_at: Option<Time>,
    /// The contract that names the key too; null where it does not, or was not read yet.
    pub contract: Option<AddressText>,
    /// The proof file of that action, without an anchor: who trusts the keys before needs nothing else to
    /// trust this one.
    #[schemars(with = "Option<schema::ProofFile>")]
    pub proof: Option<ProofFile>,
}

//! The sequencer's keys as JSON.

use kedge_http::scalars::{AddressText, ResourceIdText, TimeText};
use kedge_protocol::proof::ProofFile;
use schemars::JsonSchema;
use serde::Serialize;

/// A key of the sequencer, and the places that name it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SequencerKeyView {
    /// The key's address.
    pub key: AddressText,
    /// The number of the first batch that it signs; the next key's first batch ends it.
    pub from_batch: u64,
    /// The sequence of the action that names it. Null for the log's first key, which no action names, and for a key
    /// that only the contract names.
    pub sequence: Option<u64>,
    /// That action.
    pub action_id: Option<ResourceIdText>,
    /// When it was placed.
    pub named_at: Option<TimeText>,
    /// The contract, if it names the key too; null if it does not, or was not read yet.
    pub contract: Option<AddressText>,
    /// The proof file of that action, without an anchor: with trust in the earlier keys, this alone is enough to trust
    /// this one.
    pub proof: Option<ProofFile>,
}

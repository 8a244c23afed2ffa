//! The service itself: its domain, its health, its version.

use kedge_http::scalars::{AddressText, HashText};
use schemars::JsonSchema;
use serde::Serialize;

/// A member of an EIP-712 type.
#[derive(Serialize, JsonSchema)]
pub struct TypeMember {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    #[serde(rename = "type")]
    pub type_name: &'static str,
}

/// The types of the signed data.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
#[schemars(rename = "Types")]
pub struct SigningTypesView {
    /// Those of a request.
    pub action_request: [TypeMember; 5],
    /// Those of an action.
    pub action: [TypeMember; 4],
}

/// The domain of every signature, in the shape of EIP-5267's `eip712Domain()`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DomainView {
    /// The members of the domain that are used: name, version, chainId, verifyingContract.
    pub fields: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The chain.
    pub chain_id: u64,
    /// The contract.
    pub verifying_contract: AddressText,
    /// Zero: it is not used.
    pub salt: HashText,
    /// None.
    #[schemars(with = "Vec<u64>")]
    pub extensions: [u64; 0],
    /// The address that signs the next batch. `GET /sequencer-keys` lists the keys of all batches.
    pub sequencer: AddressText,
    /// The type that is signed.
    pub primary_type: &'static str,
    /// The types of the signed data.
    pub types: SigningTypesView,
}

/// The process answers.
#[derive(Serialize, JsonSchema)]
pub struct HealthView {
    /// Always `ok`.
    pub status: &'static str,
}

/// Whether the server accepts changes.
#[derive(Serialize, JsonSchema)]
pub struct ReadyView {
    /// `ready` or `not_ready`.
    pub status: &'static str,
    /// `read_write`, or `read_only` with the reason.
    pub mode: &'static str,
    /// Why it accepts no changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The log's head.
    pub head: HashText,
    /// The last action's sequence.
    pub sequence: u64,
    /// How many batches there are.
    pub batches: u64,
    /// How far the chain lags behind the log.
    pub anchoring: AnchoringView,
    /// The chain's node; absent until it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeView>,
    /// This node's part among several; absent on a single node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterView>,
    /// Requests in flight that change something.
    pub requests_under_way: usize,
    /// The limit of such requests.
    pub requests_max: usize,
}

/// What a node is among several that share a log. A follower is ready once it lags by less than a second.
#[derive(Serialize, JsonSchema)]
pub struct ClusterView {
    /// This node's name.
    pub node: String,
    /// `leader` or `follower`.
    pub role: &'static str,
    /// The newest term it knows.
    pub term: u64,
    /// The name of the node that leads, as far as it knows.
    pub leader: Option<String>,
    /// The last frame of the log that it holds.
    pub frame: u64,
    /// The last frame of the stream, when that was last seen.
    pub stream_frame: u64,
    /// Seconds since it held everything that the stream holds; absent before that was ever so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lag_s: Option<f64>,
    /// Why it accepts no changes although it leads, if so; it continues by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stalled: Option<String>,
    /// Why it cannot continue, if so: the operator has to act.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// How far the chain lags behind the log. A lag does not make the server unready.
#[derive(Serialize, JsonSchema)]
pub struct AnchoringView {
    /// Batches that a finalized anchor covers.
    pub finalized_batches: u64,
    /// Batches that none covers yet.
    pub lag_batches: u64,
    /// The age of the oldest of them, seconds; 0 if there is none.
    pub lag_s: u64,
}

/// Whether the chain's node answers. The server stays ready if it does not.
#[derive(Serialize, JsonSchema)]
pub struct NodeView {
    /// Whether it answers.
    pub reachable: bool,
    /// For how long it has not answered, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreachable_s: Option<u64>,
}

/// The running version.
#[derive(Serialize, JsonSchema)]
pub struct VersionView {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
}

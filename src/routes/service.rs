//! The service itself: its domain, its keys, its health.

use hyper::StatusCode;
use kedge_actors::{NodeHealth, Published};
use kedge_api::scalars::{AddressText, HashText};
use kedge_http::error::ApiError;
use kedge_http::reply::Reply;
use kedge_protocol::eip712::{DOMAIN_NAME, DOMAIN_VERSION};
use kedge_protocol::{Hash, KeyOfBatch};
use kedge_storage::{AnchorStatus, Mode, Page, ReadError};
use schemars::JsonSchema;
use serde::Serialize;

use super::PUBLIC;
use crate::call::Call;
use crate::openapi;

/// A member of an EIP-712 type.
#[derive(Serialize, JsonSchema)]
struct TypeMember {
    name: &'static str,
    #[serde(rename = "type")]
    type_name: &'static str,
}

const fn member(name: &'static str, type_name: &'static str) -> TypeMember {
    TypeMember { name, type_name }
}

/// The types of the signed data.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
struct Types {
    action_request: [TypeMember; 5],
    action: [TypeMember; 4],
}

/// The domain of every signature, in the shape of EIP-5267's `eip712Domain()`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DomainView {
    /// The members of the domain that are used: name, version, chainId, verifyingContract.
    fields: &'static str,
    name: &'static str,
    version: &'static str,
    chain_id: u64,
    verifying_contract: AddressText,
    salt: HashText,
    #[schemars(with = "Vec<u64>")]
    extensions: [u64; 0],
    /// The address that signs the next batch. `GET /sequencer-keys` lists the keys of all batches.
    sequencer: AddressText,
    primary_type: &'static str,
    types: Types,
}

/// `GET /.well-known/eip712-domain.json`
pub async fn domain(call: Call) -> Result<Reply, ApiError> {
    let domain = call.app.verifier.domain();
    let published = call.published();
    let next = published.head.batches;
    let view = DomainView {
        fields: "0x0f",
        name: DOMAIN_NAME,
        version: DOMAIN_VERSION,
        chain_id: domain.chain_id,
        verifying_contract: AddressText(domain.verifying_contract),
        salt: HashText(Hash::ZERO),
        extensions: [],
        sequencer: AddressText(published.snapshot.sequencer_keys()?.key_of(next)),
        primary_type: "ActionRequest",
        types: Types {
            action_request: [
                member("signer", "address"),
                member("nonce", "uint64"),
                member("deadline", "uint64"),
                member("atomic", "bool"),
                member("actions", "Action[]"),
            ],
            action: [
                member("kind", "string"),
                member("target", "string"),
                member("payload", "string"),
                member("salt", "bytes32"),
            ],
        },
    };
    Ok(Reply::ok(sequence(&call), &view)?.etagged(&call.headers, PUBLIC))
}

fn sequence(call: &Call) -> u64 {
    call.published().head.sequence
}

/// The public keys of access tokens (RFC 7517).
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes what the token library writes")]
pub struct KeysView {
    keys: Vec<serde_json::Map<String, serde_json::Value>>,
}

/// `GET /.well-known/jwks.json`
pub async fn keys(call: Call) -> Result<Reply, ApiError> {
    let reply = Reply::ok(sequence(&call), &call.app.access.public_keys())?;
    Ok(reply.etagged(&call.headers, "public, max-age=300"))
}

/// The process answers.
#[derive(Serialize, JsonSchema)]
pub struct HealthView {
    /// Always `ok`.
    status: &'static str,
}

/// `GET /healthz`
pub async fn health(call: Call) -> Result<Reply, ApiError> {
    Reply::ok(sequence(&call), &HealthView { status: "ok" })
}

/// Whether the server accepts changes.
#[derive(Serialize, JsonSchema)]
pub struct ReadyView {
    /// `ready` or `not_ready`.
    status: &'static str,
    /// `read_write`, or `read_only` with the reason.
    mode: &'static str,
    /// Why it accepts no changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// The log's head.
    head: HashText,
    /// The last action's sequence.
    sequence: u64,
    /// How many batches there are.
    batches: u64,
    /// How far the chain lags behind the log.
    anchoring: AnchoringView,
    /// The chain's node; absent until it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<NodeView>,
    /// Requests in flight that change something.
    requests_under_way: usize,
    /// The limit of such requests.
    requests_max: usize,
}

/// How far the chain lags behind the log. A lag does not make the server unready.
#[derive(Serialize, JsonSchema)]
pub struct AnchoringView {
    /// Batches that a finalized anchor covers.
    finalized_batches: u64,
    /// Batches that none covers yet.
    lag_batches: u64,
    /// The age of the oldest of them, seconds; 0 if there is none.
    lag_s: u64,
}

/// Whether the chain's node answers. The server stays ready if it does not.
#[derive(Serialize, JsonSchema)]
pub struct NodeView {
    /// Whether it answers.
    reachable: bool,
    /// For how long it has not answered, seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    unreachable_s: Option<u64>,
}

impl NodeView {
    fn of(node: &NodeHealth, now_ms: u64) -> Self {
        let since_ms = node.unreachable_since_ms;
        Self {
            reachable: since_ms.is_none(),
            unreachable_s: since_ms.map(|since_ms| now_ms.saturating_sub(since_ms) / 1_000),
        }
    }
}

impl AnchoringView {
    fn of(published: &Published, now_ms: u64) -> Result<Self, ReadError> {
        let newest = Page {
            after: None,
            descending: true,
            limit: ANCHORS_LOOKED_AT,
        };
        let anchors = published.snapshot.anchors(newest)?;
        let finalized = anchors
            .iter()
            .find(|anchor| anchor.status == AnchorStatus::Finalized);
        let finalized = finalized.map_or(0, |anchor| anchor.checkpoint.checkpoint.batches);
        let oldest = published.snapshot.batch(finalized)?;
        Ok(Self {
            finalized_batches: finalized,
            lag_batches: published.head.batches.saturating_sub(finalized),
            lag_s: oldest.map_or(0, |batch| {
                now_ms.saturating_sub(batch.header.sealed_at_ms) / 1_000
            }),
        })
    }
}

/// How many of the newest anchors are searched for the last finalized one: only the newest few can
/// be in another state.
const ANCHORS_LOOKED_AT: usize = 64;

/// `GET /readyz`
pub async fn ready(call: Call) -> Result<Reply, ApiError> {
    let published = call.published();
    let engine = &call.app.engine;
    let reason = match (engine.failure().reason(), engine.mode()) {
        (Some(why), _) => Some(format!("the engine has failed and the process ends: {why}")),
        (None, Mode::ReadOnly(why)) => Some(why),
        (None, Mode::ReadWrite) if engine.disk_full() => Some("the disk is full".to_owned()),
        (None, Mode::ReadWrite) => engine.check_clock().err().map(|why| why.to_string()),
    };
    let (status, text, mode) = if reason.is_none() {
        (StatusCode::OK, "ready", "read_write")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not_ready", "read_only")
    };
    let head = &published.head;
    let view = ReadyView {
        status: text,
        mode,
        reason,
        head: HashText(head.head),
        sequence: head.sequence,
        batches: head.batches,
        anchoring: AnchoringView::of(&published, engine.now_ms())?,
        node: engine
            .node()
            .map(|node| NodeView::of(&node, engine.now_ms())),
        requests_under_way: engine.requests_under_way(),
        requests_max: engine.requests_max(),
    };
    Reply::json(status, head.sequence, &view)
}

/// The running version.
#[derive(Serialize, JsonSchema)]
pub struct VersionView {
    name: &'static str,
    version: &'static str,
}

/// `GET /version`
pub async fn version(call: Call) -> Result<Reply, ApiError> {
    let view = VersionView {
        name: env!("CARGO_PKG_NAME"),
        version: env!("CARGO_PKG_VERSION"),
    };
    Reply::ok(sequence(&call), &view)
}

/// `GET /openapi.json`
pub async fn document(call: Call) -> Result<Reply, ApiError> {
    let document = openapi::served(call.table);
    Ok(document.reply(&call.headers, sequence(&call), PUBLIC))
}

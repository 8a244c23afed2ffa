//! The service itself: domain, token keys, health, version.

use hyper::StatusCode;
use kedge_actors::{NodeHealth, PublishedState};
use kedge_cluster::node::NodeStatus;
use kedge_http::auth::keys::PUBLIC_CACHE;
use kedge_http::error::ApiResult;
use kedge_http::redaction::without_paths;
use kedge_http::reply::HttpReply;
use kedge_http::scalars::{AddressText, HashText};
use kedge_protocol::eip712::{DOMAIN_NAME, DOMAIN_VERSION};
use kedge_protocol::{BatchKeys, Hash};
use kedge_storage::{AnchorProgress, RowPage, StoreMode, StoreReadError};
use schemars::JsonSchema;

use crate::api::call::HandlerCall;
use crate::api::row::PUBLIC;
use crate::api::service::views::{
    AnchoringView, ClusterView, DomainView, HealthView, NodeView, ReadyView, SigningTypesView,
    TypeMember, VersionView,
};

const fn member(name: &'static str, type_name: &'static str) -> TypeMember {
    TypeMember { name, type_name }
}

/// `GET /.well-known/eip712-domain.json`
pub async fn domain(call: HandlerCall) -> ApiResult<HttpReply> {
    let domain = call.services.access.verifier.domain();
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
        types: SigningTypesView {
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
    Ok(HttpReply::ok(sequence(&call), &view)?.etagged(&call.headers, PUBLIC))
}

fn sequence(call: &HandlerCall) -> u64 {
    call.published().head.sequence
}

/// The public keys of access tokens (RFC 7517).
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes what the token library writes")]
pub struct KeysView {
    keys: Vec<serde_json::Map<String, serde_json::Value>>,
}

/// `GET /.well-known/jwks.json`
pub async fn keys(call: HandlerCall) -> ApiResult<HttpReply> {
    let reply = HttpReply::ok(sequence(&call), &call.services.access.tokens.public_keys())?;
    Ok(reply.etagged(&call.headers, PUBLIC_CACHE))
}

/// `GET /healthz`
pub async fn health(call: HandlerCall) -> ApiResult<HttpReply> {
    HttpReply::ok(sequence(&call), &HealthView { status: "ok" })
}

/// A follower with a larger lag is not ready.
const LAG_MAX_S: f64 = 1.0;

fn cluster_of(node: &str, standing: NodeStatus) -> ClusterView {
    ClusterView {
        node: node.to_owned(),
        role: standing.role.name(),
        term: standing.term,
        frame: standing.frame,
        stream_frame: standing.tail,
        lag_s: standing.lag_s(),
        leader: standing.leader.map(|leader| leader.node),
        stalled: standing.stalled.as_deref().map(without_paths),
        problem: standing.problem.as_deref().map(without_paths),
    }
}

/// Why a cluster's node is not ready, if so.
fn why_not(cluster: &ClusterView) -> Option<String> {
    let lags = || match cluster.lag_s {
        Some(lag_s) if lag_s <= LAG_MAX_S => None,
        Some(lag_s) => Some(format!("this node lags the log by {lag_s:.1} seconds")),
        None => Some("this node is still reading the log".to_owned()),
    };
    let why = cluster.problem.clone().or_else(|| cluster.stalled.clone());
    why.or_else(lags)
}

fn node_of(node: &NodeHealth, now_ms: u64) -> NodeView {
    let since_ms = node.unreachable_since_ms;
    NodeView {
        reachable: since_ms.is_none(),
        unreachable_s: since_ms.map(|since_ms| now_ms.saturating_sub(since_ms) / 1_000),
    }
}

fn anchoring_of(published: &PublishedState, now_ms: u64) -> Result<AnchoringView, StoreReadError> {
    let newest = RowPage {
        after: None,
        descending: true,
        limit: ANCHORS_LOOKED_AT,
    };
    let anchors = published.snapshot.anchors(newest)?;
    let finalized = anchors
        .iter()
        .find(|anchor| anchor.status == AnchorProgress::Finalized);
    let finalized = finalized.map_or(0, |anchor| anchor.checkpoint.checkpoint.batches);
    let oldest = published.snapshot.batch(finalized)?;
    Ok(AnchoringView {
        finalized_batches: finalized,
        lag_batches: published.head.batches.saturating_sub(finalized),
        lag_s: oldest.map_or(0, |batch| {
            now_ms.saturating_sub(batch.header.sealed_at_ms) / 1_000
        }),
    })
}

/// Newest anchors searched for the last finalized one: only the newest few can be in another state.
const ANCHORS_LOOKED_AT: usize = 64;

/// `GET /readyz`
pub async fn ready(call: HandlerCall) -> ApiResult<HttpReply> {
    let published = call.published();
    let engine = &call.services.engine;
    let reason = match (engine.failure().reason(), engine.mode()) {
        (Some(why), _) => Some(format!("the engine has failed and the process ends: {why}")),
        (None, StoreMode::ReadOnly(why)) => Some(why),
        (None, StoreMode::ReadWrite) if engine.disk_full() => Some("the disk is full".to_owned()),
        (None, StoreMode::ReadWrite) => engine.check_clock().err().map(|why| why.to_string()),
    };
    let replica = call.services.node.replica.get();
    let cluster = replica.map(|replica| {
        let node = &replica.cluster().options().node;
        cluster_of(node, replica.standing())
    });
    let reason = reason.or_else(|| cluster.as_ref().and_then(why_not));
    let unfit = replica.and_then(|replica| replica.standing().unfit);
    let reason = reason.or_else(|| {
        unfit
            .filter(|unfit| unfit.bars_reads)
            .map(|unfit| unfit.why)
    });
    // The answer is public; the full reason is for the operator.
    let reason = reason.as_deref().map(without_paths);
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
        anchoring: anchoring_of(&published, engine.now_ms())?,
        node: engine.node().map(|node| node_of(&node, engine.now_ms())),
        cluster,
        requests_under_way: engine.requests_under_way(),
        requests_max: engine.requests_max(),
    };
    HttpReply::json(status, head.sequence, &view)
}

/// `GET /version`
pub async fn version(call: HandlerCall) -> ApiResult<HttpReply> {
    let view = VersionView {
        name: env!("CARGO_PKG_NAME"),
        version: env!("CARGO_PKG_VERSION"),
    };
    HttpReply::ok(sequence(&call), &view)
}

/// `GET /openapi.json`
pub async fn document(call: HandlerCall) -> ApiResult<HttpReply> {
    let document = (call.document)();
    Ok(document.reply(&call.headers, sequence(&call), PUBLIC))
}

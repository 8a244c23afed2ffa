//! Anchors, checkpoints and consistency proofs. All public.

use kedge_actors::CheckpointError;
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::query::RequestParameter;
use kedge_http::reply::HttpReply;
use kedge_http::scalars::HashText;
use kedge_protocol::{BatchKeys, Prefix, log_tree};
use kedge_storage::AnchorRow;

use crate::api::call::HandlerCall;
use crate::api::endpoint::MIN_SEQUENCE;
use crate::api::listing::{ListRequest, ListSource};
use crate::api::log::views::{CheckpointView, ConsistencyView};
use crate::api::row::PUBLIC;
use crate::api::state::handlers::{StateReading, not_reached};
use crate::api::state::rows::WAIT;
use crate::api::view_conversion;

/// The two sizes of a consistency proof.
pub const SIZES: &[RequestParameter] = &[
    RequestParameter {
        name: "from",
        schema_type: r#"{"type": "integer", "minimum": 1, "maximum": 9223372036854775807}"#,
        description: "The smaller size of the log, in batches; at least 1.",
    },
    RequestParameter {
        name: "to",
        schema_type: r#"{"type": "integer", "minimum": 1, "maximum": 9223372036854775807}"#,
        description: "The larger size; at most the log's size.",
    },
];

/// What the checkpoint must cover.
pub const AT_LEAST: &[RequestParameter] = &[
    RequestParameter {
        name: "at_least",
        schema_type: r#"{"type": "integer", "minimum": 0, "maximum": 9223372036854775807}"#,
        description: "A sequence that the checkpoint must cover.",
    },
    WAIT,
];

/// `GET /anchors`
pub async fn list(call: HandlerCall) -> ApiResult<HttpReply> {
    let published = call.published();
    let snapshot = &published.snapshot;
    let listing = ListRequest::of(&call)?;
    listing.answer(
        &call,
        published.head.sequence,
        ListSource {
            fetch: |rows| Ok(snapshot.anchors(rows)?),
            place: |anchor: &AnchorRow| anchor.number,
            keep: |_: &AnchorRow| Ok(Some(0)),
        },
        |anchor| Ok(view_conversion::anchor(&anchor)),
    )
}

/// `GET /anchors/{id}`
pub async fn get(call: HandlerCall) -> ApiResult<HttpReply> {
    let published = call.published();
    let snapshot = &published.snapshot;
    let number = call.number_of(Prefix::Anchor, |id| snapshot.anchor_number(id))?;
    let anchor = snapshot.anchor(number)?;
    let anchor = anchor.ok_or_else(|| call.missing(Prefix::Anchor))?;
    let reply = HttpReply::ok(published.head.sequence, &view_conversion::anchor(&anchor))?;
    Ok(reply.etagged(&call.headers, PUBLIC))
}

/// `GET /checkpoint`
pub async fn checkpoint(call: HandlerCall) -> ApiResult<HttpReply> {
    let engine = &call.services.engine;
    let wanted = call.query.number("at_least")?;
    let seen = call.query.number(MIN_SEQUENCE.name)?;
    if let Some(wanted) = wanted.max(seen) {
        StateReading::wait_for(&call, wanted).await?;
    }
    let signed = match engine.checkpoint() {
        Err(error @ CheckpointError::NoRoot) => {
            return Err(not_reached(&call, &error.to_string())?);
        }
        signed => signed?,
    };
    let key = engine
        .sequencer_keys()?
        .key_of_checkpoint(signed.checkpoint.batches);
    let view = CheckpointView::of(&signed, engine.domain(), key);
    let reply = HttpReply::ok(signed.checkpoint.sequence, &view)?;
    Ok(reply.etagged(&call.headers, PUBLIC))
}

/// `GET /consistency`
pub async fn consistency(call: HandlerCall) -> ApiResult<HttpReply> {
    let published = call.published();
    let size = |name: &'static str| {
        let size = call.query.number(name)?;
        size.ok_or_else(|| ApiError::field(&format!("/{name}"), "required", "is required"))
    };
    let (from, to) = (size("from")?, size("to")?);
    let batches = published.head.batches;
    if to < from || to > batches {
        let message = format!("must be at least from, and at most the log's {batches} batches");
        return Err(ApiError::field("/to", "range", message));
    }
    let snapshot = &published.snapshot;
    let proof = log_tree::consistency_path(snapshot, from, to)?;
    let view = ConsistencyView {
        from,
        to,
        first_root: HashText(log_tree::root(snapshot, from)?),
        second_root: HashText(log_tree::root(snapshot, to)?),
        proof: proof.into_iter().map(HashText).collect(),
    };
    Ok(HttpReply::ok(published.head.sequence, &view)?.etagged(&call.headers, PUBLIC))
}

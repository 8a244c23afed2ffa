//! Batches: headers and leaves are public, actions are their organizations'.

use kedge_http::auth::rights::READS_ACTIONS;
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::reply::HttpReply;
use kedge_http::scalars::{HashText, ResourceIdText};
use kedge_protocol::Prefix;
use kedge_protocol::batch::SignedBatch;
use kedge_storage::{AnchorRow, PlacedAction, StoreSnapshot};

use crate::api::bus::actions::{keep_all, place, view};
use crate::api::bus::views::{BatchAction, ForeignAction};
use crate::api::call::HandlerCall;
use crate::api::listing::{ListRequest, ListSource, part_of};
use crate::api::log::views::LeavesView;
use crate::api::row::{IMMUTABLE, PUBLIC};
use crate::api::view_conversion;

/// The batch of the path, by id or number.
fn found_batch(call: &HandlerCall, snapshot: &StoreSnapshot) -> ApiResult<SignedBatch> {
    let number = call.number_of(Prefix::Batch, |id| snapshot.batch_number(id))?;
    let batch = snapshot.batch(number)?;
    batch.ok_or_else(|| call.missing(Prefix::Batch))
}

/// `GET /batches/{id}`
pub async fn get(call: HandlerCall) -> ApiResult<HttpReply> {
    let published = call.published();
    let batch = found_batch(&call, &published.snapshot)?;
    let anchor = published.snapshot.anchor_covering(batch.header.number)?;
    let view = view_conversion::batch(&batch, anchor.as_ref());
    Ok(HttpReply::ok(published.head.sequence, &view)?.etagged(&call.headers, PUBLIC))
}

/// `GET /batches`
pub async fn list(call: HandlerCall) -> ApiResult<HttpReply> {
    let published = call.published();
    let snapshot = &published.snapshot;
    let listing = ListRequest::of(&call)?;
    // Adjacent batches mostly share an anchor.
    let mut anchor: Option<AnchorRow> = None;
    listing.answer(
        &call,
        published.head.sequence,
        ListSource {
            fetch: |rows| Ok(snapshot.batches(rows)?),
            place: |batch: &SignedBatch| batch.header.number,
            keep: |_: &SignedBatch| Ok(Some(0)),
        },
        |batch| {
            let number = batch.header.number;
            let covers = |row: &AnchorRow| {
                row.first_batch <= number && row.last_batch().is_some_and(|last| number <= last)
            };
            if !anchor.as_ref().is_some_and(covers) {
                anchor = snapshot.anchor_covering(number)?;
            }
            Ok(view_conversion::batch(&batch, anchor.as_ref()))
        },
    )
}

/// `GET /batches/{id}/leaves`
pub async fn leaves(call: HandlerCall) -> ApiResult<HttpReply> {
    let published = call.published();
    let batch = found_batch(&call, &published.snapshot)?;
    let number = batch.header.number;
    let leaves = published.snapshot.leaves(number)?;
    let leaves = leaves.ok_or_else(|| ApiError::internal(&"a batch without its leaves"))?;
    let view = LeavesView {
        batch_id: ResourceIdText(batch.id()),
        number,
        first_sequence: batch.header.first_sequence,
        leaves: leaves.into_iter().map(HashText).collect(),
    };
    Ok(HttpReply::ok(published.head.sequence, &view)?.etagged(&call.headers, IMMUTABLE))
}

/// `GET /batches/{id}/actions`
pub async fn actions(call: HandlerCall) -> ApiResult<HttpReply> {
    let published = call.published();
    let snapshot = &published.snapshot;
    let batch = found_batch(&call, snapshot)?;
    let listing = ListRequest::under(&call, &batch.header.number.to_string())?;
    let all =
        snapshot.actions_between(batch.header.first_sequence, batch.header.last_sequence())?;
    let session = call.session()?;
    let reads_actions = session.check(Some(READS_ACTIONS)).is_ok();
    let is_shown =
        |placed: &PlacedAction| reads_actions && placed.organization_id == session.organization_id;
    listing.answer(
        &call,
        published.head.sequence,
        ListSource {
            fetch: |rows| Ok(part_of(&all, place, rows).into_iter().cloned().collect()),
            place,
            keep: keep_all,
        },
        |placed| {
            Ok(if is_shown(&placed) {
                BatchAction::Own(Box::new(view(&call, snapshot, placed)?))
            } else {
                BatchAction::Foreign(ForeignAction {
                    sequence: placed.sequence,
                    leaf_index: placed.leaf_index,
                    leaf: HashText(placed.leaf().hash()),
                })
            })
        },
    )
}

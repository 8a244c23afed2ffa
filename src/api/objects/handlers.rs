//! Reads of objects, and answers to changes of them.

use std::ops::ControlFlow;
use std::sync::Arc;

use hyper::header::ETAG;
use kedge_actors::api::SubmissionOutcome;
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::preconditions;
use kedge_http::reply::HttpReply;
use kedge_protocol::Prefix;
use kedge_protocol::limits::OBJECT_HISTORY_MAX;
use kedge_protocol::resource::{Object, Template};
use kedge_rules::rights::sees_object;
use kedge_storage::StoreSnapshot;

use crate::api::bus::actions;
use crate::api::bus::views::HistoryPage;
use crate::api::call::HandlerCall;
use crate::api::endpoint::SEQUENCE_AGAIN_S;
use crate::api::listing::{ListRequest, ListSource, Rows, part_of};
use crate::api::objects::history::ObjectRebuild;
use crate::api::objects::views::ObjectView;
use crate::api::row::PRIVATE;
use crate::api::state::handlers::{StateReading, is_proven, not_reached};
use crate::api::state::views::{StateProofView, StateTextsView};

/// The answer to `POST /objects`, `PATCH /objects/{id}` and `POST /objects/{id}/transfer`
pub fn changed(call: &HandlerCall, committed: &SubmissionOutcome) -> ApiResult<HttpReply> {
    let object: Object = call.made(committed)?;
    let tag = preconditions::entity_tag(&object.trace);
    let view = ObjectView::read(object, &call.published().snapshot)?;
    let reply = call.changed(committed, view)?;
    Ok(reply.with(ETAG, &tag))
}

/// The object of the path, if the caller may see it.
pub(in crate::api) fn seen_object(
    call: &HandlerCall,
    snapshot: &StoreSnapshot,
) -> ApiResult<Object> {
    let id = call.id_of(Prefix::Object)?;
    let missing = || call.missing(Prefix::Object);
    let object = snapshot.object(id)?.ok_or_else(missing)?;
    if sees(call, snapshot, &object, &mut None)? {
        Ok(object)
    } else {
        Err(missing())
    }
}

/// Whether the caller may see an object; `template` caches the last one read.
pub(in crate::api) fn sees(
    call: &HandlerCall,
    snapshot: &StoreSnapshot,
    object: &Object,
    template: &mut Option<Template>,
) -> ApiResult<bool> {
    let viewer = call.viewer()?;
    let own =
        object.organization_id == viewer.organization_id || object.owner_id == viewer.wallet_id;
    if own {
        return Ok(true);
    }
    if template
        .as_ref()
        .is_none_or(|known| known.id != object.template_id)
    {
        *template = snapshot.template(object.template_id)?;
    }
    Ok(template
        .as_ref()
        .is_some_and(|template| sees_object(object, template, &viewer)))
}

/// An object as it was at the newest checkpoint, with its state proof.
async fn get_proven(call: HandlerCall) -> ApiResult<HttpReply> {
    if call.query.get("at_sequence").is_some() {
        return Err(ApiError::parameter(
            "prove",
            "and at_sequence exclude each other: the answer is that of a checkpoint",
        ));
    }
    let reading = StateReading::choose(&call).await?;
    let object = seen_object(&call, &reading.snapshot)?;
    let id = object.id;
    let Some(object) = reading.object_then(&call, object).await? else {
        return Err(not_reached(
            &call,
            &format!("no checkpoint holds {id} yet"),
        )?);
    };
    let mut view = ObjectView::read(object.clone(), &reading.snapshot)?;
    for mut proven in reading.prove_bare(&call, &[id]).await? {
        proven.texts = StateTextsView::of_object(&object);
        let proof = StateProofView::of(proven, reading.checkpoint.clone());
        view.state_proof = Some(Box::new(proof));
    }
    let reply = HttpReply::ok(reading.sequence(), &view)?;
    Ok(reply.tagged(&call.headers, &reading.tag(id, true), PRIVATE))
}

/// `GET /objects/{id}`
pub async fn get(call: HandlerCall) -> ApiResult<HttpReply> {
    if is_proven(&call)? {
        return get_proven(call).await;
    }
    let published = call.published();
    let mut object = seen_object(&call, &published.snapshot)?;
    if let Some(sequence) = call.query.number("at_sequence")? {
        let head = published.head.sequence;
        if sequence > head {
            return Err(ApiError::not_reached(
                format!("the log is at sequence {head}, not yet at {sequence}"),
                SEQUENCE_AGAIN_S,
            ));
        }
        let (world, published) = (call.services.engine.world(), Arc::clone(&published));
        let mut rebuild = ObjectRebuild::begin(published, world, object, sequence)?;
        object = loop {
            match rebuild {
                ControlFlow::Break(object) => break object,
                ControlFlow::Continue(more) => {
                    let turn = move || more.turn();
                    rebuild = call.services.reads.read_long(call.holder, turn).await?;
                }
            }
        };
    }
    let tag = preconditions::entity_tag(&object.trace);
    let view = ObjectView::read(object, &call.published().snapshot)?;
    let reply = HttpReply::ok(published.head.sequence, &view)?;
    Ok(reply.tagged(&call.headers, &tag, PRIVATE))
}

/// `GET /objects/{id}/history`
pub async fn history(call: HandlerCall) -> ApiResult<HttpReply> {
    let published = call.published();
    let snapshot = &published.snapshot;
    let object = seen_object(&call, snapshot)?;
    let listing = ListRequest::newest_first(&call)?;
    let first_listed = object.trace.version.saturating_sub(OBJECT_HISTORY_MAX) + 1;
    // Actions link only to earlier ones; the other direction needs their sequences.
    let oldest_first: Vec<u64> = if listing.descending {
        Vec::new()
    } else {
        let mut sequences = snapshot.history_sequences(&object, OBJECT_HISTORY_MAX as usize)?;
        sequences.reverse();
        sequences
    };
    let page = listing.page(
        &call,
        ListSource {
            fetch: |rows: Rows| {
                if !rows.descending {
                    let missing =
                        || ApiError::internal(&"an action of an object's history is missing");
                    return part_of(&oldest_first, |&sequence| sequence, rows)
                        .into_iter()
                        .map(|&sequence| snapshot.action_at(sequence)?.ok_or_else(missing))
                        .collect();
                }
                let mut placed = snapshot.history(&object, rows.after, rows.limit)?;
                placed.retain(|placed| placed.action.version >= first_listed);
                Ok(placed)
            },
            place: actions::place,
            keep: actions::keep_all,
        },
        |placed| actions::view(&call, snapshot, placed),
    )?;
    let answer = HistoryPage {
        items: page.items,
        cursor: page.cursor,
        has_more: page.has_more,
        pruned_before: (first_listed > 1).then_some(first_listed),
    };
    listing.reply(&call, published.head.sequence, &answer)
}

//! Templates and their variations.

use kedge_actors::api::SubmissionOutcome;
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::reply::HttpReply;
use kedge_http::scalars::ResourceIdText;
use kedge_protocol::resource::{Template, Variation};
use kedge_protocol::{Id, Prefix};
use kedge_rules::resource_state::ResourceState;
use kedge_rules::rights::sees_template;
use kedge_storage::StoreSnapshot;

use crate::api::call::HandlerCall;
use crate::api::listing::{ListRequest, ListSource};
use crate::api::templates::views::{TemplateView, VariationView, VariationsView};

/// Templates rarely change, so callers may cache them briefly.
const CACHE: &str = "private, max-age=30";

/// The answer to `POST /templates`
pub fn created(call: &HandlerCall, committed: &SubmissionOutcome) -> ApiResult<HttpReply> {
    call.changed(committed, TemplateView::of(call.made(committed)?, 0))
}

/// The answer to `PATCH /templates/{id}`
pub fn updated(call: &HandlerCall, committed: &SubmissionOutcome) -> ApiResult<HttpReply> {
    let template: Template = call.made(committed)?;
    let minted = minted(call, template.id)?;
    call.changed(committed, TemplateView::of(template, minted))
}

/// Number of objects minted from a template at the time of the change.
fn minted(call: &HandlerCall, template: Id) -> ApiResult<u64> {
    match &call.earlier {
        Some(earlier) => Ok(earlier.minted),
        None => Ok(call.published().snapshot.minted(template)?),
    }
}

/// The answer to `POST /templates/{id}/variations`
pub fn varied(call: &HandlerCall, committed: &SubmissionOutcome) -> ApiResult<HttpReply> {
    let (mut found, mut items) = (None, Vec::new());
    for image in call.images(committed)? {
        match image {
            ResourceState::Template(template) => found = Some(template),
            ResourceState::Variation(variation) => items.push(VariationView::from(variation)),
            _ => {}
        }
    }
    let template = found.ok_or_else(|| ApiError::internal(&"an action on a template made none"))?;
    let minted = minted(call, template.id)?;
    let position = call.position(committed)?;
    let answer = VariationsView {
        items,
        template: TemplateView::of(template, minted),
        action_id: ResourceIdText(position.id()),
        receipt: position.receipt(call.services.access.verifier.domain()),
    };
    call.answered(committed, position.done.sequence, &answer)
}

/// The template, if the caller may see it.
pub(in crate::api) fn seen_template(
    call: &HandlerCall,
    snapshot: &StoreSnapshot,
    text: &str,
) -> ApiResult<Template> {
    let missing = || ApiError::not_found("template", text);
    let id = Id::parse_as(Prefix::Template, text).map_err(|_| missing())?;
    let template = snapshot.template(id)?.ok_or_else(missing)?;
    if sees_template(&template, &call.viewer()?) {
        Ok(template)
    } else {
        Err(missing())
    }
}

/// `GET /templates/{id}`
pub async fn get(call: HandlerCall) -> ApiResult<HttpReply> {
    let published = call.published();
    let template = seen_template(&call, &published.snapshot, &call.id)?;
    let trace = template.trace;
    let view = TemplateView::read(template, &published.snapshot)?;
    let reply = HttpReply::ok(published.head.sequence, &view)?;
    Ok(reply.state_tagged(&call.headers, &trace, CACHE))
}

/// `GET /templates`
pub async fn list(call: HandlerCall) -> ApiResult<HttpReply> {
    let published = call.published();
    let snapshot = &published.snapshot;
    let organization_id = call.session()?.organization_id;
    let listing = ListRequest::of(&call)?;
    let reply = listing.answer(
        &call,
        published.head.sequence,
        ListSource {
            fetch: |rows| Ok(snapshot.templates(organization_id, rows)?),
            place: |template: &Template| template.trace.created_sequence,
            keep: |template: &Template| Ok(Some(template.properties.len())),
        },
        |template| Ok(TemplateView::read(template, snapshot)?),
    )?;
    Ok(reply.etagged(&call.headers, CACHE))
}

/// `GET /templates/{id}/variations`
pub async fn list_variations(call: HandlerCall) -> ApiResult<HttpReply> {
    let published = call.published();
    let snapshot = &published.snapshot;
    let template = seen_template(&call, snapshot, &call.id)?;
    let listing = ListRequest::of(&call)?;
    listing.answer(
        &call,
        published.head.sequence,
        ListSource {
            fetch: |rows| Ok(snapshot.variations(template.id, rows)?),
            place: |variation: &Variation| variation.index,
            keep: |variation: &Variation| Ok(Some(variation.properties.len())),
        },
        |variation| Ok(VariationView::from(variation)),
    )
}

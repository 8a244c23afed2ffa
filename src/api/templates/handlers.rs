//! Templates and their variations.

use kedge_actors::api::SubmissionOutcome;
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::reply::HttpReply;
use kedge_http::scalars::ResourceIdText;
use kedge_protocol::resource::{Template, Variation};
use kedge_protocol::state::EntryFields;
use kedge_protocol::{Id, Prefix};
use kedge_rules::resource_state::ResourceState;
use kedge_rules::rights::sees_template;
use kedge_storage::StoreSnapshot;

use crate::api::call::HandlerCall;
use crate::api::listing::{ListPage, ListRequest, ListSource};
use crate::api::state::handlers::{ProvenRoom, StateReading, is_proven, not_reached};
use crate::api::state::views::{
    AnsweredEntry, ProvablePage, StateProofView, StateProofsView, StateTextsView,
};
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

/// A template as it was at the newest checkpoint, with its state proof.
async fn get_proven(call: HandlerCall) -> ApiResult<HttpReply> {
    let reading = StateReading::choose(&call).await?;
    let template = seen_template(&call, &reading.snapshot, &call.id)?;
    let id = template.id;
    let Some(template) = reading.template_then(&call, template).await? else {
        return Err(not_reached(
            &call,
            &format!("no checkpoint holds {id} yet"),
        )?);
    };
    let proven = reading.prove_bare(&call, &[id]).await?.pop();
    let mut proven = proven.ok_or_else(|| call.missing(Prefix::Template))?;
    proven.texts = StateTextsView::of_template(&template);
    let mut view = counted(template, &proven);
    let proof = StateProofView::of(proven, reading.checkpoint.clone());
    view.state_proof = Some(Box::new(proof));
    let reply = HttpReply::ok(reading.sequence(), &view)?;
    Ok(reply.tagged(&call.headers, &reading.tag(id, true), CACHE))
}

/// A template with the counts of its entry.
fn counted(template: Template, proven: &AnsweredEntry) -> TemplateView {
    let fields = proven.entry.as_ref().map(|entry| &entry.fields);
    let (minted, burned) = match fields {
        Some(EntryFields::Template(fields)) => (fields.minted_count, fields.burned_count),
        _ => (0, 0),
    };
    TemplateView {
        burned_count: Some(burned),
        ..TemplateView::of(template, minted)
    }
}

/// `GET /templates/{id}`
pub async fn get(call: HandlerCall) -> ApiResult<HttpReply> {
    if is_proven(&call)? {
        return get_proven(call).await;
    }
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
    let listing = ListRequest::of(&call)?;
    if is_proven(&call)? {
        return list_proven(&call, listing).await;
    }
    let page = page(&call, &listing, snapshot)?;
    let page = page.map(|template| TemplateView::read(template, snapshot))?;
    let page = ProvablePage::from(page);
    let reply = listing.reply(&call, published.head.sequence, &page)?;
    Ok(reply.etagged(&call.headers, CACHE))
}

fn page(
    call: &HandlerCall,
    listing: &ListRequest,
    snapshot: &StoreSnapshot,
) -> ApiResult<ListPage<Template>> {
    let organization_id = call.session()?.organization_id;
    listing.page(
        call,
        ListSource {
            fetch: |rows| Ok(snapshot.templates(organization_id, rows)?),
            place: |template: &Template| template.trace.created_sequence,
            keep: |template: &Template| Ok(Some(text_bytes(template))),
        },
        Ok,
    )
}

/// Bytes of a template's texts.
fn text_bytes(template: &Template) -> usize {
    let rules = template.actions.iter();
    let schemas = rules.filter_map(|rule| rule.schema.as_ref());
    let all = schemas.chain(&template.schema);
    template.properties.len() + template.description.len() + all.map(String::len).sum::<usize>()
}

/// The page's templates as they were at the newest checkpoint, with their state proofs.
async fn list_proven(call: &HandlerCall, listing: ListRequest) -> ApiResult<HttpReply> {
    let reading = StateReading::choose_now(call)?;
    let mut page = page(call, &listing, &reading.snapshot)?;
    let mut templates = Vec::with_capacity(page.items.len());
    let mut room = ProvenRoom::default();
    for template in std::mem::take(&mut page.items) {
        let place = template.trace.created_sequence;
        if !room.replays(&template.trace, &reading) {
            room.end(call, &listing, &mut page);
            break;
        }
        let then = reading.template_then(call, template).await?;
        if !room.takes(then.as_ref().map_or(0, text_bytes)) {
            room.end(call, &listing, &mut page);
            break;
        }
        room.pass(place);
        templates.extend(then);
    }
    let keys: Vec<Id> = templates.iter().map(|template| template.id).collect();
    let mut proven = reading.prove_here(call, &keys)?;
    let mut items = Vec::with_capacity(templates.len());
    for (state, template) in proven.iter_mut().zip(templates) {
        state.texts = StateTextsView::of_template(&template);
        items.push(counted(template, state));
    }
    let page = ProvablePage {
        items,
        cursor: page.cursor,
        has_more: page.has_more,
        state_proofs: Some(StateProofsView::of(proven, reading.checkpoint.clone())),
    };
    let reply = listing.reply(call, reading.sequence(), &page)?;
    let reply = reply.with_proven(page.items.len());
    Ok(reply.etagged(&call.headers, CACHE))
}

/// `GET /templates/{id}/variations`
pub async fn list_variations(call: HandlerCall) -> ApiResult<HttpReply> {
    let published = call.published();
    let snapshot = &published.snapshot;
    let template = seen_template(&call, snapshot, &call.id)?;
    let listing = ListRequest::of(&call)?;
    if is_proven(&call)? {
        return list_variations_proven(&call, &listing, template.id);
    }
    let page = page_of_variations(&call, &listing, (snapshot, template.id))?;
    let page = page.map(|variation| Ok::<_, ApiError>(VariationView::from(variation)))?;
    listing.reply(&call, published.head.sequence, &ProvablePage::from(page))
}

fn page_of_variations(
    call: &HandlerCall,
    listing: &ListRequest,
    (snapshot, template): (&StoreSnapshot, Id),
) -> ApiResult<ListPage<Variation>> {
    listing.page(
        call,
        ListSource {
            fetch: |rows| Ok(snapshot.variations(template, rows)?),
            place: |variation: &Variation| variation.index,
            keep: |variation: &Variation| Ok(Some(variation.properties.len())),
        },
        Ok,
    )
}

/// The page's variations that the newest checkpoint holds, with their state proofs.
fn list_variations_proven(
    call: &HandlerCall,
    listing: &ListRequest,
    template: Id,
) -> ApiResult<HttpReply> {
    let reading = StateReading::choose_now(call)?;
    let mut page = page_of_variations(call, listing, (&reading.snapshot, template))?;
    let mut variations = Vec::with_capacity(page.items.len());
    let mut room = ProvenRoom::default();
    for variation in std::mem::take(&mut page.items) {
        if !room.takes(variation.properties.len()) {
            room.end(call, listing, &mut page);
            break;
        }
        room.pass(variation.index);
        variations.extend(
            Some(variation).filter(|variation| variation.created_sequence <= reading.sequence()),
        );
    }
    let keys: Vec<Id> = variations.iter().map(|variation| variation.id).collect();
    let mut proven = reading.prove_here(call, &keys)?;
    for (state, variation) in proven.iter_mut().zip(&variations) {
        state.texts = StateTextsView::of_variation(variation);
    }
    let page = ProvablePage {
        items: variations.into_iter().map(VariationView::from).collect(),
        cursor: page.cursor,
        has_more: page.has_more,
        state_proofs: Some(StateProofsView::of(proven, reading.checkpoint.clone())),
    };
    let reply = listing.reply(call, reading.sequence(), &page)?;
    Ok(reply.with_proven(page.items.len()))
}

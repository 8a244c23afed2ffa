//! Templates and their variations.

use std::sync::Arc;

use hyper::StatusCode;
use kedge_api::resources::{Changed, TemplateView, VariationView, VariationsMade};
use kedge_http::error::ApiError;
use kedge_http::reply::Reply;
use kedge_machine::image::Image;
use kedge_machine::rights::sees_template;
use kedge_protocol::resource::{Template, Variation};
use kedge_protocol::{Id, Prefix};
use kedge_storage::Snapshot;

use super::single;
use crate::call::Call;
use crate::listing::{Listing, Source};

/// Templates rarely change, so callers may cache them briefly.
const CACHE: &str = "private, max-age=30";

/// `POST /templates`
pub async fn create(mut call: Call) -> Result<Reply, ApiError> {
    let submission = Arc::new(call.take_submission()?);
    let outcome = call.app.submit(Arc::clone(&submission)).await?;
    let single = single(&call, &submission, &outcome)?;
    let (template, _) = split(single.images()?)?;
    let answer = Changed {
        resource: TemplateView::of(template, 0),
        action_id: single.action_id,
        receipt: single.receipt.clone(),
    };
    single.reply(StatusCode::CREATED, &answer)
}

/// `PATCH /templates/{id}`
pub async fn update(mut call: Call) -> Result<Reply, ApiError> {
    let submission = Arc::new(call.take_conditional()?);
    let outcome = call.app.submit(Arc::clone(&submission)).await?;
    let single = single(&call, &submission, &outcome)?;
    let (mut template, _) = split(single.images()?)?;
    let minted = settle(&call, &mut template)?;
    let answer = Changed {
        resource: TemplateView::of(template, minted),
        action_id: single.action_id,
        receipt: single.receipt.clone(),
    };
    single.reply(StatusCode::OK, &answer)
}

/// Completes a template that was changed, and returns how many objects were minted of it.
fn settle(call: &Call, template: &mut Template) -> Result<u64, ApiError> {
    let snapshot = &call.published().snapshot;
    if template.trace.created_sequence == 0 {
        // The decision used a version whose own position was not known then; that version is stored
        // now.
        let stored = snapshot.template(template.id)?;
        let stored =
            stored.ok_or_else(|| ApiError::internal(&"a committed template is missing"))?;
        template.trace.created_sequence = stored.trace.created_sequence;
        template.trace.created_at_ms = stored.trace.created_at_ms;
    }
    Ok(snapshot.minted(template.id)?)
}

/// `POST /templates/{id}/variations`
pub async fn add_variations(mut call: Call) -> Result<Reply, ApiError> {
    let submission = Arc::new(call.take_submission()?);
    let outcome = call.app.submit(Arc::clone(&submission)).await?;
    let single = single(&call, &submission, &outcome)?;
    let (mut template, variations) = split(single.images()?)?;
    let minted = settle(&call, &mut template)?;
    let answer = VariationsMade {
        items: variations.into_iter().map(VariationView::from).collect(),
        template: TemplateView::of(template, minted),
        action_id: single.action_id,
        receipt: single.receipt.clone(),
    };
    single.reply(StatusCode::CREATED, &answer)
}

/// Splits the images into the template and the variations.
fn split(images: Vec<Image>) -> Result<(Template, Vec<Variation>), ApiError> {
    let (mut found, mut variations) = (None, Vec::new());
    for image in images {
        match image {
            Image::Template(template) => found = Some(template),
            Image::Variation(variation) => variations.push(variation),
            _ => {}
        }
    }
    let template = found.ok_or_else(|| ApiError::internal(&"an action on a template made none"))?;
    Ok((template, variations))
}

/// A template that the caller may see.
pub(super) fn seen_template(
    call: &Call,
    snapshot: &Snapshot,
    text: &str,
) -> Result<Template, ApiError> {
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
pub async fn get(call: Call) -> Result<Reply, ApiError> {
    let published = call.published();
    let template = seen_template(&call, &published.snapshot, &call.id)?;
    let minted = published.snapshot.minted(template.id)?;
    let trace = template.trace;
    let reply = Reply::ok(published.head.sequence, &TemplateView::of(template, minted))?;
    Ok(reply.state_tagged(&call.headers, &trace, CACHE))
}

/// `GET /templates`
pub async fn list(call: Call) -> Result<Reply, ApiError> {
    let published = call.published();
    let snapshot = &published.snapshot;
    let organization_id = call.session()?.organization_id;
    let listing = Listing::of(&call, &[])?;
    let reply = listing.answer(
        &call,
        published.head.sequence,
        Source {
            fetch: |rows| Ok(snapshot.templates(organization_id, rows)?),
            place: |template: &Template| template.trace.created_sequence,
            keep: |template: &Template| Ok(Some(template.properties.len())),
        },
        |template| {
            let minted = snapshot.minted(template.id)?;
            Ok(TemplateView::of(template, minted))
        },
    )?;
    Ok(reply.etagged(&call.headers, CACHE))
}

/// `GET /templates/{id}/variations`
pub async fn list_variations(call: Call) -> Result<Reply, ApiError> {
    let published = call.published();
    let snapshot = &published.snapshot;
    let template = seen_template(&call, snapshot, &call.id)?;
    let listing = Listing::of(&call, &[&call.id])?;
    listing.answer(
        &call,
        published.head.sequence,
        Source {
            fetch: |rows| Ok(snapshot.variations(template.id, rows)?),
            place: |variation: &Variation| variation.index,
            keep: |variation: &Variation| Ok(Some(variation.properties.len())),
        },
        |variation| Ok(VariationView::from(variation)),
    )
}

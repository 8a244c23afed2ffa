//! Objects.

use std::sync::Arc;

use hyper::StatusCode;
use hyper::header::ETAG;
use kedge_machine::rights::sees_object;
use kedge_protocol::Prefix;
use kedge_protocol::limits::OBJECT_HISTORY_MAX;
use kedge_protocol::resource::{Object, Template};
use kedge_storage::{ObjectIndex, Snapshot};

use super::actions::{self, Heads};
use super::templates::seen_template;
use super::{PRIVATE, page_reply, single};
use crate::call::{Call, Reply};
use crate::conditional;
use crate::endpoint::Parameter;
use crate::error::ApiError;
use crate::listing::{Listing, Rows, Source};
use crate::views::action::HistoryPage;
use crate::views::resources::{Changed, ObjectView};
use crate::views::{Page, action::ActionView};

/// The filters of the list.
pub const FILTERS: &[Parameter] = &[
    Parameter {
        name: "template_id",
        schema_type: "string",
        description: "Objects of this template alone.",
    },
    Parameter {
        name: "owner_id",
        schema_type: "string",
        description: "Objects that this wallet owns alone.",
    },
];

/// `POST /objects`
pub async fn create(call: Call) -> Result<Reply, ApiError> {
    change(call, StatusCode::CREATED).await
}

/// `PATCH /objects/{id}` and `POST /objects/{id}/transfer`
pub async fn update(call: Call) -> Result<Reply, ApiError> {
    change(call, StatusCode::OK).await
}

async fn change(mut call: Call, status: StatusCode) -> Result<Reply, ApiError> {
    let mut submission = call.take_submission()?;
    submission.expected = conditional::expected(&call.headers)?;
    let submission = Arc::new(submission);
    let outcome = call.app.submit(Arc::clone(&submission)).await?;
    let single = single(&call, &submission, &outcome)?;
    let object = single.object(&call)?;
    let tag = conditional::entity_tag(&object.trace);
    let answer = Changed {
        resource: ObjectView::from(object),
        action_id: single.action_id,
        receipt: single.receipt.clone(),
    };
    Ok(single.reply(status, &answer)?.with(ETAG, &tag))
}

/// The object of the path, if the caller may see it.
pub(super) fn seen_object(call: &Call, snapshot: &Snapshot) -> Result<Object, ApiError> {
    let id = call.id_of(Prefix::Object, "object")?;
    let found = snapshot.object(id)?;
    let object = found.ok_or_else(|| ApiError::not_found("object", call.id.as_str()))?;
    if sees(call, snapshot, &object, &mut None)? {
        Ok(object)
    } else {
        Err(ApiError::not_found("object", call.id.as_str()))
    }
}

/// Whether the caller may see an object; `template` remembers the last one looked at.
pub(super) fn sees(
    call: &Call,
    snapshot: &Snapshot,
    object: &Object,
    template: &mut Option<Template>,
) -> Result<bool, ApiError> {
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

/// `GET /objects/{id}`
pub async fn get(call: Call) -> Result<Reply, ApiError> {
    let published = call.published();
    let object = seen_object(&call, &published.snapshot)?;
    let tag = conditional::entity_tag(&object.trace);
    let reply = Reply::ok(published.head.sequence, &ObjectView::from(object))?;
    Ok(reply.tagged(&call, &tag, PRIVATE))
}

/// `GET /objects`
pub async fn list(call: Call) -> Result<Reply, ApiError> {
    let published = call.published();
    let snapshot = &published.snapshot;
    let template = call.query.get("template_id");
    let owner = call.query.get("owner_id");
    let listing = Listing::of(
        &call,
        &[template.unwrap_or_default(), owner.unwrap_or_default()],
    )?;
    let template_id = match template {
        Some(text) => Some(seen_template(&call, snapshot, text)?.id),
        None => None,
    };
    let owner_id = match owner {
        Some(text) => Some(
            kedge_protocol::Id::parse_as(Prefix::Wallet, text)
                .map_err(|error| ApiError::parameter("owner_id", error))?,
        ),
        None => None,
    };
    let index = match (template_id, owner_id) {
        (_, Some(owner)) => ObjectIndex::Owner(owner),
        (Some(template), None) => ObjectIndex::Template(template),
        (None, None) => ObjectIndex::Organization(call.session()?.organization_id),
    };
    let mut known = None;
    let page = listing.page(
        &call,
        Source {
            fetch: |rows| Ok(snapshot.objects(index, rows)?),
            place: |object: &Object| object.trace.created_sequence,
            keep: |object: &Object| {
                let wanted = template_id.is_none_or(|id| id == object.template_id)
                    && sees(&call, snapshot, object, &mut known)?;
                Ok(wanted.then_some(object.properties.len()))
            },
        },
    )?;
    let page = Page {
        items: page.items.into_iter().map(ObjectView::from).collect(),
        cursor: page.cursor,
        has_more: page.has_more,
    };
    page_reply(&call, &listing, published.head.sequence, &page)
}

/// `GET /objects/{id}/history`
pub async fn history(call: Call) -> Result<Reply, ApiError> {
    let published = call.published();
    let snapshot = &published.snapshot;
    let object = seen_object(&call, snapshot)?;
    let listing = Listing::of(&call, &[&call.id])?.newest_first();
    let first_listed = object.trace.version.saturating_sub(OBJECT_HISTORY_MAX) + 1;
    let page = listing.page(
        &call,
        Source {
            fetch: |rows: Rows| {
                let mut placed = snapshot.history(&object, rows.after, rows.limit)?;
                placed.retain(|placed| placed.action.version >= first_listed);
                Ok(placed)
            },
            place: actions::place,
            keep: actions::keep_all,
        },
    )?;
    let mut heads = Heads::new(snapshot);
    let items: Result<Vec<ActionView<'static>>, ApiError> = page
        .items
        .into_iter()
        .map(|placed| heads.view(placed))
        .collect();
    let answer = HistoryPage {
        items: items?,
        cursor: page.cursor,
        has_more: page.has_more,
        pruned_before: (first_listed > 1).then_some(first_listed),
    };
    Reply::ok(published.head.sequence, &answer)
}

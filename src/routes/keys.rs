//! API keys.

use std::sync::Arc;

use kedge_actors::api::{NewSecret, Submission};
use kedge_api::accounts::{ApiKeyView, ShownKey};
use kedge_api::resources::Changed;
use kedge_api::scalars::Time;
use kedge_http::error::ApiError;
use kedge_http::reply::Reply;
use kedge_machine::image::Image;
use kedge_protocol::resource::ApiKey;
use kedge_protocol::time::parse_rfc3339;
use kedge_protocol::{Id, Prefix};
use kedge_storage::Snapshot;
use serde::Deserialize;

use super::{PRIVATE, Single, settle, single};
use crate::call::Call;
use crate::listing::{Listing, Source};

/// The member of a key's body that can only be checked with a clock.
#[derive(Deserialize)]
struct Expiry {
    expires_at: Option<String>,
}

/// `POST /api-keys`
pub async fn create(mut call: Call) -> Result<Reply, ApiError> {
    let submission = call.take_submission()?;
    check_expiry(&call, &submission)?;
    // The action's content determines the key's id before the action is placed.
    let content = submission.actions.first().map(|action| action.content);
    let content = content.ok_or_else(|| ApiError::internal(&"a request without its action"))?;
    let id = Id::made_by(Prefix::Key, &content, 0);
    with_secret(&call, submission, id).await
}

/// `POST /api-keys/{id}/rotate`
pub async fn rotate(mut call: Call) -> Result<Reply, ApiError> {
    let submission = call.take_submission()?;
    let id = call.id_of(Prefix::Key, "api_key")?;
    with_secret(&call, submission, id).await
}

fn check_expiry(call: &Call, submission: &Submission) -> Result<(), ApiError> {
    let Some(action) = submission.actions.first() else {
        return Ok(());
    };
    // Other errors are left to the rules.
    let read: Option<Expiry> = serde_json::from_str(submission.text(&action.payload)).ok();
    let expires_at = read.and_then(|expiry| parse_rfc3339(&expiry.expires_at?));
    if expires_at.is_some_and(|at_ms| at_ms <= call.app.engine.now_ms()) {
        let message = "must be in the future";
        return Err(ApiError::field("/expires_at", "range", message));
    }
    Ok(())
}

/// Submits an action that gives a key a new secret, and shows the secret once the action is done.
async fn with_secret(call: &Call, mut submission: Submission, id: Id) -> Result<Reply, ApiError> {
    let issued = call.app.api_keys.issue(id);
    let (text, hash) = issued.map_err(|error| ApiError::internal(&error))?;
    submission.secret = Some(NewSecret::Token(hash));
    let submission = Arc::new(submission);
    let outcome = call.app.submit(Arc::clone(&submission)).await?;
    let single = single(call, &submission, &outcome)?;
    let key = made(call, &single)?;
    if key.id != id {
        return Err(ApiError::internal(&"a key has another id than its secret"));
    }
    let overlap_ms = key.overlap_s * 1_000;
    let previous_until = single.timestamp_ms + overlap_ms;
    let answer = Changed {
        resource: ShownKey {
            key: text,
            previous_until: (overlap_ms > 0).then_some(Time(previous_until)),
            api_key: view(call, &call.published().snapshot, key)?,
        },
        action_id: single.action_id,
        receipt: single.receipt.clone(),
    };
    single.reply(call.status(), &answer)
}

/// The key that an action made or changed.
fn made(call: &Call, single: &Single) -> Result<ApiKey, ApiError> {
    let Some(Image::ApiKey(mut key)) = single.images()?.into_iter().next() else {
        return Err(ApiError::internal(&"an action on an API key changed none"));
    };
    settle(&mut key.trace, || {
        let stored = call.published().snapshot.api_key(key.id)?;
        Ok(stored.map(|stored| stored.trace))
    })?;
    Ok(key)
}

fn view(call: &Call, snapshot: &Snapshot, key: ApiKey) -> Result<ApiKeyView, ApiError> {
    let last_used_ms = call.app.api_keys.last_used(snapshot, key.id)?;
    Ok(ApiKeyView::of(key, last_used_ms))
}

/// `DELETE /api-keys/{id}`
pub async fn delete(mut call: Call) -> Result<Reply, ApiError> {
    let submission = Arc::new(call.take_submission()?);
    let outcome = call.app.submit(Arc::clone(&submission)).await?;
    let single = single(&call, &submission, &outcome)?;
    let key = made(&call, &single)?;
    let answer = Changed {
        resource: view(&call, &call.published().snapshot, key)?,
        action_id: single.action_id,
        receipt: single.receipt.clone(),
    };
    single.reply(call.status(), &answer)
}

/// `GET /api-keys/{id}`
pub async fn get(call: Call) -> Result<Reply, ApiError> {
    let published = call.published();
    let organization_id = call.session()?.organization_id;
    let id = call.id_of(Prefix::Key, "api_key")?;
    let key = published
        .snapshot
        .api_key(id)?
        .filter(|key| key.organization_id == organization_id && !key.deleted)
        .ok_or_else(|| ApiError::not_found("api_key", call.id.as_str()))?;
    let view = view(&call, &published.snapshot, key)?;
    Ok(Reply::ok(published.head.sequence, &view)?.etagged(&call.headers, PRIVATE))
}

/// `GET /api-keys`
pub async fn list(call: Call) -> Result<Reply, ApiError> {
    let published = call.published();
    let snapshot = &published.snapshot;
    let organization_id = call.session()?.organization_id;
    let listing = Listing::of(&call, &[])?;
    listing.answer(
        &call,
        published.head.sequence,
        Source {
            fetch: |rows| Ok(snapshot.api_keys(organization_id, rows)?),
            place: |key: &ApiKey| key.trace.created_sequence,
            keep: |key: &ApiKey| Ok((!key.deleted).then_some(key.name.len())),
        },
        |key| view(&call, snapshot, key),
    )
}

//! API keys.

use kedge_actors::api::{NewSecret, Submission, SubmissionOutcome};
use kedge_http::auth::rights::Rights;
use kedge_http::error::{ApiError, ApiResult};
use kedge_http::reply::HttpReply;
use kedge_http::scalars::TimeText;
use kedge_protocol::resource::{ApiKey, Permission};
use kedge_protocol::time::parse_rfc3339;
use kedge_protocol::{Id, Prefix};
use kedge_storage::StoreSnapshot;
use serde::Deserialize;

use crate::api::call::HandlerCall;
use crate::api::keys::views::{ApiKeyView, NewApiKeyView};
use crate::api::listing::list_own;
use crate::api::row::PRIVATE;

/// Members of a key's body that are checked here: one needs a clock, the other the caller's own API key.
#[derive(Deserialize)]
struct ApiKeyChecks {
    expires_at: Option<String>,
    #[serde(default)]
    permissions: Vec<Permission>,
}

/// Before `POST /api-keys`: the key's secret.
pub async fn create(call: &mut HandlerCall, submission: &mut Submission) -> ApiResult<()> {
    check_body(call, submission)?;
    // The action's content determines the key's id before the action is placed.
    let content = submission.actions.first().map(|action| action.content);
    let content = content.ok_or_else(|| ApiError::internal(&"a request without its action"))?;
    add_secret(call, submission, Id::made_by(Prefix::Key, &content, 0))
}

/// Before `POST /api-keys/{id}/rotate`: the key's new secret.
pub async fn rotate(call: &mut HandlerCall, submission: &mut Submission) -> ApiResult<()> {
    let session = call.session()?;
    let id = call.id_of(Prefix::Key)?;
    // A foreign or unknown key is left to the rules.
    let key = call.published().snapshot.resource::<ApiKey>(id)?;
    if let Some(key) = key.filter(|key| key.organization_id == session.organization_id) {
        session.check_grant(Rights::of(&key.permissions))?;
    }
    add_secret(call, submission, id)
}

fn check_body(call: &HandlerCall, submission: &Submission) -> ApiResult<()> {
    let Some(action) = submission.actions.first() else {
        return Ok(());
    };
    // Other errors are left to the rules.
    let read: Option<ApiKeyChecks> = serde_json::from_str(submission.text(&action.payload)).ok();
    let Some(body) = read else {
        return Ok(());
    };
    let granted = Rights::of(&body.permissions);
    call.session()?.check_grant(granted)?;
    let expires_at = body.expires_at.and_then(|time| parse_rfc3339(&time));
    if expires_at.is_some_and(|at_ms| at_ms <= call.services.engine.now_ms()) {
        let message = "must be in the future";
        return Err(ApiError::field("/expires_at", "range", message));
    }
    Ok(())
}

/// Adds a key's new secret, shown once the action is done.
fn add_secret(call: &mut HandlerCall, submission: &mut Submission, id: Id) -> ApiResult<()> {
    let issued = call.services.access.api_keys.issue(id);
    let (text, hash) = issued.map_err(|error| ApiError::internal(&error))?;
    submission.secret = Some(NewSecret::Token(hash));
    call.shown_once = Some(text);
    Ok(())
}

/// The answer to `POST /api-keys` and `POST /api-keys/{id}/rotate`
pub fn shown(call: &HandlerCall, committed: &SubmissionOutcome) -> ApiResult<HttpReply> {
    let Some(secret) = &call.shown_once else {
        return deleted(call, committed);
    };
    let key: ApiKey = call.made(committed)?;
    let overlap_ms = key.overlap_s * 1_000;
    let previous_until = call.position(committed)?.placement.timestamp_ms + overlap_ms;
    let shown = NewApiKeyView {
        key: secret.clone(),
        previous_until: (overlap_ms > 0).then_some(TimeText(previous_until)),
        api_key: changed_view(call, key)?,
    };
    call.changed(committed, shown)
}

/// The answer to `DELETE /api-keys/{id}`
pub fn deleted(call: &HandlerCall, committed: &SubmissionOutcome) -> ApiResult<HttpReply> {
    let view = changed_view(call, call.made(committed)?)?;
    call.changed(committed, view)
}

/// A key that the request changed.
fn changed_view(call: &HandlerCall, key: ApiKey) -> ApiResult<ApiKeyView> {
    match call.earlier {
        // The key's last use at that time is not known any more.
        Some(_) => Ok(ApiKeyView::of(key, None)),
        None => view(call, &call.published().snapshot, key),
    }
}

fn view(call: &HandlerCall, snapshot: &StoreSnapshot, key: ApiKey) -> ApiResult<ApiKeyView> {
    let last_used_ms = call.services.access.api_keys.last_used(snapshot, key.id)?;
    Ok(ApiKeyView::of(key, last_used_ms))
}

/// `GET /api-keys/{id}`
pub async fn get(call: HandlerCall) -> ApiResult<HttpReply> {
    let published = call.published();
    let key = call.own(&published.snapshot, |key: &ApiKey| !key.deleted)?;
    let view = view(&call, &published.snapshot, key)?;
    Ok(HttpReply::ok(published.head.sequence, &view)?.etagged(&call.headers, PRIVATE))
}

/// `GET /api-keys`
pub async fn list(call: HandlerCall) -> ApiResult<HttpReply> {
    list_own(
        &call,
        |key: &ApiKey| Ok((!key.deleted).then_some(key.name.len())),
        |snapshot, key| view(&call, snapshot, key),
    )
}

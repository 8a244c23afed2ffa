//! Webhooks: reads, deliveries and tests.

use hyper::{HeaderMap, StatusCode};
use kedge_actors::api::{NewSecret, Submission, SubmissionOutcome};
use kedge_actors::fair::QueueFull;
use kedge_config::secrets;
use kedge_http::error::ApiError;
use kedge_http::idempotency::answer::IdempotentAnswer;
use kedge_http::limits::ShareKind;
use kedge_http::reply::HttpReply;
use kedge_http::scalars::{ResourceIdText, TimeText};
use kedge_protocol::Code;
use kedge_protocol::event::EventType;
use kedge_protocol::resource::Webhook;
use kedge_protocol::{Id, Prefix};
use kedge_rules::rights::may_administer;
use kedge_storage::{DeliveryRow, DeliveryStatus, StoreSnapshot};
use kedge_webhooks::delivery::{AlsoWritten, DeliveryVerdict, RedeliverError};
use kedge_webhooks::{message, secret};
use serde::Deserialize;

use crate::api::call::HandlerCall;
use crate::api::idempotency::unsigned_requests;
use crate::api::idempotency::unsigned_requests::UnsignedStart;
use crate::api::listing::{ListRequest, ListSource, list_own};
use crate::api::row::PRIVATE;
use crate::api::view_conversion;
use crate::api::webhooks::views::{DeliveryView, WebhookView, WebhookWithSecret};

/// Members of a body that are checked here; the rules check the rest.
#[derive(Deserialize, Default)]
struct WebhookChecks {
    url: Option<String>,
    events: Option<Vec<String>>,
}

impl WebhookChecks {
    /// Malformed bodies are refused by the rules, with their own errors.
    fn of(submission: &Submission) -> Self {
        let payload = submission.actions.first().map(|action| &action.payload);
        let payload = payload.map_or("", |range| submission.text(range));
        serde_json::from_str(payload).unwrap_or_default()
    }

    /// Refuses a URL that could never be connected to, and an API key that may not read what would be sent.
    fn check(&self, call: &HandlerCall) -> Result<(), ApiError> {
        check_events(call, self.events.as_deref().unwrap_or_default())?;
        let Some(url) = &self.url else {
            return Ok(());
        };
        let checked = call.services.webhooks.guard().check_url(url);
        checked.map_err(|error| ApiError::field("/url", "address", error.to_string()))
    }
}

/// Refuses an API key that may not read events of these types: a webhook would show them.
fn check_events(call: &HandlerCall, events: &[String]) -> Result<(), ApiError> {
    let mut types = Vec::new();
    for event in events {
        match event.as_str() {
            "*" => types.extend_from_slice(EventType::ALL),
            text => types.extend(EventType::of_text(text)),
        }
    }
    call.session()?.check_events(&types)
}

/// Adds a new secret to the submission, to be stored with it and shown once.
fn add_secret(call: &mut HandlerCall, submission: &mut Submission) -> Result<(), ApiError> {
    let made = secret::new().map_err(|error| ApiError::internal(&error))?;
    submission.secret = Some(NewSecret::Token(made.to_vec()));
    call.shown_once = Some(secret::text(&made));
    Ok(())
}

/// Before `POST /webhooks`: its URL, and its secret.
pub async fn create(call: &mut HandlerCall, submission: &mut Submission) -> Result<(), ApiError> {
    WebhookChecks::of(submission).check(call)?;
    add_secret(call, submission)
}

/// Refuses an API key that may not read what the webhook of the path is sent.
fn check_sent(call: &HandlerCall) -> Result<(), ApiError> {
    let session = call.session()?;
    let id = call.id_of(Prefix::Webhook)?;
    let webhook = call.published().snapshot.resource::<Webhook>(id)?;
    match webhook.filter(|of| of.organization_id == session.organization_id) {
        Some(webhook) => check_events(call, &webhook.events),
        None => Ok(()),
    }
}

/// Before `PATCH /webhooks/{id}`: its URL, and what it sends before and after.
pub async fn check(call: &mut HandlerCall, submission: &mut Submission) -> Result<(), ApiError> {
    check_sent(call)?;
    WebhookChecks::of(submission).check(call)
}

/// Before `POST /webhooks/{id}/rotate`: its new secret, which allows forging the webhook's messages.
pub async fn rotate(call: &mut HandlerCall, submission: &mut Submission) -> Result<(), ApiError> {
    check_sent(call)?;
    add_secret(call, submission)
}

/// The answer to `PATCH` and `DELETE /webhooks/{id}`
pub fn changed(call: &HandlerCall, committed: &SubmissionOutcome) -> Result<HttpReply, ApiError> {
    let webhook: Webhook = call.made(committed)?;
    call.changed(committed, WebhookView::from(webhook))
}

/// The answer to `POST /webhooks` and `POST /webhooks/{id}/rotate`
pub fn shown(call: &HandlerCall, committed: &SubmissionOutcome) -> Result<HttpReply, ApiError> {
    let Some(secret) = &call.shown_once else {
        return changed(call, committed);
    };
    let shown = WebhookWithSecret {
        webhook: call.made::<Webhook>(committed)?.into(),
        secret: secret.clone(),
    };
    call.changed(committed, shown)
}

/// The webhook of the path, if it is the caller's organization's.
fn own_webhook(call: &HandlerCall, snapshot: &StoreSnapshot) -> Result<Webhook, ApiError> {
    call.own(snapshot, |webhook: &Webhook| !webhook.deleted)
}

/// Refuses a caller that may not manage webhooks.
fn check_right(call: &HandlerCall, snapshot: &StoreSnapshot) -> Result<(), ApiError> {
    // An API key's right was checked before.
    let Some(wallet_id) = call.session()?.wallet_id else {
        return Ok(());
    };
    let wallet = snapshot.wallet(wallet_id)?;
    if wallet.is_some_and(|wallet| may_administer(wallet.role)) {
        return Ok(());
    }
    let message = "only owners and admins of the organization may manage webhooks";
    Err(ApiError::new(Code::Forbidden, message))
}

/// `GET /webhooks/{id}`
pub async fn get(call: HandlerCall) -> Result<HttpReply, ApiError> {
    let published = call.published();
    let webhook = own_webhook(&call, &published.snapshot)?;
    let trace = webhook.trace;
    let reply = HttpReply::ok(published.head.sequence, &WebhookView::from(webhook))?;
    Ok(reply.state_tagged(&call.headers, &trace, PRIVATE))
}

/// `GET /webhooks`
pub async fn list(call: HandlerCall) -> Result<HttpReply, ApiError> {
    list_own(
        &call,
        |webhook: &Webhook| {
            let bytes = webhook.url.len() + webhook.description.len();
            Ok((!webhook.deleted).then_some(bytes))
        },
        |_, webhook| Ok(WebhookView::from(webhook)),
    )
}

/// `GET /webhooks/{id}/deliveries`
pub async fn deliveries(call: HandlerCall) -> Result<HttpReply, ApiError> {
    let published = call.published();
    let snapshot = &published.snapshot;
    let webhook = own_webhook(&call, snapshot)?;
    let listing = ListRequest::newest_first(&call)?;
    listing.answer(
        &call,
        published.head.sequence,
        ListSource {
            fetch: |rows| Ok(snapshot.deliveries(webhook.id, rows)?),
            place: |row: &DeliveryRow| row.number,
            keep: |row: &DeliveryRow| Ok(Some(row.error.as_deref().map_or(0, str::len))),
        },
        |row| Ok(view_conversion::delivery(row)),
    )
}

/// `POST /webhooks/{id}/test`
pub async fn test(call: HandlerCall) -> Result<HttpReply, ApiError> {
    let published = call.published();
    let webhook = own_webhook(&call, &published.snapshot)?;
    check_right(&call, &published.snapshot)?;
    let kept = match unsigned_requests::begin(&call)? {
        UnsignedStart::New(kept) => kept,
        UnsignedStart::Before(reply) => return Ok(reply),
    };
    let sequence = published.head.sequence;
    let services = &call.services;
    let turn = services.webhooks.begin_test(webhook.organization_id);
    let _turn = turn.map_err(|full| match full {
        QueueFull::Share => ShareKind::WebhookTests.refused(services.webhooks.tests_share()),
        QueueFull::All => ApiError::overloaded(),
    })?;
    let random = secrets::random().map_err(|error| ApiError::internal(&error))?;
    let event_id = message::test_event_id(random);
    let id = Id::of_delivery(&event_id, &webhook.id);
    let began_ms = services.engine.now_ms();
    let body = message::test_body(&webhook, event_id, sequence, began_ms);
    let (status, response_status, error) = match services
        .webhooks
        .send(&webhook, id, body, HeaderMap::new())
        .await
    {
        DeliveryVerdict::Delivered { status } => (DeliveryStatus::Delivered, Some(status), None),
        DeliveryVerdict::Failed { status, error, .. } => {
            (DeliveryStatus::Failed, status, Some(error))
        }
        DeliveryVerdict::Gone => {
            let error = "the receiver answered 410".to_owned();
            (DeliveryStatus::Failed, Some(410), Some(error))
        }
    };
    let delivery = DeliveryView {
        id: ResourceIdText(id),
        webhook_id: ResourceIdText(webhook.id),
        event_id: ResourceIdText(event_id),
        event_type: message::TEST_TYPE.to_owned(),
        object_id: None,
        status: view_conversion::delivery_status(status),
        attempts: 1,
        response_status,
        error,
        created_at: TimeText(began_ms),
        last_attempt_at: Some(TimeText(began_ms)),
        next_attempt_at: None,
    };
    let answer = answer(StatusCode::OK, &delivery)?;
    if let Some(kept) = kept {
        services.engine.side_write(kept.write(&answer)).await?;
    }
    answer.reply(sequence)
}

fn answer(status: StatusCode, delivery: &DeliveryView) -> Result<IdempotentAnswer, ApiError> {
    IdempotentAnswer::new(status, None, delivery).map_err(|error| ApiError::internal(&error))
}

/// `POST /webhooks/{id}/deliveries/{delivery_id}/redeliver`
pub async fn redeliver(call: HandlerCall) -> Result<HttpReply, ApiError> {
    let published = call.published();
    let webhook = own_webhook(&call, &published.snapshot)?;
    check_right(&call, &published.snapshot)?;
    let missing = || ApiError::not_found("delivery", call.sub_id.as_str());
    let id = Id::parse_as(Prefix::Delivery, &call.sub_id).map_err(|_| missing())?;
    let kept = match unsigned_requests::begin(&call)? {
        UnsignedStart::New(kept) => kept,
        UnsignedStart::Before(reply) => return Ok(reply),
    };
    // Events of other types may have been sent before the webhook was changed.
    if let Some(sent) = published.snapshot.delivery(webhook.id, id)? {
        call.session()?.check_events(&[sent.event_type])?;
    }
    // The closure holds the key until the delivery is written.
    let also: Option<AlsoWritten> = kept.map(|kept| -> AlsoWritten {
        Box::new(move |row: &DeliveryRow| {
            let answer = answer(
                StatusCode::ACCEPTED,
                &view_conversion::delivery(row.clone()),
            );
            let write = answer.ok().map(|answer| kept.write(&answer));
            let held: Box<dyn Send + Sync> = Box::new(kept);
            (write, held)
        })
    });
    let deliveries = &call.services.deliveries;
    let row = deliveries.redeliver(webhook.id, id, also).await;
    let row = row.map_err(|error| match error {
        RedeliverError::NotFound => missing(),
        RedeliverError::Off => ApiError::new(Code::StateViolation, error.to_string()),
        RedeliverError::Unavailable => ApiError::unavailable(error.to_string(), 1),
    })?;
    answer(StatusCode::ACCEPTED, &view_conversion::delivery(row))?.reply(published.head.sequence)
}

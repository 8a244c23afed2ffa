//! Deliveries on a real engine: which events a webhook reports that is changed, switched off and on.

#![allow(clippy::unwrap_used, reason = "a test file: a panic is the failure")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kedge_actors::{Engine, StartError};
use kedge_protocol::Id;
use kedge_protocol::resource::Webhook;
use kedge_storage::{DeliveryPause, DeliveryRow, DeliveryStatus, RowPage};
use kedge_webhooks::delivery::{
    DeliveryFuture, DeliveryRequest, DeliveryService, DeliveryTransport, DeliveryVerdict,
    RedeliverError, RetrySchedule, WebhookOptions,
};
use tokio::sync::mpsc;

use support::{Client, register, start, template};

#[path = "../../../actors/tests/engine/support.rs"]
#[expect(dead_code, reason = "the engine's tests need more of it")]
mod support;

/// Passes on the sequences of deliveries.
struct Channel(mpsc::UnboundedSender<u64>);

impl DeliveryTransport for Channel {
    fn deliver(&self, parcel: DeliveryRequest) -> DeliveryFuture<DeliveryVerdict> {
        let _ = self.0.send(parcel.event.position.sequence);
        Box::pin(async { DeliveryVerdict::Delivered { status: 200 } })
    }

    fn switch_off(&self, _: Arc<Webhook>) -> DeliveryFuture<bool> {
        Box::pin(async { false })
    }
}

fn options(courier: impl DeliveryTransport) -> WebhookOptions {
    WebhookOptions {
        schedule: RetrySchedule::new(vec![0]),
        attempts_max: 4,
        attempts_share: 4,
        courier: Arc::new(courier),
        runtime: tokio::runtime::Handle::current(),
    }
}

async fn start_webhooks(engine: &Engine, courier: impl DeliveryTransport) {
    let deliveries = DeliveryService::new(engine.clone());
    deliveries.start(options(courier)).await.unwrap();
}

async fn make_template(engine: &Engine, client: &Client, name: &str) {
    template(engine, client, &format!(r#"{{"name":"{name}"}}"#)).await;
}

/// Waits until a webhook's worker has stored this pause.
async fn rests(engine: &Engine, webhook: Id, rest: Option<DeliveryPause>) {
    loop {
        let outbox = engine.published().snapshot.outbox(webhook).unwrap();
        if outbox.is_some_and(|outbox| outbox.rest == rest) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

// Holds invariant 39.
#[tokio::test(flavor = "multi_thread")]
async fn a_changed_webhook_is_served_as_it_is_although_nobody_says_that_it_changed() {
    let dir = tempfile::tempdir().unwrap();
    let engine = start(dir.path()).await;
    let client = register(&engine, 1).await;
    let (sender, mut delivered) = mpsc::unbounded_channel();
    start_webhooks(&engine, Channel(sender)).await;
    let wanted =
        r#"{"url":"https://receiver.example","events":["template.created"],"active":true}"#;
    let made = client.send_one(&engine, "webhook.create", "", wanted).await;
    let webhook = made.resource.to_string();
    make_template(&engine, &client, "one").await;
    let soon = Duration::from_secs(20);
    let first = tokio::time::timeout(soon, delivered.recv()).await;
    assert!(first.is_ok(), "a new webhook is served");
    let off = r#"{"active":false}"#;
    client
        .send_one(&engine, "webhook.update", &webhook, off)
        .await;
    rests(&engine, made.resource, Some(DeliveryPause::Off)).await;
    make_template(&engine, &client, "two").await;
    let on = r#"{"active":true}"#;
    client
        .send_one(&engine, "webhook.update", &webhook, on)
        .await;
    rests(&engine, made.resource, None).await;
    make_template(&engine, &client, "three").await;
    let second = tokio::time::timeout(soon, delivered.recv()).await;
    assert!(second.is_ok(), "it is served again");
    assert!(delivered.try_recv().is_err(), "not what happened meanwhile");
    assert!(engine.shutdown(Duration::from_secs(10)).await);
}

// Holds invariant 39.
/// A webhook is created off, switched on, off and on again, and changed once more, all before its worker looks: the
/// requests are committed while webhooks are not served.
#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_reports_from_where_it_was_switched_on_although_it_was_changed_since() {
    let dir = tempfile::tempdir().unwrap();
    let engine = start(dir.path()).await;
    let client = register(&engine, 1).await;
    let wanted =
        r#"{"url":"https://receiver.example","events":["template.created"],"active":false}"#;
    let made = client.send_one(&engine, "webhook.create", "", wanted).await;
    let webhook = made.resource.to_string();
    make_template(&engine, &client, "while it was off").await;
    let mut expected = Vec::new();
    for (name, payload) in [
        ("on", r#"{"active":true}"#),
        ("off again", r#"{"active":false}"#),
        ("on again", r#"{"active":true}"#),
        ("and still", r#"{"active":true,"description":"changed"}"#),
        ("and since", r#"{"description":"changed again"}"#),
    ] {
        client
            .send_one(&engine, "webhook.update", &webhook, payload)
            .await;
        let named = format!(r#"{{"name":"{name}"}}"#);
        let sent = client
            .send_one(&engine, "template.create", "", &named)
            .await;
        expected.push(sent.sequence);
    }
    let (sender, mut delivered) = mpsc::unbounded_channel();
    start_webhooks(&engine, Channel(sender)).await;
    let soon = Duration::from_secs(20);
    let mut found = Vec::new();
    for _ in 0..3 {
        let sequence = tokio::time::timeout(soon, delivered.recv()).await.unwrap();
        found.push(sequence.unwrap());
    }
    // Events of different objects are sent concurrently.
    found.sort_unstable();
    assert_eq!(found, expected[2..]);
    assert!(delivered.try_recv().is_err());
}

/// Reports once that the receiver is gone, and delays the switch-off until it has a permit.
struct Slow {
    gone: AtomicU64,
    switching: mpsc::UnboundedSender<()>,
    goes_on: Arc<tokio::sync::Semaphore>,
    delivered: mpsc::UnboundedSender<u64>,
}

impl DeliveryTransport for Slow {
    fn deliver(&self, parcel: DeliveryRequest) -> DeliveryFuture<DeliveryVerdict> {
        if self.gone.fetch_add(1, Ordering::Relaxed) == 0 {
            return Box::pin(async { DeliveryVerdict::Gone });
        }
        let _ = self.delivered.send(parcel.event.position.sequence);
        Box::pin(async { DeliveryVerdict::Delivered { status: 200 } })
    }

    fn switch_off(&self, _: Arc<Webhook>) -> DeliveryFuture<bool> {
        let _ = self.switching.send(());
        let goes_on = Arc::clone(&self.goes_on);
        Box::pin(async move { goes_on.acquire().await.is_ok() })
    }
}

// Holds invariant 39.
/// The worker has read up to a position at which the webhook was on, and does not see that it was off meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_does_not_report_what_happened_while_it_was_off_although_its_worker_was_busy() {
    let dir = tempfile::tempdir().unwrap();
    let engine = start(dir.path()).await;
    let client = register(&engine, 1).await;
    let wanted = r#"{"url":"https://receiver.example","events":["template.created"]}"#;
    let made = client.send_one(&engine, "webhook.create", "", wanted).await;
    let webhook = made.resource.to_string();
    let (switching, mut is_switching) = mpsc::unbounded_channel();
    let (sender, mut delivered) = mpsc::unbounded_channel();
    let goes_on = Arc::new(tokio::sync::Semaphore::new(0));
    let courier = Slow {
        gone: AtomicU64::new(0),
        switching,
        goes_on: Arc::clone(&goes_on),
        delivered: sender,
    };
    start_webhooks(&engine, courier).await;
    make_template(&engine, &client, "the receiver is gone").await;
    let soon = Duration::from_secs(20);
    let busy = tokio::time::timeout(soon, is_switching.recv()).await;
    assert!(busy.is_ok());
    for (payload, name) in [
        (r#"{"active":false}"#, "off"),
        (r#"{"active":true}"#, "on"),
        (r#"{"description":"changed"}"#, "changed"),
    ] {
        client
            .send_one(&engine, "webhook.update", &webhook, payload)
            .await;
        make_template(&engine, &client, name).await;
    }
    let end = engine.published().head.sequence;
    goes_on.add_permits(1);
    let mut found = Vec::new();
    for _ in 0..2 {
        let sequence = tokio::time::timeout(soon, delivered.recv()).await.unwrap();
        found.push(sequence.unwrap());
    }
    found.sort_unstable();
    assert_eq!(found, [end - 2, end], "not what was made while it was off");
    assert!(delivered.try_recv().is_err());
}

/// The first delivery of a webhook, once it has ended.
async fn first_delivery(engine: &Engine, webhook: Id) -> DeliveryRow {
    let all = RowPage {
        after: None,
        descending: false,
        limit: usize::MAX,
    };
    loop {
        let rows = engine.published().snapshot.deliveries(webhook, all);
        let first = rows.unwrap().into_iter().next();
        if let Some(row) = first.filter(|row| row.status == DeliveryStatus::Delivered) {
            return row;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_are_repeated_while_the_engine_leads_and_webhooks_are_started() {
    let dir = tempfile::tempdir().unwrap();
    let engine = start(dir.path()).await;
    let client = register(&engine, 1).await;
    let wanted = r#"{"url":"https://receiver.example","events":["template.created"]}"#;
    let webhook = client.send_one(&engine, "webhook.create", "", wanted).await;
    let webhook = webhook.resource;
    make_template(&engine, &client, "one").await;
    let deliveries = DeliveryService::new(engine.clone());
    let unknown = Id::of_delivery(&webhook, &webhook);
    let repeat = |delivery| deliveries.redeliver(webhook, delivery, None);
    assert_eq!(repeat(unknown).await, Err(RedeliverError::Unavailable));

    let (sender, mut delivered) = mpsc::unbounded_channel();
    let courier = Channel(sender.clone());
    deliveries.start(options(courier)).await.unwrap();
    let soon = Duration::from_secs(20);
    let of_start = tokio::time::timeout(soon, delivered.recv()).await.unwrap();
    assert_eq!(repeat(unknown).await, Err(RedeliverError::NotFound));
    let row = first_delivery(&engine, webhook).await;
    assert!(repeat(row.id).await.unwrap().redelivery);
    let repeated = tokio::time::timeout(soon, delivered.recv()).await.unwrap();
    assert_eq!(repeated, of_start);

    assert!(engine.stop_leading(soon).await.unwrap());
    assert_eq!(repeat(row.id).await, Err(RedeliverError::Unavailable));
    let refused = deliveries.start(options(Channel(sender.clone()))).await;
    assert!(matches!(refused, Err(StartError::Spawn(_))));

    engine.lead().await.unwrap();
    assert_eq!(repeat(row.id).await, Err(RedeliverError::Unavailable));
    deliveries.start(options(Channel(sender))).await.unwrap();
    assert!(repeat(row.id).await.is_ok());
    assert!(engine.shutdown(Duration::from_secs(10)).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_start_replaces_the_first() {
    let dir = tempfile::tempdir().unwrap();
    let engine = start(dir.path()).await;
    let client = register(&engine, 1).await;
    let deliveries = DeliveryService::new(engine.clone());
    let (first, mut of_first) = mpsc::unbounded_channel();
    deliveries.start(options(Channel(first))).await.unwrap();
    let (second, mut of_second) = mpsc::unbounded_channel();
    deliveries.start(options(Channel(second))).await.unwrap();
    let wanted = r#"{"url":"https://receiver.example","events":["template.created"]}"#;
    client.send_one(&engine, "webhook.create", "", wanted).await;
    make_template(&engine, &client, "one").await;
    let soon = Duration::from_secs(20);
    let delivered = tokio::time::timeout(soon, of_second.recv()).await;
    assert!(delivered.is_ok(), "the second start serves new webhooks");
    let ended = tokio::time::timeout(soon, of_first.recv()).await;
    assert_eq!(ended, Ok(None), "the first one sent nothing and has ended");
}

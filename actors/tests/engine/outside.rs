//! Work outside the log: anchors and webhooks.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kedge_actors::webhooks::{
    DeliveryFuture, DeliveryRequest, DeliveryTransport, DeliveryVerdict, RetrySchedule,
    WebhookOptions,
};
use kedge_actors::{AnchorOptions, Engine};
use kedge_chain::rpc::{InProcessNode, RpcClient, RpcError, RpcOptions};
use kedge_chain::sender::SenderOptions;
use kedge_protocol::Id;
use kedge_protocol::hash::{keccak, to_hex};
use kedge_protocol::merkle::empty_root;
use kedge_protocol::resource::Webhook;
use kedge_storage::{AnchorProgress, DeliveryPause, RowPage};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::support::{Client, DOMAIN, register, sequencer_key, start, template};

/// A node whose contract holds nothing and that refuses everything.
#[derive(Clone, Default)]
struct Refusing {
    refused: Arc<AtomicU64>,
}

fn is(data: &str, function: &str) -> bool {
    data.starts_with(&to_hex(&keccak(function.as_bytes()).0[..4]))
}

impl Refusing {
    fn result(&self, method: &str, params: &Value) -> Option<Value> {
        let data = params[0]["data"].as_str().unwrap_or_default();
        match method {
            "eth_chainId" => Some(json!("0x7a69")),
            "eth_getTransactionCount" => Some(json!("0x0")),
            "eth_getBlockByNumber" => Some(json!({
                "number": "0x1",
                "hash": to_hex(&[1; 32]),
                "parentHash": to_hex(&[0; 32]),
                "timestamp": "0x1",
            })),
            "eth_call" if is(data, "domainSeparator()") => {
                Some(json!(to_hex(&DOMAIN.separator().0)))
            }
            "eth_call" if is(data, "latest()") => {
                let words = [[0; 32], [0; 32], empty_root().0];
                Some(json!(to_hex(&words.concat())))
            }
            "eth_estimateGas" => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                None
            }
            _ => None,
        }
    }
}

impl InProcessNode for Refusing {
    fn answer(
        &self,
        request: Value,
    ) -> Pin<Box<dyn Future<Output = Result<Vec<u8>, RpcError>> + Send>> {
        let method = request["method"].as_str().unwrap_or_default();
        let body = match self.result(method, &request["params"]) {
            Some(result) => json!({"jsonrpc": "2.0", "id": 1, "result": result}),
            None => json!({
                "jsonrpc": "2.0",
                "id": 1,
                "error": {"code": 3, "message": "execution reverted", "data": "0x"},
            }),
        };
        Box::pin(async move { Ok(body.to_string().into_bytes()) })
    }
}

async fn begin_anchoring(engine: &Engine, node: Refusing) {
    let contract = DOMAIN.verifying_contract;
    let endpoint = "http://node.invalid".parse().unwrap();
    let options = AnchorOptions {
        sender: SenderOptions::new(DOMAIN.chain_id, contract, DOMAIN.separator()),
        key: kedge_protocol::signature::SigningKey::clone(&sequencer_key()),
        rpc: RpcClient::to_node(Arc::new(node), endpoint, RpcOptions::default()),
        second_rpc: None,
        interval_ms: 1,
        poll_ms: 5,
        responder: None,
        observer: None,
    };
    Box::pin(engine.start_anchoring(options)).await.unwrap();
}

// Holds invariant 14.
#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_has_one_anchor_however_often_it_fails() {
    let dir = tempfile::tempdir().unwrap();
    let engine = start(dir.path()).await;
    register(&engine, 1).await;
    let node = Refusing::default();
    begin_anchoring(&engine, node.clone()).await;
    while node.refused.load(Ordering::Relaxed) < 4 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(engine.shutdown(Duration::from_secs(10)).await);
    let all = RowPage {
        after: None,
        descending: false,
        limit: usize::MAX,
    };
    let snapshot = &engine.published().snapshot;
    let rows = snapshot.anchors(all).unwrap();
    let [row] = &rows[..] else {
        panic!("{rows:?}");
    };
    assert!(matches!(
        row.status,
        AnchorProgress::Pending | AnchorProgress::Failed
    ));
    assert_eq!(snapshot.anchor_number(row.id).unwrap(), Some(row.number));
}

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

async fn start_webhooks(engine: &Engine, courier: impl DeliveryTransport) {
    let options = WebhookOptions {
        schedule: RetrySchedule::new(vec![0]),
        attempts_max: 4,
        attempts_share: 4,
        courier: Arc::new(courier),
        runtime: tokio::runtime::Handle::current(),
    };
    engine.start_webhooks(options).await.unwrap();
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

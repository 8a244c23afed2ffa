//! Webhook receiver inside the harness. It checks each message's signature (Standard Webhooks 1.0), and measures the
//! delay since the action.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Incoming;
use hyper::header::HeaderMap;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use kedge_client::{Account, NewWebhook};
use kedge_protocol::limits::WEBHOOK_BODY_BYTES_MAX;
use kedge_protocol::time::parse_rfc3339;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::checks::sequences::SequenceBitmap;
use crate::error::{LoadtestError, LoadtestResult};
use crate::load::interval::LoadInterval;

/// Event types of the webhooks: those that the load causes.
const EVENTS: [&str; 3] = ["object.created", "object.updated", "object.transferred"];
/// Interval of progress checks.
const LOOK: Duration = Duration::from_millis(50);

/// Findings of the receiver.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct DeliveryFigures {
    pub(crate) webhooks: usize,
    /// Messages with a valid signature.
    pub(crate) delivered: u64,
    /// Of these, repeated messages of an action.
    pub(crate) duplicates: u64,
    /// Messages with an invalid signature or text.
    pub(crate) refused: u64,
    /// Acknowledged actions without a message in time.
    pub(crate) missing: u64,
    /// Seconds from the load's end until nothing was missing or the wait was over.
    pub(crate) behind_s: f64,
    /// Milliseconds from an action's time to its message.
    pub(crate) lag_p50_ms: f64,
    pub(crate) lag_p99_ms: f64,
    pub(crate) lag_max_ms: f64,
}

struct ReceiverHook {
    secret: Vec<u8>,
    places: SequenceBitmap,
}

#[derive(Default)]
struct ReceiverState {
    hooks: Vec<ReceiverHook>,
    refused: u64,
    lag: LoadInterval,
}

/// A listening receiver, stopped on drop.
pub(crate) struct WebhookReceiver {
    address: SocketAddr,
    received: Arc<Mutex<ReceiverState>>,
    task: JoinHandle<()>,
}

impl Drop for WebhookReceiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[derive(Deserialize)]
struct DeliveryMessage {
    sequence: u64,
    timestamp: String,
}

impl WebhookReceiver {
    /// Listens on a free local port.
    pub(crate) async fn listen() -> LoadtestResult<Self> {
        let failed = || LoadtestError::io("listening for webhooks");
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed())?;
        let address = listener.local_addr().map_err(failed())?;
        let received = Arc::new(Mutex::new(ReceiverState::default()));
        let task = tokio::spawn(accept(listener, Arc::clone(&received)));
        Ok(Self {
            address,
            received,
            task,
        })
    }

    /// Creates a webhook of an account's organization with this receiver as its target.
    pub(crate) async fn register(&self, account: &Account) -> LoadtestResult<()> {
        let number = self.received.lock().hooks.len();
        let webhook = NewWebhook {
            url: format!("http://{}/{number}", self.address),
            events: EVENTS.map(str::to_owned).to_vec(),
            active: true,
            description: String::new(),
        };
        let made = account.create_webhook(&webhook).await;
        let made = made.map_err(LoadtestError::at("making a webhook"))?;
        let secret = made.resource.secret.as_deref().and_then(|text| {
            let text = text.strip_prefix("whsec_")?;
            BASE64.decode(text).ok()
        });
        let secret = secret.ok_or_else(|| LoadtestError::answer("a webhook without a secret"))?;
        self.received.lock().hooks.push(ReceiverHook {
            secret,
            places: SequenceBitmap::default(),
        });
        Ok(())
    }

    /// Resets the counts, for actions after this sequence.
    pub(crate) fn begin(&self, base: u64) {
        let mut received = self.received.lock();
        received.refused = 0;
        received.lag = LoadInterval::default();
        for hook in &mut received.hooks {
            hook.places = SequenceBitmap::new(base);
        }
    }

    /// Waits until messages of all acknowledged actions have arrived, at most for `wait`.
    pub(crate) async fn finish(
        &self,
        acknowledged_each: &[u64],
        wait: Duration,
    ) -> DeliveryFigures {
        let ended = Instant::now();
        loop {
            let deliveries = self.look(acknowledged_each, ended);
            if deliveries.missing == 0 || ended.elapsed() >= wait {
                return deliveries;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn look(&self, acknowledged_each: &[u64], ended: Instant) -> DeliveryFigures {
        let received = self.received.lock();
        let mut deliveries = DeliveryFigures {
            webhooks: received.hooks.len(),
            refused: received.refused,
            behind_s: ended.elapsed().as_secs_f64(),
            lag_p50_ms: received.lag.latency_us.value_at_quantile(0.5) as f64 / 1e3,
            lag_p99_ms: received.lag.latency_us.value_at_quantile(0.99) as f64 / 1e3,
            lag_max_ms: received.lag.latency_us.max() as f64 / 1e3,
            ..DeliveryFigures::default()
        };
        for (hook, acknowledged) in received.hooks.iter().zip(acknowledged_each) {
            let places = &hook.places;
            let distinct = places.named - places.twice - places.misplaced;
            deliveries.delivered += places.named;
            deliveries.duplicates += places.twice;
            deliveries.missing += acknowledged.saturating_sub(distinct);
        }
        deliveries
    }
}

async fn accept(listener: TcpListener, received: Arc<Mutex<ReceiverState>>) {
    while let Ok((stream, _)) = listener.accept().await {
        let received = Arc::clone(&received);
        tokio::spawn(async move {
            let service = service_fn(|request| answer(request, &received));
            // If a connection breaks, the sender reconnects.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

async fn answer(
    request: Request<Incoming>,
    received: &Mutex<ReceiverState>,
) -> Result<Response<Empty<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let hook = parts.uri.path().trim_start_matches('/').parse::<usize>();
    let body = Limited::new(body, WEBHOOK_BODY_BYTES_MAX).collect().await;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_ms = now.map_or(0, |since| since.as_millis() as u64);
    let mut received = received.lock();
    let taken = match (hook, body) {
        (Ok(hook), Ok(body)) => take(
            &mut received,
            hook,
            &parts.headers,
            &body.to_bytes(),
            now_ms,
        ),
        _ => None,
    };
    let mut response = Response::new(Empty::new());
    if taken.is_none() {
        received.refused += 1;
        *response.status_mut() = StatusCode::BAD_REQUEST;
    }
    Ok(response)
}

/// Accepts a message; `None` if it is invalid.
fn take(
    received: &mut ReceiverState,
    hook: usize,
    headers: &HeaderMap,
    body: &[u8],
    now_ms: u64,
) -> Option<()> {
    let ReceiverState { hooks, lag, .. } = received;
    let hook = hooks.get_mut(hook)?;
    let header = |name: &str| headers.get(name)?.to_str().ok();
    let (id, timestamp) = (header("webhook-id")?, header("webhook-timestamp")?);
    let mut mac = Hmac::<Sha256>::new_from_slice(&hook.secret).ok()?;
    mac.update(format!("{id}.{timestamp}.").as_bytes());
    mac.update(body);
    let mut signatures = header("webhook-signature")?.split(' ');
    let holds = signatures.any(|signature| {
        let bytes = signature
            .strip_prefix("v1,")
            .map(|text| BASE64.decode(text));
        bytes.is_some_and(|bytes| bytes.is_ok_and(|bytes| mac.clone().verify_slice(&bytes).is_ok()))
    });
    if !holds {
        return None;
    }
    let message: DeliveryMessage = serde_json::from_slice(body).ok()?;
    let sent_ms = parse_rfc3339(&message.timestamp)?;
    hook.places.add(message.sequence, 1);
    lag.record(Duration::from_millis(now_ms.saturating_sub(sent_ms)));
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_checked_and_duplicates_counted() {
        let secret = b"a secret of twenty-four.".to_vec();
        let mut received = ReceiverState::default();
        received.hooks.push(ReceiverHook {
            secret: secret.clone(),
            places: SequenceBitmap::new(0),
        });
        let body = br#"{"sequence":7,"timestamp":"2026-11-21T10:00:00.000Z"}"#;
        let mut mac = Hmac::<Sha256>::new_from_slice(&secret).unwrap();
        mac.update(b"dlv_1.5.");
        mac.update(body);
        let signature = format!("v1,AAAA v1,{}", BASE64.encode(mac.finalize().into_bytes()));
        let mut headers = HeaderMap::new();
        headers.insert("webhook-id", "dlv_1".parse().unwrap());
        headers.insert("webhook-timestamp", "5".parse().unwrap());
        headers.insert("webhook-signature", signature.parse().unwrap());
        let now_ms = parse_rfc3339("2026-11-21T10:00:01.500Z").unwrap();
        let mut take = |hook, headers: &HeaderMap, body: &[u8]| {
            take(&mut received, hook, headers, body, now_ms)
        };
        assert!(take(0, &headers, body).is_some());
        assert!(take(0, &headers, body).is_some());
        assert!(take(1, &headers, body).is_none(), "no such webhook");
        assert!(take(0, &headers, b"{}").is_none(), "another body");
        headers.insert("webhook-timestamp", "6".parse().unwrap());
        assert!(take(0, &headers, body).is_none(), "another time");
        assert_eq!(
            (
                received.hooks[0].places.named,
                received.hooks[0].places.twice
            ),
            (2, 1)
        );
        assert_eq!(received.lag.latency_us.max() / 10_000, 150);
    }
}

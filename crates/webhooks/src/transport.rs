//! Transport of deliveries by HTTP: their thread, and what the server adds to an attempt: the message's body with a
//! receipt, a trace, and the action that disables a webhook.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use hyper::HeaderMap;
use kedge_actors::fair::share;
use kedge_config::Config;
use kedge_protocol::Id;
use kedge_protocol::resource::Webhook;
use kedge_rules::event::Event;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use super::delivery::{
    DeliveryFuture, DeliveryRequest, DeliveryTransport, DeliveryVerdict, RetrySchedule,
    WebhookOptions,
};
use super::sender::{WebhookSender, not_made};

/// What the transport needs of the server.
pub trait DeliveryHost: Send + Sync + 'static {
    /// Makes the body for an event, with the receipt of its action ([`message::body`](crate::message::body)). `None` after
    /// a failure, which the host logs.
    fn body(&self, event: Event) -> Option<Vec<u8>>;

    /// Begins to trace an attempt; `None` if the request of the action at this sequence is not traced.
    fn trace(&self, sequence: u64) -> Option<Box<dyn AttemptTrace>>;

    /// As [`DeliveryTransport::switch_off`].
    fn switch_off(&self, webhook: Arc<Webhook>) -> DeliveryFuture<bool>;
}

/// Trace of one attempt. Dropped without an end, the attempt was given up.
pub trait AttemptTrace: Send {
    /// The headers for the receiver.
    fn headers(&self) -> HeaderMap;

    /// Ends the attempt to send an event of type `event`.
    fn end(self: Box<Self>, event: &str, webhook: Id, delivery: Id, verdict: &DeliveryVerdict);
}

/// A thread with a separate runtime, which ends on drop. A batch can be due at thousands of receivers together; sending
/// from the request threads would delay every request.
struct DeliveryRuntime {
    runtime: Handle,
    _ends: oneshot::Sender<Infallible>,
}

impl DeliveryRuntime {
    fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (ends, ended) = oneshot::channel();
        // A thread of the server's runtime, which waits for it before the process ends.
        tokio::task::spawn_blocking(move || {
            let Err(_) = runtime.block_on(ended);
        });
        Ok(Self {
            runtime: handle,
            _ends: ends,
        })
    }
}

/// Carries out deliveries by HTTP.
struct DeliveryExecutor {
    sender: Arc<WebhookSender>,
    host: Arc<dyn DeliveryHost>,
    /// Lives as long as webhooks are served.
    _apart: DeliveryRuntime,
}

impl DeliveryTransport for DeliveryExecutor {
    fn deliver(&self, parcel: DeliveryRequest) -> DeliveryFuture<DeliveryVerdict> {
        let (sender, host) = (Arc::clone(&self.sender), Arc::clone(&self.host));
        Box::pin(async move {
            let DeliveryRequest {
                webhook,
                delivery_id,
                event,
            } = parcel;
            let name = event.event_type.text();
            let sequence = event.action_id.map(|_| event.position.sequence);
            let Some(body) = host.body(event) else {
                return not_made();
            };
            let traced = sequence.and_then(|sequence| host.trace(sequence));
            let headers = traced
                .as_ref()
                .map(|traced| traced.headers())
                .unwrap_or_default();
            let verdict = sender.send(&webhook, delivery_id, body, headers).await;
            if let Some(traced) = traced {
                traced.end(name, webhook.id, delivery_id, &verdict);
            }
            verdict
        })
    }

    fn switch_off(&self, webhook: Arc<Webhook>) -> DeliveryFuture<bool> {
        self.host.switch_off(webhook)
    }
}

/// Options of deliveries by HTTP, which run on a separate thread until the options are dropped.
///
/// # Errors
/// [`io::Error`] if the thread's runtime cannot be built.
pub fn http_options(
    config: &Config,
    sender: Arc<WebhookSender>,
    host: Arc<dyn DeliveryHost>,
) -> io::Result<WebhookOptions> {
    let apart = DeliveryRuntime::start()?;
    let (attempts_max, share_percent) = (
        config.webhook_attempts_max,
        config.organization_share_percent,
    );
    Ok(WebhookOptions {
        runtime: apart.runtime.clone(),
        schedule: RetrySchedule::new(config.webhook_retry_schedule_s.clone()),
        attempts_max,
        attempts_share: share(attempts_max, share_percent),
        courier: Arc::new(DeliveryExecutor {
            sender,
            host,
            _apart: apart,
        }),
    })
}

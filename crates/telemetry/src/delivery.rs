//! Traces of webhook deliveries. Each attempt has a separate trace, because it may happen hours after the request, and
//! many times; a link leads to the action's request. The receiver's spans are its children.

use std::sync::Arc;
use std::time::Instant;

use hyper::HeaderMap;
use kedge_actors::timing::SpanRef;
use opentelemetry::KeyValue;
use opentelemetry::trace::{SpanKind, Status};

use super::context::{RANDOM, SAMPLED, TRACEPARENT, traceparent};
use super::span::{ClockEpoch, SpanRecord};
use super::tracer::TracerState;

/// An attempt in flight. Dropped without an end, it was given up.
pub struct TracedDelivery {
    tracer: Arc<TracerState>,
    span: SpanRef,
    request: SpanRef,
    sequence: u64,
    epoch: ClockEpoch,
}

impl TracedDelivery {
    pub(crate) fn new(
        tracer: Arc<TracerState>,
        span: SpanRef,
        request: SpanRef,
        sequence: u64,
    ) -> Self {
        Self {
            tracer,
            span,
            request,
            sequence,
            epoch: ClockEpoch::now(),
        }
    }

    /// The headers for the receiver.
    pub fn headers(&self) -> HeaderMap {
        let value = traceparent(self.span, SAMPLED | RANDOM);
        value
            .map(|value| (TRACEPARENT, value))
            .into_iter()
            .collect()
    }

    pub fn span(&self) -> SpanRef {
        self.span
    }

    /// Ends the attempt. `event` is the event's type; the receiver's URL is private and left out. `answered` is the
    /// receiver's HTTP status: `Ok` if it accepted the event. `Err` if it did not, with `None` if there was no answer.
    pub fn end(
        self,
        event: &str,
        webhook: String,
        delivery: String,
        answered: Result<u16, Option<u16>>,
    ) {
        let times = (
            self.epoch.time(self.epoch.instant()),
            self.epoch.time(Instant::now()),
        );
        let mut span = SpanRecord::new(self.span, None, format!("webhook {event}"), times);
        span.kind = SpanKind::Client;
        span.links = vec![self.request];
        let sequence = i64::try_from(self.sequence).unwrap_or(i64::MAX);
        span.attributes = vec![
            KeyValue::new("http.request.method", "POST"),
            KeyValue::new("kedge.event", event.to_owned()),
            KeyValue::new("kedge.sequence", sequence),
            KeyValue::new("kedge.webhook", webhook),
            KeyValue::new("kedge.delivery", delivery),
        ];
        let status = answered.map_or_else(|status| status, Some);
        if let Some(status) = status {
            let status = i64::from(status);
            span.attributes
                .push(KeyValue::new("http.response.status_code", status));
        }
        if answered.is_err() {
            let kind = status.map_or_else(|| "no_answer".to_owned(), |status| status.to_string());
            span.attributes.push(KeyValue::new("error.type", kind));
            span.status = Status::error("");
        }
        self.tracer.export(vec![span]);
    }
}

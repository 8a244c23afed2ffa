//! Entry point of distributed tracing; `None` when tracing is disabled.

use std::sync::Arc;
use std::time::Duration;

use hyper::HeaderMap;
use kedge_actors::timing::{SpanObserver, SpanRef};
use kedge_config::Config;
use kedge_config::secrets;
use metrics::counter;
use opentelemetry::InstrumentationScope;

use super::context::{self, ParentSpan};
use super::delivery::TracedDelivery;
use super::exemplars::{BucketExemplars, RequestExemplar};
use super::exporter::{self, SpanQueue};
use super::metric_definitions::{self as metric, TRACES};
use super::openmetrics;
use super::recent::RecentSamples;
use super::request::RequestTrace;
use super::sampling::RequestSampler;
use super::settings::{self, TracingError};
use super::span::SpanRecord;

/// Time for sending the last spans at the end of the process.
const STOP_PATIENCE: Duration = Duration::from_secs(1);

/// Traces requests. Cheap to clone.
#[derive(Clone)]
pub struct Tracer(pub(crate) Arc<TracerState>);

pub(crate) struct TracerState {
    sampler: RequestSampler,
    queue: SpanQueue,
    scope: InstrumentationScope,
    pub(crate) recent: RecentSamples,
    exemplars: BucketExemplars,
}

impl TracerState {
    /// Hands spans to the exporter.
    pub(crate) fn export(&self, spans: Vec<SpanRecord>) {
        let data = spans.into_iter().map(|span| span.data(&self.scope));
        self.queue.put(data.collect());
    }
}

/// The id of a span that begins a trace; `None` if the system has no randomness.
pub(crate) fn new_span() -> Option<SpanRef> {
    let bytes = secrets::random::<24>().ok()?;
    let (trace, span) = bytes.split_at(16);
    Some(SpanRef {
        trace_id: u128::from_be_bytes(trace.try_into().ok()?).max(1),
        span_id: u64::from_be_bytes(span.try_into().ok()?).max(1),
    })
}

impl Tracer {
    /// Starts tracing if a collector is configured. `bounds` are the buckets of time histograms, in seconds.
    ///
    /// # Errors
    /// [`TracingError`], if an option cannot be used.
    pub fn start(config: &Config, bounds: &'static [f64]) -> Result<Option<Self>, TracingError> {
        let Some(endpoint) = &config.tracing_endpoint else {
            return Ok(None);
        };
        let seed = secrets::random().map_err(std::io::Error::other)?;
        let sending = settings::sending(config, endpoint)?;
        metric::describe();
        let version = env!("CARGO_PKG_VERSION");
        Ok(Some(Self(Arc::new(TracerState {
            sampler: RequestSampler::new(
                config.tracing_sample_ratio,
                config.tracing_callers_per_s,
                u64::from_le_bytes(seed),
            ),
            queue: exporter::start(sending, config.tracing_queue_max)?,
            scope: InstrumentationScope::builder("kedge")
                .with_version(version)
                .build(),
            recent: RecentSamples::default(),
            exemplars: BucketExemplars::new(bounds),
        }))))
    }

    /// Begins to trace a request if it is sampled. `method` is a known one, or `_OTHER`.
    pub fn begin(&self, headers: &HeaderMap, method: &'static str) -> Option<Box<RequestTrace>> {
        let parent = ParentSpan::of(headers);
        let why = self.0.sampler.decide(parent)?;
        let state = parent.map(|_| context::trace_state(headers));
        let own = new_span()?;
        counter!(TRACES, "reason" => why.name()).increment(1);
        let (inner, state) = (Arc::clone(&self.0), state.unwrap_or_default());
        Some(Box::new(RequestTrace::new(
            inner, own, parent, state, method,
        )))
    }

    /// Receiver of the engine's reports.
    pub fn observer(&self) -> Arc<dyn SpanObserver> {
        Arc::clone(&self.0) as Arc<dyn SpanObserver>
    }

    /// Begins to trace a delivery attempt, if the action's request is traced and still known.
    pub fn delivery(&self, sequence: u64) -> Option<TracedDelivery> {
        let request = self.0.recent.of(sequence)?;
        Some(TracedDelivery::new(
            Arc::clone(&self.0),
            new_span()?,
            request,
            sequence,
        ))
    }

    /// Notes the value that a traced request added to a time histogram.
    pub fn exemplify(&self, metric: &str, labels: &[(&str, &str)], seconds: f64, of: SpanRef) {
        let exemplar = RequestExemplar::now(of, seconds);
        self.0.exemplars.note(metric, labels, exemplar);
    }

    /// Converts Prometheus's text format to OpenMetrics with exemplars.
    pub fn open_metrics(&self, text: &str) -> String {
        openmetrics::of(text, &self.0.exemplars)
    }

    /// Sends all finished spans, for at most a second.
    pub async fn stop(&self) {
        self.0.queue.stop(STOP_PATIENCE).await;
    }
}

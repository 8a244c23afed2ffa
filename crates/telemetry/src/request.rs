//! Spans of a sampled request at the edge: the request (OpenTelemetry's conventions for HTTP servers), its phases, and
//! the engine's steps within the phase that waits for the engine. All are made at the end.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

use hyper::{HeaderMap, Version};
use kedge_actors::timing::{GroupStage, RequestStage, RequestTiming, SpanRef};
use opentelemetry::KeyValue;
use opentelemetry::trace::{SpanKind, Status, TraceState};

use super::context::{self, ParentSpan, RANDOM, SAMPLED, TRACEPARENT};
use super::span::{ClockEpoch, SpanRecord, nth};
use super::tracer::TracerState;

/// Status of a request whose caller disconnected, as proxies log it.
const GONE: &str = "cancelled";
/// First number of the engine's spans within a trace; phases have lower ones.
const ENGINE_SPANS: u64 = 1_000;

/// The engine's steps: the span's name, and where it begins and ends.
const STEPS: [(&str, RequestStage, RequestStage); 4] = [
    ("queue", RequestStage::Sent, RequestStage::Begun),
    ("decide", RequestStage::Begun, RequestStage::Decided),
    ("sequence", RequestStage::Decided, RequestStage::Placed),
    (
        "wait for committer",
        RequestStage::Placed,
        RequestStage::Taken,
    ),
];

/// A phase of the request's handling at the edge.
struct RequestPhase {
    name: &'static str,
    begun: Instant,
    kind: SpanKind,
}

/// A traced request. Dropped without an end, its caller disconnected.
pub struct RequestTrace {
    tracer: Arc<TracerState>,
    span: SpanRef,
    flags: u8,
    state: TraceState,
    parent: Option<ParentSpan>,
    epoch: ClockEpoch,
    phases: Vec<RequestPhase>,
    /// The phase in which the engine works.
    engine: Option<(usize, Arc<RequestTiming>)>,
    name: Cow<'static, str>,
    has_route: bool,
    attributes: Vec<KeyValue>,
    is_ended: bool,
}

/// Attributes of an answer.
#[derive(Clone, Copy, Debug)]
pub struct AnswerSummary<'a> {
    pub status: u16,
    pub code: Option<&'static str>,
    pub version: Version,
    pub request_id: &'a str,
    pub scheme: &'static str,
    /// The requested path.
    pub path: &'a str,
}

impl RequestTrace {
    pub(crate) fn new(
        tracer: Arc<TracerState>,
        own: SpanRef,
        parent: Option<ParentSpan>,
        state: TraceState,
        method: &'static str,
    ) -> Self {
        let trace_id = parent.map_or(own.trace_id, |parent| parent.span.trace_id);
        let random = parent.map_or(RANDOM, |parent| parent.flags & RANDOM);
        Self {
            tracer,
            span: SpanRef { trace_id, ..own },
            flags: SAMPLED | random,
            state,
            parent,
            epoch: ClockEpoch::now(),
            phases: Vec::with_capacity(6),
            engine: None,
            name: Cow::Borrowed(method),
            has_route: false,
            attributes: vec![KeyValue::new("http.request.method", method)],
            is_ended: false,
        }
    }

    pub fn span(&self) -> SpanRef {
        self.span
    }

    /// The trace's id, as in logs and headers.
    pub fn trace_id(&self) -> String {
        format!("{:032x}", self.span.trace_id)
    }

    /// Sets the path of the table's row, which contains no caller data.
    pub fn route(&mut self, path: &'static str) {
        self.name = format!("{} {path}", self.name).into();
        self.has_route = true;
        self.attributes.push(KeyValue::new("http.route", path));
    }

    /// Begins a phase, which ends the previous one.
    pub fn phase(&mut self, name: &'static str) {
        self.phases.push(RequestPhase {
            name,
            begun: Instant::now(),
            kind: SpanKind::Internal,
        });
    }

    /// Begins the phase that waits for the engine; returns where the engine notes its times.
    pub fn engine(&mut self, name: &'static str, actions: usize) -> Arc<RequestTiming> {
        self.phase(name);
        let many = i64::try_from(actions).unwrap_or(i64::MAX);
        self.attributes.push(KeyValue::new("kedge.actions", many));
        let observer = Arc::clone(&self.tracer) as Arc<_>;
        let timing = RequestTiming::new(self.span, self.epoch.instant(), observer);
        let timing = Arc::new(timing);
        self.engine = Some((self.phases.len() - 1, Arc::clone(&timing)));
        timing
    }

    /// Begins a phase in which another server answers, and adds the trace headers for it.
    pub fn call(&mut self, name: &'static str, headers: &mut HeaderMap) {
        self.phase(name);
        if let Some(phase) = self.phases.last_mut() {
            phase.kind = SpanKind::Client;
        }
        let span = nth(self.span, self.phases.len() as u64);
        if let Some(value) = context::traceparent(span, self.flags) {
            headers.insert(TRACEPARENT, value);
        }
    }

    /// Ends the request.
    pub fn end(mut self: Box<Self>, answered: &AnswerSummary<'_>) {
        let status = i64::from(answered.status);
        let version = match answered.version {
            Version::HTTP_2 => "2",
            Version::HTTP_10 => "1.0",
            _ => "1.1",
        };
        let id = answered.request_id.to_owned();
        self.attributes.extend([
            KeyValue::new("http.response.status_code", status),
            KeyValue::new("network.protocol.version", version),
            KeyValue::new("url.scheme", answered.scheme),
            KeyValue::new("kedge.request_id", id),
        ]);
        // Callers can put anything into a path that leads nowhere. One that leads somewhere consists of the route and
        // ids.
        if self.has_route && answered.status < 400 {
            let path = answered.path.to_owned();
            self.attributes.push(KeyValue::new("url.path", path));
        }
        let is_fault = answered.status >= 500;
        if let Some(code) = answered.code {
            self.attributes.push(KeyValue::new("kedge.code", code));
            if is_fault {
                self.attributes.push(KeyValue::new("error.type", code));
            }
        }
        let outcome = if is_fault {
            Status::error("")
        } else {
            Status::Unset
        };
        self.export(outcome);
    }

    /// Makes the spans.
    fn export(&mut self, outcome: Status) {
        self.is_ended = true;
        let ended = Instant::now();
        let mut spans = Vec::with_capacity(2 + self.phases.len() + 8);
        let times = (
            self.epoch.time(self.epoch.instant()),
            self.epoch.time(ended),
        );
        let parent = self.parent.map(|parent| parent.span);
        let name = std::mem::replace(&mut self.name, Cow::Borrowed(""));
        let mut server = SpanRecord::new(self.span, parent, name, times);
        server.kind = SpanKind::Server;
        server.is_remote = parent.is_some();
        server.status = outcome;
        server.attributes = std::mem::take(&mut self.attributes);
        spans.push(server);
        let ends = self.phases.iter().skip(1).map(|phase| phase.begun);
        let ends = ends.chain([ended]);
        for (number, (phase, end)) in (1..).zip(self.phases.iter().zip(ends)) {
            let times = (self.epoch.time(phase.begun), self.epoch.time(end));
            let of = nth(self.span, number);
            let mut span = SpanRecord::new(of, Some(self.span), phase.name, times);
            span.kind = phase.kind.clone();
            spans.push(span);
        }
        if let Some((phase, timing)) = &self.engine {
            let within = nth(self.span, *phase as u64 + 1);
            self.engine_spans(within, timing, &mut spans);
        }
        for span in &mut spans {
            span.flags = self.flags;
            span.state = self.state.clone();
        }
        self.tracer.export(spans);
    }

    /// Adds the engine's steps, as far as the request got.
    fn engine_spans(&self, within: SpanRef, timing: &RequestTiming, spans: &mut Vec<SpanRecord>) {
        let mut number = ENGINE_SPANS;
        let mut add = |name, begun: Option<Instant>, ended: Option<Instant>, links| {
            number += 1;
            if let (Some(begun), Some(ended)) = (begun, ended) {
                let times = (self.epoch.time(begun), self.epoch.time(ended));
                let mut span = SpanRecord::new(nth(self.span, number), Some(within), name, times);
                span.links = links;
                spans.push(span);
            }
        };
        for (name, begun, ended) in STEPS {
            add(name, timing.at(begun), timing.at(ended), Vec::new());
        }
        let Some(group) = timing.group() else {
            return;
        };
        let formed = group.at(GroupStage::Formed);
        let synced = group.at(GroupStage::Synced);
        add(
            "form group",
            timing.at(RequestStage::Taken),
            formed,
            Vec::new(),
        );
        // Many requests share the group's spans.
        add("commit", formed, synced, vec![group.span]);
        let published = group.at(GroupStage::Published);
        add("release", synced, published, Vec::new());
    }
}

impl Drop for RequestTrace {
    fn drop(&mut self) {
        if !self.is_ended {
            self.attributes.push(KeyValue::new("error.type", GONE));
            self.export(Status::Unset);
        }
    }
}

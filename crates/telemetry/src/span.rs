//! Spans in the library's form, made once they are complete.

use std::borrow::Cow;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kedge_actors::timing::SpanRef;
use opentelemetry::trace::{
    Link, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::trace::{SpanData, SpanLinks};

use super::context::{RANDOM, SAMPLED};
use super::sampling::{GOLDEN, mixed};

/// Limit of links of one span.
const LINKS_MAX: usize = 128;

/// Maps the steady clock to wall-clock time.
#[derive(Clone, Copy)]
pub(crate) struct ClockEpoch {
    instant: Instant,
    time: SystemTime,
}

impl ClockEpoch {
    pub(crate) fn now() -> Self {
        Self {
            instant: Instant::now(),
            time: SystemTime::now(),
        }
    }

    pub(crate) fn instant(&self) -> Instant {
        self.instant
    }

    pub(crate) fn time(&self, moment: Instant) -> SystemTime {
        match moment.checked_duration_since(self.instant) {
            Some(after) => self.time + after,
            None => self.time - self.instant.duration_since(moment),
        }
    }
}

/// A time of the server's clock.
pub(crate) fn unix_ms(time_ms: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(time_ms)
}

/// The n-th span of a trace; all are distinct.
pub(crate) fn nth(span: SpanRef, number: u64) -> SpanRef {
    let state = span.span_id.wrapping_add(number.wrapping_mul(GOLDEN));
    SpanRef {
        trace_id: span.trace_id,
        span_id: mixed(state).max(1),
    }
}

/// Attributes of a span.
pub(crate) struct SpanRecord {
    pub(crate) of: SpanRef,
    pub(crate) flags: u8,
    pub(crate) state: TraceState,
    pub(crate) parent: Option<u64>,
    /// The parent is in another process.
    pub(crate) is_remote: bool,
    pub(crate) kind: SpanKind,
    pub(crate) name: Cow<'static, str>,
    pub(crate) begun: SystemTime,
    pub(crate) ended: SystemTime,
    pub(crate) attributes: Vec<KeyValue>,
    pub(crate) links: Vec<SpanRef>,
    pub(crate) status: Status,
}

impl SpanRecord {
    /// A span inside the process.
    pub(crate) fn new(
        of: SpanRef,
        parent: Option<SpanRef>,
        name: impl Into<Cow<'static, str>>,
        (begun, ended): (SystemTime, SystemTime),
    ) -> Self {
        Self {
            of,
            flags: SAMPLED | RANDOM,
            state: TraceState::NONE,
            parent: parent.map(|parent| parent.span_id),
            is_remote: false,
            kind: SpanKind::Internal,
            name: name.into(),
            begun,
            // Clocks may be set back; time does not go back.
            ended: ended.max(begun),
            attributes: Vec::new(),
            links: Vec::new(),
            status: Status::Unset,
        }
    }

    /// Converts it to the exporter's form.
    pub(crate) fn data(mut self, scope: &InstrumentationScope) -> SpanData {
        let mut links = SpanLinks::default();
        let dropped = self.links.len().saturating_sub(LINKS_MAX);
        links.dropped_count = u32::try_from(dropped).unwrap_or(u32::MAX);
        self.links.truncate(LINKS_MAX);
        links.links = self
            .links
            .into_iter()
            .map(|of| {
                Link::new(
                    context(of, SAMPLED | RANDOM, TraceState::NONE),
                    Vec::new(),
                    0,
                )
            })
            .collect();
        SpanData {
            span_context: context(self.of, self.flags, self.state),
            parent_span_id: self.parent.map_or(SpanId::INVALID, SpanId::from),
            parent_span_is_remote: self.is_remote,
            span_kind: self.kind,
            name: self.name,
            start_time: self.begun,
            end_time: self.ended,
            attributes: self.attributes,
            dropped_attributes_count: 0,
            events: opentelemetry_sdk::trace::SpanEvents::default(),
            links,
            status: self.status,
            instrumentation_scope: scope.clone(),
        }
    }
}

fn context(of: SpanRef, flags: u8, state: TraceState) -> SpanContext {
    SpanContext::new(
        TraceId::from(of.trace_id),
        SpanId::from(of.span_id),
        TraceFlags::new(flags),
        false,
        state,
    )
}

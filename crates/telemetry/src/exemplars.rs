//! Exemplars: the newest traced request of each histogram bucket. The histograms themselves are stored elsewhere.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use kedge_actors::timing::SpanRef;
use parking_lot::Mutex;

/// A traced request and its measured value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestExemplar {
    of: SpanRef,
    seconds: f64,
    at_s: f64,
}

impl RequestExemplar {
    /// Measured now.
    pub(crate) fn now(of: SpanRef, seconds: f64) -> Self {
        let at = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            of,
            seconds,
            at_s: at.unwrap_or_default().as_secs_f64(),
        }
    }

    /// The OpenMetrics text after a bucket's count.
    pub(crate) fn text(&self) -> String {
        let (trace, span) = (self.of.trace_id, self.of.span_id);
        let (seconds, at_s) = (self.seconds, self.at_s);
        format!(" # {{trace_id=\"{trace:032x}\",span_id=\"{span:016x}\"}} {seconds} {at_s:.3}")
    }
}

/// The newest exemplar of each bucket; bounded by the number of buckets.
pub(crate) struct BucketExemplars {
    bounds: &'static [f64],
    kept: Mutex<BTreeMap<String, Vec<Option<RequestExemplar>>>>,
}

impl BucketExemplars {
    /// `bounds` are the histograms' upper bounds.
    pub(crate) fn new(bounds: &'static [f64]) -> Self {
        Self {
            bounds,
            kept: Mutex::default(),
        }
    }

    /// Stores an exemplar of this histogram; `labels` in its order.
    pub(crate) fn note(&self, metric: &str, labels: &[(&str, &str)], exemplar: RequestExemplar) {
        let mut series = format!("{metric}_bucket{{");
        for (name, value) in labels {
            // Writing to memory does not fail.
            let _ = write!(series, "{name}=\"{value}\",");
        }
        let bucket = self
            .bounds
            .partition_point(|bound| *bound < exemplar.seconds);
        let mut kept = self.kept.lock();
        let buckets = kept
            .entry(series)
            .or_insert_with(|| vec![None; self.bounds.len() + 1]);
        buckets[bucket] = Some(exemplar);
    }

    /// The exemplar of a bucket: its line up to `le`, and its upper bound.
    pub(crate) fn of(&self, series: &str, bound: f64) -> Option<RequestExemplar> {
        let bucket = self.bounds.partition_point(|own| *own < bound);
        *self.kept.lock().get(series)?.get(bucket)?
    }
}

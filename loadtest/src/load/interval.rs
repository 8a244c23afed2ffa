//! Counts since the last report; threads and processes report once a second.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer as HistogramReader, Serializer as _, V2Serializer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Latencies are recorded up to an hour, to three digits.
const LATENCY_US_MAX: u64 = 3_600_000_000;
const DIGITS: u8 = 3;

/// Counts of a time span.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LoadInterval {
    /// End of the span, in seconds since the measurement began.
    pub(crate) second: i64,
    /// Successful requests during the measurement.
    pub(crate) requests: u64,
    /// Actions of these requests.
    pub(crate) actions: u64,
    /// Read-only requests among these.
    pub(crate) reads: u64,
    /// Bytes of their answers.
    pub(crate) answer_bytes: u64,
    /// Successes, including the warm-up.
    pub(crate) succeeded: u64,
    /// 429 and 503, by code; including the warm-up, like everything below.
    pub(crate) refused: BTreeMap<String, u64>,
    /// All other failures, by code.
    pub(crate) errors: BTreeMap<String, u64>,
    /// Changes that lost a race and were retried.
    pub(crate) conflicts: u64,
    /// Number of waits for a 429.
    pub(crate) limited: u64,
    /// Microseconds of successful requests during the measurement.
    #[serde(
        serialize_with = "write_histogram",
        deserialize_with = "read_histogram"
    )]
    pub(crate) latency_us: Histogram<u64>,
}

impl Default for LoadInterval {
    fn default() -> Self {
        Self {
            second: 0,
            requests: 0,
            actions: 0,
            reads: 0,
            answer_bytes: 0,
            succeeded: 0,
            refused: BTreeMap::new(),
            errors: BTreeMap::new(),
            conflicts: 0,
            limited: 0,
            latency_us: histogram(),
        }
    }
}

/// An empty histogram of microseconds.
fn histogram() -> Histogram<u64> {
    let bounded = Histogram::new_with_bounds(1, LATENCY_US_MAX, DIGITS);
    // These bounds are valid, which the type cannot express.
    bounded.unwrap_or_else(|_| unreachable!("1 to an hour, three digits"))
}

impl LoadInterval {
    pub(crate) fn record(&mut self, latency: Duration) {
        self.latency_us
            .saturating_record((latency.as_micros() as u64).max(1));
    }

    pub(crate) fn error(&mut self, code: &str) {
        count(&mut self.errors, code);
    }

    pub(crate) fn refuse(&mut self, code: &str) {
        count(&mut self.refused, code);
    }

    /// Adds the counts of another part of the run.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.requests += other.requests;
        self.actions += other.actions;
        self.reads += other.reads;
        self.answer_bytes += other.answer_bytes;
        self.succeeded += other.succeeded;
        self.conflicts += other.conflicts;
        self.limited += other.limited;
        for (own, others) in [
            (&mut self.refused, &other.refused),
            (&mut self.errors, &other.errors),
        ] {
            for (code, count) in others {
                *own.entry(code.clone()).or_default() += count;
            }
        }
        // Both have the same bounds, so nothing is out of range.
        let _ = self.latency_us.add(&other.latency_us);
    }
}

fn count(counts: &mut BTreeMap<String, u64>, code: &str) {
    if let Some(count) = counts.get_mut(code) {
        *count += 1;
    } else {
        counts.insert(code.to_owned(), 1);
    }
}

fn write_histogram<S: Serializer>(
    histogram: &Histogram<u64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut bytes = Vec::new();
    V2Serializer::new()
        .serialize(histogram, &mut bytes)
        .map_err(serde::ser::Error::custom)?;
    BASE64.encode(bytes).serialize(serializer)
}

fn read_histogram<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Histogram<u64>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let bytes = BASE64.decode(text).map_err(serde::de::Error::custom)?;
    HistogramReader::new()
        .deserialize(&mut bytes.as_slice())
        .map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_together_through_a_pipe() {
        let part = |latencies_ms: &[u64], code: &str| {
            let mut part = LoadInterval::default();
            for ms in latencies_ms {
                part.record(Duration::from_millis(*ms));
                part.requests += 1;
            }
            part.error(code);
            part
        };
        let (mut one, other) = (part(&[1, 2, 3], "A"), part(&[100, 90_000], "B"));
        let text = serde_json::to_string(&other).unwrap();
        one.merge(&serde_json::from_str(&text).unwrap());
        assert_eq!((one.requests, one.latency_us.len()), (5, 5));
        assert_eq!(one.latency_us.value_at_quantile(0.5) / 100, 30);
        assert_eq!(one.latency_us.max() / 1_000_000, 90);
        assert_eq!(one.errors.len(), 2);
    }
}

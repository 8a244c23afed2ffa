//! Report of the demo: performed actions, their latencies, and proven statements.

use std::fmt::Write;
use std::time::{Duration, Instant};

use kedge_client::Client;
use kedge_protocol::SequencerKeys;
use kedge_protocol::eip712::Domain;
use serde_json::{Value, json};

use super::acknowledgement::DemoAcknowledgement;

/// Actions, requests and latencies of one kind of step.
pub(super) struct DemoMeasurement {
    name: &'static str,
    actions: u64,
    latencies: Vec<Duration>,
}

impl DemoMeasurement {
    pub(super) fn new(name: &'static str) -> Self {
        Self {
            name,
            actions: 0,
            latencies: Vec::new(),
        }
    }

    /// Times a request of this many actions.
    pub(super) async fn time<T>(&mut self, actions: u64, request: impl Future<Output = T>) -> T {
        let started = Instant::now();
        let outcome = request.await;
        self.latencies.push(started.elapsed());
        self.actions += actions;
        outcome
    }

    fn actions_per_s(&self) -> f64 {
        let total: Duration = self.latencies.iter().sum();
        if total.is_zero() {
            return 0.0;
        }
        self.actions as f64 / total.as_secs_f64()
    }
}

/// Nearest-rank percentile: the smallest latency that at least `percent` of the requests did not exceed.
fn percentile_ms(latencies: &[Duration], percent: usize) -> f64 {
    let mut sorted = latencies.to_vec();
    sorted.sort_unstable();
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted
        .get(rank - 1)
        .map_or(0.0, |latency| latency.as_secs_f64() * 1e3)
}

/// Describes the keys that sign the log.
fn sequencers(keys: &SequencerKeys) -> String {
    let mut words = format!("sequencer {}", keys.first());
    for next in keys.entries().iter().skip(1) {
        // Writing to a String cannot fail.
        let _ = write!(words, ", {} from batch {}", next.key, next.from_batch);
    }
    words
}

/// The report under construction.
pub(super) struct DemoReport {
    domain: Domain,
    keys: SequencerKeys,
    pub(super) measures: Vec<DemoMeasurement>,
    /// All actions acknowledged by receipts. Registrations are not included: the client drops their receipts after the
    /// check.
    pub(super) acknowledged: Vec<DemoAcknowledgement>,
    proven: Vec<(&'static str, String)>,
    pub(super) hints: Vec<String>,
}

impl DemoReport {
    pub(super) fn new(client: &Client) -> Self {
        Self {
            domain: client.domain(),
            keys: client.sequencer_keys(),
            measures: Vec::new(),
            acknowledged: Vec::new(),
            proven: Vec::new(),
            hints: Vec::new(),
        }
    }

    pub(super) fn proven(&mut self, what: &'static str, how: String) {
        self.proven.push((what, how));
    }

    /// Number of actions with a verified receipt.
    pub(super) fn actions(&self) -> u64 {
        self.measures.iter().map(|measure| measure.actions).sum()
    }

    pub(super) fn as_text(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{:<22}{:>8}{:>10}{:>11}{:>9}{:>9}{:>9}",
            "what was done", "actions", "requests", "actions/s", "p50 ms", "p99 ms", "max ms"
        );
        for measure in &self.measures {
            let latencies = &measure.latencies;
            let _ = writeln!(
                text,
                "{:<22}{:>8}{:>10}{:>11.0}{:>9.1}{:>9.1}{:>9.1}",
                measure.name,
                measure.actions,
                latencies.len(),
                measure.actions_per_s(),
                percentile_ms(latencies, 50),
                percentile_ms(latencies, 99),
                percentile_ms(latencies, 100),
            );
        }
        let _ = writeln!(text, "\nwhat was proven");
        for (what, how) in &self.proven {
            let _ = writeln!(text, "  {what:<20}{how}");
        }
        let _ = writeln!(
            text,
            "  {:<20}chain {}, contract {}, {}",
            "for the log of",
            self.domain.chain_id,
            self.domain.verifying_contract,
            sequencers(&self.keys)
        );
        if !self.hints.is_empty() {
            let _ = writeln!(text, "\ntry it yourself");
            for command in &self.hints {
                let _ = writeln!(text, "  {command}");
            }
        }
        text
    }

    pub(super) fn as_json(&self) -> Value {
        let measures: Vec<Value> = self
            .measures
            .iter()
            .map(|measure| {
                json!({
                    "name": measure.name,
                    "actions": measure.actions,
                    "requests": measure.latencies.len(),
                    "actions_per_s": measure.actions_per_s(),
                    "latency_ms_p50": percentile_ms(&measure.latencies, 50),
                    "latency_ms_p99": percentile_ms(&measure.latencies, 99),
                    "latency_ms_max": percentile_ms(&measure.latencies, 100),
                })
            })
            .collect();
        let proven: Vec<Value> = self
            .proven
            .iter()
            .map(|(what, how)| json!({"what": what, "how": how}))
            .collect();
        json!({
            "domain": self.domain,
            "sequencer": self.keys.first(),
            "sequencer_keys": self.keys,
            "done": measures,
            "proven": proven,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_ranks() {
        let latencies: Vec<Duration> = (1..=10).rev().map(Duration::from_millis).collect();
        let at = |percent| percentile_ms(&latencies, percent).round() as u64;
        assert_eq!((at(50), at(99), at(100), at(1)), (5, 10, 10, 1));
        assert_eq!(percentile_ms(&latencies[..1], 50).round() as u64, 10);
        assert!(percentile_ms(&[], 50).abs() < f64::EPSILON);
    }
}

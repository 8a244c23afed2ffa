//! What a run found, as JSON and as a table.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::machine::{CoresUsed, Machine};
use crate::options::Options;

/// Milliseconds, from sending a request to its answer's last byte.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Latency {
    pub(crate) p50: f64,
    pub(crate) p90: f64,
    pub(crate) p99: f64,
    pub(crate) p999: f64,
    pub(crate) max: f64,
}

impl Latency {
    /// Of a histogram in microseconds.
    pub(crate) fn of(latency_us: &Histogram<u64>) -> Self {
        let at = |quantile| latency_us.value_at_quantile(quantile) as f64 / 1e3;
        Self {
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: latency_us.max() as f64 / 1e3,
        }
    }
}

/// One measure.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Run {
    /// RFC 3339.
    pub(crate) started_at: String,
    /// Averages over 1, 5 and 15 minutes, before the warm-up.
    pub(crate) load_average_before: String,
    pub(crate) load_average_after: String,
    pub(crate) cores_used: CoresUsed,
    pub(crate) server_resident_mib: Option<u64>,
    pub(crate) actions_per_second: f64,
    pub(crate) requests_per_second: f64,
    pub(crate) latency_ms: Latency,
    /// Successful requests inside the measure.
    pub(crate) requests: u64,
    pub(crate) actions: u64,
    /// Actions answered in each second of the measure.
    pub(crate) actions_by_second: Vec<u64>,
    pub(crate) answer_bytes_mean: u64,
    pub(crate) signed_beforehand: usize,
    pub(crate) signed_on_the_fly: u64,
    /// By code; the warm-up's too.
    pub(crate) errors: BTreeMap<String, u64>,
    /// Actions acknowledged, the warm-up's too.
    pub(crate) acknowledged: u64,
    /// Actions that came into the log meanwhile.
    pub(crate) log_grew_by: u64,
    pub(crate) receipts_verified: u64,
    pub(crate) actions_found_in_log: u64,
    pub(crate) problems: Vec<String>,
}

impl Run {
    /// No request failed, and every check held.
    pub(crate) fn passed(&self) -> bool {
        self.errors.is_empty() && self.problems.is_empty() && self.requests > 0
    }
}

/// Lowest, middle and highest of the runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) lowest: f64,
    pub(crate) median: f64,
    pub(crate) highest: f64,
}

impl Spread {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = values.collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |index: usize| sorted.get(index).copied().unwrap_or(0.0);
        let (half, last) = (sorted.len() / 2, sorted.len().saturating_sub(1));
        let median = if sorted.len() % 2 == 1 {
            at(half)
        } else {
            f64::midpoint(at(half.saturating_sub(1)), at(half))
        };
        Self {
            lowest: at(0),
            median,
            highest: at(last),
        }
    }
}

/// All runs of one scenario.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) program: &'static str,
    pub(crate) version: &'static str,
    pub(crate) options: Options,
    pub(crate) connections: usize,
    pub(crate) actions_a_request: usize,
    pub(crate) machine: Machine,
    pub(crate) passed: bool,
    pub(crate) actions_per_second: Spread,
    pub(crate) runs: Vec<Run>,
}

impl Report {
    pub(crate) fn new(options: Options, runs: Vec<Run>) -> Self {
        Self {
            program: env!("CARGO_PKG_NAME"),
            version: env!("CARGO_PKG_VERSION"),
            connections: options.connections(),
            actions_a_request: options.actions_a_request(),
            options,
            machine: Machine::here(),
            passed: runs.iter().all(Run::passed),
            actions_per_second: Spread::of(runs.iter().map(|run| run.actions_per_second)),
            runs,
        }
    }

    /// For people.
    pub(crate) fn table(&self) -> String {
        let machine = &self.machine;
        let mut out = format!(
            "{} cores of {}, {} MiB, Linux {}\n{} connections, {} actions a request, {} objects of {} organizations\n\n",
            machine.cores,
            machine.processor,
            machine.memory_mib,
            machine.kernel,
            self.connections,
            self.actions_a_request,
            self.options.objects,
            self.options.organizations
        );
        out += "run  actions/s  requests/s  p50 ms  p90 ms  p99 ms  max ms  errors  receipts  cores: server, generator, others\n";
        for (number, run) in self.runs.iter().enumerate() {
            let (latency, cores) = (&run.latency_ms, &run.cores_used);
            let errors: u64 = run.errors.values().sum();
            let server = cores
                .server
                .map_or_else(|| "-".to_owned(), |cores| format!("{cores:.2}"));
            // Writing to a String cannot fail.
            let _ = writeln!(
                out,
                "{:>3} {:>10.0} {:>11.0} {:>7.2} {:>7.2} {:>7.2} {:>7.1} {errors:>7} {:>9}  {server:>13}, {:.2}, {:.2}",
                number + 1,
                run.actions_per_second,
                run.requests_per_second,
                latency.p50,
                latency.p90,
                latency.p99,
                latency.max,
                run.receipts_verified,
                cores.generator,
                cores.others,
            );
        }
        let Spread {
            lowest,
            median,
            highest,
        } = self.actions_per_second;
        let _ = writeln!(
            out,
            "\nmedian {median:.0} actions/s ({lowest:.0} to {highest:.0})"
        );
        for (number, run) in self.runs.iter().enumerate() {
            for (code, count) in &run.errors {
                let _ = writeln!(out, "run {}: {count} × {code}", number + 1);
            }
            for problem in &run.problems {
                let _ = writeln!(out, "run {}: {problem}", number + 1);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads() {
        let spread = |values: &[f64]| Spread::of(values.iter().copied());
        let expected = |lowest, median, highest| Spread {
            lowest,
            median,
            highest,
        };
        assert_eq!(spread(&[3.0, 1.0, 2.0]), expected(1.0, 2.0, 3.0));
        assert_eq!(spread(&[4.0, 2.0]), expected(2.0, 3.0, 4.0));
        assert_eq!(spread(&[5.0]), expected(5.0, 5.0, 5.0));
    }
}

//! Report of a run, as JSON and as a table.

pub(crate) mod html;
mod plots;
pub(crate) mod targets;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::checks::log_check::LogCheck;
use crate::checks::readers::StreamFigures;
use crate::checks::receiver::DeliveryFigures;
use crate::figures::{LatencyFigures, RunSpread, short};
use crate::load::collector::{SecondFigures, resident_slope_mib_per_min};
use crate::machine::{CoreUsage, HostMachine};
use crate::options::{LimitsMode, RunOptions, Scenario};
use crate::report::targets::TargetOutcome;

/// Points of the latency distribution for a plot: a share of requests, and the milliseconds within which they were
/// answered.
pub(crate) fn percentiles(latency_us: &Histogram<u64>) -> Vec<(f64, f64)> {
    latency_us
        .iter_quantiles(5)
        .map(|step| (step.quantile(), step.value_iterated_to() as f64 / 1e3))
        .collect()
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct LoadRun {
    /// RFC 3339.
    pub(crate) started_at: String,
    /// Load averages over 1, 5 and 15 minutes, before the warm-up.
    pub(crate) load_average_before: String,
    pub(crate) load_average_after: String,
    pub(crate) cores_used: Option<CoreUsage>,
    pub(crate) actions_per_second: f64,
    pub(crate) requests_per_second: f64,
    /// Requests a second that were due in an open loop.
    pub(crate) offered_per_second: Option<f64>,
    /// Rate of the preceding closed loop, if the rate refers to it.
    pub(crate) top_requests_per_second: Option<f64>,
    pub(crate) latency_ms: LatencyFigures,
    pub(crate) percentiles_ms: Vec<(f64, f64)>,
    /// Successful requests during the measurement.
    pub(crate) requests: u64,
    pub(crate) actions: u64,
    pub(crate) reads: u64,
    /// Requests due in an open loop, but never begun. They count in the latencies with their wait.
    pub(crate) never_begun: u64,
    pub(crate) answer_bytes_mean: u64,
    pub(crate) signed_beforehand: usize,
    pub(crate) signed_on_the_fly: u64,
    /// Errors by code; including the warm-up, like everything below.
    pub(crate) errors: BTreeMap<String, u64>,
    /// Refusals (429 and 503), by code.
    pub(crate) refused: BTreeMap<String, u64>,
    /// Changes that lost a race and were retried.
    pub(crate) conflicts: u64,
    /// Number of waits for a limit.
    pub(crate) limited: u64,
    /// Acknowledged actions.
    pub(crate) acknowledged: u64,
    /// Actions of requests without an answer.
    pub(crate) unknown: u64,
    pub(crate) receipts_verified: u64,
    pub(crate) log: LogCheck,
    pub(crate) streams: Option<StreamFigures>,
    pub(crate) deliveries: Option<DeliveryFigures>,
    /// Scenario-specific figures, by name.
    pub(crate) more: BTreeMap<String, f64>,
    pub(crate) seconds: Vec<SecondFigures>,
    pub(crate) problems: Vec<String>,
}

impl LoadRun {
    /// Whether no request failed unexpectedly and every check passed.
    pub(crate) fn passed(&self, options: &RunOptions) -> bool {
        let busy_is_expected = options.scenario == Scenario::Overload;
        self.errors.is_empty()
            && (self.refused.is_empty()
                || busy_is_expected
                || options.limits() == LimitsMode::Honour)
            && self.problems.is_empty()
            && self.requests > 0
    }

    /// All figures that a target can name.
    pub(crate) fn figures(&self) -> BTreeMap<String, f64> {
        let latency = &self.latency_ms;
        let sum = |counts: &BTreeMap<String, u64>| counts.values().sum::<u64>() as f64;
        let always = [
            ("actions_per_s", self.actions_per_second),
            ("requests_per_s", self.requests_per_second),
            ("p50_ms", latency.p50),
            ("p90_ms", latency.p90),
            ("p99_ms", latency.p99),
            ("p999_ms", latency.p999),
            ("max_ms", latency.max),
            ("errors", sum(&self.errors)),
            ("refused", sum(&self.refused)),
            ("conflicts", self.conflicts as f64),
            ("limited", self.limited as f64),
            ("never_begun", self.never_begun as f64),
            ("answer_bytes", self.answer_bytes_mean as f64),
        ];
        let measured = self.of_machine().into_iter().chain(self.of_readers());
        let measured = measured.filter_map(|(name, value)| Some((name, value?)));
        let named = always.into_iter().chain(measured);
        let named = named.map(|(name, value)| (name.to_owned(), value));
        named.chain(self.more.clone()).collect()
    }

    /// Figures of an open loop, processors, memory and disk; `None` if unknown.
    fn of_machine(&self) -> [(&'static str, Option<f64>); 7] {
        let cores = self.cores_used;
        let resident = self.seconds.iter();
        let resident = resident.filter_map(|second| second.server_resident_mib);
        let last = self.seconds.last().filter(|_| self.actions > 0);
        let written_mib = last.and_then(|second| second.server_written_mib);
        [
            ("offered_per_s", self.offered_per_second),
            ("top_requests_per_s", self.top_requests_per_second),
            ("generator_cores", cores.map(|cores| cores.generator)),
            ("server_cores", cores.and_then(|cores| cores.server)),
            ("server_resident_mib", resident.reduce(f64::max)),
            (
                "resident_slope_mib_per_min",
                resident_slope_mib_per_min(&self.seconds),
            ),
            (
                "written_bytes_per_action",
                written_mib.map(|mib| mib * 1_048_576.0 / self.actions as f64),
            ),
        ]
    }

    /// Figures of streams and webhooks; `None` if there were none.
    fn of_readers(&self) -> [(&'static str, Option<f64>); 5] {
        let (streams, deliveries) = (self.streams.as_ref(), self.deliveries.as_ref());
        [
            ("stream_gaps", streams.map(|of| of.gaps as f64)),
            ("stream_duplicates", streams.map(|of| of.duplicates as f64)),
            ("delivery_lag_p50_ms", deliveries.map(|of| of.lag_p50_ms)),
            ("delivery_lag_p99_ms", deliveries.map(|of| of.lag_p99_ms)),
            ("deliveries_missing", deliveries.map(|of| of.missing as f64)),
        ]
    }
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct LoadReport {
    pub(crate) program: &'static str,
    pub(crate) version: &'static str,
    pub(crate) options: RunOptions,
    pub(crate) limits: LimitsMode,
    pub(crate) connections: usize,
    pub(crate) actions_a_request: usize,
    pub(crate) machine: HostMachine,
    /// Whether every check passed and every target is met.
    pub(crate) passed: bool,
    pub(crate) actions_per_second: RunSpread,
    /// Figures that a target can name.
    pub(crate) figures: BTreeMap<String, RunSpread>,
    pub(crate) targets: Vec<TargetOutcome>,
    pub(crate) runs: Vec<LoadRun>,
}

impl LoadReport {
    pub(crate) fn new(options: RunOptions, runs: Vec<LoadRun>) -> Self {
        let each: Vec<BTreeMap<String, f64>> = runs.iter().map(LoadRun::figures).collect();
        let names = each.iter().flat_map(BTreeMap::keys);
        let figures: BTreeMap<String, RunSpread> = names
            .map(|name| {
                let values = each.iter().filter_map(|figures| figures.get(name).copied());
                (name.clone(), RunSpread::of(values))
            })
            .collect();
        let medians: BTreeMap<String, f64> = figures
            .iter()
            .map(|(name, spread)| (name.clone(), spread.median))
            .collect();
        let targets: Vec<TargetOutcome> = options
            .targets
            .iter()
            .map(|target| target.hold(&medians))
            .collect();
        Self {
            program: env!("CARGO_PKG_NAME"),
            version: env!("CARGO_PKG_VERSION"),
            limits: options.limits(),
            connections: options.connections(),
            actions_a_request: options.actions_a_request(),
            machine: HostMachine::here(),
            passed: runs.iter().all(|run| run.passed(&options))
                && targets.iter().all(|target| target.met),
            actions_per_second: RunSpread::of(runs.iter().map(|run| run.actions_per_second)),
            figures,
            targets,
            options,
            runs,
        }
    }

    /// The report as a table.
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
            let latency = &run.latency_ms;
            let errors: u64 = run.errors.values().sum();
            let cores = run.cores_used.map_or_else(String::new, |cores| {
                let server = cores.server;
                let server = server.map_or_else(|| "-".to_owned(), |cores| format!("{cores:.2}"));
                format!("{server:>13}, {:.2}, {:.2}", cores.generator, cores.others)
            });
            // Writing to a String cannot fail.
            let _ = writeln!(
                out,
                "{:>3} {:>10.0} {:>11.0} {:>7.2} {:>7.2} {:>7.2} {:>7.1} {errors:>7} {:>9}  {cores}",
                number + 1,
                run.actions_per_second,
                run.requests_per_second,
                latency.p50,
                latency.p90,
                latency.p99,
                latency.max,
                run.receipts_verified,
            );
        }
        let name = if self.actions_a_request == 0 {
            "requests_per_s"
        } else {
            "actions_per_s"
        };
        if let Some(spread) = self.figures.get(name) {
            let (what, _) = name.split_once('_').unwrap_or((name, ""));
            let RunSpread {
                lowest,
                median,
                highest,
            } = spread;
            let _ = writeln!(
                out,
                "\nmedian {median:.0} {what}/s ({lowest:.0} to {highest:.0})"
            );
        }
        for (number, run) in self.runs.iter().enumerate() {
            run.tell(number + 1, &mut out);
        }
        for target in &self.targets {
            let value = target
                .value
                .map_or_else(|| "not measured".to_owned(), short);
            let (met, text) = (if target.met { "met" } else { "MISSED" }, &target.target);
            let _ = writeln!(out, "target {text}: {met} ({value})");
        }
        out
    }
}

impl LoadRun {
    fn tell(&self, number: usize, out: &mut String) {
        let mut line = |text: String| {
            let _ = writeln!(out, "run {number}: {text}");
        };
        let log = &self.log;
        line(format!(
            "the log grew by {} actions in {} batches; {} were acknowledged, {} receipts were verified",
            log.log_grew_by, log.batches_checked, self.acknowledged, self.receipts_verified
        ));
        if let Some(offered) = self.offered_per_second {
            let top = self.top_requests_per_second;
            let top = top.map_or_else(String::new, |top| format!(" (top {top:.0})"));
            let never = self.never_begun;
            line(format!(
                "{offered:.0} requests/s were due{top}; {never} were never sent"
            ));
        }
        for (code, count) in &self.refused {
            line(format!("refused: {count} × {code}"));
        }
        if self.conflicts > 0 {
            line(format!(
                "{} changes lost a race and were retried",
                self.conflicts
            ));
        }
        if self.limited > 0 {
            line(format!("{} waits for a limit", self.limited));
        }
        if let Some(streams) = &self.streams {
            line(format!(
                "{} streams received {} events, {} duplicates, {} gaps; the last one was complete \
                 {:.1} s after the end",
                streams.readers, streams.events, streams.duplicates, streams.gaps, streams.behind_s
            ));
        }
        if let Some(reported) = &self.deliveries {
            line(format!(
                "{} webhooks were sent {} messages, {} duplicates, {} refused, {} missing; lag p50 {:.0} ms, p99 {:.0} ms",
                reported.webhooks,
                reported.delivered,
                reported.duplicates,
                reported.refused,
                reported.missing,
                reported.lag_p50_ms,
                reported.lag_p99_ms
            ));
        }
        for (name, value) in &self.more {
            line(format!("{name} {}", short(*value)));
        }
        for (code, count) in &self.errors {
            line(format!("{count} × {code}"));
        }
        for problem in &self.problems {
            line(problem.clone());
        }
    }
}

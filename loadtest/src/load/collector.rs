//! Per-second figures of a run's processes and of the machine.

use std::path::PathBuf;

use indicatif::ProgressBar;
use serde::Serialize;

use crate::load::interval::LoadInterval;
use crate::load::processes::ProgressObserver;
use crate::machine::{self, CoreUsage, CpuTicks};
use crate::progress;

const MIB: f64 = 1_048_576.0;

/// One second of the measurement.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct SecondFigures {
    /// End of the second, counted from the start of the measurement.
    pub(crate) second: i64,
    pub(crate) requests: u64,
    pub(crate) actions: u64,
    pub(crate) refused: u64,
    pub(crate) errors: u64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    pub(crate) generator_cores: f64,
    pub(crate) server_cores: Option<f64>,
    pub(crate) server_resident_mib: Option<f64>,
    /// Written to disk since the measurement began.
    pub(crate) server_written_mib: Option<f64>,
    /// Size of the data directory.
    pub(crate) data_mib: Option<f64>,
}

/// Collects the figures of a phase.
pub(crate) struct IntervalCollector {
    server_pid: Option<u32>,
    data: Option<PathBuf>,
    generator_pids: Vec<u32>,
    duration_s: u64,
    bar: ProgressBar,
    total: LoadInterval,
    seconds: Vec<SecondFigures>,
    /// Usage and written bytes at the start of the measurement, and at the last second.
    begun: Option<(CpuTicks, u64)>,
    last: Option<CpuTicks>,
}

pub(crate) struct LoadFigures {
    pub(crate) total: LoadInterval,
    pub(crate) seconds: Vec<SecondFigures>,
    pub(crate) cores_used: Option<CoreUsage>,
}

impl IntervalCollector {
    pub(crate) fn new(
        server_pid: Option<u32>,
        data: Option<PathBuf>,
        warm_up_s: u64,
        duration_s: u64,
    ) -> Self {
        Self {
            server_pid,
            data,
            generator_pids: Vec::new(),
            duration_s,
            bar: progress::live(warm_up_s + duration_s),
            total: LoadInterval::default(),
            seconds: Vec::new(),
            begun: None,
            last: None,
        }
    }

    pub(crate) fn finish(self) -> LoadFigures {
        self.bar.finish_and_clear();
        let begun = self.begun.map(|(usage, _)| usage);
        LoadFigures {
            cores_used: self.last.zip(begun).map(|(last, begun)| last.since(&begun)),
            total: self.total,
            seconds: self.seconds,
        }
    }

    fn usage(&self) -> CpuTicks {
        CpuTicks::now(self.server_pid, &self.generator_pids)
    }

    fn written(&self) -> u64 {
        self.server_pid.map_or(0, machine::written_bytes)
    }

    fn push(&mut self, interval: &LoadInterval) -> SecondFigures {
        let usage = self.usage();
        let before = self
            .last
            .as_ref()
            .or(self.begun.as_ref().map(|(usage, _)| usage));
        let cores = before.map(|before| usage.since(before));
        let written_before = self.begun.as_ref().map_or(0, |(_, written)| *written);
        let at = |quantile| interval.latency_us.value_at_quantile(quantile) as f64 / 1e3;
        let second = SecondFigures {
            second: interval.second,
            requests: interval.requests,
            actions: interval.actions,
            refused: interval.refused.values().sum(),
            errors: interval.errors.values().sum(),
            p50_ms: at(0.5),
            p99_ms: at(0.99),
            generator_cores: cores.map_or(0.0, |cores| cores.generator),
            server_cores: cores.and_then(|cores| cores.server),
            server_resident_mib: self
                .server_pid
                .map(|pid| machine::resident_bytes(pid) as f64 / MIB),
            server_written_mib: self
                .server_pid
                .map(|_| self.written().saturating_sub(written_before) as f64 / MIB),
            data_mib: self
                .data
                .as_ref()
                .map(|data| machine::directory_bytes(data) as f64 / MIB),
        };
        self.last = Some(usage);
        self.seconds.push(second);
        second
    }

    fn tell(&self, interval: &LoadInterval, second: &SecondFigures) {
        let (requests, actions) = (second.requests, second.actions);
        let rate = if actions > requests {
            format!("{actions} actions/s, {requests} requests/s")
        } else {
            format!("{requests} requests/s")
        };
        let errors: u64 = self.total.errors.values().sum();
        let refused: u64 = self.total.refused.values().sum();
        let memory = second
            .server_resident_mib
            .map_or_else(String::new, |mib| format!("  server {mib:.0} MiB"));
        let (p50, p99) = (second.p50_ms, second.p99_ms);
        let conflicts = match self.total.conflicts {
            0 => String::new(),
            count => format!("  conflicts {count}"),
        };
        let limited = match self.total.limited + interval.limited {
            0 => String::new(),
            count => format!("  waits {count}"),
        };
        self.bar.set_message(format!(
            "{rate}  p50 {p50:.1} ms  p99 {p99:.1} ms  errors {errors}  refused {refused}{conflicts}{limited}{memory}"
        ));
    }
}

impl ProgressObserver for IntervalCollector {
    fn begin(&mut self, generator_pids: &[u32]) {
        self.generator_pids = generator_pids.to_vec();
        self.begun = Some((self.usage(), self.written()));
        self.bar.set_message("warming up");
    }

    fn second(&mut self, interval: LoadInterval) {
        self.bar.inc(1);
        self.total.merge(&interval);
        if interval.second <= 0 {
            // The warm-up has ended: usage counts from here on.
            self.begun = Some((self.usage(), self.written()));
        } else if interval.second <= self.duration_s.cast_signed() {
            let second = self.push(&interval);
            self.tell(&interval, &second);
        }
    }
}

/// Growth of memory in MiB a minute over the second half of a measurement. During the first half, bounded structures
/// fill up.
pub(crate) fn resident_slope_mib_per_min(seconds: &[SecondFigures]) -> Option<f64> {
    let half = &seconds[seconds.len() / 2..];
    let points: Vec<(f64, f64)> = half
        .iter()
        .filter_map(|second| Some((second.second as f64 / 60.0, second.server_resident_mib?)))
        .collect();
    if points.len() < 3 {
        return None;
    }
    let count = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / count;
    let covariance: f64 = points
        .iter()
        .map(|(x, y)| (x - mean_x) * (y - mean_y))
        .sum();
    let variance: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    Some(covariance / variance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_those_of_the_second_half() {
        let seconds: Vec<SecondFigures> = (1..=120)
            .map(|second| SecondFigures {
                second,
                server_resident_mib: Some(if second < 60 {
                    1000.0
                } else {
                    500.0 + second as f64
                }),
                ..SecondFigures::default()
            })
            .collect();
        let slope = resident_slope_mib_per_min(&seconds).unwrap();
        assert!((slope - 60.0).abs() < 1e-6, "{slope}");
        assert_eq!(resident_slope_mib_per_min(&seconds[..2]), None);
    }
}

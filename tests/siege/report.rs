//! The report of one attack: a row of the table in `bench/results`, and the conditions on it.

use std::io::Write;
use std::time::Duration;

use crate::besieged::{P99_MAX, Round};
use crate::neighbour::Figures;
use crate::vitals::Vitals;

pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) bound_mib: u64,
    pub(crate) left_mib: u64,
    pub(crate) calm: Figures,
    pub(crate) under_attack: Figures,
    pub(crate) before: Vitals,
    pub(crate) rounds: Vec<Round>,
}

fn mib(kib: u64) -> u64 {
    kib.div_ceil(1024)
}

fn ms(time: Duration) -> String {
    if time == Duration::MAX {
        return "refused".to_owned();
    }
    format!("{:.1}", time.as_secs_f64() * 1_000.0)
}

impl Row {
    fn peak_kib(&self) -> u64 {
        let peaks = self.rounds.iter().map(|round| round.peak_kib);
        peaks.max().unwrap_or_default()
    }

    fn text(&self) -> String {
        let (calm, attacked) = (&self.calm, &self.under_attack);
        let done: u64 = self.rounds.iter().map(|round| round.done).sum();
        let left: Vec<String> = self
            .rounds
            .iter()
            .map(|round| mib(round.after.memory_kib).to_string())
            .collect();
        let slowest = self.rounds.iter().map(|round| round.left_after).max();
        let last = self.rounds.last().map_or(self.before, |round| round.after);
        format!(
            "| {} | {done} | {} / {} | {} | **{}** | {} | {}, {} of {} | {} | {} (+{} allowed) | {} | {} → {} | {} → {} | {:.0} |",
            self.name,
            ms(calm.at(0.5)),
            ms(calm.at(0.99)),
            ms(attacked.at(0.5)),
            ms(attacked.at(0.99)),
            ms(attacked.worst()),
            attacked.refused,
            attacked.failures.len(),
            attacked.latencies.len(),
            mib(self.before.memory_kib),
            mib(self.peak_kib()),
            self.bound_mib,
            left.join(", "),
            self.before.sockets,
            last.sockets,
            self.before.threads,
            last.threads,
            slowest.unwrap_or_default().as_secs_f64(),
        )
    }

    /// Prints the row, and appends it to the file that `KEDGE_SIEGE_REPORT` names.
    pub(crate) fn write(&self) {
        let text = self.text();
        eprintln!("{text}");
        for failure in self.under_attack.failures.iter().take(5) {
            eprintln!("    failed: {failure}");
        }
        let Some(path) = std::env::var_os("KEDGE_SIEGE_REPORT") else {
            return;
        };
        let file = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(path);
        writeln!(file.unwrap(), "{text}").unwrap();
    }

    /// Checks the conditions on the figures.
    pub(crate) fn check(&self) {
        let failures = &self.under_attack.failures;
        assert!(failures.is_empty(), "{}: {failures:?}", self.name);
        let p99 = self.under_attack.at(0.99);
        assert!(
            p99 < P99_MAX,
            "{}: the p99 of the well-behaved client is {p99:?}",
            self.name
        );
        let grown = mib(self.peak_kib().saturating_sub(self.before.memory_kib));
        assert!(
            grown <= self.bound_mib,
            "{}: memory grew by {grown} MiB",
            self.name
        );
        let first = self.rounds[0].warm_kib(&self.before);
        let second = self.rounds[1].after.memory_kib;
        let left = mib(second.saturating_sub(first));
        assert!(
            left <= self.left_mib,
            "{}: the second attack left {left} MiB more than the first",
            self.name
        );
        let done = self.rounds.iter().all(|round| round.done > 0);
        assert!(done, "{}: the attack did nothing", self.name);
    }
}

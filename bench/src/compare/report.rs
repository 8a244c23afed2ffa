//! Report of the throughput of each system.

use kedge_load::figures::{RunSpread, table, write_text};
use serde::Serialize;

use super::{CompareOptions, ComparedSystem};
use crate::error::BenchResult;
use crate::generator::{DriveFigures, DriveLatency};
use crate::report::BenchReport;
use crate::requests::{ACTION_BYTES, RequestShape};

#[derive(Serialize)]
pub(super) struct CompareRun {
    pub(super) subject: ComparedSystem,
    pub(super) shape: RequestShape,
    /// Actions or records per second.
    pub(super) per_second: f64,
    pub(super) latency_ms: DriveLatency,
    pub(super) server_cores: Option<f64>,
    pub(super) generator_cores: Option<f64>,
}

impl CompareRun {
    pub(super) fn driven(
        subject: ComparedSystem,
        shape: RequestShape,
        driven: &DriveFigures,
    ) -> Self {
        Self {
            subject,
            shape,
            per_second: driven.actions_per_second,
            latency_ms: driven.latency_ms,
            server_cores: Some(driven.server_cores),
            generator_cores: Some(driven.generator_cores),
        }
    }
}

impl ComparedSystem {
    fn name(self) -> &'static str {
        match self {
            Self::Kedge => "Kedge",
            Self::Bare => "bare pipeline",
            Self::BareFrames => "bare, on the log's files",
            Self::BareEarlier => "bare, earlier build",
            Self::PostgresCopy => "PostgreSQL COPY",
            Self::PostgresChain => "PostgreSQL, hash-chained",
            Self::RedisStreams => "Redis Streams",
            Self::NatsJetstream => "NATS JetStream",
        }
    }

    /// Features of the server for the same record that this system lacks.
    fn lacks(self) -> &'static str {
        match self {
            Self::Kedge => "-",
            Self::Bare | Self::BareFrames | Self::BareEarlier => {
                "state, rules, nonces, credentials, limits, receipts, proofs"
            }
            Self::PostgresCopy | Self::NatsJetstream => {
                "signatures, chain, rules, state, receipts, proofs, limits, HTTP and JSON"
            }
            Self::PostgresChain => {
                "signatures, rules, state, receipts, proofs, limits, HTTP and JSON"
            }
            Self::RedisStreams => {
                "signatures, chain, rules, state, receipts, proofs, limits, HTTP and JSON; must fit memory"
            }
        }
    }
}

/// One line of progress.
pub(super) fn line(subject: ComparedSystem, shape: RequestShape, run: &CompareRun) -> String {
    format!(
        "{:<15} {:<25} {:>9.0}/s  p50 {:>8.2} ms  p99 {:>8.2} ms\n",
        shape.name(),
        subject.name(),
        run.per_second,
        run.latency_ms.p50,
        run.latency_ms.p99,
    )
}

#[derive(Serialize)]
pub(super) struct CompareFigures {
    pub(super) runs: Vec<CompareRun>,
}

/// Prints the tables and writes the files.
pub(super) fn write(
    options: &CompareOptions,
    load_average_before: String,
    figures: CompareFigures,
) -> BenchResult<()> {
    let report = BenchReport::new("kedge-bench compare", options, load_average_before, figures);
    let text = report.figures.markdown() + &report.conditions();
    report.write(&format!("\n{text}"), options.bench.json.as_deref())?;
    Ok(write_text(&text, options.markdown.as_deref())?)
}

impl CompareFigures {
    fn runs_of(
        &self,
        shape: RequestShape,
        subject: ComparedSystem,
    ) -> impl Iterator<Item = &CompareRun> {
        self.runs
            .iter()
            .filter(move |run| run.shape == shape && run.subject == subject)
    }

    fn per_second(&self, shape: RequestShape, subject: ComparedSystem) -> RunSpread {
        RunSpread::of(self.runs_of(shape, subject).map(|run| run.per_second))
    }

    fn row(&self, shape: RequestShape, subject: ComparedSystem) -> Vec<String> {
        let spread = self.per_second(shape, subject);
        let [median, range] = spread.reported();
        let kedge = self.per_second(shape, ComparedSystem::Kedge);
        let latency = |of: fn(&DriveLatency) -> f64| {
            RunSpread::of(self.runs_of(shape, subject).map(|run| of(&run.latency_ms))).median
        };
        vec![
            subject.name().to_owned(),
            median,
            range,
            format!("{:.2}", kedge.median / spread.median),
            format!("{:.2}", latency(|latency| latency.p50)),
            format!("{:.2}", latency(|latency| latency.p99)),
            subject.lacks().to_owned(),
        ]
    }

    fn markdown(&self) -> String {
        let mut text = String::new();
        let head = [
            "system",
            "a second, median",
            "spread",
            "Kedge / it",
            "p50 ms",
            "p99 ms",
            "what it leaves out",
        ];
        for shape in [RequestShape::Batch, RequestShape::Single] {
            let mut subjects: Vec<ComparedSystem> = Vec::new();
            for run in self.runs.iter().filter(|run| run.shape == shape) {
                if !subjects.contains(&run.subject) {
                    subjects.push(run.subject);
                }
            }
            if subjects.is_empty() {
                continue;
            }
            let rows: Vec<Vec<String>> = subjects
                .iter()
                .map(|subject| self.row(shape, *subject))
                .collect();
            text.push_str(&format!(
                "### {}, {} connections\n\n{}\n",
                shape.name(),
                shape.connections(),
                table(&head, &rows)
            ));
        }
        text
    }
}

impl BenchReport<'_, CompareOptions, CompareFigures> {
    fn conditions(&self) -> String {
        let options = self.options;
        let machine = &self.machine;
        let mut text = format!(
            "Records of {ACTION_BYTES} bytes, each answered once it is synced to the disk. Kedge: {} objects of {} \
             organizations, rate limiter on with a custom tier, API keys with the signatures. {} runs each in turns, {} \
             s after {} s of warm-up; closed loop, the generator on the same {} cores ({}, {} MiB, Linux {}). Load \
             average {} before, {} after.\n",
            options.size.objects,
            options.size.organizations,
            options.turns.runs,
            options.turns.duration_s,
            options.turns.warm_up_s,
            machine.cores,
            machine.processor,
            machine.memory_mib,
            machine.kernel,
            self.load_average_before,
            self.load_average_after,
        );
        if let Some(note) = &options.peers.peers_note {
            text.push_str(&format!("\n{note}\n"));
        }
        text
    }
}

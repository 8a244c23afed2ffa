//! Report of the costs of a cluster.

use kedge_load::figures::{RunSpread, grouped, table};
use serde::Serialize;

use super::ClusterBenchOptions;
use crate::error::BenchResult;
use crate::report::BenchReport;
use crate::requests::RequestShape;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ClusterSubject {
    One,
    Three,
    /// Three nodes behind an edge.
    Edge,
}

impl ClusterSubject {
    fn name(self) -> &'static str {
        match self {
            Self::One => "one node",
            Self::Three => "three nodes",
            Self::Edge => "three nodes, through an edge",
        }
    }
}

#[derive(Serialize)]
pub(super) struct ClusterRun {
    pub(super) subject: ClusterSubject,
    pub(super) shape: RequestShape,
    /// Actions a second.
    pub(super) per_second: f64,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
    /// Microseconds of a core per action: of the leader, of the followers, of the NATS servers.
    pub(super) leader_us: f64,
    pub(super) followers_us: f64,
    pub(super) servers_us: f64,
    /// Microseconds of a core per action: of the edge.
    pub(super) edge_us: f64,
}

/// Reads through this many nodes.
#[derive(Serialize)]
pub(super) struct ClusterReads {
    pub(super) nodes: usize,
    pub(super) per_second: f64,
}

/// Join of an empty node.
#[derive(Serialize)]
pub(super) struct ClusterJoin {
    pub(super) actions: u64,
    /// From the program's start until the node was ready.
    pub(super) seconds: f64,
}

#[derive(Serialize)]
pub(super) struct ClusterFigures {
    pub(super) runs: Vec<ClusterRun>,
    pub(super) reads: Vec<ClusterReads>,
    pub(super) join: ClusterJoin,
}

/// One line of progress.
pub(super) fn line(run: &ClusterRun) -> String {
    format!(
        "{:<15} {:<28} {:>9.0}/s  p50 {:>8.2} ms  p99 {:>8.2} ms\n",
        run.shape.name(),
        run.subject.name(),
        run.per_second,
        run.p50_ms,
        run.p99_ms,
    )
}

/// Prints the tables and writes the file.
pub(super) fn write(
    options: &ClusterBenchOptions,
    load_average_before: String,
    figures: ClusterFigures,
) -> BenchResult<()> {
    let text = figures.markdown();
    let report = BenchReport::new("kedge-bench cluster", options, load_average_before, figures);
    report.write(&format!("\n{text}"), options.bench.json.as_deref())
}

impl ClusterFigures {
    fn of(
        &self,
        shape: RequestShape,
        subject: ClusterSubject,
        value: fn(&ClusterRun) -> f64,
    ) -> RunSpread {
        let runs = self.runs.iter();
        let runs = runs.filter(|run| run.shape == shape && run.subject == subject);
        RunSpread::of(runs.map(value))
    }

    fn row(&self, shape: RequestShape, subject: ClusterSubject) -> Vec<String> {
        let rate = |subject| self.of(shape, subject, |run| run.per_second);
        let median = |value| format!("{:.2}", self.of(shape, subject, value).median);
        let [middle, range] = rate(subject).reported();
        let ratio = rate(subject).median / rate(ClusterSubject::One).median;
        vec![
            shape.name().to_owned(),
            subject.name().to_owned(),
            middle,
            range,
            format!("{ratio:.2}"),
            median(|run| run.p50_ms),
            median(|run| run.p99_ms),
            median(|run| run.leader_us),
            median(|run| run.followers_us),
            median(|run| run.servers_us),
            median(|run| run.edge_us),
        ]
    }

    fn markdown(&self) -> String {
        let head = [
            "requests",
            "log on",
            "actions a second, median",
            "spread",
            "of one node",
            "p50 ms",
            "p99 ms",
            "node that decides, core-µs an action",
            "other nodes",
            "NATS servers",
            "edge",
        ];
        let mut rows = Vec::new();
        for shape in [RequestShape::Batch, RequestShape::Single] {
            rows.push(self.row(shape, ClusterSubject::One));
            rows.push(self.row(shape, ClusterSubject::Three));
        }
        rows.push(self.row(RequestShape::Single, ClusterSubject::Edge));
        let mut text = table(&head, &rows);
        let leader_us = |subject| self.of(RequestShape::Single, subject, |run| run.leader_us);
        let [(without, range_without), (with, range_with)] =
            [ClusterSubject::Three, ClusterSubject::Edge].map(|subject| {
                let spread = leader_us(subject);
                let [middle, range] = spread.reported();
                (spread.median, format!("{middle} ({range})"))
            });
        text.push_str(&format!(
            "\nA single change costs the leader's process {range_without} core-µs, and {range_with} through an edge: \
             {:.0} % less.\n",
            100.0 * (1.0 - with / without),
        ));
        let widest = self.reads.iter().map(|reads| reads.nodes).max();
        for nodes in [1, widest.unwrap_or(1)] {
            let reads = self.reads.iter().filter(|reads| reads.nodes == nodes);
            let [median, range] = RunSpread::of(reads.map(|reads| reads.per_second)).reported();
            text.push_str(&format!(
                "\nReads of objects through {nodes} of the nodes: {median} a second ({range}).\n"
            ));
        }
        let ClusterJoin { actions, seconds } = self.join;
        let rate = actions as f64 / seconds;
        let leader = self.of(RequestShape::Batch, ClusterSubject::Three, |run| {
            run.per_second
        });
        text.push_str(&format!(
            "\nA node with no data joined {} actions in {seconds:.1} s: {} a second, {:.2} times the rate of the leader's \
             batches.\n",
            grouped(actions as f64),
            grouped(rate),
            rate / leader.median,
        ));
        text
    }
}

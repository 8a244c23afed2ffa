//! Report of the costs of tracing.

use kedge_load::figures::{RunSpread, table};
use serde::Serialize;

use super::{TracedShare, TracingBenchOptions};
use crate::error::BenchResult;
use crate::report::BenchReport;
use crate::requests::RequestShape;

#[derive(Serialize)]
pub(super) struct TracingRun {
    pub(super) traced: TracedShare,
    pub(super) shape: RequestShape,
    /// Actions a second.
    pub(super) per_second: f64,
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
    /// Microseconds of a server core per action.
    pub(super) server_us: f64,
    /// Spans received per answered request.
    pub(super) spans_a_request: f64,
}

#[derive(Serialize)]
pub(super) struct TracingFigures {
    pub(super) runs: Vec<TracingRun>,
}

impl TracedShare {
    fn name(self) -> &'static str {
        match self {
            Self::Nothing => "off",
            Self::OneInAHundred => "one in a hundred",
            Self::Everything => "every request",
        }
    }
}

/// One line of progress.
pub(super) fn line(run: &TracingRun) -> String {
    format!(
        "{:<15} {:<17} {:>9.0}/s  p50 {:>8.2} ms  p99 {:>8.2} ms  {:>7.2} us  {:>6.2} spans\n",
        run.shape.name(),
        run.traced.name(),
        run.per_second,
        run.p50_ms,
        run.p99_ms,
        run.server_us,
        run.spans_a_request,
    )
}

/// Prints the table and writes the file.
pub(super) fn write(
    options: &TracingBenchOptions,
    load_average_before: String,
    figures: TracingFigures,
) -> BenchResult<()> {
    let text = figures.markdown();
    let report = BenchReport::new("kedge-bench tracing", options, load_average_before, figures);
    report.write(&format!("\n{text}"), options.bench.json.as_deref())
}

/// The median, with lowest and highest in brackets.
fn of_three(spread: &RunSpread) -> String {
    let RunSpread {
        lowest,
        median,
        highest,
    } = spread;
    format!("{median:.2} ({lowest:.2} to {highest:.2})")
}

impl TracingFigures {
    fn of(
        &self,
        shape: RequestShape,
        traced: TracedShare,
        value: fn(&TracingRun) -> f64,
    ) -> RunSpread {
        let runs = self.runs.iter();
        let runs = runs.filter(|run| run.shape == shape && run.traced == traced);
        RunSpread::of(runs.map(value))
    }

    fn row(&self, shape: RequestShape, traced: TracedShare) -> Vec<String> {
        let rate = |traced| self.of(shape, traced, |run| run.per_second);
        let [middle, range] = rate(traced).reported();
        let ratio = rate(traced).median / rate(TracedShare::Nothing).median;
        vec![
            shape.name().to_owned(),
            traced.name().to_owned(),
            middle,
            range,
            format!("{ratio:.3}"),
            of_three(&self.of(shape, traced, |run| run.p50_ms)),
            of_three(&self.of(shape, traced, |run| run.p99_ms)),
            of_three(&self.of(shape, traced, |run| run.server_us)),
            format!(
                "{:.2}",
                self.of(shape, traced, |run| run.spans_a_request).median
            ),
        ]
    }

    fn markdown(&self) -> String {
        let head = [
            "requests",
            "traced",
            "actions a second, median",
            "lowest to highest",
            "of off",
            "p50 ms",
            "p99 ms",
            "core-µs an action",
            "spans a request",
        ];
        let shapes = [RequestShape::Batch, RequestShape::Single];
        let rows = shapes.iter().flat_map(|shape| {
            let row = |traced| self.row(*shape, traced);
            TracedShare::ALL.map(row)
        });
        table(&head, &rows.collect::<Vec<_>>())
    }
}

//! Report of the costs of tracing.

use kedge_load::figures::{Spread, table};
use serde::Serialize;

use super::{Options, Traced};
use crate::error::Result;
use crate::report::Report;
use crate::requests::Shape;

#[derive(Serialize)]
pub(super) struct Run {
    pub(super) traced: Traced,
    pub(super) shape: Shape,
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
pub(super) struct Figures {
    pub(super) runs: Vec<Run>,
}

impl Traced {
    fn name(self) -> &'static str {
        match self {
            Self::Nothing => "off",
            Self::OneInAHundred => "one in a hundred",
            Self::Everything => "every request",
        }
    }
}

/// One line of progress.
pub(super) fn line(run: &Run) -> String {
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
    options: &Options,
    load_average_before: String,
    figures: Figures,
) -> Result<()> {
    let text = figures.markdown();
    let report = Report::new("kedge-bench tracing", options, load_average_before, figures);
    report.write(&format!("\n{text}"), options.bench.json.as_deref())
}

/// The median, with lowest and highest in brackets.
fn of_three(spread: &Spread) -> String {
    let Spread {
        lowest,
        median,
        highest,
    } = spread;
    format!("{median:.2} ({lowest:.2} to {highest:.2})")
}

impl Figures {
    fn of(&self, shape: Shape, traced: Traced, value: fn(&Run) -> f64) -> Spread {
        let runs = self.runs.iter();
        let runs = runs.filter(|run| run.shape == shape && run.traced == traced);
        Spread::of(runs.map(value))
    }

    fn row(&self, shape: Shape, traced: Traced) -> Vec<String> {
        let rate = |traced| self.of(shape, traced, |run| run.per_second);
        let [middle, range] = rate(traced).reported();
        let ratio = rate(traced).median / rate(Traced::Nothing).median;
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
        let shapes = [Shape::Batch, Shape::Single];
        let rows = shapes.iter().flat_map(|shape| {
            let row = |traced| self.row(*shape, traced);
            Traced::ALL.map(row)
        });
        table(&head, &rows.collect::<Vec<_>>())
    }
}

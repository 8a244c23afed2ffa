//! Figures of measurements and their reports: tables for people, JSON for programs.

use std::io::Write as _;
use std::path::Path;

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::error::{LoadtestError, LoadtestResult};

/// Milliseconds until the last byte of an answer: from sending the request, or in an open loop from its due time.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct LatencyFigures {
    /// Half of the requests were answered within this time.
    pub p50: f64,
    /// 90 % of the requests.
    pub p90: f64,
    /// 99 %.
    pub p99: f64,
    /// 99.9 %.
    pub p999: f64,
    /// The slowest request.
    pub max: f64,
}

impl LatencyFigures {
    /// Figures of a histogram in microseconds.
    pub fn of(latency_us: &Histogram<u64>) -> Self {
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

/// Spread of a figure over the runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RunSpread {
    /// Lowest value of a run.
    pub lowest: f64,
    /// The middle value, or the mean of the middle two.
    pub median: f64,
    /// Highest value of a run.
    pub highest: f64,
}

impl RunSpread {
    /// Spread of these values; zeros if there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = values.into_iter().collect();
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

    /// The median, and the spread of the runs in brackets.
    pub fn reported(&self) -> [String; 2] {
        let range = format!("{} to {}", grouped(self.lowest), grouped(self.highest));
        [grouped(self.median), range]
    }
}

/// A whole number with thousands separators.
pub fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with a sensible number of digits.
pub(crate) fn short(value: f64) -> String {
    if value.abs() >= 100.0 || value.fract() == 0.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
}

/// A Markdown table with aligned columns.
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
        widest.max(head[column].chars().count())
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut line = String::from("|");
        for (cell, width) in cells.zip(&widths) {
            line.push_str(&format!(" {cell:<width$} |"));
        }
        line.push('\n');
        line
    };
    let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
    let mut text = line(&mut head.iter().copied());
    text.push_str(&line(&mut rules.iter().map(String::as_str)));
    for row in rows {
        text.push_str(&line(&mut row.iter().map(String::as_str)));
    }
    text
}

/// Prints a text to standard output.
pub fn print(text: &str) -> LoadtestResult<()> {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes());
    written
        .and_then(|()| stdout.flush())
        .map_err(LoadtestError::io("standard output"))
}

/// Writes a report as JSON, if a file is given.
pub fn write_json<T: Serialize>(report: &T, path: Option<&Path>) -> LoadtestResult<()> {
    let text = serde_json::to_string_pretty(report);
    let text = text.map_err(LoadtestError::broken)?;
    write_text(&(text + "\n"), path)
}

/// Writes a text, if a file is given.
pub fn write_text(text: &str, path: Option<&Path>) -> LoadtestResult<()> {
    let Some(path) = path else { return Ok(()) };
    std::fs::write(path, text).map_err(LoadtestError::io(path.display().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_and_even_counts() {
        let of = |values: &[f64]| RunSpread::of(values.iter().copied()).median;
        assert!((of(&[3.0, 1.0, 2.0]) - 2.0).abs() < 1e-9);
        assert!((of(&[4.0, 1.0, 2.0, 3.0]) - 2.5).abs() < 1e-9);
        assert!(of(&[]).abs() < 1e-9);
        let spread = RunSpread::of([5.0, 9.0, 7.0]);
        assert_eq!((spread.lowest, spread.highest), (5.0, 9.0));
    }

    #[test]
    fn tables_stand_straight() {
        let rows = [vec!["Kedge".to_owned(), grouped(1_234_567.0)]];
        let expected = "| who   | a second  |\n| ----- | --------- |\n| Kedge | 1,234,567 |\n";
        assert_eq!(table(&["who", "a second"], &rows), expected);
        assert_eq!([12.0, 999.6].map(grouped), ["12", "1,000"]);
    }
}

//! SVG plots for the report page. Colours of lines and grids are readable on light and dark backgrounds; the page's
//! style colours the texts.

use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

use crate::error::{LoadtestError, LoadtestResult};

const SIZE: (u32, u32) = (640, 260);
const FONT: &str = "sans-serif";
const GREY: RGBColor = RGBColor(0x80, 0x80, 0x80);
/// Line colours, in order.
const COLOURS: [RGBColor; 3] = [
    RGBColor(0x2b, 0x83, 0xd6),
    RGBColor(0xe0, 0x7b, 0x1a),
    RGBColor(0x3a, 0xa6, 0x5b),
];

pub(crate) struct PlotLine {
    pub(crate) name: &'static str,
    pub(crate) points: Vec<(f64, f64)>,
}

impl PlotLine {
    pub(crate) fn new(name: &'static str, points: impl Iterator<Item = (f64, f64)>) -> Self {
        Self {
            name,
            points: points.collect(),
        }
    }
}

fn failed(error: impl std::fmt::Display) -> LoadtestError {
    LoadtestError::broken(format_args!("drawing a plot: {error}"))
}

/// Plot of values over the seconds of a measurement.
pub(crate) fn over_time(unit: &str, lines: &[PlotLine]) -> LoadtestResult<String> {
    let points = || lines.iter().flat_map(|line| &line.points);
    let last = points().map(|(x, _)| *x).fold(1.0, f64::max);
    let highest = points().map(|(_, y)| *y).fold(0.0, f64::max);
    let top = if highest > 0.0 { highest * 1.08 } else { 1.0 };
    draw(
        lines,
        0.0..last,
        0.0..top,
        ("seconds", unit),
        &|value| plain(*value),
        &|value| plain(*value),
    )
}

/// Plot of latencies by the share of requests that took no longer. Both axes are logarithmic; the horizontal one shows
/// the remaining share.
pub(crate) fn latencies(percentiles: &[(f64, f64)]) -> LoadtestResult<String> {
    let points: Vec<(f64, f64)> = percentiles
        .iter()
        .filter(|(quantile, ms)| *quantile < 1.0 && *ms > 0.0)
        .map(|(quantile, ms)| (-(1.0 - quantile).log10(), *ms))
        .collect();
    let last = points.iter().map(|(x, _)| *x).fold(1.0, f64::max);
    let lowest = points.iter().map(|(_, y)| *y).fold(f64::MAX, f64::min);
    let highest = points.iter().map(|(_, y)| *y).fold(0.0, f64::max);
    let (lowest, highest) = if points.is_empty() {
        (0.1, 1.0)
    } else {
        // Whole decades, so that the axis shows numbers.
        let decade = |exponent: f64| 10.0_f64.powf(exponent);
        let (low, high) = (lowest.log10().floor(), highest.log10().ceil());
        (decade(low), decade(high.max(low + 1.0)))
    };
    let share = |nines: &f64| {
        if (nines - nines.round()).abs() > 1e-6 {
            return String::new();
        }
        match nines.round() as i32 {
            0 => "0 %".to_owned(),
            1 => "90 %".to_owned(),
            2 => "99 %".to_owned(),
            more => format!("99.{} %", "9".repeat((more - 2).unsigned_abs() as usize)),
        }
    };
    let line = PlotLine {
        name: "latency",
        points,
    };
    let y = (lowest..highest).log_scale();
    draw(
        &[line],
        0.0..last,
        y,
        ("requests answered within", "ms"),
        &share,
        &|value| plain(*value),
    )
}

/// Number on an axis: 1.5k, 3M.
fn plain(value: f64) -> String {
    let short = |value: f64, unit: &str| {
        let text = format!("{value:.2}");
        let text = text.trim_end_matches('0').trim_end_matches('.');
        format!("{text}{unit}")
    };
    match value.abs() {
        large if large >= 1e6 => short(value / 1e6, "M"),
        large if large >= 1e4 => short(value / 1e3, "k"),
        _ => short(value, ""),
    }
}

type TickLabel<'a> = &'a dyn Fn(&f64) -> String;

fn draw<Y>(
    lines: &[PlotLine],
    x: std::ops::Range<f64>,
    y: Y,
    (x_name, y_name): (&str, &str),
    x_label: TickLabel<'_>,
    y_label: TickLabel<'_>,
) -> LoadtestResult<String>
where
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: ValueFormatter<f64>,
{
    let mut svg = String::new();
    {
        let area: DrawingArea<_, Shift> =
            SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin(8)
            .margin_right(24)
            .x_label_area_size(42)
            .y_label_area_size(64)
            .build_cartesian_2d(x, y)
            .map_err(failed)?;
        chart
            .configure_mesh()
            .bold_line_style(GREY.mix(0.3))
            .light_line_style(GREY.mix(0.0))
            .axis_style(GREY)
            .label_style((FONT, 14))
            .axis_desc_style((FONT, 14))
            .x_desc(x_name)
            .y_desc(y_name)
            .x_label_formatter(&|value| x_label(value))
            .y_label_formatter(&|value| y_label(value))
            .y_labels(6)
            .draw()
            .map_err(failed)?;
        for (line, colour) in lines.iter().zip(COLOURS.iter().cycle()) {
            let style = colour.stroke_width(2);
            let series = LineSeries::new(line.points.iter().copied(), style);
            let drawn = chart.draw_series(series).map_err(failed)?;
            if lines.len() > 1 {
                drawn
                    .label(line.name)
                    .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
            }
        }
        if lines.len() > 1 {
            chart
                .configure_series_labels()
                .position(SeriesLabelPosition::LowerRight)
                .label_font((FONT, 14))
                .draw()
                .map_err(failed)?;
        }
        area.present().map_err(failed)?;
    }
    Ok(svg)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plots_of_something_and_of_nothing() {
        let line = || PlotLine::new("p50", [(1.0, 10.0), (2.0, 30_000.0)].into_iter());
        let svg = over_time("ms", &[line(), line()]).unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("polyline") && svg.contains("30k"));
        assert!(over_time("ms", &[]).unwrap().contains("<svg"));
        let svg = latencies(&[(0.5, 1.0), (0.999, 20.0), (1.0, 400.0)]).unwrap();
        assert!(svg.contains("99 %") && svg.contains("polyline"));
        assert!(latencies(&[]).unwrap().contains("<svg"));
    }

    #[test]
    fn numbers_of_axes() {
        let texts = [0.0, 2.5, 950.0, 12_500.0, 3e6].map(plain);
        assert_eq!(texts, ["0", "2.5", "950", "12.5k", "3M"]);
    }
}

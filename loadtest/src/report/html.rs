//! Report as a self-contained HTML page without scripts.

use std::fmt::Write as _;

use crate::error::LoadtestResult;
use crate::figures::{RunSpread, short};
use crate::load::collector::SecondFigures;
use crate::report::plots::{self, PlotLine};
use crate::report::{LoadReport, LoadRun};

const STYLE: &str = include_str!("report.css");

/// Escapes text for HTML.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
    }
    out
}

pub(crate) fn page(report: &LoadReport) -> LoadtestResult<String> {
    let options = serde_json::to_value(&report.options).unwrap_or_default();
    let scenario = options["scenario"].as_str().unwrap_or_default();
    let machine = &report.machine;
    let (verdict, class) = if report.passed {
        ("All checks and targets passed.", "good")
    } else {
        ("Some checks or targets failed.", "bad")
    };
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>kedge-load: {scenario}</title>\n<style>{STYLE}</style></head>\n<body>\n\
         <h1>{scenario}</h1>\n<p class=\"{class}\">{verdict}</p>\n\
         <p>{} connections, {} actions a request, {} objects of {} organizations. {} cores of {}, {} MiB, Linux {}.</p>\n",
        report.connections,
        report.actions_a_request,
        report.options.objects,
        report.options.organizations,
        machine.cores,
        escape(&machine.processor),
        machine.memory_mib,
        escape(&machine.kernel),
    );
    targets(report, &mut out);
    figures(report, &mut out);
    for (number, run) in report.runs.iter().enumerate() {
        section(number + 1, run, &mut out)?;
    }
    let options = serde_json::to_string_pretty(&options).unwrap_or_default();
    // Writing to a String cannot fail.
    let _ = write!(
        out,
        "<details><summary>RunOptions</summary><pre>{}</pre></details>\n</body></html>\n",
        escape(&options)
    );
    Ok(out)
}

fn targets(report: &LoadReport, out: &mut String) {
    if report.targets.is_empty() {
        return;
    }
    out.push_str("<h2>Targets</h2>\n<table><tr><th>target</th><th>measured</th><th>limit</th><th></th></tr>\n");
    for target in &report.targets {
        let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), short);
        let (class, word) = if target.met {
            ("good", "met")
        } else {
            ("bad", "missed")
        };
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"{class}\">{word}</td></tr>",
            escape(&target.target),
            number(target.value),
            number(target.limit),
        );
    }
    out.push_str("</table>\n");
}

fn figures(report: &LoadReport, out: &mut String) {
    let runs = report.runs.len();
    let _ = writeln!(
        out,
        "<h2>Figures</h2>\n<table><tr><th>figure</th><th>median of {runs}</th><th>lowest</th><th>highest</th></tr>"
    );
    for (name, spread) in &report.figures {
        let RunSpread {
            lowest,
            median,
            highest,
        } = spread;
        let _ = writeln!(
            out,
            "<tr><td>{name}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            short(*median),
            short(*lowest),
            short(*highest),
        );
    }
    out.push_str("</table>\n");
}

fn section(number: usize, run: &LoadRun, out: &mut String) -> LoadtestResult<()> {
    let log = &run.log;
    let _ = writeln!(
        out,
        "<h2>Run {number}, {}</h2>\n<p>The log grew by {} actions in {} batches, all checked; {} were acknowledged, {} receipts verified. Load average {} before, {} after.</p>",
        run.started_at,
        log.log_grew_by,
        log.batches_checked,
        run.acknowledged,
        run.receipts_verified,
        run.load_average_before,
        run.load_average_after,
    );
    let reported = run.problems.iter().cloned();
    let errors = run.errors.iter().chain(&run.refused);
    let reported: Vec<String> = reported
        .chain(errors.map(|(code, count)| format!("{count} × {code}")))
        .collect();
    if !reported.is_empty() {
        out.push_str("<ul class=\"bad\">\n");
        for text in reported {
            let _ = writeln!(out, "<li>{}</li>", escape(&text));
        }
        out.push_str("</ul>\n");
    }
    out.push_str("<div class=\"plots\">\n");
    for (title, svg) in drawings(run)? {
        let _ = writeln!(
            out,
            "<figure><figcaption>{title}</figcaption>{svg}</figure>"
        );
    }
    out.push_str("</div>\n");
    Ok(())
}

/// The plots that have figures.
fn drawings(run: &LoadRun) -> LoadtestResult<Vec<(&'static str, String)>> {
    let seconds = &run.seconds;
    let line = |name, of: &dyn Fn(&SecondFigures) -> Option<f64>| {
        PlotLine::new(
            name,
            seconds
                .iter()
                .filter_map(|s| Some((s.second as f64, of(s)?))),
        )
    };
    let mut plots = Vec::new();
    let throughput = if run.actions > 0 {
        line("actions", &|s| Some(s.actions as f64))
    } else {
        line("requests", &|s| Some(s.requests as f64))
    };
    let title = if run.actions > 0 {
        "Actions a second"
    } else {
        "Requests a second"
    };
    plots.push((title, plots::over_time("a second", &[throughput])?));
    plots.push((
        "Latency by share of requests",
        plots::latencies(&run.percentiles_ms)?,
    ));
    let latencies = [
        line("p50", &|s| Some(s.p50_ms)),
        line("p99", &|s| Some(s.p99_ms)),
    ];
    plots.push(("Latency over time", plots::over_time("ms", &latencies)?));
    let cores = [
        line("server", &|s| s.server_cores),
        line("generator", &|s| Some(s.generator_cores)),
    ];
    plots.push(("Processor", plots::over_time("cores", &cores)?));
    let memory = line("memory", &|s| s.server_resident_mib);
    if !memory.points.is_empty() {
        plots.push(("Memory of the server", plots::over_time("MiB", &[memory])?));
    }
    let disk = [
        line("written", &|s| s.server_written_mib),
        line("data directory", &|s| s.data_mib),
    ];
    let disk: Vec<PlotLine> = disk
        .into_iter()
        .filter(|line| !line.points.is_empty())
        .collect();
    if !disk.is_empty() {
        plots.push((
            "Disk: written by the server, and size of its data",
            plots::over_time("MiB", &disk)?,
        ));
    }
    if seconds.iter().any(|s| s.refused > 0) {
        let refused = line("refused", &|s| Some(s.refused as f64));
        plots.push((
            "Refused (429 and 503) a second",
            plots::over_time("a second", &[refused])?,
        ));
    }
    Ok(plots)
}

//! Conversion of Prometheus's text format, as `metrics-exporter-prometheus` writes it, to OpenMetrics 1.0 with
//! exemplars. The formats differ in counter names, bounds, empty lines and the end.

use super::exemplars::BucketExemplars;

/// Media type of the result of [`of`].
pub(crate) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Whether an `Accept` value asks for OpenMetrics and does not refuse it.
pub(crate) fn is_asked_for(accept: &str) -> bool {
    accept.split(',').any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let is_named = parts
            .next()
            .is_some_and(|name| name.eq_ignore_ascii_case("application/openmetrics-text"));
        let is_refused = parts.any(|parameter| {
            let quality = parameter
                .strip_prefix("q=")
                .and_then(|q| q.parse::<f32>().ok());
            quality.is_some_and(|quality| quality <= 0.0)
        });
        is_named && !is_refused
    })
}

pub(crate) fn of(text: &str, exemplars: &BucketExemplars) -> String {
    let mut out = String::with_capacity(text.len() + 1_024);
    let mut help = None;
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some(description) = line.strip_prefix("# HELP ") {
            // The name depends on the type, which comes next.
            help = Some(description);
            continue;
        }
        if let Some(declared) = line.strip_prefix("# TYPE ") {
            declare(&mut out, declared, help.take());
            continue;
        }
        match line.split_once("le=\"") {
            Some((series, rest)) => bucket(&mut out, series, rest, exemplars),
            None => out.push_str(line),
        }
        out.push('\n');
    }
    out.push_str("# EOF\n");
    out
}

/// Writes a family's type and description. A counter's family has no `_total`; its samples have.
fn declare(out: &mut String, declared: &str, help: Option<&str>) {
    let (name, kind) = declared.split_once(' ').unwrap_or((declared, "unknown"));
    let (name, kind) = match (kind, name.strip_suffix("_total")) {
        ("counter", Some(family)) => (family, kind),
        ("counter", None) | ("untyped", _) => (name, "unknown"),
        _ => (name, kind),
    };
    out.push_str(&format!("# TYPE {name} {kind}\n"));
    if let Some((_, description)) = help.and_then(|help| help.split_once(' ')) {
        let description = description.replace('"', "\\\"");
        out.push_str(&format!("# HELP {name} {description}\n"));
    }
}

/// Writes a bucket: its bound as a number with a point, then its exemplar.
fn bucket(out: &mut String, series: &str, rest: &str, exemplars: &BucketExemplars) {
    let (bound, count) = rest.split_once('"').unwrap_or((rest, ""));
    let is_whole = bound.bytes().all(|byte| byte.is_ascii_digit());
    let point = if is_whole { ".0" } else { "" };
    out.push_str(&format!("{series}le=\"{bound}{point}\"{count}"));
    let number = if bound == "+Inf" {
        Ok(f64::INFINITY)
    } else {
        bound.parse()
    };
    let exemplar = number.ok().and_then(|number| exemplars.of(series, number));
    if let Some(exemplar) = exemplar {
        out.push_str(&exemplar.text());
    }
}

#[cfg(test)]
mod tests {
    use kedge_actors::timing::SpanRef;

    use super::super::exemplars::RequestExemplar;
    use super::*;

    const PLAIN: &str = "\
# HELP kedge_http_requests_total Requests \"by\" route
# TYPE kedge_http_requests_total counter
kedge_http_requests_total{route=\"/a\"} 3

# TYPE kedge_time_seconds gauge
kedge_time_seconds 1.5

# HELP kedge_x_seconds Time
# TYPE kedge_x_seconds histogram
kedge_x_seconds_bucket{route=\"/a\",le=\"0.5\"} 1
kedge_x_seconds_bucket{route=\"/a\",le=\"1\"} 1
kedge_x_seconds_bucket{route=\"/a\",le=\"+Inf\"} 2
kedge_x_seconds_sum{route=\"/a\"} 7.25
kedge_x_seconds_count{route=\"/a\"} 2
";

    #[test]
    fn the_formats_differ_in_names_bounds_exemplars_and_the_end() {
        let exemplars = BucketExemplars::new(&[0.5, 1.0]);
        let of = SpanRef {
            trace_id: 10,
            span_id: 11,
        };
        for seconds in [0.5, 7.0] {
            let exemplar = RequestExemplar::now(of, seconds);
            exemplars.note("kedge_x_seconds", &[("route", "/a")], exemplar);
        }
        let text = super::of(PLAIN, &exemplars);
        let lines: Vec<&str> = text.lines().collect();
        let named = "{trace_id=\"0000000000000000000000000000000a\",span_id=\"000000000000000b\"}";
        assert_eq!(
            lines[..6],
            [
                "# TYPE kedge_http_requests counter",
                "# HELP kedge_http_requests Requests \\\"by\\\" route",
                "kedge_http_requests_total{route=\"/a\"} 3",
                "# TYPE kedge_time_seconds gauge",
                "kedge_time_seconds 1.5",
                "# TYPE kedge_x_seconds histogram",
            ]
        );
        let begins = |line: usize, text: String| {
            assert!(lines[line].starts_with(&text), "{}", lines[line]);
        };
        begins(
            7,
            format!("kedge_x_seconds_bucket{{route=\"/a\",le=\"0.5\"}} 1 # {named} 0.5 "),
        );
        assert_eq!(
            lines[8],
            "kedge_x_seconds_bucket{route=\"/a\",le=\"1.0\"} 1"
        );
        begins(
            9,
            format!("kedge_x_seconds_bucket{{route=\"/a\",le=\"+Inf\"}} 2 # {named} 7 "),
        );
        assert_eq!(lines[12..], ["# EOF"]);
    }

    #[test]
    fn a_scraper_that_does_not_name_the_format_does_not_get_it() {
        let prometheus = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,\
                          text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert!(is_asked_for(prometheus));
        assert!(is_asked_for("Application/OpenMetrics-Text"));
        for other in ["", "*/*", "text/plain", "application/openmetrics-text;q=0"] {
            assert!(!is_asked_for(other), "{other}");
        }
    }
}

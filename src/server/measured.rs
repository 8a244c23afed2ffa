//! How many requests there are, how long they take, and what their answers are, by route.

use std::time::Duration;

use hyper::StatusCode;
use kedge_api::Code;
use metrics::{Gauge, Histogram, counter, gauge, histogram};

use crate::endpoint::TABLE;
use crate::metrics::{ERRORS, REQUEST_SECONDS, REQUESTS, REQUESTS_IN_FLIGHT};

/// Counts requests.
pub(super) struct HttpMetrics {
    in_flight: Gauge,
    /// By index in the table; requests without a route come last.
    seconds: Vec<Histogram>,
}

/// A request in flight.
pub(super) struct UnderWay<'a>(&'a Gauge);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.decrement(1);
    }
}

/// The labels of a route. Unknown paths share one, because callers could otherwise create endless
/// labels.
fn labels(index: Option<usize>) -> (&'static str, &'static str) {
    index
        .and_then(|index| TABLE.get(index))
        .map_or(("none", "none"), |endpoint| {
            (endpoint.path, method_label(endpoint.method.as_str()))
        })
}

fn method_label(method: &str) -> &'static str {
    match method {
        "GET" => "GET",
        "POST" => "POST",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        _ => "other",
    }
}

impl HttpMetrics {
    /// Registers the metrics.
    pub(super) fn new() -> Self {
        let indices = (0..TABLE.len()).map(Some).chain([None]);
        Self {
            in_flight: gauge!(REQUESTS_IN_FLIGHT),
            seconds: indices
                .map(|index| {
                    let (route, method) = labels(index);
                    histogram!(REQUEST_SECONDS, "route" => route, "method" => method)
                })
                .collect(),
        }
    }

    /// Counts a request as in flight until the guard is dropped.
    pub(super) fn begin(&self) -> UnderWay<'_> {
        self.in_flight.increment(1);
        UnderWay(&self.in_flight)
    }

    /// Counts an answered request.
    pub(super) fn end(
        &self,
        index: Option<usize>,
        status: StatusCode,
        code: Option<Code>,
        took: Duration,
    ) {
        let (route, method) = labels(index);
        if let Some(seconds) = self.seconds.get(index.unwrap_or(TABLE.len())) {
            seconds.record(took.as_secs_f64());
        }
        let status = status.as_u16().to_string();
        counter!(REQUESTS, "route" => route, "method" => method, "status" => status).increment(1);
        if let Some(code) = code {
            counter!(ERRORS, "code" => code.text()).increment(1);
        }
    }
}

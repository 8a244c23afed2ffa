//! Request metrics by route: number, duration, and errors.

use std::time::Duration;

use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use kedge_protocol::Code;
use kedge_telemetry::AnswerSummary;
use metrics::{Gauge, Histogram, counter, gauge, histogram};

use super::active_request::ActiveRequest;
use super::dispatcher::RequestDispatcher;
use crate::api::TABLE;
use crate::metrics::{ERRORS, REQUEST_SECONDS, REQUESTS, REQUESTS_IN_FLIGHT};

/// A method as traces name it.
pub(super) fn traced_method(method: &Method) -> &'static str {
    match method.as_str() {
        "HEAD" => "HEAD",
        "OPTIONS" => "OPTIONS",
        "PUT" => "PUT",
        other => match method_label(other) {
            "other" => "_OTHER",
            known => known,
        },
    }
}

impl RequestDispatcher {
    /// Ends the trace of an answered request, if it has one, and adds the exemplar to its histogram.
    pub(super) fn end_trace(
        &self,
        active: &mut ActiveRequest,
        parts: &Parts,
        (status, code): (StatusCode, Option<Code>),
        took: Duration,
    ) {
        let (Some(tracer), Some(traced)) = (&self.services.tracer, active.traced.take()) else {
            return;
        };
        let (route, method) = labels(active.index);
        let labels = [("route", route), ("method", method)];
        tracer.exemplify(REQUEST_SECONDS, &labels, took.as_secs_f64(), traced.span());
        traced.end(&AnswerSummary {
            status: status.as_u16(),
            code: code.map(Code::text),
            version: parts.version,
            request_id: &active.request_id,
            scheme: if self.tls { "https" } else { "http" },
            path: parts.uri.path(),
        });
    }
}

pub(super) struct HttpMetrics {
    in_flight: Gauge,
    /// By index in the table; requests without a route come last.
    seconds: Vec<Histogram>,
}

/// A request in flight.
pub(super) struct MeasuredRequest<'a>(&'a Gauge);

impl Drop for MeasuredRequest<'_> {
    fn drop(&mut self) {
        self.0.decrement(1);
    }
}

/// The labels of a route. Unknown paths share one, because callers could otherwise create endless labels.
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
    pub(super) fn begin(&self) -> MeasuredRequest<'_> {
        self.in_flight.increment(1);
        MeasuredRequest(&self.in_flight)
    }

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

//! Metrics of the edge, and the process's recorder.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kedge_http::{limits, v2};
use kedge_protocol::Code;
use kedge_telemetry::{Tracer, scrape};
use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

pub const REQUESTS: &str = "kedge_http_requests_total";
/// Time from the request's headers to its answer, by route and method.
pub const REQUEST_SECONDS: &str = "kedge_http_request_seconds";
pub const REQUESTS_IN_FLIGHT: &str = "kedge_http_requests_in_flight";
pub const ERRORS: &str = "kedge_http_errors_total";

/// The server's clock at the time of the scrape.
pub const TIME: &str = "kedge_time_seconds";
/// Rows read by a search or count.
pub const SEARCH_ROWS: &str = "kedge_search_rows";

/// Buckets of time histograms, in seconds.
pub const SECONDS: [f64; 16] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    5.0, 10.0,
];
/// Buckets of count histograms.
const COUNTS: [f64; 12] = [
    1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1_000.0, 2_500.0, 10_000.0,
];
/// Buckets of size histograms, in bytes.
const BYTES: [f64; 8] = [
    256.0,
    1_024.0,
    4_096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    16_777_216.0,
];
/// Interval of merging old samples of histograms.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub enum MetricsError {
    #[error("metrics: {0}")]
    Build(#[from] BuildError),
    #[error("metrics: {0}")]
    Set(String),
    #[error("option metrics_listen: {address}: {source}")]
    Listen {
        address: SocketAddr,
        source: std::io::Error,
    },
}

/// Installs the process's recorder and describes the metrics. Samples of histograms are merged from now on, even
/// without scrapes: otherwise all of them would stay in memory.
///
/// # Panics
/// Outside a runtime.
pub fn install() -> Result<PrometheusHandle, MetricsError> {
    let recorder = PrometheusBuilder::new()
        .set_buckets(&COUNTS)?
        .set_buckets_for_metric(Matcher::Suffix("_seconds".into()), &SECONDS)?
        .set_buckets_for_metric(Matcher::Suffix("_bytes".into()), &BYTES)?
        .build_recorder();
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder).map_err(|error| MetricsError::Set(error.to_string()))?;
    tokio::spawn(merge_samples(handle.clone()));
    describe_counter!(REQUESTS, "Requests by route, method and status");
    describe_histogram!(REQUEST_SECONDS, "Time to answer a request");
    describe_gauge!(REQUESTS_IN_FLIGHT, "Requests in flight");
    describe_counter!(ERRORS, "Errors by code");
    describe_histogram!(
        SEARCH_ROWS,
        "Store rows read by a search or count, by route"
    );
    describe_gauge!(TIME, "The server's clock at the scrape, seconds since 1970");
    start_at_zero();
    kedge_http::metric_definitions::start_at_zero(limits::names(), &v2::AREAS);
    kedge_actors::metric_definitions::describe();
    kedge_http::metric_definitions::describe();
    kedge_storage::metric_definitions::describe();
    kedge_chain::metric_definitions::describe();
    kedge_devchain::metric_definitions::describe();
    kedge_webhooks::metric_definitions::describe();
    Ok(handle)
}

/// A counter that appears with its first event shows no rate for it. Counters whose labels have few values therefore
/// start with all of them.
fn start_at_zero() {
    for code in Code::ALL {
        counter!(ERRORS, "code" => code.text()).increment(0);
    }
}

pub async fn serve(
    address: SocketAddr,
    handle: PrometheusHandle,
    tracer: Option<Tracer>,
) -> Result<SocketAddr, MetricsError> {
    let render = move || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        gauge!(TIME).set(now.unwrap_or_default().as_secs_f64());
        handle.render()
    };
    let bound = scrape::serve(address, render, tracer).await;
    bound.map_err(|source| MetricsError::Listen { address, source })
}

async fn merge_samples(of: PrometheusHandle) {
    loop {
        tokio::time::sleep(UPKEEP_INTERVAL).await;
        of.run_upkeep();
    }
}

//! Distributed tracing of the real server, as seen by a collector, a webhook's receiver, a scraper and a caller.

mod caller;
mod collector;

use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;

use crate::support::http;
use crate::support::server::{Server, Setup};
use caller::Caller;
use collector::{Collector, Reaction, hex, text};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";
/// Longest delay of the server's answers, with any behaviour of the collector.
const ANSWER_LIMIT: Duration = Duration::from_secs(2);

fn traced(data: &std::path::Path, collector: &Collector) -> Setup {
    Setup::development(&data.join("data"))
        .set("tracing_endpoint", format!("\"{}\"", collector.url))
        .set("tracing_interval_ms", 50)
        .set("webhook_allowed_networks", "[\"127.0.0.0/8\"]")
}

/// A caller's `traceparent` header.
fn traceparent(flags: &str) -> (&'static str, String) {
    ("traceparent", format!("00-{TRACE}-{PARENT}-{flags}"))
}

fn children<'a>(spans: &'a [Span], parent: &Span) -> Vec<&'a Span> {
    let is_child = |span: &&Span| span.parent_span_id == parent.span_id;
    let mut found: Vec<&Span> = spans.iter().filter(is_child).collect();
    found.sort_by_key(|span| (span.start_time_unix_nano, span.end_time_unix_nano));
    found
}

fn names(spans: &[&Span]) -> Vec<String> {
    spans.iter().map(|span| span.name.clone()).collect()
}

/// Checks that spans follow each other, within their parent.
fn follow_within(spans: &[&Span], parent: &Span) {
    let mut at = parent.start_time_unix_nano;
    for span in spans {
        assert!(span.start_time_unix_nano >= at, "{span:?}");
        assert!(
            span.end_time_unix_nano >= span.start_time_unix_nano,
            "{span:?}"
        );
        at = span.end_time_unix_nano;
    }
    assert!(at <= parent.end_time_unix_nano, "{parent:?}");
}

/// The names of a process's threads.
fn threads(server: &Server) -> Vec<String> {
    let folder = format!("/proc/{}/task", server.id());
    let names = std::fs::read_dir(folder).unwrap();
    let name = |path: std::path::PathBuf| std::fs::read_to_string(path.join("comm"));
    names
        .filter_map(|task| name(task.ok()?.path()).ok())
        .map(|name| name.trim().to_owned())
        .collect()
}

async fn spans_counted(setup: &Setup, outcome: &str) -> f64 {
    let label = format!("outcome=\"{outcome}\"");
    http::metric(setup.metrics_port(), "kedge_trace_spans_total", &[&label]).await
}

/// Sends a mint with a trace; returns its spans once all have arrived.
async fn minted(collector: &Collector, caller: &mut Caller) -> (Span, Vec<Span>) {
    let state = ("tracestate", "vendor=1".to_owned());
    let answer = caller.mint(&[traceparent("01"), state]).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    assert!(
        !answer.head.to_lowercase().contains("trace"),
        "{}",
        answer.head
    );
    let server = collector
        .span("the request", |span| span.name == "POST /objects")
        .await;
    (server, collector.spans())
}

/// Checks that a mint's span is the caller's child, with the request's and the answer's attributes.
fn is_of_a_mint(server: &Span) {
    assert_eq!(hex(&server.trace_id), TRACE);
    assert_eq!(hex(&server.parent_span_id), PARENT);
    assert_eq!(
        (server.kind, server.flags & 0x301),
        (SpanKind::Server as i32, 0x301)
    );
    assert_eq!(server.trace_state, "vendor=1");
    let attribute = |name: &str| text(&server.attributes, name);
    assert_eq!(attribute("http.request.method").as_deref(), Some("POST"));
    assert_eq!(attribute("http.route").as_deref(), Some("/objects"));
    assert_eq!(attribute("url.path").as_deref(), Some("/objects"));
    assert_eq!(
        attribute("http.response.status_code").as_deref(),
        Some("201")
    );
    assert_eq!(attribute("kedge.actions").as_deref(), Some("1"));
    assert!(attribute("kedge.request_id").is_some());
}

/// The group of a commit is a separate trace, with a link from its request and one back.
async fn leads_to_its_group(collector: &Collector, commit: &Span, server: &Span) {
    let link = &commit.links[0];
    let is_group = |span: &Span| span.span_id == link.span_id;
    let group = collector.span("the group", is_group).await;
    assert_eq!(
        (group.name.as_str(), &group.trace_id),
        ("commit group", &link.trace_id)
    );
    assert_ne!(hex(&group.trace_id), TRACE);
    let back: Vec<_> = group
        .links
        .iter()
        .map(|link| (hex(&link.trace_id), &link.span_id))
        .collect();
    assert_eq!(back, [(TRACE.to_owned(), &server.span_id)]);
    let spans = collector.spans();
    let parts = children(&spans, &group);
    assert_eq!(
        names(&parts),
        ["form", "append", "sync", "apply", "publish"]
    );
    follow_within(&parts, &group);
}

// Holds invariants 196, 198.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_traced_from_its_caller_to_its_commit() {
    let directory = tempfile::tempdir().unwrap();
    let collector = Collector::start(Reaction::Accept).await;
    let headers = directory.path().join("headers");
    std::fs::write(&headers, "Authorization: Bearer for-the-collector\n").unwrap();
    std::fs::set_permissions(&headers, std::fs::Permissions::from_mode(0o600)).unwrap();
    let setup = traced(directory.path(), &collector)
        .set("tracing_sample_ratio", 0)
        .set("tracing_headers_file", headers.display())
        .set(
            "tracing_attributes",
            "[\"deployment.environment.name=test\"]",
        );
    let server_process = setup.start();
    let mut caller = Caller::register(&setup, None).await;
    assert_eq!(collector.posts(), 0, "nothing was sampled yet");
    let (server, spans) = minted(&collector, &mut caller).await;

    is_of_a_mint(&server);
    let phases = children(&spans, &server);
    let edge = ["authenticate", "read body", "verify", "submit", "answer"];
    assert_eq!(names(&phases), edge);
    follow_within(&phases, &server);
    let steps = children(&spans, phases[3]);
    let engine = [
        "queue",
        "decide",
        "sequence",
        "wait for committer",
        "form group",
        "commit",
        "release",
    ];
    assert_eq!(names(&steps), engine);
    follow_within(&steps, phases[3]);

    leads_to_its_group(&collector, steps[5], &server).await;

    let headers = &collector.headers()[0];
    assert_eq!(headers["authorization"], "Bearer for-the-collector");
    assert_eq!(headers["content-type"], "application/x-protobuf");
    assert_eq!(collector.resource("service.name").as_deref(), Some("kedge"));
    assert_eq!(
        collector.resource("deployment.environment.name").as_deref(),
        Some("test")
    );
    let everything = format!("{:?}", collector.spans());
    for secret in [caller.token(), "a-word-of-the-payload", "for-the-collector"] {
        assert!(!everything.contains(secret), "{secret}");
    }
    server_process.stop();
}

// Holds invariant 198.
#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_names_its_span_to_the_receiver_and_its_request_to_the_collector() {
    let directory = tempfile::tempdir().unwrap();
    let collector = Collector::start(Reaction::Accept).await;
    let setup = traced(directory.path(), &collector)
        .set("tracing_sample_ratio", 0)
        .set("anchor_interval_s", 1);
    let server_process = setup.start();
    let hook = format!("{}/hook", collector.url);
    let mut caller = Caller::register(&setup, Some(hook)).await;

    let (server, _) = minted(&collector, &mut caller).await;
    let is_traced = |headers: &hyper::HeaderMap| headers.contains_key("traceparent");
    let received = collector.webhook("a traced message", is_traced).await;
    let sent = collector
        .span("the delivery", |span| span.name == "webhook object.created")
        .await;
    let named = format!("00-{}-{}-03", hex(&sent.trace_id), hex(&sent.span_id));
    assert_eq!(received["traceparent"], named.as_str());
    assert!(
        !received.contains_key("tracestate"),
        "a caller's state is for no receiver"
    );
    assert_eq!(sent.kind, SpanKind::Client as i32);
    assert_eq!(
        (sent.links.len(), hex(&sent.links[0].trace_id).as_str()),
        (1, TRACE)
    );
    assert_eq!(sent.links[0].span_id, server.span_id);
    let status = text(&sent.attributes, "http.response.status_code");
    assert_eq!(status.as_deref(), Some("200"));
    let delivery = text(&sent.attributes, "kedge.delivery");
    assert_eq!(delivery.as_deref(), received["webhook-id"].to_str().ok());

    // The delivery for an untraced request has no trace.
    assert_eq!(caller.mint(&[]).await.status, 201);
    collector
        .webhook("another message", |headers| !is_traced(headers))
        .await;

    let anchor = collector
        .span("an anchor", |span| span.name == "anchor")
        .await;
    let status = text(&anchor.attributes, "kedge.anchor.status").unwrap();
    assert!(
        ["confirmed", "finalized"].contains(&status.as_str()),
        "{status}"
    );
    assert!(text(&anchor.attributes, "kedge.anchor.block").is_some());
    server_process.stop();
}

// Holds invariant 198.
#[tokio::test(flavor = "multi_thread")]
async fn buckets_lead_to_traces_when_a_scraper_asks_for_openmetrics() {
    let directory = tempfile::tempdir().unwrap();
    let collector = Collector::start(Reaction::Accept).await;
    let setup = traced(directory.path(), &collector).set("tracing_sample_ratio", 0);
    let server_process = setup.start();
    let (name, value) = traceparent("01");
    let header = format!("{name}: {value}");
    assert_eq!(
        http::get_with(setup.port(), "/batches", &header)
            .await
            .status,
        200
    );

    let port = setup.metrics_port();
    let asking = "Accept: application/openmetrics-text;version=1.0.0;q=0.6,*/*;q=0.1";
    let open = http::get_with(port, "/metrics", asking).await;
    assert!(
        open.head
            .contains("application/openmetrics-text; version=1.0.0"),
        "{}",
        open.head
    );
    assert!(open.body.ends_with("\n# EOF\n"));
    let exemplars: Vec<&str> = open
        .body
        .lines()
        .filter(|line| line.contains(" # {"))
        .collect();
    assert_eq!(exemplars.len(), 1, "{exemplars:?}");
    let (series, exemplar) = exemplars[0].split_once(" # ").unwrap();
    let expected = "kedge_http_request_seconds_bucket{route=\"/batches\",method=\"GET\",le=\"";
    assert!(
        series.starts_with(expected) && series.ends_with("\"} 1"),
        "{series}"
    );
    assert!(
        exemplar.starts_with(&format!("{{trace_id=\"{TRACE}\",span_id=\"")),
        "{exemplar}"
    );
    let bound: f64 = series[expected.len()..]
        .split('"')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    let seconds: f64 = exemplar.split(' ').nth(1).unwrap().parse().unwrap();
    assert!(seconds <= bound, "{exemplars:?}");

    let plain = http::get(port, "/metrics").await;
    assert!(
        plain.head.contains("text/plain; version=0.0.4"),
        "{}",
        plain.head
    );
    assert!(!plain.body.contains("# EOF") && !plain.body.contains(" # {"));
    let traces = "kedge_traces_total";
    assert!((http::metric(port, traces, &["caller"]).await - 1.0).abs() < 0.5);
    server_process.stop();
}

// Holds invariants 196, 197.
#[tokio::test(flavor = "multi_thread")]
async fn a_ratio_of_one_traces_every_request_and_an_invalid_parent_begins_a_trace() {
    let directory = tempfile::tempdir().unwrap();
    let collector = Collector::start(Reaction::Accept).await;
    let setup = traced(directory.path(), &collector)
        .set("tracing_sample_ratio", 1)
        .set("tracing_callers_per_s", 0);
    let server_process = setup.start();
    let get = async |header: String| {
        let before = collector.spans().len();
        assert_eq!(
            http::get_with(setup.port(), "/batches", &header)
                .await
                .status,
            200
        );
        let is_new = |span: &Span| {
            let spans = collector.spans();
            let new = spans[before..].iter();
            span.name == "GET /batches" && new.clone().any(|new| new.span_id == span.span_id)
        };
        collector.span("a read", is_new).await
    };
    // The caller's sampling flag is ignored here; its trace id is not.
    let joined = get(format!("traceparent: 00-{TRACE}-{PARENT}-00")).await;
    assert_eq!(
        (
            hex(&joined.trace_id).as_str(),
            hex(&joined.parent_span_id).as_str()
        ),
        (TRACE, PARENT)
    );
    for bad in [
        format!("traceparent: ff-{TRACE}-{PARENT}-01"),
        format!("traceparent: 00-{}-{PARENT}-01", "0".repeat(32)),
        format!("traceparent: 00-{}-{PARENT}-01", TRACE.to_uppercase()),
        format!("traceparent: 00-{TRACE}-{PARENT}-01-more"),
        format!("traceparent: 00-{TRACE}-{PARENT}-01\r\ntraceparent: 00-{TRACE}-{PARENT}-01"),
        "X-Nothing: 1".to_owned(),
    ] {
        let begun = get(bad.clone()).await;
        assert_ne!(hex(&begun.trace_id), TRACE, "{bad}");
        assert!(begun.parent_span_id.is_empty(), "{bad}");
    }
    // An unknown path is not recorded, because it may contain anything.
    http::get(setup.port(), "/no/such/place?token=hidden").await;
    let lost = collector
        .span("the refusal", |span| span.name == "GET")
        .await;
    assert_eq!(
        text(&lost.attributes, "http.response.status_code").as_deref(),
        Some("404")
    );
    assert!(!format!("{lost:?}").contains("such"), "{lost:?}");
    server_process.stop();
}

// Holds invariant 195.
#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_hangs_delays_no_answer_and_costs_only_counted_spans() {
    let directory = tempfile::tempdir().unwrap();
    let collector = Collector::start(Reaction::Silence).await;
    let setup = traced(directory.path(), &collector)
        .set("tracing_sample_ratio", 1)
        .set("tracing_queue_max", 256)
        .set("tracing_timeout_s", 2);
    let server_process = setup.start();
    let mut caller = Caller::register(&setup, None).await;
    // Spans are sent on a separate schedule: mints continue until a full queue meets a collector that was called.
    let first = Instant::now();
    let mut minted = 0;
    while minted < 30 || collector.posts() == 0 || spans_counted(&setup, "dropped").await < 0.5 {
        let begun = Instant::now();
        assert_eq!(caller.mint(&[]).await.status, 201);
        assert!(begun.elapsed() < ANSWER_LIMIT, "{:?}", begun.elapsed());
        minted += 1;
        assert!(
            first.elapsed() < Duration::from_secs(30),
            "after {minted} mints the collector was asked {} times, and the queue was never full",
            collector.posts()
        );
    }
    assert!(spans_counted(&setup, "exported").await < 0.5);

    // The collector refuses, then takes a part, then all: each is counted, without any restart.
    for (reaction, outcome) in [
        (Reaction::Status(500), "failed"),
        (Reaction::Reject(1), "rejected"),
        (Reaction::Accept, "exported"),
    ] {
        collector.react(reaction);
        let before = spans_counted(&setup, outcome).await;
        let begun = Instant::now();
        while spans_counted(&setup, outcome).await <= before {
            http::get(setup.port(), "/batches").await;
            assert!(
                begun.elapsed() < Duration::from_secs(30),
                "{outcome} is not counted"
            );
        }
    }
    collector.react(Reaction::Silence);
    http::get(setup.port(), "/batches").await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    let begun = Instant::now();
    server_process.stop();
    // A second for the spans; the rest is the stop itself, and the check of the data afterwards.
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "{:?}",
        begun.elapsed()
    );
    assert!(
        setup.log().contains("the collector did not take spans"),
        "{}",
        setup.log()
    );
}

// Holds invariant 195.
#[tokio::test(flavor = "multi_thread")]
async fn the_last_spans_are_sent_before_the_process_ends_and_the_standard_variables_count() {
    let directory = tempfile::tempdir().unwrap();
    let collector = Collector::start(Reaction::Accept).await;
    let setup = Setup::development(&directory.path().join("data"))
        .environment("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url.clone())
        .environment("OTEL_EXPORTER_OTLP_HEADERS", "x-scope=of%20all")
        .environment("OTEL_SERVICE_NAME", "ledger")
        .environment("OTEL_TRACES_SAMPLER", "always_on")
        .environment("OTEL_BSP_SCHEDULE_DELAY", "60000");
    let server_process = setup.start();
    assert!(threads(&server_process).contains(&"tracing".to_owned()));
    http::get(setup.port(), "/batches").await;
    assert_eq!(collector.posts(), 0, "spans wait for others");
    server_process.stop();
    let sent = collector
        .span("the last span", |span| span.name == "GET /batches")
        .await;
    assert!(!sent.trace_id.is_empty());
    assert_eq!(
        collector.resource("service.name").as_deref(),
        Some("ledger")
    );
    assert_eq!(collector.headers()[0]["x-scope"], "of all");
}

// Holds invariant 196.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_collector_there_is_nothing_of_tracing() {
    let directory = tempfile::tempdir().unwrap();
    let receiver = Collector::start(Reaction::Accept).await;
    let setup = Setup::development(&directory.path().join("data"))
        .set("webhook_allowed_networks", "[\"127.0.0.0/8\"]")
        // Configured, but switched off.
        .environment("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url.clone())
        .environment("OTEL_SDK_DISABLED", "true");
    let server_process = setup.start();
    let hook = format!("{}/hook", receiver.url);
    let mut caller = Caller::register(&setup, Some(hook)).await;
    let answer = caller.mint(&[traceparent("01")]).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    let received = receiver.webhook("the message", |_| true).await;
    assert!(!received.contains_key("traceparent"));
    assert!(!threads(&server_process).contains(&"tracing".to_owned()));
    let asking = "Accept: application/openmetrics-text;version=1.0.0";
    let page = http::get_with(setup.metrics_port(), "/metrics", asking).await;
    assert!(
        page.head.contains("text/plain; version=0.0.4"),
        "{}",
        page.head
    );
    assert!(!page.body.contains("kedge_trace"), "{}", page.body);
    assert_eq!(receiver.posts(), 0);
    server_process.stop();
}

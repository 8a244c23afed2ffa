//! One trace of a change over two nodes: the one that was asked, and the leader.

use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;

use crate::collector::{Collector, Reaction, hex};
use crate::nodes::Cluster;
use crate::signed::Signer;
use crate::support::Rng;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

// Holds invariant 198.
#[tokio::test(flavor = "multi_thread")]
async fn a_forwarded_change_is_one_trace_over_both_nodes() {
    let collector = Collector::start(Reaction::Accept).await;
    let endpoint = format!("\"{}\"", collector.url);
    let cluster = Cluster::start_with(2, |setup, _| {
        setup
            .set("tracing_endpoint", &endpoint)
            .set("tracing_sample_ratio", 0)
            .set("tracing_interval_ms", 50)
    })
    .await;
    let mut signer = Signer::register(&cluster, &mut Rng::seeded("traced")).await;
    let leader = cluster.leader().await;
    let follower = cluster.nodes[1 - leader].setup.port();
    let value = format!("00-{TRACE}-{CALLER}-01");
    let answer = signer
        .mint()
        .with("traceparent", value)
        .send(follower)
        .await;
    assert_eq!(answer.status, 201, "{}", answer.body);

    let below = async |what: &str, parent: &str| -> Span {
        let is = |span: &Span| {
            let is_above = span.name == "POST /objects" || span.name == "forward";
            hex(&span.trace_id) == TRACE && is_above && hex(&span.parent_span_id) == parent
        };
        collector.span(what, is).await
    };
    let asked = below("the follower's span", CALLER).await;
    let forward = below("the span of forwarding", &hex(&asked.span_id)).await;
    assert_eq!(
        (forward.name.as_str(), forward.kind),
        ("forward", SpanKind::Client as i32)
    );
    let led = below("the leader's span", &hex(&forward.span_id)).await;
    assert_eq!(
        (led.name.as_str(), led.kind),
        ("POST /objects", SpanKind::Server as i32)
    );
    assert!(led.start_time_unix_nano >= forward.start_time_unix_nano);
}

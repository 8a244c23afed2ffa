//! A server with a lagging copy of the stream keeps its consumers alive without messages.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::jetstream::{self, consumer::pull};
use futures_util::TryStreamExt as _;
use kedge_log::Log as _;

use super::nats::Servers;
use super::node::{Node, next_of, options, runtime};

/// The stream's leader is asked twice, after a second each, before the consumer is replaced.
const READ_LIMIT: Duration = Duration::from_secs(10);

/// Reduces the stream's consumers to heartbeats, like those of a server that receives no messages.
async fn quieten_consumers(servers: &Servers) -> usize {
    let client = async_nats::connect(servers.urls()).await.unwrap();
    let context = jetstream::new(client);
    let stream = context.get_stream("KEDGE_test").await.unwrap();
    let mut with_another = stream.cached_info().config.clone();
    with_another.subjects.push("quiet".to_owned());
    context.update_stream(with_another).await.unwrap();
    let names: Vec<String> = stream.consumer_names().try_collect().await.unwrap();
    for name in &names {
        let info = stream.consumer_info(name).await.unwrap();
        let quiet = pull::Config {
            name: Some(name.clone()),
            filter_subject: "quiet".to_owned(),
            deliver_policy: info.config.deliver_policy,
            ack_policy: info.config.ack_policy,
            inactive_threshold: info.config.inactive_threshold,
            num_replicas: info.config.num_replicas,
            memory_storage: info.config.memory_storage,
            max_deliver: info.config.max_deliver,
            max_ack_pending: info.config.max_ack_pending,
            max_waiting: info.config.max_waiting,
            ..pull::Config::default()
        };
        stream.create_consumer(quiet).await.unwrap();
    }
    names.len()
}

// Holds invariant 208.
#[test]
fn a_consumer_that_is_alive_and_brings_nothing_holds_no_follower_up() {
    let servers = Servers::start(1);
    let runtime = Arc::new(runtime());
    let mut alone = options(&servers, "one");
    alone.replicas_synced = 0;
    let mut leader = Node::open(&runtime, alone);
    leader.lead(1);
    leader.write(1).unwrap();
    let follower = Node::open(&runtime, options(&servers, "two"));
    let mut following = follower.cluster.follow(&follower.log.position());
    let mut read = |count| {
        runtime.block_on(async {
            for _ in 0..count {
                let next = tokio::time::timeout(READ_LIMIT, next_of(&mut following));
                next.await.expect("the next frame").unwrap();
            }
            following.last()
        })
    };
    assert_eq!(read(2), 2);
    assert_eq!(runtime.block_on(quieten_consumers(&servers)), 1);
    for number in 2..10 {
        leader.write(number).unwrap();
    }
    let began = Instant::now();
    assert_eq!(read(8), 10);
    assert!(began.elapsed() < READ_LIMIT, "{:?}", began.elapsed());
}

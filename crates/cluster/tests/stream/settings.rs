//! Settings of stream and servers that a node refuses.

use std::time::Duration;

use async_nats::jetstream::{self, stream};
use kedge_cluster::{Cluster, ClusterOptions, ConnectError};
use kedge_protocol::Hash;

use super::nats::{Servers, Settings};
use super::node::{IDENTITY, options, runtime};

/// Connects to a stream with changed settings; returns the refusal.
async fn refused(servers: &Servers, change: impl FnOnce(&mut stream::Config)) -> String {
    let client = async_nats::connect(servers.urls()).await.unwrap();
    let context = jetstream::new(client);
    let mut config = stream::Config {
        name: "KEDGE_test".to_owned(),
        description: Some(format!("Kedge log {IDENTITY}")),
        subjects: vec!["kedge.test.frames".to_owned()],
        ..Default::default()
    };
    change(&mut config);
    context.create_stream(config).await.unwrap();
    let connected = Cluster::connect(options(servers, "one"), IDENTITY).await;
    context.delete_stream("KEDGE_test").await.unwrap();
    match connected {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    }
}

type Change = fn(&mut stream::Config);

/// Forbidden settings, and the words of the refusal.
const CHANGES: [(Change, &[&str]); 10] = [
    (
        |config| config.storage = stream::StorageType::Memory,
        &["storage", "Memory"],
    ),
    (|config| config.max_bytes = 1 << 20, &["max_bytes 1048576"]),
    (|config| config.max_messages = 9, &["max_msgs 9"]),
    (
        |config| config.max_messages_per_subject = 9,
        &["max_msgs_per_subject 9"],
    ),
    (
        |config| config.max_age = Duration::from_secs(9),
        &["max_age 9s"],
    ),
    (
        |config| config.max_message_size = 9000,
        &["max_msg_size 9000"],
    ),
    (|config| config.no_ack = true, &["no_ack on"]),
    (|config| config.allow_rollup = true, &["allow_rollup_hdrs"]),
    (
        |config| config.subjects.push("kedge.test.more".to_owned()),
        &["subjects", "kedge.test.more"],
    ),
    (
        |config| config.retention = stream::RetentionPolicy::WorkQueue,
        &["retention WorkQueue"],
    ),
];

// Holds invariant 183.
#[test]
fn a_stream_that_may_lose_frames_is_refused() {
    let servers = Servers::start(1);
    runtime().block_on(async {
        let has = |text: String, parts: &[&str]| {
            assert!(
                parts.iter().all(|part| text.contains(part)),
                "{text:?} {parts:?}"
            );
        };
        assert_eq!(refused(&servers, |_| {}).await, "");
        for (change, parts) in CHANGES {
            has(refused(&servers, change).await, parts);
        }
        let other = format!("Kedge log {}", Hash([8; 32]));
        has(
            refused(&servers, |config| config.description = Some(other.clone())).await,
            &["of another log", &other, &IDENTITY.to_string()],
        );
        // The same servers, with a log that requires three copies.
        let three = |name: &str| ClusterOptions {
            replicas: 3,
            name: name.to_owned(),
            ..options(&servers, "one")
        };
        Cluster::connect(
            ClusterOptions {
                replicas: 1,
                ..three("few")
            },
            IDENTITY,
        )
        .await
        .unwrap();
        let error = Cluster::connect(three("few"), IDENTITY)
            .await
            .err()
            .unwrap();
        has(error.to_string(), &["replicas 1", "3 or more"]);
    });
}

// Holds invariant 183.
#[test]
fn servers_that_cannot_carry_the_log_are_refused() {
    let servers = Servers::start_with(
        1,
        Settings {
            max_payload: 1 << 16,
            ..Settings::default()
        },
    );
    runtime().block_on(async {
        let connect = |change: fn(&mut ClusterOptions, &Servers)| {
            let mut options = options(&servers, "one");
            options.frame_bytes_max = 1 << 14;
            change(&mut options, &servers);
            async { Cluster::connect(options, IDENTITY).await.err() }
        };
        assert!(connect(|_, _| {}).await.is_none());
        let error = connect(|options, _| options.frame_bytes_max = 1 << 16).await;
        assert!(
            matches!(error, Some(ConnectError::Payload { found: 65_536, .. })),
            "{error:?}"
        );
        // The sync setting is unknown.
        let error = connect(|options, _| options.unsynced_allowed = false).await;
        assert!(
            matches!(error, Some(ConnectError::Monitors { .. })),
            "{error:?}"
        );
        let error = connect(|options, _| {
            options.unsynced_allowed = false;
            options.monitors = vec!["http://127.0.0.1:1".to_owned()];
        });
        assert!(matches!(error.await, Some(ConnectError::Monitors { .. })));
        // The servers do not sync.
        let error = connect(|options, servers| {
            options.unsynced_allowed = false;
            options.monitors = servers.monitors();
        });
        let text = error.await.unwrap().to_string();
        assert!(
            text.contains("Jepsen") && text.contains("sync_interval: always"),
            "{text}"
        );
        let error = connect(|options, _| options.servers = vec!["nats://127.0.0.1:1".to_owned()]);
        assert!(matches!(error.await, Some(ConnectError::Servers { .. })));
        for change in [
            (|options, _| options.name = "Upper".to_owned()) as fn(&mut ClusterOptions, &Servers),
            |options, _| options.node = "a.b".to_owned(),
            |options, _| options.servers.clear(),
            |options, _| options.replicas = 0,
        ] {
            let error = connect(change).await;
            assert!(
                matches!(error, Some(ConnectError::Option { .. })),
                "{error:?}"
            );
        }
    });
}

// Holds invariant 183.
#[test]
fn servers_that_sync_before_they_acknowledge_are_accepted() {
    let servers = Servers::start_with(
        1,
        Settings {
            sync_always: true,
            ..Settings::default()
        },
    );
    runtime().block_on(async {
        let mut options = options(&servers, "one");
        options.unsynced_allowed = false;
        options.monitors = servers.monitors();
        Cluster::connect(options, IDENTITY).await.unwrap();
    });
}

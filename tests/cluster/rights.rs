//! The NATS rights that are shipped (`scripts/packages/nats/kedge.conf`): nodes work with them, and no other client
//! publishes into the log, receives a node's answers, or connects.

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_nats::{Client, ConnectOptions, Event};
use futures_util::StreamExt as _;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tokio::sync::mpsc;

use crate::FAILOVER_LIMIT;
use crate::edge::Edge;
use crate::load::Load;
use crate::nodes::Cluster;
use crate::signed::Signer;
use crate::support::server::Setup;
use crate::support::{Rng, connect, eventually, http};

const PATIENCE: Duration = Duration::from_secs(30);
/// How long to wait for an answer that must not arrive.
const SILENCE: Duration = Duration::from_millis(500);

/// Certificates of the NATS servers, of three nodes and of an edge, from one authority.
struct Certificates {
    folder: &'static Path,
}

impl Certificates {
    /// Makes them in a folder that exists as long as the test program.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap().keep();
        let folder: &'static Path = Box::leak(folder.into_boxed_path());
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = parameters.self_signed(&key).unwrap();
        std::fs::write(folder.join("authority.pem"), certificate.pem()).unwrap();
        let authority = Issuer::new(parameters, key);
        for name in ["server", "node1", "node2", "node3", "edge1"] {
            let key = KeyPair::generate().unwrap();
            let names = [name.to_owned(), "127.0.0.1".to_owned()];
            let parameters = CertificateParams::new(names).unwrap();
            let certificate = parameters.signed_by(&key, &authority).unwrap();
            std::fs::write(folder.join(name).with_extension("pem"), certificate.pem()).unwrap();
            std::fs::write(folder.join(name).with_extension("key"), key.serialize_pem()).unwrap();
        }
        Self { folder }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn set(&self, setup: Setup, name: &str) -> Setup {
        let file = |name: &str| format!("\"{}\"", self.file(name).display());
        setup
            .set("cluster_ca_file", file("authority.pem"))
            .set("cluster_certificate_file", file(&format!("{name}.pem")))
            .set("cluster_key_file", file(&format!("{name}.key")))
    }

    /// A client's connection options with this certificate, and the servers' refusals.
    fn client(&self, name: Option<&str>) -> (ConnectOptions, mpsc::UnboundedReceiver<String>) {
        let (refused, refusals) = mpsc::unbounded_channel();
        let mut options = ConnectOptions::new()
            .require_tls(true)
            .add_root_certificates(self.file("authority.pem"))
            .event_callback(move |event| {
                let refused = refused.clone();
                async move {
                    if let Event::ServerError(error) = event {
                        let _ended = refused.send(error.to_string());
                    }
                }
            });
        if let Some(name) = name {
            let (certificate, key) = (format!("{name}.pem"), format!("{name}.key"));
            options = options.add_client_certificate(self.file(&certificate), self.file(&key));
        }
        (options, refusals)
    }

    async fn cluster(&self, rate_limits: &str) -> Cluster {
        let mut number = 0;
        Cluster::start_certified(self.folder, 3, |setup, _| {
            number += 1;
            self.set(setup, &format!("node{number}"))
                .set("rate_limits", rate_limits)
        })
        .await
    }
}

// Holds invariant 244.
/// A cluster's normal operation: registrations, changes through an edge and through followers, an upload that another
/// node serves, and a change of leader.
#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_lives_with_the_rights_that_are_shipped() {
    let mut rng = Rng::seeded("cluster-rights");
    let certificates = Certificates::new();
    let mut cluster = certificates.cluster("off").await;
    let edge = Edge::start(&cluster, "edge1").await;
    let load = Load::start_at(&cluster, &mut rng, 2, &[edge.url()]).await;
    load.progress(20).await;
    let key = rng.key();
    let client = connect(&edge.url()).await;
    let account = crate::register(&client, key.clone()).await;
    let content = vec![7_u8; 300_000];
    let file = account.upload("seven.bin", &content).await.unwrap();
    cluster.wait_for_one_head().await;
    let mut signer = Signer::register(&cluster, &mut rng).await;
    for node in &cluster.nodes {
        let minted = signer.mint().send(node.setup.port()).await;
        assert_eq!(minted.status, 201, "by {}: {}", node.name, minted.body);
    }

    let leader = cluster.leader().await;
    cluster.nodes[leader].kill();
    let paused = load.progress(20).await;
    assert!(paused <= FAILOVER_LIMIT, "{paused:?}");
    // From the object store, because only the killed leader had it in its files.
    let other = cluster.leader().await;
    let account = cluster.account(other, &key).await;
    assert!(account.download(&file.resource).await.unwrap() == content);
    cluster.nodes[leader].start();
    cluster.wait_until_ready().await;
    load.check_leaves(&cluster).await;
    for node in &cluster.nodes {
        let log = node.setup.log();
        assert!(
            !log.to_lowercase().contains("permissions violation"),
            "{log}"
        );
    }
    cluster.stop();
    std::fs::remove_dir_all(certificates.folder).unwrap();
}

/// Waits for a refusal by the servers.
async fn refusal(refusals: &mut mpsc::UnboundedReceiver<String>) -> String {
    let refused = tokio::time::timeout(PATIENCE, refusals.recv()).await;
    refused.expect("the servers refuse it").unwrap()
}

/// Asks JetStream to send its answer to a subject of the log.
async fn aim(client: &Client, asked: &str, reply: &str) {
    let sent = client.publish_with_reply(asked.to_owned(), reply.to_owned(), "".into());
    sent.await.unwrap();
    client.flush().await.unwrap();
}

// Holds invariant 244.
#[tokio::test(flavor = "multi_thread")]
async fn who_is_no_node_reaches_nothing_and_a_node_hears_its_own_answers_alone() {
    let certificates = Certificates::new();
    let cluster = certificates.cluster("on").await;
    let urls = cluster.nats.urls();
    // An edge, with a certificate of the same authority, and a stranger.
    for name in [Some("edge1"), None] {
        let (options, _) = certificates.client(name);
        let connected = options.connect(urls.clone()).await;
        assert!(connected.is_err(), "{name:?}");
    }

    let (options, mut refusals) = certificates.client(Some("node1"));
    let node1 = options
        .custom_inbox_prefix("_INBOX.kedge.kedge.node1")
        .connect(urls.clone())
        .await
        .unwrap();
    for subject in ["_INBOX.>", "_INBOX.kedge.kedge.node2.>", ">"] {
        let mut heard = node1.subscribe(subject).await.unwrap();
        let refused = refusal(&mut refusals).await;
        assert!(refused.to_lowercase().contains("permissions"), "{refused}");
        let silent = tokio::time::timeout(SILENCE, heard.next()).await;
        assert!(!matches!(silent, Ok(Some(_))), "{subject}");
    }
    // It cannot use another node's name either.
    for subject in [
        "kedge.kedge.synced.node2",
        "kedge.kedge.limits.1.node2",
        "$SYS.REQ.SERVER.PING",
        "_INBOX.kedge.kedge.node2.x",
    ] {
        node1.publish(subject, "1".into()).await.unwrap();
        let refused = refusal(&mut refusals).await;
        let refused = refused.to_lowercase();
        assert!(
            refused.contains(&subject.to_lowercase()),
            "{subject}: {refused}"
        );
    }

    // A node's request for a lease of a limit is answered.
    let mut rng = Rng::seeded("cluster-rights-lease");
    let signer = Signer::register(&cluster, &mut rng).await;
    let follower = &cluster.nodes[(cluster.leader().await + 1) % 3];
    let token = format!("Authorization: Bearer {}\r\n", signer.token);
    let leased = || async {
        http::get_with(follower.setup.port(), "/organizations/me", &token).await;
        let port = follower.setup.metrics_port();
        let leased = [r#"outcome="leased""#];
        let count = http::metric(port, "kedge_limit_leases_total", &leased).await;
        (count >= 1.0).then_some(())
    };
    eventually("the leader grants a lease", PATIENCE, leased).await;
    cluster.stop();
    std::fs::remove_dir_all(certificates.folder).unwrap();
}

// Holds invariant 244.
/// Requests that edges were once allowed to send destroyed the stream, because JetStream publishes its answer to any
/// subject that the client names. No other account reaches the account of the nodes.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_jetstream_cannot_be_aimed_into_the_log() {
    let certificates = Certificates::new();
    let cluster = certificates.cluster("off").await;
    let urls = cluster.nats.urls();
    let attacks = [
        (
            "$JS.API.DIRECT.GET.KV_KEDGE_kedge.$KV.KEDGE_kedge.leader",
            "$JS.API.STREAM.DELETE.KEDGE_kedge",
        ),
        ("$JS.API.STREAM.INFO.KV_KEDGE_kedge", "kedge.kedge.frames"),
        (
            "$JS.API.STREAM.INFO.KV_KEDGE_kedge",
            "$KV.KEDGE_kedge.leader",
        ),
    ];
    let before = cluster.heads().await;
    for name in [Some("edge1"), None] {
        let (options, _) = certificates.client(name);
        if let Ok(client) = options.connect(urls.clone()).await {
            for (asked, reply) in attacks {
                aim(&client, asked, reply).await;
            }
        }
    }
    tokio::time::sleep(2 * SILENCE).await;
    cluster.wait_until_ready().await;
    assert_eq!(cluster.heads().await, before);
    let mut rng = Rng::seeded("cluster-aimed");
    let mut signer = Signer::register(&cluster, &mut rng).await;
    let minted = signer.mint().send(cluster.nodes[0].setup.port()).await;
    assert_eq!(minted.status, 201, "{}", minted.body);
    cluster.stop();
    std::fs::remove_dir_all(certificates.folder).unwrap();
}

//! Edges that vouch for signatures: one that lies is caught and trusted no longer, and nobody else is believed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_nats::{Client, ConnectOptions};
use bytes::Bytes;
use hyper::Request;
use kedge_edge::{Answered, Refusal, Submitted};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};

use crate::edge::Edge;
use crate::nodes::{Cluster, Node, ready};
use crate::signed::{Prepared, Signer};
use crate::support::program::kedge;
use crate::support::server::Setup;
use crate::support::{Rng, eventually, http};

const PATIENCE: Duration = Duration::from_secs(10);

/// Certificates of the NATS servers and of their clients, by one authority.
struct Certificates {
    folder: &'static Path,
}

impl Certificates {
    /// Makes them in a folder that stays as long as the test program.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap().keep();
        let folder: &'static Path = Box::leak(folder.into_boxed_path());
        let mut parameters = CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = parameters.self_signed(&key).unwrap();
        std::fs::write(folder.join("authority.pem"), certificate.pem()).unwrap();
        let authority = Issuer::new(parameters, key);
        for name in ["server", "client"] {
            let key = KeyPair::generate().unwrap();
            let parameters = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
            let certificate = parameters.signed_by(&key, &authority).unwrap();
            std::fs::write(folder.join(name).with_extension("pem"), certificate.pem()).unwrap();
            std::fs::write(folder.join(name).with_extension("key"), key.serialize_pem()).unwrap();
        }
        Self { folder }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The options of nodes and edges.
    fn options(&self) -> Vec<(&'static str, String)> {
        let names = [
            ("cluster_ca_file", "authority.pem"),
            ("cluster_certificate_file", "client.pem"),
            ("cluster_key_file", "client.key"),
        ];
        let quoted = |name| format!("\"{}\"", self.file(name).display());
        names.map(|(option, name)| (option, quoted(name))).to_vec()
    }

    /// How a client of the servers connects, with the cluster's certificate or without.
    fn client(&self, is_inside: bool) -> ConnectOptions {
        let options = ConnectOptions::new()
            .require_tls(true)
            .add_root_certificates(self.file("authority.pem"));
        if !is_inside {
            return options;
        }
        options.add_client_certificate(self.file("client.pem"), self.file("client.key"))
    }
}

/// A request as an edge submits it, which vouches for the digest.
fn submitted(prepared: &Prepared) -> Bytes {
    let mut request = Request::builder().method("POST").uri("/objects");
    for (name, value) in &prepared.headers {
        request = request.header(*name, value);
    }
    let request = request
        .header("host", "kedge.test")
        .header("content-type", "application/json");
    let (parts, ()) = request.body(()).unwrap().into_parts();
    let body = Bytes::from(prepared.body.clone());
    let caller = "192.0.2.1".parse().unwrap();
    let submitted = Submitted::of(&parts, &body, caller, prepared.digest, PATIENCE);
    submitted.write().unwrap()
}

/// Sends a message to the leader in an edge's name.
async fn submit(client: &Client, leader: &Node, edge: &str, message: Bytes) -> Answered {
    let term = ready(&leader.setup).await.unwrap()["cluster"]["term"].clone();
    let subject = format!("kedge.kedge.submit.{term}.{edge}");
    let answer = client.request(subject, message).await.unwrap();
    Answered::read(&answer.payload).unwrap()
}

fn status_and_body(answered: Answered) -> (u16, Value) {
    let Answered::Given { status, body, .. } = answered else {
        panic!("{answered:?}");
    };
    (status, serde_json::from_slice(&body).unwrap())
}

/// What a node's operator sees of edges.
fn distrusted(node: &Node) -> Value {
    let output = kedge()
        .args(["cluster", "status", "--json", "--socket"])
        .arg(node.setup.data().join("admin.sock"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let status: Value = serde_json::from_slice(&output.stdout).unwrap();
    status["distrusted_edges"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edge_that_lies_is_caught_and_trusted_no_longer() {
    let mut rng = Rng::seeded("cluster-vouching");
    let certificates = Certificates::new();
    let options = certificates.options();
    let cluster = Cluster::start_certified(certificates.folder, 3, |setup, _| {
        let setup = setup
            .set("cluster_edges", r#"["edge1", "edge2"]"#)
            .set("cluster_edge_recheck", 1);
        let set = |setup: Setup, (name, value): &(&str, String)| setup.set(name, value);
        options.iter().fold(setup, set)
    });
    let cluster = cluster.await;
    let leader = &cluster.nodes[cluster.leader().await];
    let mut signer = Signer::register(&cluster, &mut rng).await;
    let servers = cluster.nats.urls();
    let client = certificates.client(true).connect(servers.clone());
    let client = client.await.unwrap();

    // An honest word, checked again.
    let honest = submitted(&signer.mint());
    let (status, body) = status_and_body(submit(&client, leader, "edge2", honest).await);
    assert_eq!(status, 201, "{body}");
    // Nobody else is believed, and nothing else is read.
    let stranger = submitted(&signer.mint());
    let answer = submit(&client, leader, "edge3", stranger).await;
    assert_eq!(answer, Answered::Refused(Refusal::Untrusted));
    let answer = submit(&client, leader, "edge1", Bytes::from_static(b"no message")).await;
    assert_eq!(answer, Answered::Refused(Refusal::Malformed));
    assert_eq!(distrusted(leader), json!({}));

    // A lie.
    let forged = submitted(&signer.forged(&rng.key()));
    let (status, body) = status_and_body(submit(&client, leader, "edge1", forged).await);
    assert_eq!(
        (status, &body["code"]),
        (401, &"SIGNATURE_INVALID".into()),
        "{body}"
    );
    let honest = submitted(&signer.mint());
    let answer = submit(&client, leader, "edge1", honest).await;
    assert_eq!(answer, Answered::Refused(Refusal::Untrusted));
    assert!(distrusted(leader)["edge1"]["digest"].is_string());
    let metrics = leader.setup.metrics_port();
    assert!((http::metric(metrics, "kedge_edge_distrusted", &[]).await - 1.0).abs() < 0.1);
    assert!(leader.setup.log().contains("vouched for a wrong signature"));
    let still = submitted(&signer.mint());
    let (status, _) = status_and_body(submit(&client, leader, "edge2", still).await);
    assert_eq!(status, 201, "another edge is trusted still");

    // An edge of that name still passes requests on, and the leader checks them.
    let options = options.iter();
    let options: Vec<String> = options
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let edge = Edge::start_with(&cluster, "edge1", &options).await;
    let minted = signer.mint().send(edge.port).await;
    assert_eq!(minted.status, 201, "{}", minted.body);
    assert!(edge.passed(&[r#"to="submitted""#]).await < 1.0);

    // Without the cluster's credentials nobody reaches the subject.
    let outside = certificates.client(false).connect(servers).await;
    assert!(outside.is_err(), "a client without a certificate");
    cluster.stop();
    std::fs::remove_dir_all(certificates.folder).unwrap();
}

/// The edges that nodes show as distrusted at `/readyz`; `None` while they do not agree.
async fn shown(cluster: &Cluster) -> Option<Value> {
    let mut shown = Vec::new();
    for node in cluster.nodes.iter().filter(|node| node.runs()) {
        let ready = ready(&node.setup).await?;
        shown.push(ready["cluster"]["distrusted_edges"].clone());
    }
    let first = shown.first()?.clone();
    shown.iter().all(|one| *one == first).then_some(first)
}

/// The answer of whoever leads to a message in an edge's name, once somebody listens.
async fn ask_leader(cluster: &Cluster, client: &Client, edge: &str, message: &Bytes) -> Answered {
    let asked = || async {
        let leader = &cluster.nodes[cluster.leader().await];
        let term = ready(&leader.setup).await?["cluster"]["term"].clone();
        let subject = format!("kedge.kedge.submit.{term}.{edge}");
        let answer = client.request(subject, message.clone()).await.ok()?;
        Some(Answered::read(&answer.payload).unwrap())
    };
    eventually("the leader answers", PATIENCE, asked).await
}

/// Waits until whoever leads believes an honest edge, and returns what it answers the edge that was caught.
async fn answer_to_caught(cluster: &Cluster, client: &Client, signer: &mut Signer) -> Answered {
    let honest = submitted(&signer.mint());
    let believed = || async {
        let answer = ask_leader(cluster, client, "edge2", &honest).await;
        matches!(answer, Answered::Given { status: 201, .. }).then_some(())
    };
    eventually("an honest edge is believed", PATIENCE, believed).await;
    ask_leader(cluster, client, "edge1", &submitted(&signer.mint())).await
}

/// The operator trusts edges again, by the socket of a node.
fn trust(node: &Node, edge: &str) -> std::process::Output {
    kedge()
        .args(["cluster", "trust-edge", edge, "--socket"])
        .arg(node.setup.data().join("admin.sock"))
        .output()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn distrust_outlives_failovers_and_restarts_until_the_operator_ends_it() {
    let mut rng = Rng::seeded("cluster-distrust");
    let mut cluster = Cluster::start_with(3, |setup, _| {
        let setup = setup.set("cluster_edges", r#"["edge1", "edge2"]"#);
        setup.set("cluster_edge_recheck", 1)
    })
    .await;
    let leader = cluster.leader().await;
    let mut signer = Signer::register(&cluster, &mut rng).await;
    let client = async_nats::connect(cluster.nats.urls()).await.unwrap();
    let lie = signer.forged(&rng.key());
    let answer = ask_leader(&cluster, &client, "edge1", &submitted(&lie)).await;
    assert_eq!(status_and_body(answer).0, 401);

    // All nodes know, with how it was caught.
    let all = || async {
        let shown = shown(&cluster).await?;
        (!shown.is_null()).then_some(shown)
    };
    let caught = eventually("all nodes know", PATIENCE, all).await;
    assert_eq!(caught[0]["edge"], "edge1");
    assert_eq!(caught[0]["digest"], lie.digest.to_string());
    assert_eq!(caught[0]["caught_by"], cluster.nodes[leader].name);
    let follower = &cluster.nodes[(leader + 1) % 3];
    assert_eq!(distrusted(follower)["edge1"]["at"], caught[0]["at"]);

    // Another node leads, then all of them have forgotten what they had in memory.
    let refused = Answered::Refused(Refusal::Untrusted);
    cluster.nodes[leader].kill();
    let answer = answer_to_caught(&cluster, &client, &mut signer).await;
    assert_eq!(answer, refused, "by another leader");
    for node in cluster.nodes.iter_mut().filter(|node| node.runs()) {
        node.kill();
    }
    for node in &mut cluster.nodes {
        node.server = Some(node.setup.begin());
    }
    cluster.wait_until_ready().await;
    let answer = answer_to_caught(&cluster, &client, &mut signer).await;
    assert_eq!(answer, refused, "after a restart");

    // The operator trusts it again, through any node.
    let follower = &cluster.nodes[(cluster.leader().await + 1) % 3];
    let unknown = trust(follower, "edge2");
    let error = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(error.contains("edge2 is not distrusted"), "{error}");
    assert!(trust(follower, "edge1").status.success());
    let all = || async { shown(&cluster).await?.is_null().then_some(()) };
    eventually("no node distrusts it", PATIENCE, all).await;
    let answer = answer_to_caught(&cluster, &client, &mut signer).await;
    assert_eq!(status_and_body(answer).0, 201);
    cluster.stop();
}

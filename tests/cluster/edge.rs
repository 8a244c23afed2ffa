//! Edges as separate processes: their answers are the nodes', and the loss of a node or of an edge costs no
//! acknowledged write.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use kedge_client::{BatchMode, NewAction, NewObject};
use kedge_protocol::Id;
use kedge_protocol::signature::SigningKey;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::FAILOVER_LIMIT;
use crate::load::Load;
use crate::nodes::Cluster;
use crate::signed::{Prepared, Signer};
use crate::support::http::{self, Answer};
use crate::support::program::kedge;
use crate::support::{Rng, checkpoint_over, connect, eventually, free_port, register, template};

const PATIENCE: Duration = Duration::from_secs(30);
/// Headers that differ between answers, or between nodes.
const OWN: [&str; 8] = [
    "date",
    "x-request-id",
    "x-kedge-role",
    "x-kedge-term",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "ratelimit",
    "connection",
];

/// An edge process, which may be stopped.
pub(crate) struct Edge {
    name: String,
    pub(crate) port: u16,
    metrics_port: u16,
    nodes: String,
    more: Vec<String>,
    log: std::path::PathBuf,
    process: Option<Child>,
}

impl Drop for Edge {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            let log = std::fs::read_to_string(&self.log).unwrap_or_default();
            eprintln!("{}:\n{log}", self.name);
        }
    }
}

impl Edge {
    /// Starts an edge in front of a cluster.
    pub(crate) async fn start(cluster: &Cluster, name: &str) -> Self {
        let log = cluster.nodes[0].setup.data();
        let log = log.with_file_name(format!("{name}.log"));
        Self::start_for(&cluster.urls(), &log, name, &[]).await
    }

    /// Starts an edge in front of the nodes at these URLs, with more options, as `name=value`.
    pub(crate) async fn start_for(urls: &[String], log: &Path, name: &str, more: &[&str]) -> Self {
        let mut edge = Self {
            name: name.to_owned(),
            port: free_port(),
            metrics_port: free_port(),
            nodes: format!("edge_nodes={urls:?}"),
            more: more
                .iter()
                .flat_map(|option| ["--set".to_owned(), (*option).to_owned()])
                .collect(),
            log: log.to_owned(),
            process: None,
        };
        edge.begin();
        edge.wait_until_ready(urls.len()).await;
        edge
    }

    fn begin(&mut self) {
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.log)
            .unwrap();
        let process = kedge()
            .args(["edge", "--listen", &format!("127.0.0.1:{}", self.port)])
            .args([
                "--metrics-listen",
                &format!("127.0.0.1:{}", self.metrics_port),
            ])
            .args(["--set", &self.nodes])
            .args(["--set", &format!("edge_name=\"{}\"", self.name)])
            .args(&self.more)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.process = Some(process.unwrap());
    }

    /// Waits until the edge knows the leader and this many ready nodes.
    async fn wait_until_ready(&self, nodes: usize) {
        let ready = || async {
            let answer = http::try_get(self.port, "/readyz").await?;
            let state = answer.json();
            let is_ready = answer.status == 200
                && state["nodes"].as_array()?.len() == nodes
                && state["leader"].is_string();
            is_ready.then_some(())
        };
        eventually("the edge is ready", PATIENCE, ready).await;
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _already_dead = process.kill();
            process.wait().unwrap();
        }
    }

    fn stop(&mut self) {
        let mut process = self.process.take().unwrap();
        let pid = Pid::from_raw(process.id().cast_signed()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        assert!(process.wait().unwrap().success());
    }

    pub(crate) async fn passed(&self, labels: &[&str]) -> f64 {
        http::metric(self.metrics_port, "kedge_edge_passed_total", labels).await
    }
}

/// The headers of an answer, except those that differ between answers.
fn headers(answer: &Answer) -> BTreeMap<String, String> {
    let lines = answer.head.lines().skip(1);
    let headers = lines.filter_map(|line| line.split_once(':'));
    headers
        .map(|(name, value)| (name.to_lowercase(), value.trim().to_owned()))
        .filter(|(name, _)| !OWN.contains(&name.as_str()))
        // An error has the request's id.
        .filter(|(name, _)| answer.status < 400 || name != "content-length")
        .collect()
}

fn same(path: &str, edge: &Answer, node: &Answer) {
    assert_eq!(edge.status, node.status, "{path}: {}", edge.body);
    assert_eq!(headers(edge), headers(node), "{path}");
    assert_eq!(without_id(edge), without_id(node), "{path}");
}

/// A body, without an error's request id.
fn without_id(answer: &Answer) -> String {
    match serde_json::from_str::<Value>(&answer.body) {
        Ok(mut body) => {
            if let Some(body) = body.pointer_mut("/body/request_id") {
                *body = Value::Null;
            }
            body.to_string()
        }
        Err(_) => answer.body.clone(),
    }
}

// Holds invariants 200, 201.
#[tokio::test(flavor = "multi_thread")]
async fn every_answer_through_an_edge_is_that_of_a_node() {
    let mut rng = Rng::seeded("cluster-edge");
    let mut cluster = Cluster::start(3).await;
    let mut edge = Edge::start(&cluster, "edge1").await;
    let made = every_kind_of_request(&cluster, &edge, &mut rng).await;
    let mut signer = Signer::register(&cluster, &mut rng).await;
    changes_are_answered_alike(&cluster, &edge, &mut signer).await;
    cluster.wait_for_one_head().await;
    let (object, template, token) = (made.object, made.template, made.token);
    reads_are_answered_alike(
        &cluster,
        &edge,
        &token,
        &[
            &format!("/objects/{object}"),
            &format!("/objects/{object}/history"),
            &format!("/templates/{template}"),
            "/objects?limit=5",
            "/objects?limit=0",
            "/objects?limit=5&limit=6",
            "/batches/0",
            "/wallets/me",
            "/openapi.json",
            "/.well-known/eip712-domain.json",
            "/sequencer-keys",
            "/nothing/at/all",
            "/objects/obj_nothing",
        ],
    )
    .await;
    events_arrive(&edge, &token, &object.to_string()).await;
    assert!(
        edge.passed(&[r#"to="leader""#, r#"outcome="answered""#])
            .await
            >= 9.0
    );
    assert!(
        edge.passed(&[r#"to="node""#, r#"outcome="answered""#])
            .await
            >= 8.0
    );

    without_nodes_it_says_so(&mut cluster, &edge, &signer.mint()).await;
    edge.stop();
}

/// Resources made through an edge.
struct Made {
    object: Id,
    template: Id,
    token: String,
}

/// Registers, mints, updates, sends a batch, uploads, downloads and exports, all through an edge.
async fn every_kind_of_request(cluster: &Cluster, edge: &Edge, rng: &mut Rng) -> Made {
    let client = connect(&edge.url()).await;
    let account = register(&client, rng.key()).await;
    let template = template(&account, "through an edge").await;
    let minted = account.mint(template, &NewObject::default()).await.unwrap();
    let object = minted.resource.id;
    let properties = json!({ "a": 1 }).as_object().unwrap().clone();
    let updated = account.update(object, &properties).await.unwrap();
    assert_eq!(updated.resource.version, 2);
    let mint = NewAction::mint(template, &NewObject::default()).unwrap();
    let batch = account.batch(&vec![mint; 20], BatchMode::Atomic).await;
    let batch = batch.unwrap();
    assert!(batch.results.iter().all(|result| result.done().is_some()));
    let content: Vec<u8> = (0..200_000_u32).map(|number| number as u8).collect();
    let file = account.upload("numbers.bin", &content).await.unwrap();
    // Any node may answer the reads.
    cluster.wait_for_one_head().await;
    assert!(account.download(&file.resource).await.unwrap() == content);
    let header = account.client().highest_header().unwrap().header;
    checkpoint_over(account.client(), header.last_sequence()).await;
    let mut export = account.export(0).await.unwrap();
    let mut lines = 0;
    while export.line().await.unwrap().is_some() {
        lines += 1;
    }
    assert!(lines > 5, "{lines} lines");
    Made {
        object,
        template,
        token: account.access_token().unwrap(),
    }
}

/// Without nodes the edge says so, and that nothing was done.
async fn without_nodes_it_says_so(cluster: &mut Cluster, edge: &Edge, change: &Prepared) {
    for node in &mut cluster.nodes {
        node.kill();
    }
    let read = http::get(edge.port, "/batches").await;
    assert_eq!(read.status, 503, "{}", read.body);
    assert!(
        read.head.to_lowercase().contains("retry-after: 1"),
        "{}",
        read.head
    );
    let refused = change.send(edge.port).await;
    assert_eq!(refused.status, 503);
    assert!(
        refused.body.contains("nothing was changed"),
        "{}",
        refused.body
    );
    assert_eq!(http::get(edge.port, "/healthz").await.status, 200);
    let unready = || async {
        let answer = http::get(edge.port, "/readyz").await;
        (answer.status == 503).then_some(())
    };
    eventually("the edge is not ready", PATIENCE, unready).await;
}

/// Reads of the same log, by edge and by node.
async fn reads_are_answered_alike(cluster: &Cluster, edge: &Edge, token: &str, paths: &[&str]) {
    let header = format!("Authorization: Bearer {token}\r\n");
    for path in paths {
        let by_edge = http::get_with(edge.port, path, &header).await;
        for node in &cluster.nodes {
            let by_node = http::get_with(node.setup.port(), path, &header).await;
            same(path, &by_edge, &by_node);
        }
        let unnamed = http::get(edge.port, path).await;
        same(
            path,
            &unnamed,
            &http::get(cluster.nodes[0].setup.port(), path).await,
        );
    }
}

/// Changes by edge and by node: a change done once is answered alike, and so is a refusal.
async fn changes_are_answered_alike(cluster: &Cluster, edge: &Edge, signer: &mut Signer) {
    let leader = cluster.nodes[cluster.leader().await].setup.port();
    let once = signer.mint_once("through-an-edge");
    let first = once.send(edge.port).await;
    assert_eq!(first.status, 201, "{}", first.body);
    let again = once.send(leader).await;
    assert!(
        again
            .head
            .to_lowercase()
            .contains("idempotent-replayed: true")
    );
    assert_eq!(again.body, first.body);
    same("a repeated mint", &once.send(edge.port).await, &again);
    let spent = signer.mint();
    assert_eq!(spent.send(leader).await.status, 201);
    same(
        "a spent nonce",
        &spent.send(edge.port).await,
        &spent.send(leader).await,
    );
    let forged = signer.forged(&SigningKey::from_bytes(&[9; 32]).unwrap());
    let refused = forged.send(edge.port).await;
    assert_eq!(refused.status, 401, "{}", refused.body);
    same("a forged mint", &refused, &forged.send(leader).await);
    let headers = [("authorization", format!("Bearer {}", signer.token))];
    for body in ["{}", "{", "[]"] {
        let by_edge = http::post(edge.port, "/objects", &headers, body).await;
        same(
            body,
            &by_edge,
            &http::post(leader, "/objects", &headers, body).await,
        );
        let search = http::post(edge.port, "/objects/search", &headers, body).await;
        let by_node = http::post(leader, "/objects/search", &headers, body).await;
        same(body, &search, &by_node);
    }
}

/// An event stream passes through as it is written.
async fn events_arrive(edge: &Edge, token: &str, object: &str) {
    let request = Request::builder()
        .uri(format!("{}/ebus/events/stream", edge.url()))
        .header("authorization", format!("Bearer {token}"))
        .header("last-event-id", "0")
        .body(Full::new(Bytes::new()))
        .unwrap();
    let client = Client::builder(TokioExecutor::new()).build_http();
    let response = client.request(request).await.unwrap();
    assert_eq!(response.status(), 200);
    let mut body = response.into_body();
    let mut text = String::new();
    let reading = async {
        while !text.contains(object) {
            let frame = body.frame().await.unwrap().unwrap();
            let data = frame.into_data().unwrap();
            text.push_str(std::str::from_utf8(&data).unwrap());
        }
    };
    tokio::time::timeout(PATIENCE, reading).await.unwrap();
}

// Holds invariants 200, 204.
#[tokio::test(flavor = "multi_thread")]
async fn changes_through_two_edges_outlive_the_leader_and_an_edge() {
    let mut rng = Rng::seeded("cluster-edges");
    let mut cluster = Cluster::start(3).await;
    let mut edges = [
        Edge::start(&cluster, "edge1").await,
        Edge::start(&cluster, "edge2").await,
    ];
    let urls: Vec<String> = edges.iter().map(Edge::url).collect();
    let load = Load::start_at(&cluster, &mut rng, 4, &urls).await;
    load.progress(50).await;

    let leader = cluster.leader().await;
    cluster.nodes[leader].kill();
    let paused = load.progress(20).await;
    eprintln!("the leader was killed: 20 more changes in {paused:?}");
    assert!(paused <= FAILOVER_LIMIT, "{paused:?}");
    cluster.nodes[leader].start();
    cluster.wait_until_ready().await;

    // One edge is killed; the other one's clients notice nothing.
    edges[0].kill();
    let begun = Instant::now();
    load.progress(20).await;
    assert!(begun.elapsed() <= FAILOVER_LIMIT, "{begun:?}");
    edges[0].begin();
    edges[0].wait_until_ready(3).await;
    load.progress(50).await;
    // One is stopped in order, and then the leader hands over.
    edges[1].stop();
    let leader = cluster.leader().await;
    cluster.nodes[leader].server.take().unwrap().stop();
    load.progress(50).await;
    cluster.nodes[leader].start();
    cluster.wait_until_ready().await;
    load.check(&cluster).await;
    cluster.stop();
}

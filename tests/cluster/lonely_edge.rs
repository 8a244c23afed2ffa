//! Edges that what they depend on has left. A NATS server that has lost the others still answers, but knows nothing new: the
//! edge leaves it as the nodes do, and learns who leads. A leader that never answers holds no caller for ever.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::edge::Edge;
use crate::engine::{BUCKET, STREAM};
use crate::link::{Flow, Link};
use crate::network::Network;
use crate::nodes::Cluster;
use crate::signed::Signer;
use crate::support::{Rng, eventually, http};

const PATIENCE: Duration = Duration::from_mins(1);

#[tokio::test(flavor = "multi_thread")]
async fn an_edge_leaves_a_server_that_has_lost_the_others() {
    let mut rng = Rng::seeded("cluster-lonely-edge");
    let (mut cluster, network) = Network::start().await;
    let mut signer = Signer::register(&cluster, &mut rng).await;
    // Without this server nothing has to be elected.
    let leads_nothing = || async {
        let leaders = [STREAM, BUCKET].map(|stream| cluster.nats.leader_of(stream));
        let leaders = [leaders[0]?, leaders[1]?];
        (0..3).find(|server| !leaders.contains(server))
    };
    let lonely = eventually("the streams are led", PATIENCE, leads_nothing).await;

    // The edge finds no other server at first.
    let link = Link::to(&cluster.nats.urls());
    let others = || link.ways.iter().enumerate();
    for (_, way) in others().filter(|(server, _)| *server != lonely) {
        way.set(Flow::CUT);
    }
    let servers = format!("cluster_servers={:?}", link.urls());
    let edge = Edge::start_with(&cluster, "edge1", &[servers]).await;
    link.heal();
    assert_eq!(signer.mint().send(edge.port).await.status, 201);

    network.set_server(lonely, Flow::CUT);
    network.set_nodes(&[0, 1, 2], &[lonely], Flow::CUT);
    let former = cluster.leader().await;
    cluster.nodes[former].kill();
    let leader = cluster.leader_among(former).await;
    let name = cluster.nodes[leader].name.clone();
    let known = || async {
        let answer = http::try_get(edge.port, "/readyz").await?;
        (answer.json()["leader"] == name.as_str()).then_some(())
    };
    eventually("the edge knows the new leader", PATIENCE, known).await;
    let change = signer.mint_once("by-another-server");
    let accepted = || async {
        let answer = change.try_send(edge.port).await?;
        (answer.status == 201).then_some(())
    };
    eventually("a change passes the edge", PATIENCE, accepted).await;
    network.heal();
    cluster.nodes[former].start();
    cluster.wait_until_ready().await;
    cluster.stop();
}

/// Says that it is ready, and answers nothing else.
async fn say_only_ready(mut stream: TcpStream) {
    let mut asked = Vec::new();
    while stream.read_buf(&mut asked).await.unwrap_or(0) > 0 {
        if asked.starts_with(b"GET /readyz ") && asked.ends_with(b"\r\n\r\n") {
            asked.clear();
            let ready = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
            stream.write_all(ready).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_never_answers_holds_nobody_for_ever() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap();
    let url = format!("\"http://{address}\"");
    tokio::spawn(async move {
        while let Ok((stream, _)) = silent.accept().await {
            tokio::spawn(say_only_ready(stream));
        }
    });
    let cluster = Cluster::start_with(3, |setup, _| setup.set("cluster_url", &url)).await;
    let limits = ["request_timeout_s=1", "body_timeout_s=1"].map(str::to_owned);
    let edge = Edge::start_with(&cluster, "edge1", &limits).await;
    // A change without a signature: an edge passes it on as it is.
    let answer = http::post(edge.port, "/webhooks/any/test", &[], "{}").await;
    assert_eq!(answer.status, 503, "{}", answer.body);
    assert!(
        answer.body.contains("outcome of this request is unknown"),
        "{}",
        answer.body
    );
    cluster.stop();
}

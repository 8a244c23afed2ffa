//! An edge whose NATS server has lost the others: that server still answers, but knows nothing new. The edge leaves it as
//! the nodes do, and learns who leads.

use std::time::Duration;

use crate::edge::Edge;
use crate::engine::{BUCKET, STREAM};
use crate::link::{Flow, Link};
use crate::network::Network;
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

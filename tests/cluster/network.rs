//! The network between nodes and NATS servers: every link is a proxy that a test can cut.

use crate::link::{Flow, Link, Way};
use crate::nats::Servers;
use crate::nodes::{Cluster, settings};

/// All links of a cluster of three nodes and three servers.
pub(crate) struct Network {
    /// Each node's links to the servers.
    pub(crate) links: Vec<Link>,
    /// From one server to another.
    routes: Vec<(usize, usize, Way)>,
}

impl Network {
    /// Starts a cluster on this network.
    pub(crate) async fn start() -> (Cluster, Self) {
        let made = tokio::task::spawn_blocking(|| {
            let mut routes = Vec::new();
            let servers = Servers::start_through(3, settings(), |from, to, url| {
                let way = Way::to(&url);
                let url = way.url().to_owned();
                routes.push((from, to, way));
                url
            });
            (servers, routes)
        });
        let (servers, routes) = made.await.unwrap();
        let mut links = Vec::new();
        let cluster = Cluster::start_on(servers, 3, |setup, nats| {
            let link = Link::to(&nats.urls());
            let setup = setup.set("cluster_servers", format!("{:?}", link.urls()));
            links.push(link);
            setup
        });
        let cluster = cluster.await;
        (cluster, Self { links, routes })
    }

    /// Sets every link between a server and the others.
    pub(crate) fn set_server(&self, server: usize, flow: Flow) {
        for (from, to, way) in &self.routes {
            if *from == server || *to == server {
                way.set(flow);
            }
        }
    }

    /// Sets the links of these nodes to these servers.
    pub(crate) fn set_nodes(&self, nodes: &[usize], servers: &[usize], flow: Flow) {
        for node in nodes {
            for server in servers {
                self.links[*node].ways[*server].set(flow);
            }
        }
    }

    /// Opens every link again.
    pub(crate) fn heal(&self) {
        for link in &self.links {
            link.heal();
        }
        for (_, _, way) in &self.routes {
            way.set(Flow::default());
        }
    }
}

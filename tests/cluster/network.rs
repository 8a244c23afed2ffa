//! The network between the nodes, the NATS servers and each other: every way is a proxy that a test can cut.

use crate::link::{Flow, Link, Way};
use crate::nats::Servers;
use crate::nodes::{Cluster, settings};

/// All ways of a cluster of three nodes and three servers.
pub(crate) struct Network {
    /// Each node's ways to the servers.
    pub(crate) links: Vec<Link>,
    /// From one server to another one.
    routes: Vec<(usize, usize, Way)>,
}

impl Network {
    /// Starts a cluster on it.
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

    /// Sets every way between a server and the others.
    pub(crate) fn set_server(&self, server: usize, flow: Flow) {
        for (from, to, way) in &self.routes {
            if *from == server || *to == server {
                way.set(flow);
            }
        }
    }

    /// Sets the ways of these nodes to these servers.
    pub(crate) fn set_nodes(&self, nodes: &[usize], servers: &[usize], flow: Flow) {
        for node in nodes {
            for server in servers {
                self.links[*node].ways[*server].set(flow);
            }
        }
    }

    /// Everything gets through again.
    pub(crate) fn heal(&self) {
        for link in &self.links {
            link.heal();
        }
        for (_, _, way) in &self.routes {
            way.set(Flow::default());
        }
    }
}

//! Which nodes there are, which of them are ready, and who leads: by what the nodes state to the cluster's servers, and by
//! what each answers to `GET /readyz`. While the servers do not answer, the nodes that were known last are asked on. A
//! server through which nothing new is heard of any node is left for another one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::{Request, StatusCode, Uri};
use kedge_cluster::{AskError, Cluster, Holder, LeaseSeen};
use metrics::gauge;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::leader::SUBMIT;
use crate::metric_definitions::READY_NODES;
use crate::passing::{Http, boxed};

/// How often the nodes are looked at.
const EVERY: Duration = Duration::from_secs(1);
/// A node that has not stated its place for longer is not there.
const FRESH: Duration = Duration::from_secs(4);
/// How long a node may take to answer whether it is ready, and the servers to list the nodes.
const PATIENCE: Duration = Duration::from_secs(1);
/// Bytes of that answer.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// A node that is ready.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) url: String,
}

/// The nodes of a log, as this edge knows them.
pub(crate) struct Nodes {
    cluster: Cluster,
    http: Http,
    lease: watch::Receiver<Option<LeaseSeen>>,
    ready: ArcSwap<Vec<Node>>,
    next: AtomicUsize,
}

impl Nodes {
    pub(crate) fn new(cluster: Cluster, http: Http) -> Arc<Self> {
        Arc::new(Self {
            lease: cluster.lease().watch(),
            cluster,
            http,
            ready: ArcSwap::default(),
            next: AtomicUsize::default(),
        })
    }

    /// The nodes that are ready.
    pub(crate) fn ready(&self) -> Arc<Vec<Node>> {
        self.ready.load_full()
    }

    /// The nodes that are ready, in the order in which one request tries them: each takes its turn.
    pub(crate) fn in_turn(&self) -> Vec<Node> {
        let ready = self.ready();
        let first = self.next.fetch_add(1, Ordering::Relaxed) % ready.len().max(1);
        let (end, begin) = ready.split_at(first);
        begin.iter().chain(end).cloned().collect()
    }

    /// Leaves a node out until it was found ready again.
    pub(crate) fn leave_out(&self, node: &Node) {
        self.ready.rcu(|ready| {
            let mut others = Vec::clone(ready);
            others.retain(|other| other != node);
            others
        });
    }

    /// Who leads, as far as is known.
    pub(crate) fn leader(&self) -> Option<Holder> {
        let seen = self.lease.borrow();
        let holder = seen.as_ref().and_then(|seen| seen.holder.clone());
        holder.filter(|holder| !holder.node.is_empty())
    }

    /// Asks the leader of a term.
    pub(crate) async fn ask(
        &self,
        term: u64,
        question: Bytes,
        patience: Duration,
    ) -> Result<Bytes, AskError> {
        self.cluster.ask(SUBMIT, term, question, patience).await
    }

    /// Waits until another node leads, or the same one again, in a later term.
    pub(crate) async fn led_after(&self, term: u64) {
        let mut lease = self.lease.clone();
        let is_later = |seen: &Option<LeaseSeen>| {
            let holder = seen.as_ref().and_then(|seen| seen.holder.as_ref());
            holder.is_some_and(|holder| holder.term > term && !holder.node.is_empty())
        };
        if lease.wait_for(is_later).await.is_err() {
            // The connection is kept as long as the process.
            std::future::pending::<()>().await;
        }
    }

    /// Looks at the nodes once a second, for ever.
    pub(crate) async fn watch(self: Arc<Self>) {
        let mut ticks = tokio::time::interval(EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut known = Vec::new();
        loop {
            ticks.tick().await;
            self.look(&mut known).await;
        }
    }

    /// Looks which nodes there are, and asks each whether it is ready.
    async fn look(&self, known: &mut Vec<Node>) {
        match self.cluster.watched_members(PATIENCE).await {
            Ok(members) => {
                let there = members
                    .into_iter()
                    .filter(|member| member.age.is_some_and(|age| age < FRESH));
                *known = there
                    .map(|member| Node {
                        name: member.node,
                        url: member.url.trim_end_matches('/').to_owned(),
                    })
                    .collect();
            }
            Err(error) => tracing::debug!(%error, "the nodes cannot be listed"),
        }
        let mut asking = JoinSet::new();
        for node in known.iter().cloned() {
            let http = self.http.clone();
            asking.spawn(async move {
                let asked = tokio::time::timeout(PATIENCE, is_ready(&http, &node.url)).await;
                (node, asked == Ok(true))
            });
        }
        let mut ready: Vec<Node> = Vec::new();
        while let Some(Ok((node, is_ready))) = asking.join_next().await {
            ready.extend(is_ready.then_some(node));
        }
        ready.sort_by(|one, other| one.name.cmp(&other.name));
        gauge!(READY_NODES).set(ready.len() as f64);
        if *self.ready() != ready {
            let names: Vec<&str> = ready.iter().map(|node| node.name.as_str()).collect();
            tracing::info!(nodes = names.join(", "), "the nodes that are ready");
            self.ready.store(Arc::new(ready));
        }
    }
}

async fn is_ready(http: &Http, url: &str) -> bool {
    let Ok(uri) = format!("{url}/readyz").parse::<Uri>() else {
        return false;
    };
    let mut request = Request::new(boxed(Empty::new()));
    *request.uri_mut() = uri;
    let Ok(response) = http.request(request).await else {
        return false;
    };
    let (parts, body) = response.into_parts();
    // Read to its end, so that the connection is kept.
    let read = Limited::new(body, ANSWER_BYTES_MAX).collect().await;
    parts.status == StatusCode::OK && read.is_ok()
}

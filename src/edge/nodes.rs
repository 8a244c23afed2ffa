//! Health of the nodes: which are ready and which one leads, according to the edge's own `GET /readyz`. Callers'
//! requests do not count, except that a node accepts no connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Limited};
use hyper::{Request, StatusCode, Uri};
use kedge_cluster::node::uri_at;
use metrics::gauge;
use parking_lot::Mutex;
use serde::Deserialize;
use tokio::sync::watch;

use crate::edge::forwarding::{ForwardingClient, OutgoingBody, is_own};
use crate::edge::metric_definitions::READY_NODES;

/// Interval between two probes of a node.
const EVERY: Duration = Duration::from_millis(250);
/// Time limit of a probe.
const PATIENCE: Duration = Duration::from_secs(1);
/// Size limit of a probe's answer.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ReadyNode {
    pub(crate) name: String,
    pub(crate) url: String,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct LeaderNode {
    pub(crate) name: String,
    pub(crate) url: String,
    pub(crate) term: u64,
}

/// A node's last answer.
#[derive(Clone, PartialEq, Eq, Debug)]
struct NodeObservation {
    name: String,
    is_ready: bool,
    /// Usable for reads if no node is ready.
    answers: bool,
    /// The term in which it leads.
    leads_in: Option<u64>,
}

/// The members of `/readyz` that an edge reads.
#[derive(Deserialize, Default)]
struct NodeReadiness {
    cluster: Option<ReadinessCluster>,
}

#[derive(Deserialize)]
struct ReadinessCluster {
    node: String,
    role: String,
    term: u64,
}

enum ProbeResult {
    Answered(NodeObservation),
    /// The node did not answer.
    Silent,
    /// This process could not send the probe.
    NotAsked,
}

/// The nodes of a log and their last known states.
pub(crate) struct NodeDirectory {
    http: ForwardingClient,
    urls: Vec<String>,
    /// In the order of `urls`; `None` for a node that does not answer.
    seen: Mutex<Vec<Option<NodeObservation>>>,
    ready: ArcSwap<Vec<ReadyNode>>,
    /// Nodes that answer, ready or not.
    answering: ArcSwap<Vec<ReadyNode>>,
    leader: watch::Sender<Option<LeaderNode>>,
    next: AtomicUsize,
}

impl NodeDirectory {
    pub(crate) fn new(urls: &[String], http: ForwardingClient) -> Arc<Self> {
        let urls: Vec<String> = urls
            .iter()
            .map(|url| url.trim_end_matches('/').to_owned())
            .collect();
        Arc::new(Self {
            http,
            seen: Mutex::new(vec![None; urls.len()]),
            urls,
            ready: ArcSwap::default(),
            answering: ArcSwap::default(),
            leader: watch::channel(None).0,
            next: AtomicUsize::default(),
        })
    }

    pub(crate) fn ready(&self) -> Arc<Vec<ReadyNode>> {
        self.ready.load_full()
    }

    /// The ready nodes in the order in which one request tries them, rotated. If none is ready, all nodes
    /// with an answer: a node that lags or must not write still reads, and its answers state how old they are.
    pub(crate) fn in_turn(&self) -> Vec<ReadyNode> {
        let ready = self.ready();
        let nodes = if ready.is_empty() {
            self.answering.load_full()
        } else {
            ready
        };
        let first = self.next.fetch_add(1, Ordering::Relaxed) % nodes.len().max(1);
        let (end, begin) = nodes.split_at(first);
        begin.iter().chain(end).cloned().collect()
    }

    /// Leaves a node out until it reports that it is ready.
    pub(crate) fn leave_out(&self, node: &ReadyNode) {
        let mut seen = self.seen.lock();
        for (url, seen) in self.urls.iter().zip(seen.iter_mut()) {
            if *url == node.url
                && let Some(seen) = seen
            {
                seen.is_ready = false;
                seen.answers = false;
            }
        }
        self.publish(&seen);
    }

    /// The last known leader.
    pub(crate) fn leader(&self) -> Option<LeaderNode> {
        self.leader.borrow().clone()
    }

    /// Waits for a leader of a later term, which may be the same node.
    pub(crate) async fn led_after(&self, term: u64) {
        let mut leader = self.leader.subscribe();
        let is_later =
            |leader: &Option<LeaderNode>| leader.as_ref().is_some_and(|leader| leader.term > term);
        if leader.wait_for(is_later).await.is_err() {
            // The sender is part of this value, so it cannot be dropped.
            std::future::pending::<()>().await;
        }
    }

    /// Starts one probing task for each node.
    pub(crate) fn watch(self: &Arc<Self>) {
        for at in 0..self.urls.len() {
            let nodes = Arc::clone(self);
            tokio::spawn(async move {
                loop {
                    let probe = nodes.probe(&nodes.urls[at]).await;
                    nodes.note(at, probe);
                    tokio::time::sleep(EVERY).await;
                }
            });
        }
    }

    fn note(&self, at: usize, probe: ProbeResult) {
        let mut seen = self.seen.lock();
        seen[at] = match probe {
            ProbeResult::Answered(answer) => Some(answer),
            ProbeResult::Silent => None,
            ProbeResult::NotAsked => return,
        };
        let known = self.leader();
        let leader = leader_of(known.as_ref(), &self.urls, &seen);
        if leader != known {
            if let Some(LeaderNode { name, term, .. }) = &leader {
                tracing::info!(node = name, term, "the node that leads");
            }
            self.leader.send_replace(leader);
        }
        self.publish(&seen);
    }

    fn publish(&self, seen: &[Option<NodeObservation>]) {
        let of = |is_one: fn(&NodeObservation) -> bool| -> Vec<ReadyNode> {
            let answered = self.urls.iter().zip(seen);
            let nodes = answered.filter_map(|(url, seen)| {
                let seen = seen.as_ref().filter(|seen| is_one(seen))?;
                Some(ReadyNode {
                    name: seen.name.clone(),
                    url: url.clone(),
                })
            });
            nodes.collect()
        };
        self.answering.store(Arc::new(of(|seen| seen.answers)));
        let ready = of(|seen| seen.is_ready);
        gauge!(READY_NODES).set(ready.len() as f64);
        if *self.ready() != ready {
            let names: Vec<&str> = ready.iter().map(|node| node.name.as_str()).collect();
            tracing::info!(nodes = names.join(", "), "the nodes that are ready");
            self.ready.store(Arc::new(ready));
        }
    }

    async fn probe(&self, url: &str) -> ProbeResult {
        let asking = tokio::time::timeout(PATIENCE, self.ask(url)).await;
        asking.unwrap_or(ProbeResult::Silent)
    }

    async fn ask(&self, url: &str) -> ProbeResult {
        let Ok(uri) = uri_at(url, &Uri::from_static("/readyz")) else {
            return ProbeResult::Silent;
        };
        let mut request = Request::new(OutgoingBody::whole(Bytes::new()).body);
        *request.uri_mut() = uri;
        let response = match self.http.request(request).await {
            Ok(response) => response,
            Err(error) if is_own(&error) => return ProbeResult::NotAsked,
            Err(_) => return ProbeResult::Silent,
        };
        let (parts, body) = response.into_parts();
        let Ok(body) = Limited::new(body, ANSWER_BYTES_MAX).collect().await else {
            return ProbeResult::Silent;
        };
        ProbeResult::Answered(seen_of(
            url,
            parts.status == StatusCode::OK,
            &body.to_bytes(),
        ))
    }
}

/// Parses a node's answer. A single node that is ready leads its log.
fn seen_of(url: &str, is_ready: bool, body: &[u8]) -> NodeObservation {
    let readiness: NodeReadiness = serde_json::from_slice(body).unwrap_or_default();
    match readiness.cluster {
        Some(part) => NodeObservation {
            is_ready,
            answers: true,
            leads_in: (part.role == "leader").then_some(part.term),
            name: part.node,
        },
        None => NodeObservation {
            is_ready,
            answers: true,
            leads_in: is_ready.then_some(0),
            name: url.to_owned(),
        },
    }
}

/// The node that leads in the newest term. A silent leader stays until a later term is seen: a former leader may not
/// know yet that it was replaced.
fn leader_of(
    known: Option<&LeaderNode>,
    urls: &[String],
    seen: &[Option<NodeObservation>],
) -> Option<LeaderNode> {
    let answered = urls.iter().zip(seen);
    let leading = answered.filter_map(|(url, seen)| {
        let seen = seen.as_ref()?;
        Some(LeaderNode {
            name: seen.name.clone(),
            url: url.clone(),
            term: seen.leads_in?,
        })
    });
    let newest = leading.max_by_key(|leader| leader.term);
    let is_silent = |known: &LeaderNode| {
        let mut answered = urls.iter().zip(seen);
        !answered.any(|(url, seen)| *url == known.url && seen.is_some())
    };
    match (known, newest) {
        (Some(known), Some(newest)) if newest.term < known.term && is_silent(known) => {
            Some(known.clone())
        }
        (known, None) => known.cloned(),
        (_, newest) => newest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(name: &str, leads_in: Option<u64>) -> NodeObservation {
        NodeObservation {
            name: name.to_owned(),
            is_ready: true,
            answers: true,
            leads_in,
        }
    }

    // Holds invariant 204.
    #[test]
    fn the_newest_term_leads_and_a_silent_leader_is_not_replaced_by_a_former_one() {
        let urls = ["http://one", "http://two"].map(str::to_owned);
        let name = |known: Option<&LeaderNode>, seen: [Option<NodeObservation>; 2]| {
            let leader = leader_of(known, &urls, &seen);
            leader.map(|leader| (leader.name, leader.term))
        };
        let two = LeaderNode {
            name: "two".to_owned(),
            url: urls[1].clone(),
            term: 6,
        };
        assert_eq!(name(None, [None, None]), None);
        assert_eq!(
            name(None, [Some(seen("one", None)), Some(seen("two", None))]),
            None
        );
        let both = [Some(seen("one", Some(5))), Some(seen("two", Some(6)))];
        assert_eq!(name(None, both), Some(("two".to_owned(), 6)));
        // It is silent, and the former leader wakes up.
        let woken = [Some(seen("one", Some(5))), None];
        assert_eq!(name(Some(&two), woken), Some(("two".to_owned(), 6)));
        let follows = [Some(seen("one", None)), Some(seen("two", None))];
        assert_eq!(name(Some(&two), follows), Some(("two".to_owned(), 6)));
        let later = [Some(seen("one", Some(7))), None];
        assert_eq!(name(Some(&two), later), Some(("one".to_owned(), 7)));
        // Another log, whose terms begin at 1.
        let another = [Some(seen("one", Some(1))), Some(seen("two", None))];
        assert_eq!(name(Some(&two), another), Some(("one".to_owned(), 1)));
    }

    #[test]
    fn a_nodes_answer_names_it_and_its_term() {
        let url = "http://one";
        let leading =
            br#"{"status":"not_ready","cluster":{"node":"a","role":"leader","term":3,"frame":1}}"#;
        let expected = NodeObservation {
            name: "a".to_owned(),
            is_ready: false,
            answers: true,
            leads_in: Some(3),
        };
        assert_eq!(seen_of(url, false, leading), expected);
        assert_eq!(seen_of(url, true, b"{}").leads_in, Some(0), "a single node");
        assert_eq!(
            seen_of(url, false, b"{}").leads_in,
            None,
            "one that only reads"
        );
        assert_eq!(seen_of(url, false, b"no JSON").leads_in, None);
    }
}

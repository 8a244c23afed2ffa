//! Whether the chain's node answers. A server serves without it; this says that it is missing.

use std::sync::Arc;

use kedge_chain::rpc::RpcError;

use crate::anchor::AnchorState;
use crate::engine::Engine;
use crate::metric_definitions as metric;

/// How often a node that answers is asked whether it still does, milliseconds.
const PROBE_MS: u64 = 10_000;
/// Failures in a row after which a node counts as unreachable.
const FAILURES_MIN: u32 = 2;

/// How the chain's node is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeHealth {
    /// Where it is asked: scheme, host and port alone.
    pub endpoint: String,
    /// Since when it does not answer, milliseconds; `None` while it does.
    pub unreachable_since_ms: Option<u64>,
    /// What the last attempt met.
    pub error: Option<String>,
}

/// What the anchor actor remembers of the node.
#[derive(Default)]
pub(crate) struct NodeProbe {
    next_at_ms: u64,
    failures: u32,
    failing_since_ms: u64,
}

impl Engine {
    /// How the chain's node is; `None` before it was asked, or where the server does not anchor.
    pub fn node(&self) -> Option<Arc<NodeHealth>> {
        self.inner.node.load_full()
    }
}

impl AnchorState {
    /// Asks the node for a sign of life, if it is time to; gives why it can't be used now.
    pub(crate) async fn probe_node(&mut self, now_ms: u64) -> Option<String> {
        if now_ms < self.node.next_at_ms {
            return None;
        }
        let rpc = self.sender.contract().rpc();
        let endpoint = rpc.endpoint().to_string();
        let error = match rpc.chain_id().await {
            // It answers: what it says is for others to judge.
            Ok(_) | Err(RpcError::Node(_)) => {
                self.node_answers(endpoint, now_ms);
                return None;
            }
            Err(error) => error.to_string(),
        };
        if self.node.failures == 0 {
            self.node.failing_since_ms = now_ms;
        }
        self.node.failures = self.node.failures.saturating_add(1);
        if self.node.failures == FAILURES_MIN {
            tracing::warn!(
                node = endpoint,
                error,
                "the chain's node does not answer; nothing is anchored"
            );
        }
        if self.node.failures >= FAILURES_MIN {
            metrics::gauge!(metric::CHAIN_NODE_REACHABLE).set(0.0);
            let health = NodeHealth {
                endpoint: endpoint.clone(),
                unreachable_since_ms: Some(self.node.failing_since_ms),
                error: Some(error.clone()),
            };
            self.engine.inner.node.store(Some(Arc::new(health)));
        }
        Some(format!(
            "the chain's node {endpoint} does not answer: {error}"
        ))
    }

    fn node_answers(&mut self, endpoint: String, now_ms: u64) {
        if self.node.failures >= FAILURES_MIN {
            let away_s = now_ms.saturating_sub(self.node.failing_since_ms) / 1_000;
            tracing::info!(node = endpoint, away_s, "the chain's node answers again");
        }
        self.node = NodeProbe {
            next_at_ms: now_ms + PROBE_MS,
            ..NodeProbe::default()
        };
        metrics::gauge!(metric::CHAIN_NODE_REACHABLE).set(1.0);
        let health = NodeHealth {
            endpoint,
            unreachable_since_ms: None,
            error: None,
        };
        self.engine.inner.node.store(Some(Arc::new(health)));
    }
}

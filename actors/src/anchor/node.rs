//! Probe of the chain's node. A server works without the node; the probe reports that it is missing.

use std::cmp::Ordering;
use std::sync::Arc;

use kedge_chain::rpc::RpcError;

use super::state::{AnchorActorState, NodeProbe};
use crate::messages::NodeHealth;
use crate::metric_definitions as metric;

/// How often a node that answers is probed, milliseconds.
const PROBE_MS: u64 = 10_000;
/// How often the log repeats that a node does not answer, milliseconds.
const REPORT_MS: u64 = 600_000;
/// Consecutive failures after which a node counts as unreachable.
const FAILURES_MIN: u32 = 2;

impl NodeProbe {
    /// Whether to log an outage now: once it is certain, and every ten minutes from then on.
    fn must_report(&mut self, now_ms: u64) -> bool {
        let is_due = match self.failures.cmp(&FAILURES_MIN) {
            Ordering::Less => false,
            Ordering::Equal => true,
            Ordering::Greater => now_ms.saturating_sub(self.reported_ms) >= REPORT_MS,
        };
        if is_due {
            self.reported_ms = now_ms;
        }
        is_due
    }
}

impl AnchorActorState {
    /// Probes the node if it is due. Returns why it cannot be used now.
    pub(crate) async fn probe_node(&mut self, now_ms: u64) -> Option<String> {
        if now_ms < self.node.next_at_ms {
            return None;
        }
        let rpc = self.sender.contract().rpc();
        let endpoint = rpc.endpoint().to_string();
        let error = match rpc.chain_id().await {
            // The node answers; whether the answer is right is judged elsewhere.
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
        if self.node.must_report(now_ms) {
            let away_s = now_ms.saturating_sub(self.node.failing_since_ms) / 1_000;
            tracing::warn!(
                node = endpoint,
                error,
                away_s,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_node_is_reported_when_it_is_certain_and_every_ten_minutes() {
        let mut node = NodeProbe::default();
        let mut reported = Vec::new();
        for second in 0..3_000 {
            node.failures += 1;
            if node.must_report(second * 1_000) {
                reported.push(second);
            }
        }
        assert_eq!(reported, [1, 601, 1_201, 1_801, 2_401]);
    }
}

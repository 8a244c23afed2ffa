//! Anchors of a cluster's log, and nodes that lose a part of their data, in half of the seeds. The contract accepts
//! what a leading node has published. A node that then starts with a shorter log must read the rest from the servers
//! and may lead again: no conclusion from its short log may last.

use std::sync::Arc;

use kedge_actors::{AnchorSource, CheckpointAnswers};
use kedge_chain::contract::LatestCheckpoint;
use kedge_protocol::log_tree;
use parking_lot::Mutex;

use super::node::SimulatedMember;
use crate::plan::Violation;
use crate::random::SimulationRandom;

/// Limit on the rate of anchors, per ten thousand looks.
const ANCHORED_MAX: u64 = 400;
/// Limit on the rate of data losses, per ten thousand looks.
const LOST_MAX: u64 = 60;

/// The contract, as all nodes see it.
#[derive(Default)]
pub(super) struct SharedContract(Mutex<Option<LatestCheckpoint>>);

impl AnchorSource for SharedContract {
    fn latest(&self) -> CheckpointAnswers<'_> {
        let latest: Vec<LatestCheckpoint> = self.0.lock().iter().copied().collect();
        Box::pin(std::future::ready(Ok(latest)))
    }
}

/// Loss of a node's data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NodeDataLoss {
    /// The whole log.
    All,
    /// Everything newer than a copy; without a copy, one is made instead.
    NewerThanCopy,
}

/// Anchoring and data loss of a run. A separate random source keeps other runs unchanged.
pub(super) struct NodesAnchoring {
    pub(super) contract: Arc<SharedContract>,
    random: SimulationRandom,
    anchored: u64,
    lost: u64,
}

impl NodesAnchoring {
    /// `None` in half of all runs.
    pub(super) fn of(seed: u64) -> Option<Self> {
        let mut random = SimulationRandom::new(seed, 98);
        (random.below(2) == 0).then(|| Self {
            contract: Arc::default(),
            anchored: 1 + random.below(ANCHORED_MAX),
            lost: random.rate(LOST_MAX),
            random,
        })
    }

    /// Anchors what a leading node has published, now and then.
    pub(super) fn anchor(&mut self, nodes: &[SimulatedMember]) -> Result<(), Violation> {
        if !self.random.chance(self.anchored) {
            return Ok(());
        }
        for node in nodes.iter().filter(|node| node.leads()) {
            let Some(running) = node.running() else {
                continue;
            };
            let published = running.engine.published();
            let batches = published.head.batches;
            let mut latest = self.contract.0.lock();
            if latest.is_some_and(|latest| latest.batches >= batches) || batches == 0 {
                continue;
            }
            let root = log_tree::root(&published.snapshot, batches);
            *latest = Some(LatestCheckpoint {
                batches,
                sequence: published.head.sequence,
                history: root
                    .map_err(|error| Violation::new("a node's log cannot be read", error))?,
            });
        }
        Ok(())
    }

    /// Draws the node that loses data now, and the loss.
    pub(super) fn loses(&mut self, nodes: usize) -> Option<(usize, NodeDataLoss)> {
        let random = &mut self.random;
        if !random.chance(self.lost) {
            return None;
        }
        let node = random.below(nodes as u64) as usize;
        let lost = if random.below(3) == 0 {
            NodeDataLoss::All
        } else {
            NodeDataLoss::NewerThanCopy
        };
        Some((node, lost))
    }
}

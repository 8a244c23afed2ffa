//! The log tree, with all nodes in memory.

use std::collections::HashMap;
use std::convert::Infallible;

use kedge_protocol::Hash;
use kedge_protocol::log_tree::{self, TreeFrontier, TreeNodes};

/// The log tree over the followed batches.
#[derive(Default)]
pub(super) struct FollowedTree {
    frontier: TreeFrontier,
    nodes: HashMap<(u32, u64), Hash>,
}

impl TreeNodes for FollowedTree {
    type Error = Infallible;

    fn node(&self, level: u32, index: u64) -> Result<Hash, Infallible> {
        Ok(self.nodes[&(level, index)])
    }
}

impl FollowedTree {
    pub(super) fn size(&self) -> u64 {
        self.frontier.size()
    }

    /// Continues with the tree of `size` leaves whose complete subtrees have these roots, largest first. Roots and
    /// paths of smaller trees are then unknown. False if the number of roots does not fit the size.
    pub(super) fn begin_at(&mut self, size: u64, peaks: &[Hash]) -> bool {
        let Some(frontier) = TreeFrontier::of_peaks(size, peaks.to_vec()) else {
            return false;
        };
        let levels = (0..u64::BITS).rev().filter(|level| size >> level & 1 == 1);
        let nodes = levels.zip(peaks);
        self.nodes = nodes
            .map(|(level, hash)| ((level, (size >> level) - 1), *hash))
            .collect();
        self.frontier = frontier;
        true
    }

    pub(super) fn append(&mut self, batch_hash: &Hash) {
        for node in self.frontier.append(log_tree::leaf(batch_hash)) {
            self.nodes.insert((node.level, node.index), node.hash);
        }
    }

    pub(super) fn root(&self, size: u64) -> Hash {
        let Ok(root) = log_tree::root(self, size);
        root
    }

    pub(super) fn inclusion(&self, index: u64, size: u64) -> Vec<Hash> {
        let Ok(path) = log_tree::inclusion_path(self, index, size);
        path
    }

    pub(super) fn consistency(&self, from: u64, to: u64) -> Vec<Hash> {
        let Ok(path) = log_tree::consistency_path(self, from, to);
        path
    }
}

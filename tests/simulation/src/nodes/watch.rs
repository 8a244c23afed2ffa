//! Checks between nodes: one node leads a term, and the others learn a follower's position.

use std::collections::BTreeMap;

use kedge_cluster::LeadState;
use kedge_cluster::node::ReplicaRole;

use super::node::SimulatedMember;
use super::process::NodeProcess;
use super::servers::SimulatedServers;
use crate::plan::Violation;

/// Time until a node hears another one's position without faults, milliseconds. It is repeated four times a second, and
/// each message may get lost.
const HEARD_WITHIN_MS: u64 = 3_000;

/// A follower's frame that another node has not heard of.
#[derive(Clone, Copy)]
struct UnheardFrame {
    frame: u64,
    since_ms: u64,
}

/// Observations of all nodes.
#[derive(Default)]
pub(super) struct NodesWatch {
    /// The leading node and its process, by term.
    leaders: BTreeMap<u64, (usize, u64)>,
    /// By the pair of the node that has not heard and the follower.
    unheard: BTreeMap<(usize, usize), UnheardFrame>,
}

impl NodesWatch {
    /// Checks all nodes after a turn.
    pub(super) fn look(
        &mut self,
        nodes: &[SimulatedMember],
        servers: &SimulatedServers,
        now_ms: u64,
    ) -> Result<(), Violation> {
        let running: Vec<Option<NodeProcess>> =
            nodes.iter().map(SimulatedMember::running).collect();
        for (node, running) in nodes.iter().zip(&running) {
            if let Some(running) = running {
                self.leads(node, running)?;
            }
        }
        let can_talk =
            |node: &SimulatedMember| servers.reaches(node.number) && !node.stands(now_ms);
        for (hearer, heard_by) in nodes.iter().zip(&running) {
            for (holder, held_by) in nodes.iter().zip(&running) {
                let pair = (hearer.number, holder.number);
                let unheard = match (heard_by, held_by) {
                    (Some(knows), Some(holds))
                        if pair.0 != pair.1 && can_talk(hearer) && can_talk(holder) =>
                    {
                        unheard(knows, holder.number, holds)
                    }
                    _ => None,
                };
                self.note(pair, unheard, now_ms)?;
            }
        }
        Ok(())
    }

    /// Checks that only one node leads a term, whatever others hold or publish.
    fn leads(&mut self, node: &SimulatedMember, running: &NodeProcess) -> Result<(), Violation> {
        let LeadState::Leading { term } = *running.leading.watch().borrow() else {
            return Ok(());
        };
        let this = (node.number, node.lives);
        let first = *self.leaders.entry(term).or_insert(this);
        if first != this {
            return Err(Violation::new("two nodes lead one term", term));
        }
        Ok(())
    }

    /// Notes that a node has not heard of another one's frames from `heard` up to `held`.
    fn note(
        &mut self,
        pair: (usize, usize),
        unheard: Option<(u64, u64)>,
        now_ms: u64,
    ) -> Result<(), Violation> {
        let Some((heard, held)) = unheard else {
            self.unheard.remove(&pair);
            return Ok(());
        };
        let new = UnheardFrame {
            frame: held,
            since_ms: now_ms,
        };
        let waits = self.unheard.entry(pair).or_insert(new);
        if heard >= waits.frame {
            *waits = new;
        }
        if now_ms > waits.since_ms + HEARD_WITHIN_MS {
            let what = format!(
                "node {} does not learn that node {} holds a frame",
                pair.0, pair.1
            );
            return Err(Violation::new(&what, waits.frame));
        }
        Ok(())
    }
}

/// A node's last report of a follower, and the follower's position, if that is further.
fn unheard(knows: &NodeProcess, holder: usize, holds: &NodeProcess) -> Option<(u64, u64)> {
    // A leader's writes are not reported. It only shows that it leads once its log has a first key, and others hold
    // that.
    let writes = matches!(*holds.leading.watch().borrow(), LeadState::Leading { .. });
    let standing = holds.replica.standing();
    // A node does not report either before it has seen its last frame in the stream.
    if writes || standing.role != ReplicaRole::Follower || !standing.joined {
        return None;
    }
    let held = holds.store.log_position()?.frame;
    let synced = knows.replica.cluster().synced();
    let heard = synced.borrow().get(&format!("node-{holder}")).copied();
    let heard = heard.map_or(0, |synced| synced.frame);
    (heard < held).then_some((heard, held))
}

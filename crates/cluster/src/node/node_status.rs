//! Published status of a node.

use std::time::Duration;

use crate::StreamTailFrame;
use tokio::time::Instant;

/// Age after which a node's report counts as gone.
pub(crate) const FRESH: Duration = Duration::from_secs(4);
/// How long the log of a caught-up node may seem longer than the stream before it is not ready: a new leader of the
/// stream may not have applied everything yet.
const LONGER_MAX: Duration = Duration::from_secs(1);

/// Role of a node.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum ReplicaRole {
    #[default]
    Follower,
    Leader,
}

impl ReplicaRole {
    /// Name for headers, metrics and commands.
    pub fn name(self) -> &'static str {
        match self {
            Self::Follower => "follower",
            Self::Leader => "leader",
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeaderAddress {
    pub node: String,
    /// The URL for other nodes.
    pub url: String,
}

/// Reason for which a node must not lead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnfitReason {
    pub why: String,
    /// Whether the node should not answer reads either.
    pub bars_reads: bool,
}

/// Status of a node.
#[derive(Clone, Default, Debug)]
pub struct NodeStatus {
    /// The current role.
    pub role: ReplicaRole,
    /// The newest known term.
    pub term: u64,
    /// The leader, as far as known.
    pub leader: Option<LeaderAddress>,
    /// The last applied frame.
    pub frame: u64,
    /// The stream's last frame when last read.
    pub tail: u64,
    /// Whether the stream was last seen to hold this follower's last frame. Only then does it report its synced
    /// position.
    pub joined: bool,
    /// When it last had the whole stream.
    pub caught_up_at: Option<Instant>,
    /// Temporary obstacle: a leader that accepts no changes, or a follower that cannot read the stream's end or finds
    /// it shorter than its log.
    pub stalled: Option<String>,
    /// Permanent obstacle; the operator has to act.
    pub problem: Option<String>,
    /// Temporary reason not to lead.
    pub unfit: Option<UnfitReason>,
}

impl NodeStatus {
    /// Seconds since it last had the whole stream; `None` before the first time, 0 for a leader.
    pub fn lag_s(&self) -> Option<f64> {
        match self.role {
            ReplicaRole::Leader => Some(0.0),
            ReplicaRole::Follower => self.caught_up_at.map(|at| at.elapsed().as_secs_f64()),
        }
    }

    /// Records the stream's end as answered to a read that began when this node had `frame`. `longer_since` carries the
    /// start of a longer log between calls.
    pub(crate) fn saw_tail(
        &mut self,
        tail: Option<&StreamTailFrame>,
        frame: u64,
        looked_at: Instant,
        longer_since: &mut Option<Instant>,
    ) {
        if let Some(tail) = tail {
            self.tail = self.tail.max(tail.number);
            self.term = self.term.max(tail.term);
        }
        let longer = longer_than(tail, frame);
        *longer_since = longer.as_ref().and(longer_since.or(Some(looked_at)));
        let lasting = longer_since.is_some_and(|since| looked_at - since >= LONGER_MAX);
        // A node that was never caught up has not seen the rest in this stream.
        self.stalled = longer.filter(|_| lasting || self.caught_up_at.is_none());
        let has_all = tail.is_none_or(|tail| frame >= tail.number);
        if self.joined && has_all && self.stalled.is_none() {
            self.caught_up_at = Some(looked_at);
        }
    }
}

/// The problem of a stream that ends before this node's log.
pub(crate) fn longer_than(tail: Option<&StreamTailFrame>, own_frame: u64) -> Option<String> {
    match tail {
        None if own_frame > 0 => Some(format!(
            "the stream is empty, and this node holds {own_frame} frames: make the stream again with `kedge cluster reseed`"
        )),
        Some(tail) if tail.number < own_frame => Some(format!(
            "the stream ends with frame {}, and this node holds {own_frame}: the stream has lost frames. Make it again from the node with the longest log, with `kedge cluster reseed`",
            tail.number
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use kedge_protocol::Hash;

    use super::*;

    fn tail(number: u64) -> StreamTailFrame {
        StreamTailFrame {
            number,
            term: 3,
            format: 1,
            hash: Hash([1; 32]),
            place: number,
        }
    }

    // Holds invariant 251.
    #[test]
    fn a_node_whose_log_is_longer_than_the_stream_is_not_caught_up_from_the_first_look_on() {
        for tail in [Some(tail(172)), None] {
            let mut standing = NodeStatus::default();
            let mut since = None;
            standing.saw_tail(tail.as_ref(), 188, Instant::now(), &mut since);
            assert_eq!(standing.caught_up_at, None);
            let why = standing.stalled.unwrap();
            assert!(why.contains("188") && why.contains("reseed"), "{why}");
        }
        // An empty log is not longer than an empty stream.
        let mut standing = NodeStatus {
            joined: true,
            ..NodeStatus::default()
        };
        standing.saw_tail(None, 0, Instant::now(), &mut None);
        assert!(standing.caught_up_at.is_some() && standing.stalled.is_none());
    }

    // Holds invariant 251.
    #[test]
    fn a_node_is_caught_up_only_with_a_stream_that_holds_its_last_frame() {
        let mut standing = NodeStatus::default();
        let mut since = None;
        standing.saw_tail(Some(&tail(188)), 188, Instant::now(), &mut since);
        assert_eq!((standing.caught_up_at, &standing.stalled), (None, &None));
        standing.joined = true;
        standing.saw_tail(Some(&tail(189)), 188, Instant::now(), &mut since);
        assert_eq!(standing.caught_up_at, None);
        standing.saw_tail(Some(&tail(189)), 189, Instant::now(), &mut since);
        assert!(standing.caught_up_at.is_some());
    }

    // Holds invariant 251.
    #[test]
    fn a_server_that_lags_for_a_moment_makes_no_node_unready_and_one_that_stays_behind_does() {
        let mut standing = NodeStatus {
            joined: true,
            ..NodeStatus::default()
        };
        let (begun, mut since) = (Instant::now(), None);
        let mut look = |standing: &mut NodeStatus, number, ms| {
            let at = begun + Duration::from_millis(ms);
            standing.saw_tail(Some(&tail(number)), 188, at, &mut since);
            standing.stalled.is_none() && standing.caught_up_at == Some(at)
        };
        assert!(look(&mut standing, 188, 0));
        assert!(look(&mut standing, 187, 250));
        assert!(look(&mut standing, 188, 500));
        assert!(look(&mut standing, 187, 750));
        assert!(!look(&mut standing, 187, 1_750));
        assert!(!look(&mut standing, 187, 2_000));
        // The rest has arrived.
        assert!(look(&mut standing, 188, 2_250));
    }
}

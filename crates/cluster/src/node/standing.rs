//! What a node is at present, for those who ask.

use std::time::Duration;

use crate::Tail;
use tokio::time::Instant;

/// A node that has not stated its place for longer is not there.
pub(crate) const FRESH: Duration = Duration::from_secs(4);
/// How long the log of a node that was caught up may seem longer than the stream until it is not ready: a server that just
/// began to lead the stream may not have applied everything yet.
const LONGER_MAX: Duration = Duration::from_secs(1);

/// What a node does with the log.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Role {
    /// It applies what the leader writes.
    #[default]
    Follower,
    /// It writes.
    Leader,
}

impl Role {
    /// Its name, in headers, metrics and commands.
    pub fn name(self) -> &'static str {
        match self {
            Self::Follower => "follower",
            Self::Leader => "leader",
        }
    }
}

/// The node that leads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Leader {
    /// Its name.
    pub node: String,
    /// The URL under which it is reached.
    pub url: String,
}

/// Why a node must not lead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unfit {
    /// Why.
    pub why: String,
    /// Whether it should not answer reads either.
    pub bars_reads: bool,
}

/// What a node is at present.
#[derive(Clone, Default, Debug)]
pub struct Standing {
    /// What it does.
    pub role: Role,
    /// The newest term it knows.
    pub term: u64,
    /// Who leads, as far as it knows.
    pub leader: Option<Leader>,
    /// The last frame it has applied.
    pub frame: u64,
    /// The last frame of the stream, when that was last seen.
    pub tail: u64,
    /// Whether the stream was last seen to hold its last frame, if it follows. Only then does it report what it has synced.
    pub joined: bool,
    /// When it last had everything that the stream had.
    pub caught_up_at: Option<Instant>,
    /// Why it accepts no changes although it leads, or does not know how far the stream is although it follows, or finds it
    /// shorter than its log, if so. It continues by itself.
    pub stalled: Option<String>,
    /// Why it cannot continue, if so; the operator has to act.
    pub problem: Option<String>,
    /// Why it must not lead as things are, if so. It continues by itself once that is no longer so.
    pub unfit: Option<Unfit>,
}

impl Standing {
    /// Seconds since it had everything that the stream had; `None` before that was ever so. A leader has it always.
    pub fn lag_s(&self) -> Option<f64> {
        match self.role {
            Role::Leader => Some(0.0),
            Role::Follower => self.caught_up_at.map(|at| at.elapsed().as_secs_f64()),
        }
    }

    /// Notes where the stream ended in answer to a question that was asked when this node had a frame. `longer_since` is kept
    /// from look to look: since when the log is longer.
    pub(crate) fn saw_tail(
        &mut self,
        tail: Option<&Tail>,
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
        // A node that has not been caught up yet has seen nothing of the rest in this stream.
        self.stalled = longer.filter(|_| lasting || self.caught_up_at.is_none());
        let has_all = tail.is_none_or(|tail| frame >= tail.number);
        if self.joined && has_all && self.stalled.is_none() {
            self.caught_up_at = Some(looked_at);
        }
    }
}

/// What is wrong with a stream that ends before this node's log, if it does.
pub(crate) fn longer_than(tail: Option<&Tail>, own_frame: u64) -> Option<String> {
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

    fn tail(number: u64) -> Tail {
        Tail {
            number,
            term: 3,
            format: 1,
            hash: Hash([1; 32]),
            place: number,
        }
    }

    #[test]
    fn a_node_whose_log_is_longer_than_the_stream_is_not_caught_up_from_the_first_look_on() {
        for tail in [Some(tail(172)), None] {
            let mut standing = Standing::default();
            let mut since = None;
            standing.saw_tail(tail.as_ref(), 188, Instant::now(), &mut since);
            assert_eq!(standing.caught_up_at, None);
            let why = standing.stalled.unwrap();
            assert!(why.contains("188") && why.contains("reseed"), "{why}");
        }
        // An empty log is no longer than an empty stream.
        let mut standing = Standing {
            joined: true,
            ..Standing::default()
        };
        standing.saw_tail(None, 0, Instant::now(), &mut None);
        assert!(standing.caught_up_at.is_some() && standing.stalled.is_none());
    }

    #[test]
    fn a_node_is_caught_up_only_with_a_stream_that_holds_its_last_frame() {
        let mut standing = Standing::default();
        let mut since = None;
        standing.saw_tail(Some(&tail(188)), 188, Instant::now(), &mut since);
        assert_eq!((standing.caught_up_at, &standing.stalled), (None, &None));
        standing.joined = true;
        standing.saw_tail(Some(&tail(189)), 188, Instant::now(), &mut since);
        assert_eq!(standing.caught_up_at, None);
        standing.saw_tail(Some(&tail(189)), 189, Instant::now(), &mut since);
        assert!(standing.caught_up_at.is_some());
    }

    #[test]
    fn a_server_that_lags_for_a_moment_makes_no_node_unready_and_one_that_stays_behind_does() {
        let mut standing = Standing {
            joined: true,
            ..Standing::default()
        };
        let (begun, mut since) = (Instant::now(), None);
        let mut look = |standing: &mut Standing, number, ms| {
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
        // The rest has come.
        assert!(look(&mut standing, 188, 2_250));
    }
}

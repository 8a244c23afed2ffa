//! What a node is at present, for those who ask.

use std::time::Duration;

use tokio::time::Instant;

/// A node that has not stated its place for longer is not there.
pub(crate) const FRESH: Duration = Duration::from_secs(4);

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
    /// When it last had everything that the stream had.
    pub caught_up_at: Option<Instant>,
    /// Why it accepts no changes although it leads, or does not know how far the stream is although it follows, if so. It
    /// continues by itself.
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
}

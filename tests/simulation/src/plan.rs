//! What to run, and what it may find.

use std::fmt;

/// Steps of a run that is not asked for more.
pub const STEPS: u64 = 5_000;

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Every choice follows from it.
    pub seed: u64,
    /// Steps of actors and of the commit path until faults stop and the end is checked.
    pub steps: u64,
    /// Whether to print, to the standard error, what happens in each process.
    pub tell: bool,
}

impl Plan {
    /// A run of the usual length.
    pub fn of(seed: u64) -> Self {
        Self {
            seed,
            steps: STEPS,
            tell: false,
        }
    }
}

/// What a run found wrong.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Violation(pub(crate) String);

impl Violation {
    pub(crate) fn new(what: &str, about: impl fmt::Display) -> Self {
        Self(format!("{what}: {about}"))
    }
}

//! Parameters of a run, and violations.

use std::fmt;

/// Default number of steps.
pub const STEPS: u64 = 5_000;

/// Parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct SimulationPlan {
    /// Seed of all choices.
    pub seed: u64,
    /// Steps of actors and commit path until faults stop and the end is checked.
    pub steps: u64,
    /// Whether to print each process's events to standard error.
    pub tell: bool,
}

impl SimulationPlan {
    /// A run of the default length.
    pub fn of(seed: u64) -> Self {
        Self {
            seed,
            steps: STEPS,
            tell: false,
        }
    }
}

/// A property that a run found broken.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Violation(pub(crate) String);

impl Violation {
    pub(crate) fn new(what: &str, about: impl fmt::Display) -> Self {
        Self(format!("{what}: {about}"))
    }
}

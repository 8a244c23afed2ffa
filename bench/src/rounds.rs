//! Interleaved measurements of several subjects, so that changes on the machine affect all of them.

use std::time::Duration;

use serde::Serialize;

use crate::generator::DriveEnd;

/// Pause between two runs, so that leftover work of one does not affect the next.
pub(crate) const SETTLE: Duration = Duration::from_secs(2);

/// How often to measure each subject, and for how long.
#[derive(Clone, Copy, clap::Args, Serialize)]
pub(crate) struct RoundOptions {
    /// How often to measure each.
    #[arg(long, default_value_t = 5)]
    pub(crate) runs: usize,
    /// Seconds before each measurement.
    #[arg(long, default_value_t = 2)]
    pub(crate) warm_up_s: u64,
    /// Seconds of each measurement.
    #[arg(long, default_value_t = 8)]
    pub(crate) duration_s: u64,
}

impl RoundOptions {
    /// End of one measurement.
    pub(crate) fn end(self) -> DriveEnd {
        DriveEnd::After {
            warm_up: Duration::from_secs(self.warm_up_s),
            measure: self.duration(),
        }
    }

    /// Length of one measurement, without its warm-up.
    pub(crate) fn duration(self) -> Duration {
        Duration::from_secs(self.duration_s)
    }

    /// Indices of the subjects in the order of their turns. Each starts a round once, so that none always follows the
    /// same one.
    pub(crate) fn order(self, subjects: usize) -> impl Iterator<Item = usize> {
        let rounds = 0..self.runs;
        rounds.flat_map(move |round| (0..subjects).map(move |turn| (turn + round) % subjects))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_subject_begins_a_round() {
        let turns = RoundOptions {
            runs: 4,
            warm_up_s: 0,
            duration_s: 1,
        };
        let order: Vec<usize> = turns.order(3).collect();
        assert_eq!(order, [0, 1, 2, 1, 2, 0, 2, 0, 1, 0, 1, 2]);
    }
}

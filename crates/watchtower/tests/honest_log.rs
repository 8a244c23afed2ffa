//! A watchtower on random honest logs: no batches, requests, rotations, anchors or restarts lead to a finding.

#![allow(clippy::unwrap_used, reason = "a test file: a panic is the failure")]

#[path = "support/honest.rs"]
mod honest;
#[path = "../../../tests/support/rng.rs"]
#[allow(dead_code, reason = "other tests take the other parts")]
mod rng;

use std::collections::BTreeMap;

use kedge_protocol::checkpoint::SignedCheckpoint;
use kedge_watchtower::tower::Watchtower;

use honest::Honest;
use rng::Rng;

/// Histories per run.
const HISTORIES: usize = 8;
/// Rounds per history.
const ROUNDS: u64 = 6;
/// Longer than any history.
const PATIENCE_S: u64 = 100_000;

/// A watchtower and its simulated on-disk state.
struct Watched {
    tower: Watchtower,
    followed: u64,
    checkpoints: Vec<SignedCheckpoint>,
}

impl Watched {
    fn new(log: &Honest) -> Self {
        Self {
            tower: Watchtower::new(log.trust(), PATIENCE_S),
            followed: 0,
            checkpoints: Vec::new(),
        }
    }

    fn restart(&mut self, log: &Honest) {
        let lacking: BTreeMap<u64, u64> = self.tower.lacking().clone();
        self.tower = Watchtower::new(log.trust(), PATIENCE_S);
        for batch in &log.batches[..usize::try_from(self.followed).unwrap()] {
            self.tower.resume(&batch.signed).unwrap();
        }
        self.tower.resume_lacking(lacking);
        for signed in &self.checkpoints {
            self.tower.checkpoint(signed).unwrap();
        }
    }

    fn checkpoint(&mut self, signed: SignedCheckpoint) {
        self.checkpoints.push(signed);
        self.tower.checkpoint(&signed).unwrap();
    }

    /// Follows batch `number`, sometimes without its requests or its leaves.
    fn follow(&mut self, log: &Honest, rng: &mut Rng, number: u64) {
        let batch = log.batch(number);
        if rng.below(8) == 0 {
            self.tower.follow(&batch.signed, &[]).unwrap();
        }
        if rng.below(8) > 0 {
            self.tower.follow(&batch.signed, &batch.leaves).unwrap();
        }
        self.followed = self.tower.batches();
        // Large batches are skipped, because opening hundreds of actions takes seconds.
        if batch.leaves.len() < 60 && rng.below(2) == 0 {
            for record in &batch.records {
                let request = self.tower.request(&batch.signed, &batch.leaves, record);
                request.unwrap();
            }
        }
    }

    /// One round: the chain, supplied items, the log.
    fn round(&mut self, log: &mut Honest, rng: &mut Rng) {
        self.tower.trust(log.trust());
        for signed in log.take_anchored() {
            self.checkpoint(signed);
        }
        let batches = log.batches.len() as u64;
        for _ in 0..rng.below(4) {
            let batch = log.batch(rng.below(batches));
            self.tower.header(&batch.signed).unwrap();
            let (leaf, index, path, previous) = batch.opened(rng);
            let action = self
                .tower
                .action(&batch.signed, leaf, index, path, previous);
            action.unwrap();
        }
        let reach = if rng.below(4) == 0 {
            self.followed + rng.below(batches - self.followed + 1)
        } else {
            batches
        };
        let from = if rng.below(4) == 0 {
            0
        } else {
            self.followed.saturating_sub(1)
        };
        for number in from..reach {
            self.follow(log, rng, number);
        }
        if rng.below(2) == 0 {
            self.checkpoint(log.checkpoint(batches));
        }
        let is_current = self.tower.batches() == batches;
        self.tower.review(is_current);
    }
}

// Holds invariant 69.
#[test]
fn nothing_is_found_in_honest_logs() {
    let mut rng = Rng::seeded("honest_log");
    for history in 0..HISTORIES {
        let mut log = Honest::new(rng.fork());
        log.batch_of_random_size();
        let mut watched = Watched::new(&log);
        for round in 0..ROUNDS {
            for _ in 0..=rng.below(3) {
                log.go_on();
            }
            watched.round(&mut log, &mut rng);
            if rng.below(3) == 0 {
                watched.restart(&log);
            }
            let found = watched.tower.take_findings();
            assert!(
                found.is_empty(),
                "history {history}, round {round}: {found:?}"
            );
        }
        // In the end everything is followed, and every leaf is known.
        for number in 0..log.batches.len() as u64 {
            let batch = log.batch(number);
            watched.tower.follow(&batch.signed, &batch.leaves).unwrap();
        }
        watched.tower.review(true);
        assert_eq!(watched.tower.take_findings(), []);
        assert_eq!(watched.tower.lacking(), &BTreeMap::new());
        assert_eq!(watched.tower.batches(), log.batches.len() as u64);
    }
}

//! Comparison of all seen items with the followed log, the anchored checkpoints and the operator's debts.

use kedge_protocol::Hash;
use kedge_protocol::checkpoint::SignedCheckpoint;
use kedge_protocol::evidence::{CheckpointEvidence, Evidence, LeafEvidence};
use kedge_protocol::hash::keccak;

use super::{ActionChallenge, Finding, TowerHeader, Watchtower, WithheldLeaves};

/// Limit of simultaneous demands for leaves: each takes a deposit, and one unanswered demand already costs the bond.
const WITHHELD_MAX: usize = 8;

impl Watchtower {
    /// Compares all seen items with the followed log and the anchored checkpoints. `is_current` states that the log was
    /// followed to its end after all other items arrived: only then does a header absent from the log count as missing.
    pub fn review(&mut self, is_current: bool) {
        let anchored = self.anchored_reach();
        if let Some(anchored) = anchored {
            let from = self.reviewed.min(anchored);
            let unreviewed: Vec<TowerHeader> = self
                .followed
                .range(from..anchored)
                .map(|(_, known)| *known)
                .collect();
            for known in unreviewed {
                self.review_header(&known, anchored);
            }
            self.reviewed = self.reviewed.max(anchored);
        }
        for known in self.aside.clone() {
            if let Some(anchored) = anchored {
                self.review_header(&known, anchored);
            }
            let number = known.header().number;
            let served = self.served(number);
            let is_served = served.is_some_and(|served| served.header() == known.header());
            let is_archived = number < self.beginning;
            if is_current
                && !is_served
                && !is_archived
                && anchored.is_none_or(|batches| number >= batches)
            {
                self.report_missing(&known);
            }
        }
        self.review_anchored();
        self.review_withheld();
        self.review_overdue();
        self.review_unauthorised(anchored);
        // The followed log only grows, so each comparison with it is final.
        for (signed, key_index) in std::mem::take(&mut self.unreviewed) {
            if !self.review_checkpoint(&signed, key_index, anchored) {
                self.unreviewed.push((signed, key_index));
            }
        }
    }

    /// Finds anchored checkpoints that differ from the served log: the last header served below such a checkpoint
    /// cannot be shown to be anchored. A later checkpoint extends earlier ones, so each is compared once.
    fn review_anchored(&mut self) {
        let size = self.tree.size();
        let mut differing = Vec::new();
        for (batches, history) in self.trust.anchored.range(self.agreed + 1..) {
            if *batches > size {
                break;
            }
            if self.tree.root(*batches) == *history {
                self.agreed = *batches;
            } else {
                differing.push(*batches);
            }
        }
        for batches in differing {
            if let Some(known) = self.served(batches - 1) {
                self.report_missing(&known);
            }
        }
    }

    /// Finds anchored batches whose leaves the operator has not published in time.
    fn review_withheld(&mut self) {
        let Some((anchored, _)) = self.trust.anchored.last_key_value() else {
            return;
        };
        let coverage = self.trust.coverage;
        let (anchored, now_s) = (*anchored, self.trust.now_s);
        // Of the batches that cannot be followed, the lowest suffice: the log continues after them.
        let unfollowed: Vec<u64> = (self.tree.size().max(coverage.from_batch)..anchored)
            .filter(|number| !self.published.contains(number))
            .take(WITHHELD_MAX)
            .collect();
        for number in unfollowed {
            self.lacking.entry(number).or_insert(now_s);
        }
        let is_due = |(number, since_s): &(&u64, &u64)| {
            coverage.holds(**number)
                && **number < anchored
                && now_s >= since_s.saturating_add(self.patience_s)
        };
        let due = self.lacking.iter().filter(is_due).take(WITHHELD_MAX);
        let due: Vec<WithheldLeaves> = due
            .filter_map(|(number, _)| {
                let mut holding = self.trust.anchored.range(number + 1..);
                Some(WithheldLeaves {
                    number: *number,
                    anchored_batches: *holding.next()?.0,
                })
            })
            .collect();
        for withheld in due {
            let id = keccak(format!("withheld {}", withheld.number).as_bytes());
            self.report(id, Finding::Withheld(withheld));
        }
    }

    /// Finds the first header without a checkpoint that was signed too long ago.
    fn review_overdue(&mut self) {
        let anchored = self.trust.anchored.last_key_value();
        let number = anchored.map_or(0, |(batches, _)| *batches);
        let Some(known) = self.served(number) else {
            return;
        };
        let due_s = (known.header().sealed_at_ms / 1_000).saturating_add(self.patience_s);
        if self.trust.coverage.holds(number) && self.trust.now_s > due_s {
            let id = keccak(format!("overdue {}", known.header().hash()).as_bytes());
            self.report(id, Finding::Overdue(Box::new(known.batch)));
        }
    }

    fn review_unauthorised(&mut self, anchored: Option<u64>) {
        let reach = anchored.unwrap_or(0);
        let is_held = |action: &LeafEvidence| {
            let header = &action.batch.header;
            let served = self.served(header.number);
            header.number < reach && served.is_some_and(|served| served.header() == header)
        };
        let (held, waiting) = self.unauthorised.iter().cloned().partition(is_held);
        self.unauthorised = waiting;
        let held: Vec<LeafEvidence> = held;
        for action in held {
            let challenge = ActionChallenge {
                batch_path: self.tree.inclusion(action.batch.header.number, reach),
                anchored_batches: reach,
                action,
            };
            let id = challenge.action.leaf.hash();
            self.report(id, Finding::Unauthorised(Box::new(challenge)));
        }
    }

    pub(super) fn served(&self, number: u64) -> Option<TowerHeader> {
        self.followed.get(&number).copied()
    }

    fn report_missing(&mut self, known: &TowerHeader) {
        let batch = Box::new(known.batch);
        self.report(known.header().hash(), Finding::Missing(batch));
    }

    /// The largest anchored checkpoint that agrees with the followed log.
    fn anchored_reach(&self) -> Option<u64> {
        let leads = |(batches, history): &(&u64, &Hash)| self.tree.root(**batches) == **history;
        let known = self.beginning.max(1)..=self.tree.size();
        if known.is_empty() {
            return None;
        }
        let mut anchored = self.trust.anchored.range(known).rev();
        anchored.find(leads).map(|(batches, _)| *batches)
    }

    fn review_header(&mut self, known: &TowerHeader, anchored: u64) {
        let header = *known.header();
        if header.number >= anchored {
            return;
        }
        let Some(held) = self.served(header.number) else {
            return;
        };
        let held = held.header().hash();
        if held != header.hash() {
            let path = self.tree.inclusion(header.number, anchored);
            self.prove(Evidence::OmittedBatch {
                left: known.evidence(),
                anchored_batches: anchored,
                held,
                path,
            });
        }
        let beginning = self.tree.root(header.number);
        if header.number > 0 && beginning != header.history {
            let proof = self.tree.consistency(header.number, anchored);
            self.prove(Evidence::FalseHistory {
                batch: known.evidence(),
                anchored_batches: anchored,
                beginning,
                proof,
            });
        }
    }

    /// Compares a checkpoint; false if the followed log and its anchored part do not suffice yet.
    fn review_checkpoint(
        &mut self,
        signed: &SignedCheckpoint,
        key_index: u32,
        anchored: Option<u64>,
    ) -> bool {
        let checkpoint = &signed.checkpoint;
        let batches = checkpoint.batches;
        if batches > self.tree.size() {
            return false;
        }
        // Archived batches cannot be compared.
        if batches < self.beginning {
            return true;
        }
        let root = self.tree.root(batches);
        let evidence = CheckpointEvidence::of(signed, key_index);
        if let Some(last) = self.served(batches - 1)
            && root == checkpoint.history
        {
            let last = *last.header();
            self.prove(Evidence::FalseCheckpoint {
                signed: evidence,
                last,
                path: self.tree.inclusion(batches - 1, batches),
            });
            return true;
        }
        let Some(anchored) = anchored.filter(|anchored| batches <= *anchored) else {
            return false;
        };
        let proof = self.tree.consistency(batches, anchored);
        self.prove(Evidence::FalseCheckpointHistory {
            signed: evidence,
            anchored_batches: anchored,
            beginning: root,
            proof,
        });
        true
    }
}

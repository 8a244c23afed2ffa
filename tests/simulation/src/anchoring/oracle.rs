//! Checks of anchoring against the true chain, not a node's answers.

use std::time::Duration;

use kedge_actors::Engine;
use kedge_protocol::checkpoint::Checkpoint;
use kedge_protocol::log_tree;
use kedge_runtime::env::Env;
use kedge_storage::{AnchorProgress, AnchorRow, RowPage, StoreMode, StoreSnapshot};

use super::answer_watch::{self, AnswerWatch, BLOCKS_NEEDED};
use super::chain::IncludedTransaction;
use super::{AnchorWorld, SimulatedAnchoring};
use crate::plan::Violation;

const LOOK: Duration = Duration::from_millis(10);

fn unread(error: impl std::fmt::Display) -> Violation {
    Violation::new("the store cannot be read", error)
}

fn rows(snapshot: &StoreSnapshot) -> Result<Vec<AnchorRow>, Violation> {
    let all = RowPage {
        after: None,
        descending: false,
        limit: usize::MAX,
    };
    snapshot.anchors(all).map_err(unread)
}

/// Checks that a checkpoint sent by the server is the log's.
fn check_checkpoint(snapshot: &StoreSnapshot, checkpoint: &Checkpoint) -> Result<(), Violation> {
    let batches = checkpoint.batches;
    let differs = |what| Err(Violation::new(what, batches));
    let head = snapshot.head().map_err(unread)?;
    if batches == 0 || batches > head.batches {
        return differs("more was anchored than the log holds, batches");
    }
    if log_tree::root(snapshot, batches).map_err(unread)? != checkpoint.history {
        return differs("an anchor has another root than the log, batches");
    }
    let last = snapshot.batch(batches - 1).map_err(unread)?;
    let is_last = last.is_some_and(|last| {
        last.header.head == checkpoint.head && last.header.last_sequence() == checkpoint.sequence
    });
    if is_last {
        Ok(())
    } else {
        differs("an anchor ends in another action than the log, batches")
    }
}

impl AnchorWorld {
    /// Checks the stored anchors against the chain.
    fn check_rows(&self, rows: &[AnchorRow]) -> Result<(), Violation> {
        for row in rows
            .iter()
            .filter(|row| row.status != AnchorProgress::Failed)
        {
            let batches = row.checkpoint.checkpoint.batches;
            let is_same = |other: &&AnchorRow| {
                other.status != AnchorProgress::Failed
                    && other.checkpoint.checkpoint.batches == batches
            };
            if rows.iter().filter(is_same).count() > 1 {
                return Err(Violation::new("two anchors of the same, batches", batches));
            }
            if row.status == AnchorProgress::Finalized && self.is_honest {
                self.check_final(row)?;
            }
        }
        Ok(())
    }

    /// Checks that an anchor stored as final is in a final block.
    fn check_final(&self, row: &AnchorRow) -> Result<(), Violation> {
        let view = &self.chain.view;
        let number = row.block_number.unwrap_or(u64::MAX);
        let last = if self.nodes[0].has_finalized {
            view.finalized
        } else {
            // Without the tag, the server counts blocks; no block this deep is given up.
            let deep = view.head().number.saturating_sub(self.chain.depth);
            view.finalized.max(deep)
        };
        let block = view.block(number).filter(|_| number <= last);
        let wanted = row.checkpoint.checkpoint;
        let holds = block.is_some_and(|block| {
            let is_same = |taken: Checkpoint| {
                (taken.batches, taken.sequence, taken.history)
                    == (wanted.batches, wanted.sequence, wanted.history)
            };
            let mut taken = block.mined.iter().filter_map(IncludedTransaction::anchored);
            Some(block.hash) == row.block_hash && taken.any(is_same)
        });
        if holds {
            return Ok(());
        }
        let what = "an anchor counts as final and is not, batches";
        let about = format!(
            "{} in block {number}, the last one that stays is {last}",
            wanted.batches
        );
        Err(Violation::new(what, about))
    }

    /// Checks that transactions were stored before they were sent.
    fn check_stored(&self, rows: &[AnchorRow]) -> Result<(), Violation> {
        for (hash, checkpoint) in &self.sent {
            if !rows.iter().any(|row| row.tx_hashes.contains(hash)) {
                let what = "a transaction was sent and is not in the store, batches";
                return Err(Violation::new(what, checkpoint.batches));
            }
        }
        Ok(())
    }
}

impl SimulatedAnchoring {
    /// Checks the chain, and the store that a process left.
    pub(crate) fn check(&self, snapshot: &StoreSnapshot) -> Result<(), Violation> {
        let mut world = self.world.lock();
        world.advance(self.machine.passed_ms());
        if let Some(violation) = world.violation.take() {
            return Err(violation);
        }
        for checkpoint in world.chain.taken.iter().chain(world.sent.values()) {
            check_checkpoint(snapshot, checkpoint)?;
        }
        let rows = rows(snapshot)?;
        world.check_stored(&rows)?;
        world.check_rows(&rows)?;
        world.watch.check(snapshot)
    }

    /// Waits until writes are accepted, once faults have stopped.
    pub(crate) async fn settle(&self, engine: &Engine) -> Result<(), Violation> {
        let until = self.machine.now() + self.patience();
        while let StoreMode::ReadOnly(why) = engine.mode() {
            if self.machine.now() > until {
                let what = "nothing is wrong with the chain any more, and nothing is accepted";
                return Err(Violation::new(what, why));
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(())
    }

    /// Waits until everything committed is anchored, every case is answered, and the store has it, once faults have
    /// stopped.
    pub(crate) async fn finish(&mut self, engine: &Engine) -> Result<(), Violation> {
        self.finish_anchors(engine).await?;
        self.finish_cases(engine).await?;
        self.check(&engine.published().snapshot)
    }

    /// Opens more cases. All that can still be answered must be answered in time, and nothing may stay in the store.
    async fn finish_cases(&mut self, engine: &Engine) -> Result<(), Violation> {
        let until = self.machine.now() + self.patience();
        let mut left = {
            let mut world = self.world.lock();
            world.advance(self.machine.passed_ms());
            let Some((_, challenger)) = &mut self.bond else {
                return Ok(());
            };
            for _ in 0..4 {
                challenger.begin(&mut world.chain, &engine.published().snapshot)?;
            }
            AnswerWatch::answerable(&world.chain, BLOCKS_NEEDED)
        };
        loop {
            let rows = answer_watch::rows(&engine.published().snapshot)?;
            let is_idle = {
                let mut world = self.world.lock();
                world.advance(self.machine.passed_ms());
                let Some((_, challenger)) = &mut self.bond else {
                    return Ok(());
                };
                challenger.go_on(&mut world.chain, &engine.published().snapshot)?;
                let open = AnswerWatch::answerable(&world.chain, 0);
                let time_s = world.chain.view.head().timestamp_s;
                left.retain(|case, deadline_s| open.contains_key(case) || *deadline_s < time_s);
                left.extend(open);
                if let Some((case, _)) = left.iter().find(|(_, deadline_s)| **deadline_s < time_s) {
                    let what = "nothing is wrong any more, but a case was not answered in time";
                    return Err(Violation::new(what, case));
                }
                challenger.is_idle()
            };
            if is_idle && left.is_empty() && rows.is_empty() {
                return Ok(());
            }
            if self.machine.now() > until {
                let what = "nothing is wrong any more, but not every case is over";
                let about = format!("{} are open, the store has {}", left.len(), rows.len());
                return Err(Violation::new(what, about));
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn finish_anchors(&self, engine: &Engine) -> Result<(), Violation> {
        let until = self.machine.now() + self.patience();
        let batches = engine.published().head.batches;
        loop {
            let published = engine.published();
            let rows = rows(&published.snapshot)?;
            let is_final = |row: &AnchorRow| {
                row.status == AnchorProgress::Finalized
                    && row.checkpoint.checkpoint.batches >= batches
            };
            let last = {
                let mut world = self.world.lock();
                world.advance(self.machine.passed_ms());
                let view = &world.chain.view;
                let block = view.block(view.finalized);
                block.map_or(0, |block| block.contract.latest().0)
            };
            if batches == 0 || (last >= batches && rows.iter().any(is_final)) {
                return Ok(());
            }
            if self.machine.now() > until {
                let what = "nothing is wrong any more, but not all is anchored";
                let rows = rows.last().map(|row| (row.status, row.tx_hashes.len()));
                let about = format!("{last} of {batches} batches, the last anchor {rows:?}");
                return Err(Violation::new(what, about));
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

//! Checks of answers to the bond against the true chain: content, timing, and storage.

use std::collections::{BTreeMap, BTreeSet};

use kedge_chain::responder::StoredAnswer;
use kedge_protocol::batch::BatchHeader;
use kedge_protocol::chain::LogLeaf;
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::{Hash, log_tree};
use kedge_storage::StoreSnapshot;

use super::bond::{DemandCase, DemandState, DemandSubject, action_id};
use super::bond_actions::UntrustedOpening;
use super::bond_calls::{BondCall, CheckpointedBatch};
use super::chain::{BlockView, SimulatedChain, SimulatedTransaction};
use super::contract::selector;
use super::lost_time::needed_ms;
use crate::client::DOMAIN;
use crate::plan::Violation;

/// Time for the server to learn that a case is finally answered, milliseconds: a node shows an older chain for less
/// than half a second.
const LEARNT_WITHIN_MS: u64 = 2_000;
/// Blocks that the server needs for an answer without faults.
pub(super) const BLOCKS_NEEDED: u64 = 100;
/// Blocks that the server may take to notice a reorganization.
pub(super) const KNOWN_WITHIN_BLOCKS: u64 = 60;

/// A transaction that answers a case.
struct SentAnswer {
    case: Hash,
    shows: AnswerEvidence,
    /// The newest block when the transaction was first sent.
    sent_at: u64,
}

enum AnswerEvidence {
    /// The signed action, in the batch with this hash.
    Action(Hash, LogLeaf, UntrustedOpening),
    /// The action is too old: a checkpoint already holds its batch.
    Stale(CheckpointedBatch, Hash),
    Leaves(CheckpointedBatch, Vec<Hash>),
    Inclusion(CheckpointedBatch),
}

/// A case that waits for its answer.
#[derive(Clone, Copy)]
struct CaseWait {
    since_ms: u64,
    /// Time lost up to then.
    lost_ms: u64,
    /// Maximum number of open cases since then.
    cases: u64,
    /// Whether its batch was not anchored at some time since then.
    waits_for_anchor: bool,
}

/// Observed answers.
#[derive(Default)]
pub(super) struct AnswerWatch {
    /// Every transaction that a node received from the server.
    answers: BTreeMap<Hash, SentAnswer>,
    /// Transactions that the store must have: no node's answer let the server forget them.
    kept: BTreeMap<Hash, BTreeSet<Hash>>,
    /// Time since which a final block shows a case as answered.
    answered_since_ms: BTreeMap<Hash, u64>,
    /// Expired cases.
    missed: BTreeSet<Hash>,
    waiting: BTreeMap<Hash, CaseWait>,
    /// The server's latest time. If its clock is now earlier or stands still, an anchor in flight may hang.
    clock_ms: u64,
    anchor_may_hang: bool,
}

fn read_answer(data: &[u8]) -> Option<(Hash, AnswerEvidence)> {
    Some(match BondCall::read(data)? {
        BondCall::AnswerAction {
            batch_hash,
            leaf,
            opened,
        } => {
            let case = action_id(batch_hash, leaf.hash());
            (case, AnswerEvidence::Action(batch_hash, leaf, opened))
        }
        BondCall::AnswerStale { answer, leaf } => {
            let case = action_id(answer.header.hash(), leaf);
            (case, AnswerEvidence::Stale(answer, leaf))
        }
        BondCall::AnswerLeaves { answer, leaves } => {
            let case = DemandSubject::leaves(answer.header.number).id();
            (case, AnswerEvidence::Leaves(answer, leaves))
        }
        BondCall::AnswerInclusion(held) => {
            let case = DemandSubject::inclusion(&held.header).id();
            (case, AnswerEvidence::Inclusion(held))
        }
        _ => return None,
    })
}

/// The case that calldata answers.
pub(super) fn answered_case(data: &[u8]) -> Option<Hash> {
    Some(read_answer(data)?.0)
}

fn cases(view: &BlockView, number: u64) -> impl Iterator<Item = (Hash, DemandCase)> {
    let block = view.block(number).and_then(|block| block.bond.as_ref());
    let cases = block.into_iter().flat_map(|bond| &bond.cases);
    cases.map(|(id, case)| (*id, *case))
}

fn unread(error: impl std::fmt::Display) -> Violation {
    Violation::new("the store cannot be read", error)
}

/// Checks the header against the log's batch, and its path to the checkpoint.
fn check_held(held: &CheckpointedBatch, snapshot: &StoreSnapshot) -> Result<(), Violation> {
    let number = held.header.number;
    let wrong = |what| Err(Violation::new(what, number));
    let batch = snapshot.batch(number).map_err(unread)?;
    if batch.map(|batch| batch.header) != Some(held.header) {
        return wrong("an answer has another header than the log, batch");
    }
    let anchored = held.anchored;
    if anchored <= number || anchored > snapshot.head().map_err(unread)?.batches {
        return wrong("an answer names a checkpoint that cannot hold its batch");
    }
    let path = log_tree::inclusion_path(snapshot, number, anchored).map_err(unread)?;
    if path != held.path {
        return wrong("an answer has another path than the log, batch");
    }
    Ok(())
}

/// Checks that the log has this action and that its signer requested it.
fn check_action(
    batch_hash: Hash,
    leaf: &LogLeaf,
    opened: &UntrustedOpening,
    snapshot: &StoreSnapshot,
) -> Result<(), Violation> {
    let sequence = leaf.sequence;
    let placed = snapshot.action_at(sequence).map_err(unread)?;
    let placed = placed.filter(|placed| placed.leaf() == *leaf);
    let batch = placed.map(|placed| snapshot.batch(placed.batch_number));
    let batch = batch.transpose().map_err(unread)?.flatten();
    let hash = batch.map(|batch| BatchHeader::hash(&batch.header));
    if hash != Some(batch_hash) {
        let what = "an answer has another action than the log, sequence";
        return Err(Violation::new(what, sequence));
    }
    if opened.authorises(leaf, &DOMAIN.separator()).is_err() {
        let what = "an answer does not show who asked for its action, sequence";
        return Err(Violation::new(what, sequence));
    }
    Ok(())
}

impl SentAnswer {
    /// Checks the answer against the log.
    fn check(&self, snapshot: &StoreSnapshot) -> Result<(), Violation> {
        match &self.shows {
            AnswerEvidence::Action(batch_hash, leaf, opened) => {
                check_action(*batch_hash, leaf, opened, snapshot)
            }
            AnswerEvidence::Inclusion(held) => check_held(held, snapshot),
            AnswerEvidence::Stale(held, leaf) => {
                check_held(held, snapshot)?;
                let leaves = snapshot.leaves(held.header.number).map_err(unread)?;
                if leaves.is_some_and(|leaves| leaves.contains(leaf)) {
                    return Ok(());
                }
                let what = "an answer names an action that its batch does not have, batch";
                Err(Violation::new(what, held.header.number))
            }
            AnswerEvidence::Leaves(held, leaves) => {
                check_held(held, snapshot)?;
                if !leaves.is_empty() && BatchTree::new(leaves).root() == held.header.root {
                    return Ok(());
                }
                let what = "an answer has other leaves than the log, batch";
                Err(Violation::new(what, held.header.number))
            }
        }
    }
}

impl AnswerWatch {
    /// Number of answering transactions, and of expired cases.
    pub(super) fn counts(&self) -> [usize; 2] {
        [self.answers.len(), self.missed.len()]
    }

    /// The case that a transaction of the server answers.
    pub(super) fn case_of(&self, transaction: Hash) -> Option<Hash> {
        Some(self.answers.get(&transaction)?.case)
    }

    /// Records a transaction of the server to the bond.
    pub(super) fn note_sent(
        &mut self,
        sent: &SimulatedTransaction,
        chain: &SimulatedChain,
        is_honest: bool,
        now_ms: u64,
    ) -> Result<(), Violation> {
        let answer = read_answer(&sent.data).filter(|_| sent.value_wei == 0);
        let Some((case, shows)) = answer else {
            let what = "the server sent something else to the bond than an answer, nonce";
            return Err(Violation::new(what, sent.nonce));
        };
        if !chain.opened.iter().any(|(opened, _)| *opened == case) {
            return Err(Violation::new(
                "nobody asked for what was answered, case",
                case,
            ));
        }
        let sent_at = chain.view.head().number;
        let is_new = !self.answers.contains_key(&sent.hash);
        if is_new && is_honest {
            check_is_stale(case, &shows, chain)?;
        }
        self.answers.entry(sent.hash).or_insert(SentAnswer {
            case,
            shows,
            sent_at,
        });
        self.kept.entry(case).or_default().insert(sent.hash);
        let since_ms = self.answered_since_ms.get(&case);
        let is_known = since_ms.is_some_and(|since_ms| since_ms + LEARNT_WITHIN_MS < now_ms);
        if is_new && is_known && is_honest {
            let what = "an answer was sent to a case that is answered for good";
            return Err(Violation::new(what, case));
        }
        Ok(())
    }

    /// Records an answer of a node that lets the server forget a case.
    pub(super) fn may_forget(&mut self, case: Hash) {
        self.kept.remove(&case);
    }

    /// Records new blocks.
    pub(super) fn advance(
        &mut self,
        chain: &mut SimulatedChain,
        is_honest: bool,
        now_ms: u64,
    ) -> Result<(), Violation> {
        let lost_ms = chain.lost.total_ms(now_ms);
        let view = &chain.view;
        for (id, case) in cases(view, view.finalized) {
            if case.state == DemandState::Answered {
                self.answered_since_ms.entry(id).or_insert(now_ms);
            }
        }
        let head = view.head();
        for (id, case) in cases(view, head.number) {
            if case.state == DemandState::Open && case.deadline_s < head.timestamp_s {
                self.missed.insert(id);
            }
        }
        if is_honest {
            self.check_refused(chain)?;
            self.check_waiting(chain, lost_ms, now_ms)?;
        }
        Ok(())
    }

    /// Records the server's time, and whether an anchor may be in flight.
    pub(super) fn note_clock(&mut self, clock_ms: u64, has_anchor: bool) {
        self.anchor_may_hang = clock_ms <= self.clock_ms && has_anchor;
        self.clock_ms = self.clock_ms.max(clock_ms);
    }

    /// Checks that refused answers were overtaken, late, or lost their base in a reorganization.
    fn check_refused(&self, chain: &SimulatedChain) -> Result<(), Violation> {
        for (sent, why) in &chain.refused {
            let Some(answer) = self.answers.get(&sent.hash) else {
                continue;
            };
            let is_old = chain.reorganized_at + KNOWN_WITHIN_BLOCKS >= answer.sent_at
                && chain.reorganized_at > 0;
            let late = ["CaseNotOpen(bytes32)", "AnswerTooLate(uint64)"];
            if !is_old && !late.iter().any(|late| why.starts_with(&selector(late))) {
                let what = "the bond refused an answer, case";
                return Err(Violation::new(what, answer.case));
            }
        }
        Ok(())
    }

    /// Checks that no case waits longer than the server needs plus the time lost by faults.
    fn check_waiting(
        &mut self,
        chain: &SimulatedChain,
        lost_ms: u64,
        now_ms: u64,
    ) -> Result<(), Violation> {
        let head = chain.view.head();
        let Some(bond) = &head.bond else {
            return Ok(());
        };
        let is_open = |case: &DemandCase| {
            case.state == DemandState::Open && case.deadline_s >= head.timestamp_s
        };
        let open = bond.cases.iter().filter(|(_, case)| is_open(case));
        let open: Vec<(Hash, DemandCase)> = open.map(|(id, case)| (*id, *case)).collect();
        let before = std::mem::take(&mut self.waiting);
        for (id, case) in &open {
            let new = CaseWait {
                since_ms: now_ms,
                lost_ms,
                cases: 0,
                waits_for_anchor: false,
            };
            // An answer waits for an anchor in flight until half of the anchor's time by the wall clock has passed. So
            // a late wall clock with an anchor in flight excuses any wait until then.
            let half_s = bond.terms.response_time_s / 2;
            let waits = self.anchor_may_hang && case.deadline_s >= head.timestamp_s + half_s;
            let mut waiting = before.get(id).copied().filter(|_| !waits).unwrap_or(new);
            waiting.cases = waiting.cases.max(open.len() as u64);
            waiting.waits_for_anchor |= head.contract.latest().0 <= case.subject.number;
            self.waiting.insert(*id, waiting);
            let lost_ms = lost_ms - waiting.lost_ms;
            let free_ms = (now_ms - waiting.since_ms).saturating_sub(lost_ms);
            let needed_ms = needed_ms(waiting.cases, !waiting.waits_for_anchor);
            if free_ms > needed_ms {
                let about = format!(
                    "{:?} of batch {}, open for {} blocks, {free_ms} ms of them without trouble",
                    case.subject.kind,
                    case.subject.number,
                    head.timestamp_s - case.opened_at_s,
                );
                return Err(Violation::new(
                    "a case waits although nothing is wrong",
                    about,
                ));
            }
        }
        Ok(())
    }

    /// Open cases that can still be answered within so many blocks.
    pub(super) fn answerable(chain: &SimulatedChain, blocks: u64) -> BTreeMap<Hash, u64> {
        let head = chain.view.head();
        let open = cases(&chain.view, head.number).filter(|(_, case)| {
            case.state == DemandState::Open && case.deadline_s >= head.timestamp_s + blocks
        });
        open.map(|(id, case)| (id, case.deadline_s)).collect()
    }

    /// Checks the sent answers against the log, and the stored ones.
    pub(super) fn check(&self, snapshot: &StoreSnapshot) -> Result<(), Violation> {
        for answer in self.answers.values() {
            answer.check(snapshot)?;
        }
        let rows = rows(snapshot)?;
        for (case, transactions) in &self.kept {
            let row = rows.get(case);
            let has = |hash: &Hash| {
                let mut attempts = row.into_iter().flat_map(|row| &row.attempts);
                attempts.any(|attempt| attempt.tx_hash == *hash)
            };
            if !transactions.iter().all(has) {
                let what = "an answer was sent and is not in the store, case";
                return Err(Violation::new(what, case));
            }
        }
        for (case, row) in &rows {
            if answered_case(&row.calldata) != Some(*case) {
                let what = "the store has something else than an answer, case";
                return Err(Violation::new(what, case));
            }
        }
        Ok(())
    }
}

/// Checks that an action is answered by its age, which reveals nothing of it, if the server knew its batch to be
/// finally anchored long before the challenge.
fn check_is_stale(
    case: Hash,
    shows: &AnswerEvidence,
    chain: &SimulatedChain,
) -> Result<(), Violation> {
    let head = chain.view.head();
    let (AnswerEvidence::Action(..), Some(batches), Some(bond)) =
        (shows, chain.known.get(&case), &head.bond)
    else {
        return Ok(());
    };
    let mut opened = chain.opened.iter().filter(|(id, _)| *id == case);
    // A case reopened after a reorganization may be older than before.
    let (Some((_, once)), None) = (opened.next(), opened.next()) else {
        return Ok(());
    };
    let end_s = bond.window_end_s(*batches, &head.contract);
    if end_s.is_ok_and(|end_s| end_s < once.opened_at_s) {
        let what = "an old action was revealed, sequence";
        return Err(Violation::new(what, once.subject.sequence));
    }
    Ok(())
}

/// Stored answers.
pub(super) fn rows(snapshot: &StoreSnapshot) -> Result<BTreeMap<Hash, StoredAnswer>, Violation> {
    let rows = snapshot.bond_answers().map_err(unread)?;
    let read = rows.iter().map(|row| {
        let read: Result<StoredAnswer, _> = serde_json::from_slice(row);
        let read = read.map_err(|error| Violation::new("an answer's row", error))?;
        Ok((read.case, read))
    });
    read.collect()
}

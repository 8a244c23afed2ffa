//! What is checked of answers to the bond, by the chain's truth: what was sent, when, and what the store keeps of it.

use std::collections::{BTreeMap, BTreeSet};

use kedge_chain::responder::StoredAnswer;
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::{Hash, log_tree};
use kedge_storage::Snapshot;

use super::bond::{Case, Kind, State, case_id};
use super::bond_calls::{Call, Held};
use super::chain::{Chain, Sent, View};
use super::contract::word;
use crate::plan::Violation;

/// How long the server may take to learn that a case is answered for good, milliseconds: a node shows an older chain for
/// less than half a second.
const LEARNT_WITHIN_MS: u64 = 2_000;
/// How many blocks the server needs for an answer if nothing is wrong.
pub(super) const BLOCKS_NEEDED: u64 = 100;

/// A transaction that answers a case.
struct Answer {
    case: Hash,
    held: Held,
    leaves: Option<Vec<Hash>>,
}

/// What was seen of answers.
#[derive(Default)]
pub(super) struct Watch {
    /// Every transaction that a node got from the server.
    answers: BTreeMap<Hash, Answer>,
    /// Those that the store must have: nothing that a node showed lets the server forget them.
    kept: BTreeMap<Hash, BTreeSet<Hash>>,
    /// Since when a block that stays has a case as answered.
    answered_since_ms: BTreeMap<Hash, u64>,
    /// Cases whose time passed without an answer.
    missed: BTreeSet<Hash>,
    /// The last block at which something was wrong that the server could not help.
    pub(super) trouble_at: u64,
}

fn read_answer(data: &[u8]) -> Option<Answer> {
    match Call::read(data)? {
        Call::AnswerLeaves { answer, leaves } => Some(Answer {
            case: case_id(Kind::Leaves, &word(answer.header.number)),
            held: answer,
            leaves: Some(leaves),
        }),
        Call::AnswerInclusion(held) => Some(Answer {
            case: case_id(Kind::Inclusion, &held.header.hash().0),
            held,
            leaves: None,
        }),
        _ => None,
    }
}

/// The case that data answers, if it is an answer.
pub(super) fn answered_case(data: &[u8]) -> Option<Hash> {
    Some(read_answer(data)?.case)
}

fn cases(view: &View, number: u64) -> impl Iterator<Item = (Hash, Case)> {
    let block = view.block(number).and_then(|block| block.bond.as_ref());
    let cases = block.into_iter().flat_map(|bond| &bond.cases);
    cases.map(|(id, case)| (*id, *case))
}

impl Answer {
    /// It says of the log what is so.
    fn check(&self, snapshot: &Snapshot) -> Result<(), Violation> {
        let number = self.held.header.number;
        let unread = |error| Violation::new("the store cannot be read", error);
        let wrong = |what| Err(Violation::new(what, number));
        let batch = snapshot.batch(number).map_err(unread)?;
        if batch.map(|batch| batch.header) != Some(self.held.header) {
            return wrong("an answer has another header than the log, batch");
        }
        let anchored = self.held.anchored;
        if anchored <= number || anchored > snapshot.head().map_err(unread)?.batches {
            return wrong("an answer names a checkpoint that cannot hold its batch");
        }
        let path = log_tree::inclusion_path(snapshot, number, anchored).map_err(unread)?;
        if path != self.held.path {
            return wrong("an answer has another path than the log, batch");
        }
        match &self.leaves {
            Some(leaves)
                if leaves.is_empty() || BatchTree::new(leaves).root() != self.held.header.root =>
            {
                wrong("an answer has other leaves than the log, batch")
            }
            _ => Ok(()),
        }
    }
}

impl Watch {
    /// How many transactions answered something, and how many cases' time passed without an answer.
    pub(super) fn counts(&self) -> [usize; 2] {
        [self.answers.len(), self.missed.len()]
    }

    /// The case that a transaction of the server answers.
    pub(super) fn case_of(&self, transaction: Hash) -> Option<Hash> {
        Some(self.answers.get(&transaction)?.case)
    }

    /// The server sends a transaction to the bond.
    pub(super) fn note_sent(
        &mut self,
        sent: &Sent,
        chain: &Chain,
        is_honest: bool,
        now_ms: u64,
    ) -> Result<(), Violation> {
        let Some(answer) = read_answer(&sent.data).filter(|_| sent.value_wei == 0) else {
            let what = "the server sent something else to the bond than an answer, nonce";
            return Err(Violation::new(what, sent.nonce));
        };
        let case = answer.case;
        if !chain.opened.iter().any(|(opened, _)| *opened == case) {
            return Err(Violation::new(
                "nobody asked for what was answered, case",
                case,
            ));
        }
        let is_new = self.answers.insert(sent.hash, answer).is_none();
        self.kept.entry(case).or_default().insert(sent.hash);
        let since_ms = self.answered_since_ms.get(&case);
        let is_known = since_ms.is_some_and(|since_ms| since_ms + LEARNT_WITHIN_MS < now_ms);
        if is_new && is_known && is_honest {
            let what = "an answer was sent to a case that is answered for good";
            return Err(Violation::new(what, case));
        }
        Ok(())
    }

    /// A node shows something that lets the server forget what it sent for a case.
    pub(super) fn may_forget(&mut self, case: Hash) {
        self.kept.remove(&case);
    }

    /// Blocks were made.
    pub(super) fn advance(
        &mut self,
        chain: &Chain,
        is_honest: bool,
        now_ms: u64,
    ) -> Result<(), Violation> {
        let view = &chain.view;
        for (id, case) in cases(view, view.finalized) {
            if case.state == State::Answered {
                self.answered_since_ms.entry(id).or_insert(now_ms);
            }
        }
        let head = view.head();
        for (id, case) in cases(view, head.number) {
            let is_missed = case.state == State::Open && case.deadline_s < head.timestamp_s;
            if !is_missed || !self.missed.insert(id) {
                continue;
            }
            let since = self.trouble_at.max(chain.trouble_at).max(
                // A block takes a second.
                head.number - (head.timestamp_s - case.opened_at_s),
            );
            let about = format!(
                "{:?} of batch {}, open for {} blocks, {} of them without trouble",
                case.kind,
                case.number,
                head.timestamp_s - case.opened_at_s,
                head.number.saturating_sub(since)
            );
            if is_honest && head.number > since + BLOCKS_NEEDED {
                return Err(Violation::new("a case was not answered in time", about));
            }
        }
        Ok(())
    }

    /// The cases that are open, and can still be answered in so many blocks.
    pub(super) fn answerable(chain: &Chain, blocks: u64) -> BTreeMap<Hash, u64> {
        let head = chain.view.head();
        let open = cases(&chain.view, head.number).filter(|(_, case)| {
            case.state == State::Open && case.deadline_s >= head.timestamp_s + blocks
        });
        open.map(|(id, case)| (id, case.deadline_s)).collect()
    }

    /// Checks what was sent against the log, and what the store keeps of it.
    pub(super) fn check(&self, snapshot: &Snapshot) -> Result<(), Violation> {
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

/// What the store keeps of answers.
pub(super) fn rows(snapshot: &Snapshot) -> Result<BTreeMap<Hash, StoredAnswer>, Violation> {
    let rows = snapshot
        .bond_answers()
        .map_err(|error| Violation::new("the store cannot be read", error))?;
    let read = rows.iter().map(|row| {
        let read: Result<StoredAnswer, _> = serde_json::from_slice(row);
        let read = read.map_err(|error| Violation::new("an answer's row", error))?;
        Ok((read.case, read))
    });
    read.collect()
}

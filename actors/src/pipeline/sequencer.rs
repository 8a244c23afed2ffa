//! The Sequencer: one actor that takes decided proposals strictly in the order of their tickets, places them in the
//! log, and passes them to the committer, whose bounded channel makes it wait. The last part to finish passes the
//! proposal on. The Sequencer checks that every state that a decision depends on is placed and has not changed since,
//! then assigns sequence and time, leaf and head. It never reads the store.
//!
//! # When a decision goes stale
//!
//! A refusal after the decision is rare: an atomic request whose last action fails, a deadline that passes in the
//! queue, two requests that claim one name. The Sequencer then makes the shards drop the request's decisions. Decisions
//! that depend on them have a base without a sequence, and are found stale when their turn comes. So is a refusal that
//! depends on a decision without a place (`refusal.rs`).
//!
//! A stale request waits until everything placed so far can be read, however long the disk takes, and is dispatched
//! again under a new ticket. After three rounds it is decided alone: the directory dispatches nothing until everything
//! before it is committed, so nothing can make it stale again. Nothing waits for a lock, and no action can build on a
//! decision that was rolled back.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::timing::RequestStage;
use kedge_rules::Refusal;
use kedge_rules::sequencer::{self as machine, KeyWrite, SequencerInput};
use kedge_runtime::env::Env;
use kedge_runtime::executor::StepScheduler;
use ractor::{Actor, ActorProcessingErr, ActorRef};
use tokio::sync::mpsc;

use super::decision::{self, ActionDecision};
use super::messages::{DirectoryMessage, OrganizationMessage, SequencerMessage, ShardMessage};
use super::proposal::Proposal;
use super::published_state::PublishProgress;
use super::sequenced_proposal::{CommitterMessage, SequencedProposal};
use crate::api::{SubmissionError, SubmissionOutcome};
use crate::metric_definitions as metric;
use crate::timekeeper::Timekeeper;

/// Rounds after which a stale proposal is decided alone.
const ROUNDS_SHARED: u32 = 3;
/// Rounds after which a proposal is given up; reached only by a decision that reads a key without a writer.
const ROUNDS_MAX: u32 = 8;

/// Dependencies of the sequencer.
pub(crate) struct SequencerOptions {
    pub(crate) env: Arc<dyn Env>,
    pub(crate) machine: machine::Sequencer,
    pub(crate) committer: mpsc::Sender<CommitterMessage>,
    pub(crate) progress: PublishProgress,
    pub(crate) time: Arc<Timekeeper>,
    pub(crate) turns: StepScheduler,
}

pub(crate) struct SequencerActor;

pub(crate) struct SequencerState {
    options: SequencerOptions,
    directory: Option<ActorRef<DirectoryMessage>>,
    shards: Vec<ActorRef<ShardMessage>>,
    /// Decided proposals whose ticket is not next.
    early: BTreeMap<u64, Arc<Proposal>>,
    next_ticket: u64,
    /// The ticket that the directory waits for.
    flush_ticket: Option<u64>,
}

impl Actor for SequencerActor {
    type Msg = SequencerMessage;
    type State = SequencerState;
    type Arguments = SequencerOptions;

    async fn pre_start(
        &self,
        _: ActorRef<SequencerMessage>,
        options: SequencerOptions,
    ) -> Result<SequencerState, ActorProcessingErr> {
        Ok(SequencerState {
            options,
            directory: None,
            shards: Vec::new(),
            early: BTreeMap::new(),
            next_ticket: 1,
            flush_ticket: None,
        })
    }

    async fn handle(
        &self,
        _: ActorRef<SequencerMessage>,
        message: SequencerMessage,
        state: &mut SequencerState,
    ) -> Result<(), ActorProcessingErr> {
        state.options.turns.before("sequencer").await;
        match message {
            SequencerMessage::Wire { directory, shards } => {
                state.directory = Some(directory);
                state.shards = shards;
            }
            SequencerMessage::Flush { ticket } => {
                state.flush_ticket = Some(ticket);
                state.answer_flush();
            }
            SequencerMessage::Propose { ticket, unit } => {
                unit.note(RequestStage::Decided, || state.options.env.now());
                state.early.insert(ticket, unit);
                while let Some(unit) = state.early.remove(&state.next_ticket) {
                    let ticket = state.next_ticket;
                    state.next_ticket += 1;
                    state.step(ticket, unit).await?;
                }
                state.answer_flush();
                metrics::gauge!(metric::SEQUENCER_EARLY).set(state.early.len() as f64);
            }
        }
        Ok(())
    }
}

/// Result of a proposal's check.
enum PlacementVerdict {
    Place {
        decisions: Vec<ActionDecision>,
        writes: Vec<KeyWrite>,
        timestamp_ms: u64,
    },
    /// Nothing is done: every action was refused, or one of an atomic proposal.
    Refuse {
        outcome: SubmissionOutcome,
        /// Whether some actions were decided nevertheless, and must be dropped.
        decided: bool,
    },
    Stale,
    Fail(SubmissionError),
}

impl SequencerState {
    async fn step(&mut self, ticket: u64, unit: Arc<Proposal>) -> Result<(), ActorProcessingErr> {
        let verdict = match self.judge(&unit) {
            PlacementVerdict::Place { .. } if !unit.fate.place() => {
                PlacementVerdict::Fail(SubmissionError::Unavailable)
            }
            PlacementVerdict::Stale | PlacementVerdict::Refuse { .. }
                if unit.fate.is_abandoned() =>
            {
                PlacementVerdict::Fail(SubmissionError::Unavailable)
            }
            verdict => verdict,
        };
        match verdict {
            PlacementVerdict::Place {
                decisions,
                writes,
                timestamp_ms,
            } => {
                unit.note(RequestStage::Placed, || self.options.env.now());
                let work = self.place(ticket, unit, decisions, &writes, timestamp_ms);
                self.commit(work).await?;
            }
            PlacementVerdict::Refuse { outcome, decided } => {
                if decided {
                    self.drop_decisions(ticket, &unit);
                }
                unit.note(RequestStage::Placed, || self.options.env.now());
                self.commit(CommitterMessage::Refused { unit, outcome })
                    .await?;
            }
            PlacementVerdict::Stale => {
                self.drop_decisions(ticket, &unit);
                self.decide_again(unit);
            }
            PlacementVerdict::Fail(error) => {
                self.drop_decisions(ticket, &unit);
                unit.complete(Err(error));
            }
        }
        Ok(())
    }

    fn judge(&self, unit: &Proposal) -> PlacementVerdict {
        let (decisions, read_sequence) = match unit.take_decisions() {
            Ok(taken) => taken,
            Err(error) => return PlacementVerdict::Fail(error),
        };
        let refused = decisions.iter().position(|(_, decided)| decided.is_err());
        let all_refused = decisions.iter().all(|(_, decided)| decided.is_err());
        let unknown = |(_, decided): &ActionDecision| {
            let refused = decided.as_ref().err();
            refused.is_some_and(|refused| *refused.refusal == Refusal::Unavailable)
        };
        if decisions.iter().any(unknown) {
            return PlacementVerdict::Fail(SubmissionError::Unavailable);
        }
        if refused.is_some() && !decision::all_stand(&decisions) {
            return PlacementVerdict::Stale;
        }
        if all_refused || (unit.submission.head.atomic && refused.is_some()) {
            return PlacementVerdict::Refuse {
                outcome: decision::refusal(decisions, refused),
                decided: !all_refused,
            };
        }
        let Some(writes) = decision::writes(&decisions) else {
            return PlacementVerdict::Stale;
        };
        if self.options.machine.check(&writes, read_sequence).is_err() {
            return PlacementVerdict::Stale;
        }
        let now_ms = match self
            .options
            .time
            .check(self.options.machine.tip().timestamp_ms)
        {
            Ok(now_ms) => now_ms,
            Err(why) => return PlacementVerdict::Fail(SubmissionError::ReadOnly(why.to_string())),
        };
        let timestamp_ms = self.options.machine.time(now_ms);
        if timestamp_ms > unit.submission.head.deadline_s.saturating_mul(1_000) {
            return PlacementVerdict::Fail(SubmissionError::DeadlineExpired);
        }
        PlacementVerdict::Place {
            decisions,
            writes,
            timestamp_ms,
        }
    }

    fn place(
        &mut self,
        ticket: u64,
        unit: Arc<Proposal>,
        decisions: Vec<ActionDecision>,
        writes: &[KeyWrite],
        timestamp_ms: u64,
    ) -> CommitterMessage {
        let done = decisions.iter().filter_map(|(index, decided)| {
            let (_, _, integrity) = decided.as_ref().ok()?.resource();
            let content = unit.submission.actions[usize::from(*index)].content;
            Some(SequencerInput { content, integrity })
        });
        let to_place: Vec<SequencerInput> = done.collect();
        let placed = self.options.machine.place(timestamp_ms, &to_place, writes);
        let previous_sequences = decision::link(&decisions, &placed);
        CommitterMessage::Placed(SequencedProposal {
            ticket,
            unit,
            decisions,
            placed,
            previous_sequences,
            timestamp_ms,
            nonce_highest: 0,
        })
    }

    async fn commit(&self, work: CommitterMessage) -> Result<(), ActorProcessingErr> {
        let sent = self.options.committer.send(work).await;
        sent.map_err(|_| ActorProcessingErr::from("the committer has ended"))
    }

    /// Makes every actor with decisions of the proposal drop them.
    fn drop_decisions(&self, ticket: u64, unit: &Arc<Proposal>) {
        for (shard, _) in &unit.parts.of_shards {
            let unit = Arc::clone(unit);
            let message = ShardMessage::Drop { ticket, unit };
            let _ = self.shards[*shard].send_message(message);
        }
        if !unit.is_on_objects() {
            unit.notify_organizations(|| OrganizationMessage::Drop { ticket });
        }
    }

    /// Notifies the directory once everything up to its ticket has had its turn and can be read, however long the disk
    /// takes. An earlier decision would follow the old rules, yet stand in the log after the new ones.
    fn answer_flush(&mut self) {
        if self
            .flush_ticket
            .is_none_or(|ticket| ticket >= self.next_ticket)
        {
            return;
        }
        self.flush_ticket = None;
        let Some(directory) = self.directory.clone() else {
            return;
        };
        let progress = self.options.progress.clone();
        let sequence = self.options.machine.tip().sequence;
        tokio::spawn(async move {
            if progress.reach(sequence).await {
                // A directory that has ended dispatches nothing any more.
                let _ = directory.send_message(DirectoryMessage::Flushed);
            }
        });
    }

    /// Dispatches a stale proposal again, once everything placed so far can be read.
    fn decide_again(&self, unit: Arc<Proposal>) {
        metrics::counter!(metric::STALE_UNITS).increment(1);
        let Some(directory) = self.directory.clone() else {
            return unit.complete(Err(SubmissionError::Unavailable));
        };
        if unit.rounds() >= ROUNDS_MAX {
            return unit.complete(Err(SubmissionError::Overloaded));
        }
        if !unit.wait_again() {
            return unit.complete(Err(SubmissionError::Waited));
        }
        let progress = self.options.progress.clone();
        let sequence = self.options.machine.tip().sequence;
        tokio::spawn(async move {
            if progress.reach(sequence).await && !unit.fate.is_abandoned() {
                let again = if unit.rounds() < ROUNDS_SHARED {
                    DirectoryMessage::Dispatch(unit)
                } else {
                    DirectoryMessage::DispatchAlone(unit)
                };
                let _ = directory.send_message(again);
            } else {
                unit.complete(Err(SubmissionError::Overloaded));
            }
        });
    }
}

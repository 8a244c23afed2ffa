//! Answers to the bond's cases against the operator, made from the log (`state_answers`: those about the state). The
//! anchor actor sends them, because one account with one nonce in flight pays for both. `crates/chain/src/responder`
//! sends the one with the nearest deadline first, and follows each until a final block holds it. Each transaction is
//! stored before it is sent (table `bond_answers`). No anchor begins while an answer waits for the next nonce. An answer
//! waits for an anchor in flight until half of its time has passed, and then takes the anchor's nonce.

use std::time::Duration;

use kedge_chain::contract::bond::{
    CaseSubject, answer_action_calldata, answer_inclusion_calldata, answer_leaves_calldata,
    answer_stale_calldata,
};
use kedge_chain::responder::{AnswerObstacle, NonceTurn, OpenCase, RespondError, Responder};
use kedge_chain::rpc::BlockTag;
use kedge_chain::sender::StoreError;
use kedge_protocol::Hash;
use kedge_protocol::batch::BatchHeader;
use kedge_protocol::evidence::ActionOpening;
use kedge_protocol::log_tree;
use kedge_storage::{PlacedAction, StoreReadError};

use super::rows::{AnswerRows, store_error};
use super::state::AnchorActorState;
use crate::engine::Engine;

/// Time limit for one answer. It reads the log and asks the node a few things.
const CASE_LIMIT: Duration = Duration::from_secs(10);

/// The log's answer to a case.
pub(super) enum BondAnswer {
    /// Calldata to send.
    Calldata(Vec<u8>),
    /// The batch is in this log, and must be anchored first.
    AnchorFirst,
    /// No answer, with the reason.
    None(String),
}

impl AnchorActorState {
    /// Checks the bond and continues with the answers. Returns whether one of them waits, or may wait, for the
    /// account's next nonce.
    pub(crate) async fn respond(&mut self, now_ms: u64) -> bool {
        let Some(mut responder) = self.responder.take() else {
            return false;
        };
        let held = match self.respond_with(&mut responder, now_ms).await {
            Ok(held) => held,
            Err(error) => {
                tracing::warn!(%error, "the bond's cases made no progress");
                holds_nonce_after(&error, &responder).await
            }
        };
        self.responder = Some(responder);
        held
    }

    async fn respond_with(
        &mut self,
        responder: &mut Responder<AnswerRows>,
        now_ms: u64,
    ) -> Result<bool, RespondError> {
        // Deadlines pass whatever the wall clock shows.
        let passed_ms = self.engine.inner.options.env.passed_ms();
        let (cases, not_looked) = match responder.look(passed_ms).await {
            Ok(cases) => (cases, None),
            Err(error @ RespondError::OtherAnchor { .. }) => return Err(error),
            // Answers that exist already do not wait for the next look.
            Err(error) => (Vec::new(), Some(error)),
        };
        if responder.is_busy() {
            self.answer_each(responder, &cases, now_ms).await?;
        }
        match not_looked {
            Some(error) => Err(error),
            None if responder.is_busy() => Ok(responder.holds_nonce(responder.next_nonce().await?)),
            None => Ok(false),
        }
    }

    /// Answers the cases in the order of their deadlines. Each answer is sent before the next is made. A case that
    /// fails or takes too long waits by itself.
    async fn answer_each(
        &mut self,
        responder: &mut Responder<AnswerRows>,
        cases: &[OpenCase],
        now_ms: u64,
    ) -> Result<(), RespondError> {
        let turn = match self.sender.offer_under_way() {
            Some(offer) => NonceTurn::Anchor(offer),
            None => NonceTurn::Free,
        };
        // One step a round, because missing transactions are counted by rounds.
        let mut stepped = None;
        if responder.has_answers() {
            stepped = Some(responder.step(now_ms, turn).await);
        }
        for open in cases {
            let id = open.asked.id;
            let made = tokio::time::timeout(CASE_LIMIT, self.answer_to(responder, open));
            match made.await {
                Ok(Ok(BondAnswer::Calldata(calldata))) => {
                    responder.prepare(id, calldata);
                    if stepped.is_none() {
                        stepped = Some(responder.step(now_ms, turn).await);
                    }
                }
                Ok(Ok(BondAnswer::AnchorFirst)) => self.anchor_soon(),
                Ok(Ok(BondAnswer::None(why))) => responder.cannot_answer(id, why),
                Ok(Err(failure)) => responder.failed(id, failure.trouble(), failure.to_string()),
                Err(_) => {
                    let why = format!(
                        "it could not be made within {} seconds",
                        CASE_LIMIT.as_secs()
                    );
                    responder.failed(id, AnswerObstacle::Slow, why);
                }
            }
        }
        stepped.unwrap_or(Ok(()))
    }

    async fn answer_to(
        &self,
        responder: &Responder<AnswerRows>,
        open: &OpenCase,
    ) -> Result<BondAnswer, AnswerError> {
        let latest = self.sender.latest().await?;
        if let Some(why) = self.contradiction(latest.batches, latest.history)? {
            return Ok(BondAnswer::None(why));
        }
        match &open.asked.subject {
            CaseSubject::Action {
                number,
                batch_hash,
                leaf,
                sequence,
            } => match self.anchored_header(*number, Some(*batch_hash), latest.batches)? {
                Ok(header) => {
                    let action = (*leaf, *sequence);
                    self.action_answer(responder, open, &header, action).await
                }
                Err(none) => Ok(none),
            },
            CaseSubject::Inclusion { number, batch_hash } => {
                match self.anchored_header(*number, Some(*batch_hash), latest.batches)? {
                    Ok(header) => {
                        let path = self.batch_path(*number, latest.batches)?;
                        let calldata = answer_inclusion_calldata(&header, latest.batches, &path);
                        Ok(BondAnswer::Calldata(calldata))
                    }
                    Err(none) => Ok(none),
                }
            }
            CaseSubject::Leaves { number } => self.leaves_answer(*number, latest.batches),
            CaseSubject::Entry(claim) => {
                let of = (claim, latest.batches);
                self.entry_answer(responder, open, of).await
            }
            CaseSubject::State { batches, key } => self.state_answer(*batches, key).await,
        }
    }

    /// The header of a batch, with this hash if it is given, that the contract's checkpoint over `anchored` batches
    /// holds; or what to answer without it.
    pub(super) fn anchored_header(
        &self,
        number: u64,
        hash: Option<Hash>,
        anchored: u64,
    ) -> Result<Result<BatchHeader, BondAnswer>, AnswerError> {
        let snapshot = &self.engine.published().snapshot;
        let Some(batch) = snapshot.batch(number)? else {
            let why = format!("this log has no batch {number}");
            return Ok(Err(BondAnswer::None(why)));
        };
        let header = batch.header;
        if hash.is_some_and(|hash| hash != header.hash()) {
            let why = format!("this log has a different batch {number}");
            return Ok(Err(BondAnswer::None(why)));
        }
        Ok(if anchored <= number {
            Err(BondAnswer::AnchorFirst)
        } else {
            Ok(header)
        })
    }

    /// The path from a batch to the history of the checkpoint over `batches` batches.
    pub(super) fn batch_path(&self, number: u64, batches: u64) -> Result<Vec<Hash>, AnswerError> {
        let snapshot = &self.engine.published().snapshot;
        Ok(log_tree::inclusion_path(snapshot, number, batches)?)
    }

    /// The leaves of a batch, in order; or what to answer without them.
    pub(super) fn leaves(&self, number: u64) -> Result<Result<Vec<Hash>, BondAnswer>, AnswerError> {
        let leaves = self.engine.published().snapshot.leaves(number)?;
        Ok(leaves.ok_or_else(|| {
            let why = format!("this log lacks leaves of batch {number}");
            BondAnswer::None(why)
        }))
    }

    fn leaves_answer(&self, number: u64, anchored: u64) -> Result<BondAnswer, AnswerError> {
        let header = match self.anchored_header(number, None, anchored)? {
            Ok(header) => header,
            Err(none) => return Ok(none),
        };
        let leaves = match self.leaves(number)? {
            Ok(leaves) => leaves,
            Err(none) => return Ok(none),
        };
        let path = self.batch_path(number, anchored)?;
        let calldata = answer_leaves_calldata(anchored, &header, &path, &leaves);
        Ok(BondAnswer::Calldata(calldata))
    }

    /// Answers an old action by its age, which reveals nothing of it; any other with its opening.
    async fn action_answer(
        &self,
        responder: &Responder<AnswerRows>,
        open: &OpenCase,
        header: &BatchHeader,
        (leaf, sequence): (Hash, u64),
    ) -> Result<BondAnswer, AnswerError> {
        let number = header.number;
        if let Some(batches) = self.closed_checkpoint(responder, open, number).await? {
            let path = self.batch_path(number, batches)?;
            let calldata = answer_stale_calldata(header, leaf, batches, &path);
            return Ok(BondAnswer::Calldata(calldata));
        }
        let snapshot = &self.engine.published().snapshot;
        let placed = snapshot.action_at(sequence)?;
        let Some(placed) = placed.filter(|placed| placed.leaf().hash() == leaf) else {
            let why = format!("this log has a different action {sequence}");
            return Ok(BondAnswer::None(why));
        };
        let opening = opening(&self.engine, &placed)?;
        let calldata = answer_action_calldata(header.hash(), &placed.leaf(), &opening);
        Ok(BondAnswer::Calldata(calldata))
    }

    /// The first checkpoint that holds the batch, if its window was closed when the case was opened.
    pub(super) async fn closed_checkpoint(
        &self,
        responder: &Responder<AnswerRows>,
        open: &OpenCase,
        number: u64,
    ) -> Result<Option<u64>, AnswerError> {
        let snapshot = &self.engine.published().snapshot;
        let covering = snapshot.anchor_covering(number)?;
        let (Some(terms), Some(row)) = (responder.terms(), covering) else {
            return Ok(None);
        };
        let contract = responder.anchor();
        let checkpoint = row.checkpoint.checkpoint;
        if row.contract != contract.address()
            || !contract.holds(&checkpoint, BlockTag::Latest).await?
        {
            return Ok(None);
        }
        let record = contract
            .checkpoint(checkpoint.batches, BlockTag::Latest)
            .await?;
        let closed_at_s = record.anchored_at_s + terms.challenge_window_s;
        Ok((closed_at_s < open.case.opened_at_s).then_some(checkpoint.batches))
    }
}

/// Whether an answer waits for the account's next nonce, after a step that failed before that was known. If the node
/// does not give the next nonce either, each sent answer may wait for it.
async fn holds_nonce_after(error: &RespondError, responder: &Responder<AnswerRows>) -> bool {
    // A wrong bond in the configuration does not end anchoring.
    if matches!(error, RespondError::OtherAnchor { .. }) {
        return false;
    }
    match responder.next_nonce().await {
        Ok(next) => responder.holds_nonce(next),
        Err(_) => responder.may_hold_nonce(),
    }
}

/// The opening of an action: its text and its whole request.
fn opening(engine: &Engine, placed: &PlacedAction) -> Result<ActionOpening, AnswerError> {
    let request = engine.published().snapshot.request_at(placed.sequence)?;
    let missing = || StoreError("the request of an action is missing".into());
    let request = request.ok_or_else(missing)?;
    Ok(ActionOpening::of_record(&request, &placed.action).map_err(store_error)?)
}

/// Reason why a case could not be answered this time.
#[derive(Debug, thiserror::Error)]
pub(super) enum AnswerError {
    #[error(transparent)]
    Read(#[from] StoreReadError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Contract(#[from] kedge_chain::contract::ContractReadError),
}

impl AnswerError {
    fn trouble(&self) -> AnswerObstacle {
        match self {
            Self::Read(StoreReadError::Archived { .. }) => AnswerObstacle::Archived,
            Self::Read(_) | Self::Store(_) => AnswerObstacle::Log,
            Self::Contract(_) => AnswerObstacle::Node,
        }
    }
}

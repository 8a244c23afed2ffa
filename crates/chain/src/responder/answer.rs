//! Sending of answers.

use ethers_core::types::Bytes;
use kedge_protocol::Hash;

use super::{AnswerObstacle, AnswerStore, NonceTurn, RespondError, Responder, count};
use crate::contract::bond::CaseState;
use crate::contract::decode_revert;
use crate::convert::{h160, h256};
use crate::rpc::{BlockTag, CallRequest, RpcError};
use crate::sender::{AnchorAttempt, AttemptParameters, is_out_of_reach};
use crate::transaction::{Fees, SignedTransaction, TransactionRequest};

/// Observations of a used nonce without a receipt before another transaction is assumed to have used it.
const NONCE_STRIKES_MAX: u8 = 3;

impl<S: AnswerStore> Responder<S> {
    /// Sends the answer with the nearest deadline, or follows the one in flight. `now_ms` is the wall clock, stored
    /// with each transaction.
    pub async fn step(&mut self, now_ms: u64, turn: NonceTurn) -> Result<(), RespondError> {
        if self.is_frozen {
            return Ok(());
        }
        while self.sendable().next().is_some() {
            let next_nonce = self.next_nonce().await?;
            let Some(id) = self.next(next_nonce) else {
                break;
            };
            let (mut tried, mut is_out) = (id, self.is_out(id));
            let advanced = match self.nearer(id, next_nonce, now_ms) {
                // The urgent answer replaces the stuck one on its nonce.
                Some((nearer, offered)) => {
                    // If it cannot be sent, the stuck answer continues.
                    (tried, is_out) = (nearer, self.is_out(nearer));
                    let turn = NonceTurn::Anchor(offered);
                    self.send_first(nearer, next_nonce, now_ms, turn).await
                }
                None => self.advance(id, next_nonce, now_ms, turn).await,
            };
            match advanced {
                // No other answer may take a nonce in flight.
                Err(RespondError::Rpc(RpcError::Node(error))) if !is_out => {
                    let why = format!("the node refused to take the answer: {}", error.message);
                    self.failed(tried, AnswerObstacle::Node, why);
                }
                advanced => return advanced,
            }
        }
        Ok(())
    }

    /// Sends one answer, or follows its transaction.
    async fn advance(
        &mut self,
        id: Hash,
        next_nonce: u64,
        now_ms: u64,
        turn: NonceTurn,
    ) -> Result<(), RespondError> {
        let answer = self.answer(id);
        let Some((attempt, own)) = answer.and_then(|answer| answer.last()) else {
            return self.send_first(id, next_nonce, now_ms, turn).await;
        };
        let (own, age_ms) = (own, now_ms.saturating_sub(attempt.at_ms));
        if let Some(has_succeeded) = self.receipt(id).await? {
            return if has_succeeded {
                // The next read will find the case answered.
                self.look_again();
                Ok(())
            } else {
                self.drop_answer(id, "its transaction was refused in its block")
                    .await
            };
        }
        let is_late = self.waited_ms(id, age_ms) >= self.options.bump_after_ms;
        if is_out_of_reach(own.nonce, next_nonce, is_late) {
            return self.strike(id, next_nonce, now_ms, turn).await;
        }
        if is_late {
            return self.bump(id, own, now_ms).await;
        }
        self.send_again(id, own).await
    }

    /// An urgent answer with a nearer deadline than the late one in flight, which occupies the next nonce; and the fees
    /// of the latter.
    fn nearer(&mut self, out: Hash, next_nonce: u64, now_ms: u64) -> Option<(Hash, Fees)> {
        let (attempt, own) = self.answer(out)?.last()?;
        let age_ms = now_ms.saturating_sub(attempt.at_ms);
        if own.nonce != next_nonce || self.waited_ms(out, age_ms) < self.options.bump_after_ms {
            return None;
        }
        let deadline_s = |id: &Hash| self.cases[id].case.map_or(0, |case| case.deadline_s);
        let ids = self.cases.keys().copied();
        let nearest = ids
            .filter(|id| self.can_be_sent(*id) && !self.is_out(*id) && self.is_urgent(*id))
            .min_by_key(deadline_s)?;
        (deadline_s(&nearest) < deadline_s(&out)).then_some((nearest, own.fees))
    }

    /// Time since the last transaction. Its wall-clock age counts only after a start.
    fn waited_ms(&mut self, id: Hash, age_ms: u64) -> u64 {
        let passed_ms = self.passed_ms;
        let sent_at_ms = self.cases.get_mut(&id).map(|tracked| {
            let sent_at_ms = &mut tracked.sent_at_ms;
            *sent_at_ms.get_or_insert(passed_ms.saturating_sub(age_ms))
        });
        passed_ms.saturating_sub(sent_at_ms.unwrap_or(passed_ms))
    }

    pub async fn next_nonce(&self) -> Result<u64, RpcError> {
        let rpc = self.bond.rpc();
        rpc.transaction_count(self.key.address(), BlockTag::Latest)
            .await
    }

    /// The answer whose transaction occupies the next nonce, or else one with another transaction, or else the one with the
    /// nearest deadline. A transaction whose nonce was used is not in flight any more: its answer may have to wait for
    /// an anchor, and must not keep the one in flight from being followed.
    fn next(&self, next_nonce: u64) -> Option<Hash> {
        let order = |id: &Hash| {
            let own = self.answer(*id).and_then(|answer| answer.last());
            let holds_next = own.is_some_and(|(_, own)| own.nonce == next_nonce);
            let deadline_s = self.cases[id].case.map_or(0, |case| case.deadline_s);
            (!holds_next, own.is_none(), deadline_s)
        };
        self.sendable().min_by_key(order)
    }

    fn sendable(&self) -> impl Iterator<Item = Hash> {
        let ids = self.cases.keys().copied();
        ids.filter(|id| self.can_be_sent(*id))
    }

    /// Whether the answer has a transaction.
    fn is_out(&self, id: Hash) -> bool {
        self.answer(id)
            .is_some_and(|answer| answer.last().is_some())
    }

    /// Whether a case is open with an answer that is due.
    fn can_be_sent(&self, id: Hash) -> bool {
        let tracked = &self.cases[&id];
        let is_open = tracked
            .case
            .is_some_and(|case| case.state == CaseState::Open);
        is_open
            && tracked.answer.is_some()
            && (self.is_out(id) || tracked.again_at_ms <= self.passed_ms)
    }

    fn answer(&self, id: Hash) -> Option<&super::StoredAnswer> {
        self.cases.get(&id)?.answer.as_ref()
    }

    /// Whether half of the response time has passed.
    fn is_urgent(&self, id: Hash) -> bool {
        let case = self.cases.get(&id).and_then(|tracked| tracked.case);
        let half_s = self.terms.map_or(0, |terms| terms.response_time_s) / 2;
        case.is_some_and(|case| case.deadline_s < self.chain_time_s + half_s)
    }

    async fn send_first(
        &mut self,
        id: Hash,
        nonce: u64,
        now_ms: u64,
        turn: NonceTurn,
    ) -> Result<(), RespondError> {
        let fee_policy = &self.options.fee_policy;
        let market = fee_policy.market(self.bond.rpc()).await?;
        let fees = match turn {
            NonceTurn::Free => market,
            NonceTurn::Anchor(_) if !self.is_urgent(id) => return Ok(()),
            // The anchor uses this nonce, so the fees must exceed the anchor's.
            NonceTurn::Anchor(offered) => fee_policy.bump(offered, market).unwrap_or(market),
        };
        let Some(answer) = self.answer(id) else {
            return Ok(());
        };
        let call = CallRequest {
            from: Some(h160(self.key.address())),
            to: Some(h160(self.options.bond)),
            data: Some(Bytes::from(answer.calldata.clone())),
            ..CallRequest::default()
        };
        let gas = match self.bond.rpc().estimate_gas(&call).await {
            Ok(gas) => gas,
            Err(RpcError::Node(error)) => {
                let Some(data) = error.revert_data() else {
                    return Err(RpcError::Node(error).into());
                };
                let why = format!("the bond would refuse the answer: {}", decode_revert(&data));
                return self.drop_answer(id, &why).await;
            }
            Err(error) => return Err(error.into()),
        };
        let own = AttemptParameters {
            nonce,
            gas_limit: gas + gas / 4,
            fees,
        };
        count("sent");
        self.attempt(id, own, now_ms).await
    }

    /// Discards an invalid answer; the next read requests a new one.
    async fn drop_answer(&mut self, id: Hash, why: &str) -> Result<(), RespondError> {
        count("refused");
        self.store.remove(id).await?;
        if let Some(tracked) = self.cases.get_mut(&id) {
            tracked.answer = None;
        }
        self.cannot_answer(id, why.to_owned());
        self.look_again();
        Ok(())
    }

    /// Whether a transaction of the answer is in a block, and whether it succeeded.
    async fn receipt(&self, id: Hash) -> Result<Option<bool>, RespondError> {
        let Some(answer) = self.answer(id) else {
            return Ok(None);
        };
        let mut found = None;
        for attempt in &answer.attempts {
            let rpc = self.bond.rpc();
            if let Some(receipt) = rpc.transaction_receipt(h256(attempt.tx_hash)).await? {
                let has_succeeded = receipt.status == Some(1.into());
                found = Some(found.unwrap_or(false) || has_succeeded);
            }
        }
        Ok(found)
    }

    /// Handles a nonce that seems used by another transaction, or unreachable after a gap. The node may only lag, so
    /// several strikes are needed.
    async fn strike(
        &mut self,
        id: Hash,
        next_nonce: u64,
        now_ms: u64,
        turn: NonceTurn,
    ) -> Result<(), RespondError> {
        let Some(tracked) = self.cases.get_mut(&id) else {
            return Ok(());
        };
        tracked.nonce_strikes += 1;
        if tracked.nonce_strikes < NONCE_STRIKES_MAX {
            return Ok(());
        }
        tracked.nonce_strikes = 0;
        self.send_first(id, next_nonce, now_ms, turn).await
    }

    async fn bump(
        &mut self,
        id: Hash,
        own: AttemptParameters,
        now_ms: u64,
    ) -> Result<(), RespondError> {
        let fee_policy = &self.options.fee_policy;
        let market = fee_policy.market(self.bond.rpc()).await?;
        let Some(fees) = fee_policy.bump(own.fees, market) else {
            tracing::error!(case = %id, "an answer waits at the fee ceiling");
            return self.send_again(id, own).await;
        };
        count("bumped");
        self.attempt(id, AttemptParameters { fees, ..own }, now_ms)
            .await
    }

    async fn send_again(&self, id: Hash, own: AttemptParameters) -> Result<(), RespondError> {
        match self.signed(id, own) {
            Some(signed) => self.broadcast(id, &signed).await,
            None => Ok(()),
        }
    }

    fn signed(&self, id: Hash, own: AttemptParameters) -> Option<SignedTransaction> {
        let request = TransactionRequest {
            chain_id: self.options.chain_id,
            nonce: own.nonce,
            fees: own.fees,
            gas_limit: own.gas_limit,
            to: Some(self.options.bond),
            value_wei: 0,
            data: self.answer(id)?.calldata.clone(),
        };
        Some(request.sign(&self.key))
    }

    /// Stores the attempt, then sends it.
    async fn attempt(
        &mut self,
        id: Hash,
        own: AttemptParameters,
        at_ms: u64,
    ) -> Result<(), RespondError> {
        let Some(signed) = self.signed(id, own) else {
            return Ok(());
        };
        let Some(mut answer) = self.answer(id).cloned() else {
            return Ok(());
        };
        answer.attempts.push(AnchorAttempt {
            tx_hash: signed.hash,
            own: Some(own),
            at_ms,
        });
        // An attempt that cannot be stored is dropped, or a later step would send it.
        self.store.save(&answer).await?;
        if let Some(tracked) = self.cases.get_mut(&id) {
            tracked.answer = Some(answer);
            tracked.sent_at_ms = Some(self.passed_ms);
            tracked.unanswerable = None;
            tracked.failures = 0;
        }
        self.broadcast(id, &signed).await
    }

    async fn broadcast(&self, id: Hash, signed: &SignedTransaction) -> Result<(), RespondError> {
        match self.bond.rpc().send_raw_transaction(&signed.raw).await {
            Ok(_) => Ok(()),
            // Already known, or the nonce is used up: a receipt or the nonce will show which.
            Err(RpcError::Node(error)) => {
                tracing::debug!(case = %id, message = error.message,
                    "the node did not accept the answer's transaction");
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }
}

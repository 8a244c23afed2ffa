//! Execution of the sender's decisions.

use ethers_core::types::Bytes;

use super::decision::{AnchorReceipt, IntentDecision, IntentObservation, decide};
use super::intent::{AnchorAttempt, AttemptParameters, Inclusion, IntentOutcome};
use super::{AnchorSender, IntentMemory, IntentStore, SendObstacle, SenderStepError};
use crate::contract::{ContractReadError, anchor_calldata, decode_revert};
use crate::convert::h160;
use crate::metric_definitions::{ANCHOR_GAS_USED, ANCHOR_MAX_FEE_WEI, ANCHOR_TRANSACTIONS_TOTAL};
use crate::rpc::{BlockTag, CallRequest, RpcError};
use crate::transaction::{SignedTransaction, TransactionRequest};

/// Limit of an intent's moves per step: included, confirmed, final, and one to spare.
const MOVES_MAX: usize = 4;

/// A node's answer to a transaction.
#[derive(Debug, PartialEq, Eq)]
enum NodeAnswer {
    Taken,
    /// The nonce is used: a receipt, or three strikes, will show by which transaction.
    NonceTooLow,
    Underpriced,
    InsufficientFunds,
    Refused(String),
}

fn read_answer(message: &str) -> NodeAnswer {
    let text = message.to_lowercase();
    let says = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
    if says(&["already known", "already imported", "known transaction"]) {
        NodeAnswer::Taken
    } else if says(&["nonce too low", "nonce is too low", "invalid nonce"]) {
        NodeAnswer::NonceTooLow
    } else if says(&["underpriced", "fee too low", "less than block base fee"]) {
        NodeAnswer::Underpriced
    } else if says(&["insufficient funds"]) {
        NodeAnswer::InsufficientFunds
    } else {
        NodeAnswer::Refused(message.to_owned())
    }
}

fn count(outcome: &'static str) {
    metrics::counter!(ANCHOR_TRANSACTIONS_TOTAL, "outcome" => outcome).increment(1);
}

impl<S: IntentStore> AnchorSender<S> {
    /// Reads the chain once and carries out every decision that follows.
    pub(super) async fn advance(&mut self, now_ms: u64) -> Result<(), SenderStepError> {
        self.check_chain().await?;
        let view = self.view_chain().await?;
        let mut blocked = false;
        for index in 0..self.open.len() {
            if self.open[index].stored.outcome.is_none() {
                let observed = self.observe(index, now_ms, view, blocked).await?;
                self.advance_one(index, &observed).await?;
            }
            let stored = &self.open[index].stored;
            blocked |= stored.outcome.is_none() && stored.inclusion.is_none();
        }
        Ok(())
    }

    async fn advance_one(
        &mut self,
        index: usize,
        observed: &IntentObservation,
    ) -> Result<(), SenderStepError> {
        for _ in 0..MOVES_MAX {
            let tracked = &self.open[index];
            let decision = decide(&tracked.stored, tracked.memory, observed, self.rules());
            if decision != IntentDecision::Wait {
                tracing::debug!(
                    batches = tracked.stored.intent.batches(),
                    ?decision,
                    "anchor"
                );
            }
            if !self.perform(index, observed, decision).await? {
                break;
            }
        }
        Ok(())
    }

    /// Carries out a decision; true if the same observation may lead to another one.
    async fn perform(
        &mut self,
        index: usize,
        observed: &IntentObservation,
        decision: IntentDecision,
    ) -> Result<bool, SenderStepError> {
        match decision {
            IntentDecision::Wait => Ok(false),
            IntentDecision::Include(inclusion) => self.include(index, inclusion).await,
            IntentDecision::Confirm => {
                self.open[index].memory.confirmed = true;
                count("confirmed");
                Ok(false)
            }
            IntentDecision::Finalize => self.finalize(index).await,
            IntentDecision::Refused(inclusion) => {
                let reason = self.why_refused(index, inclusion).await?;
                self.fail(
                    index,
                    format!("the contract refused the transaction: {reason}"),
                )
                .await
            }
            IntentDecision::NotAnchored(_) => {
                let reason = "the transaction succeeded without anchoring anything";
                self.fail(index, reason.to_owned()).await
            }
            IntentDecision::Dropped => self.drop_inclusion(index, observed.now_ms).await,
            IntentDecision::FindCovering => self.find_covering(index, observed).await,
            IntentDecision::Stale => {
                let reason = format!(
                    "the contract's last checkpoint has {} batches, the proof starts from {}",
                    observed.contract_batches, self.open[index].stored.intent.extends_batches
                );
                self.fail(index, reason).await
            }
            IntentDecision::Send => self.send_first(index, observed).await,
            IntentDecision::SendAgain => self.send_again(index).await,
            IntentDecision::Bump => self.bump(index, observed).await,
            IntentDecision::Strike => {
                self.open[index].memory.nonce_strikes += 1;
                Ok(false)
            }
            IntentDecision::Reconcile => self.reconcile(index, observed).await,
        }
    }

    async fn save(&self, index: usize) -> Result<(), SenderStepError> {
        Ok(self.store.save(&self.open[index].stored).await?)
    }

    async fn fail(&mut self, index: usize, reason: String) -> Result<bool, SenderStepError> {
        let tracked = &mut self.open[index];
        tracing::error!(
            batches = tracked.stored.intent.batches(),
            reason,
            "anchor failed"
        );
        tracked.stored.outcome = Some(IntentOutcome::Failed { reason });
        tracked.held = None;
        count("failed");
        self.save(index).await?;
        Ok(false)
    }

    async fn include(
        &mut self,
        index: usize,
        inclusion: Inclusion,
    ) -> Result<bool, SenderStepError> {
        let tracked = &mut self.open[index];
        tracked.stored.inclusion = Some(inclusion);
        tracked.memory = IntentMemory::default();
        tracked.held = None;
        let own_batches = tracked.stored.intent.batches();
        tracked.note = (inclusion.covers_batches != own_batches)
            .then(|| "covered by a later checkpoint".to_owned());
        self.save(index).await?;
        Ok(true)
    }

    async fn finalize(&mut self, index: usize) -> Result<bool, SenderStepError> {
        let Some(inclusion) = self.open[index].stored.inclusion else {
            return Ok(false);
        };
        // The receipt and the finalized height came from separate requests. Only the hash at that height proves that
        // both belong to one chain.
        if !self
            .is_canonical(inclusion.block_number, inclusion.block_hash)
            .await?
        {
            return Ok(false);
        }
        self.open[index].stored.outcome = Some(IntentOutcome::Finalized);
        self.save(index).await?;
        count("finalized");
        metrics::histogram!(ANCHOR_GAS_USED).record(inclusion.gas_used as f64);
        Ok(false)
    }

    async fn drop_inclusion(&mut self, index: usize, now_ms: u64) -> Result<bool, SenderStepError> {
        let tracked = &mut self.open[index];
        tracing::warn!(
            batches = tracked.stored.intent.batches(),
            "a reorganisation dropped the anchor transaction"
        );
        tracked.stored.inclusion = None;
        // Its fees were sufficient for a block, so they are raised only after another full wait.
        if let Some(last) = tracked.stored.attempts.last_mut() {
            last.at_ms = now_ms;
        }
        tracked.memory = IntentMemory::default();
        tracked.note = Some("a reorganisation dropped it; it is sent again".to_owned());
        count("reorged");
        self.save(index).await?;
        Ok(true)
    }

    /// The contract already has this checkpoint or a later one: finds the transaction that anchored it and follows that
    /// one.
    async fn find_covering(
        &mut self,
        index: usize,
        observed: &IntentObservation,
    ) -> Result<bool, SenderStepError> {
        let intended = self.open[index].stored.intent.signed.checkpoint;
        let event = match self.contract.anchored_event(intended.batches).await {
            // The contract skipped this checkpoint.
            Err(ContractReadError::Rpc(RpcError::Node(error))) if error.revert_data().is_some() => {
                self.contract
                    .anchored_event(observed.contract_batches)
                    .await?
            }
            other => other?,
        };
        let Some(event) = event else {
            return Ok(false);
        };
        let found = event.checkpoint;
        let same = found.sequence == intended.sequence
            && found.head == intended.head
            && found.history == intended.history;
        if found.batches == intended.batches && !same {
            let reason = "the contract holds another checkpoint with the same number of batches";
            return self.fail(index, reason.to_owned()).await;
        }
        let attempts = &mut self.open[index].stored.attempts;
        if attempts.iter().all(|known| known.tx_hash != event.tx_hash) {
            attempts.push(AnchorAttempt {
                tx_hash: event.tx_hash,
                own: None,
                at_ms: observed.now_ms,
            });
            self.save(index).await?;
        }
        if let Some(seen) = self.look_for_receipt(index).await? {
            let observed = IntentObservation {
                seen: Some(seen),
                ..*observed
            };
            if let AnchorReceipt::Anchored(inclusion) = seen {
                self.include(index, inclusion).await?;
                let tracked = &self.open[index];
                let next = decide(&tracked.stored, tracked.memory, &observed, self.rules());
                if next == IntentDecision::Finalize {
                    return self.finalize(index).await;
                }
            }
        }
        Ok(false)
    }

    async fn send_first(
        &mut self,
        index: usize,
        observed: &IntentObservation,
    ) -> Result<bool, SenderStepError> {
        let gas = match self.contract.rpc().estimate_gas(&self.call(index)).await {
            Ok(gas) => gas,
            Err(RpcError::Node(error)) => {
                if let Some(data) = error.revert_data() {
                    let reason = decode_revert(&data);
                    let reason = format!("the contract would refuse it: {reason}");
                    return self.fail(index, reason).await;
                }
                if read_answer(&error.message) == NodeAnswer::InsufficientFunds {
                    self.hold(index, SendObstacle::Funds);
                    return Ok(false);
                }
                return Err(RpcError::Node(error).into());
            }
            Err(error) => return Err(error.into()),
        };
        let fee_policy = &self.options.fee_policy;
        let own = AttemptParameters {
            nonce: observed.next_nonce,
            gas_limit: gas + gas / 4,
            fees: fee_policy.market(self.contract.rpc()).await?,
        };
        self.attempt(index, own, observed.now_ms, "sent").await
    }

    async fn send_again(&mut self, index: usize) -> Result<bool, SenderStepError> {
        let Some((_, own)) = self.open[index].stored.last_own() else {
            return Ok(false);
        };
        count("resent");
        let signed = self.sign(index, own);
        self.broadcast(index, &signed).await?;
        Ok(false)
    }

    async fn bump(
        &mut self,
        index: usize,
        observed: &IntentObservation,
    ) -> Result<bool, SenderStepError> {
        let Some((_, own)) = self.open[index].stored.last_own() else {
            return Ok(false);
        };
        let fee_policy = &self.options.fee_policy;
        let market = fee_policy.market(self.contract.rpc()).await?;
        let Some(fees) = fee_policy.bump(own.fees, market) else {
            self.hold(index, SendObstacle::FeeCeiling);
            if !observed.in_pool {
                return self.send_again(index).await;
            }
            return Ok(false);
        };
        self.open[index].held = None;
        // The gas limit stays: an estimate that fails now must not prevent the replacement.
        let own = AttemptParameters { fees, ..own };
        self.attempt(index, own, observed.now_ms, "bumped").await
    }

    /// Chooses the chain's next nonce after another transaction used this one, or a gap precedes it, while the contract
    /// lacks the checkpoint. The old hashes stay, in case the chain reverts.
    async fn reconcile(
        &mut self,
        index: usize,
        observed: &IntentObservation,
    ) -> Result<bool, SenderStepError> {
        let last = self.open[index].stored.last_own();
        let is_used = last.is_some_and(|(_, own)| own.nonce < observed.next_nonce);
        let why = if is_used {
            "its nonce was used by another transaction"
        } else {
            "the transactions before it are gone from the chain"
        };
        tracing::warn!(
            batches = self.open[index].stored.intent.batches(),
            next_nonce = observed.next_nonce,
            why,
            "the anchor transaction is sent with a new nonce"
        );
        self.open[index].note = Some(why.to_owned());
        self.open[index].memory.nonce_strikes = 0;
        self.send_first(index, observed).await
    }

    fn hold(&mut self, index: usize, hold: SendObstacle) {
        let tracked = &mut self.open[index];
        if tracked.held.as_ref() != Some(&hold) {
            let batches = tracked.stored.intent.batches();
            tracing::error!(batches, why = %hold, "the anchor transaction waits");
        }
        tracked.held = Some(hold);
    }

    /// Stores the attempt, then sends it.
    async fn attempt(
        &mut self,
        index: usize,
        own: AttemptParameters,
        now_ms: u64,
        outcome: &'static str,
    ) -> Result<bool, SenderStepError> {
        let signed = self.sign(index, own);
        self.open[index].stored.attempts.push(AnchorAttempt {
            tx_hash: signed.hash,
            own: Some(own),
            at_ms: now_ms,
        });
        if let Err(error) = self.save(index).await {
            // An attempt that was not stored must not be sent again.
            self.open[index].stored.attempts.pop();
            return Err(error);
        }
        self.open[index].memory.underpriced = false;
        count(outcome);
        metrics::gauge!(ANCHOR_MAX_FEE_WEI).set(own.fees.max_fee_per_gas_wei as f64);
        self.broadcast(index, &signed).await?;
        Ok(false)
    }

    async fn broadcast(
        &mut self,
        index: usize,
        signed: &SignedTransaction,
    ) -> Result<(), SenderStepError> {
        let answer = match self.contract.rpc().send_raw_transaction(&signed.raw).await {
            Ok(_) => NodeAnswer::Taken,
            Err(RpcError::Node(error)) => read_answer(&error.message),
            Err(error) => return Err(error.into()),
        };
        match answer {
            NodeAnswer::Taken => {
                let tracked = &mut self.open[index];
                // Sending the same offer again keeps it held at the fee ceiling.
                if tracked.held != Some(SendObstacle::FeeCeiling) {
                    tracked.held = None;
                }
            }
            NodeAnswer::NonceTooLow => {}
            NodeAnswer::Underpriced => self.open[index].memory.underpriced = true,
            NodeAnswer::InsufficientFunds => {
                self.hold(index, SendObstacle::Funds);
            }
            NodeAnswer::Refused(message) => {
                self.hold(index, SendObstacle::Refused(message));
            }
        }
        Ok(())
    }

    fn calldata(&self, index: usize) -> Vec<u8> {
        let intent = &self.open[index].stored.intent;
        anchor_calldata(&intent.signed, &intent.proof)
    }

    fn call(&self, index: usize) -> CallRequest {
        CallRequest {
            from: Some(h160(self.key.address())),
            to: Some(h160(self.options.contract)),
            data: Some(Bytes::from(self.calldata(index))),
            ..CallRequest::default()
        }
    }

    fn sign(&self, index: usize, own: AttemptParameters) -> SignedTransaction {
        TransactionRequest {
            chain_id: self.options.chain_id,
            nonce: own.nonce,
            fees: own.fees,
            gas_limit: own.gas_limit,
            to: Some(self.options.contract),
            value_wei: 0,
            data: self.calldata(index),
        }
        .sign(&self.key)
    }

    /// Repeats the call at the receipt's block, because a receipt does not state the reason.
    async fn why_refused(
        &self,
        index: usize,
        inclusion: Inclusion,
    ) -> Result<String, SenderStepError> {
        let at = BlockTag::Block(inclusion.block_number);
        match self.contract.rpc().call(&self.call(index), at).await {
            Err(RpcError::Node(error)) => Ok(match error.revert_data() {
                Some(data) => decode_revert(&data),
                None => error.message,
            }),
            Err(error) => Err(error.into()),
            Ok(_) => Ok("the reason can no longer be found (out of gas, perhaps)".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_say_the_same_in_many_words() {
        for (message, answer) in [
            ("already known", NodeAnswer::Taken),
            ("transaction already imported", NodeAnswer::Taken),
            (
                "nonce too low: next nonce 5, tx nonce 4",
                NodeAnswer::NonceTooLow,
            ),
            (
                "replacement transaction underpriced",
                NodeAnswer::Underpriced,
            ),
            (
                "max fee per gas less than block base fee: address 0x, maxFeePerGas: 1",
                NodeAnswer::Underpriced,
            ),
            (
                "Insufficient funds for gas * price + value",
                NodeAnswer::InsufficientFunds,
            ),
            (
                "txpool is full",
                NodeAnswer::Refused("txpool is full".to_owned()),
            ),
        ] {
            assert_eq!(read_answer(message), answer, "{message}");
        }
    }
}

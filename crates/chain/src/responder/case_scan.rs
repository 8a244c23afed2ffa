//! Reads open and closed cases from the bond. At start, bisecting the blocks' times finds the first block from which a
//! case can still be open, so no record of past reads is needed.

use kedge_protocol::Hash;

use super::{AnswerStore, OpenCase, RespondError, Responder, ResponderCase, count};
use crate::contract::AnchorContractState;
use crate::contract::bond::{BondEvent, CaseState};
use crate::rpc::{BlockHeader, BlockTag};

impl<S: AnswerStore> Responder<S> {
    /// Reads the bond, if a read is due, and returns the open cases without an answer, nearest deadline first.
    /// `passed_ms` is a monotonic clock, in milliseconds.
    pub async fn look(&mut self, passed_ms: u64) -> Result<Vec<OpenCase>, RespondError> {
        self.passed_ms = passed_ms;
        if passed_ms < self.next_look_at_ms {
            return Ok(Vec::new());
        }
        let looked = self.read_chain().await;
        let pause_ms = if looked.is_err() {
            let doubled_ms = 1_000_u64 << self.failures.min(16);
            self.failures = self.failures.saturating_add(1);
            doubled_ms.min(self.options.backoff_ms_max)
        } else {
            self.failures = 0;
            if self.is_busy() {
                0
            } else {
                self.options.look_ms
            }
        };
        self.next_look_at_ms = passed_ms + pause_ms;
        self.record_gauges();
        looked?;
        Ok(self.without_answer())
    }

    /// Makes the next read due now.
    pub fn look_again(&mut self) {
        self.next_look_at_ms = 0;
    }

    fn without_answer(&self) -> Vec<OpenCase> {
        if self.is_frozen {
            return Vec::new();
        }
        let in_time = |case: &OpenCase| {
            case.case.state == CaseState::Open && case.case.deadline_s >= self.chain_time_s
        };
        let cases = self.cases.values();
        let mut found: Vec<OpenCase> = cases
            .filter(|tracked| tracked.answer.is_none() && tracked.again_at_ms <= self.passed_ms)
            .filter_map(|tracked| {
                Some(OpenCase {
                    asked: tracked.asked?,
                    case: tracked.case?,
                })
            })
            .filter(in_time)
            .collect();
        found.sort_by_key(|case| case.case.deadline_s);
        found
    }

    async fn read_chain(&mut self) -> Result<(), RespondError> {
        let terms = match self.terms {
            Some(terms) => terms,
            None => self.check_bond().await?,
        };
        let rpc = self.bond.rpc().clone();
        let Some(head) = rpc.block(BlockTag::Latest).await? else {
            return Ok(());
        };
        let depth = self.options.finality_fallback_depth;
        let final_number = rpc.final_number(head.number.as_u64(), depth).await?;
        self.chain_time_s = head.timestamp.low_u64();
        self.is_frozen = self.anchor.state().await? == AnchorContractState::Frozen;
        let from = match self.next_block {
            Some(next) => next,
            None => self.first_block(&head, terms.response_time_s).await?,
        };
        for event in self.bond.events(from, head.number.as_u64()).await? {
            // Past its deadline, only an already followed case stays.
            if let BondEvent::CaseOpened(asked) = event
                && (asked.deadline_s >= self.chain_time_s || self.cases.contains_key(&asked.id))
            {
                self.cases.entry(asked.id).or_default().asked = Some(asked);
            }
        }
        // Final events are read once; others may reappear in another block.
        self.next_block = Some(from.max(final_number + 1));
        self.read_cases(final_number).await
    }

    async fn check_bond(&mut self) -> Result<crate::contract::bond::BondTerms, RespondError> {
        let found = self.bond.anchor_contract().await?;
        if found != self.options.anchor {
            return Err(RespondError::OtherAnchor {
                bond: self.options.bond,
                found,
                expected: self.options.anchor,
            });
        }
        let terms = self.bond.terms().await?;
        self.terms = Some(terms);
        Ok(terms)
    }

    /// The first block that may hold a case that can still be answered, by bisection over the blocks' times.
    async fn first_block(
        &self,
        head: &BlockHeader,
        response_time_s: u64,
    ) -> Result<u64, RespondError> {
        let since_s = head.timestamp.low_u64().saturating_sub(response_time_s);
        let (mut low, mut high) = (0, head.number.as_u64());
        while low < high {
            let middle = low + (high - low) / 2;
            let block = self.bond.rpc().block(BlockTag::Block(middle)).await?;
            if block.is_some_and(|block| block.timestamp.low_u64() >= since_s) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Ok(low)
    }

    /// Reads the followed cases one by one. A case whose read fails keeps its last state; an error is returned only if
    /// no case could be read.
    async fn read_cases(&mut self, final_number: u64) -> Result<(), RespondError> {
        let ids: Vec<_> = self.cases.keys().copied().collect();
        let (count, mut failures) = (ids.len(), Vec::new());
        for id in ids {
            if let Err(error) = self.read_case(id, final_number).await {
                failures.push((id, error));
            }
        }
        if failures.len() == count {
            return failures.pop().map_or(Ok(()), |(_, error)| Err(error));
        }
        for (case, error) in failures {
            tracing::warn!(%case, %error, "a case against the bond could not be read");
        }
        Ok(())
    }

    async fn read_case(&mut self, id: Hash, final_number: u64) -> Result<(), RespondError> {
        let case = self.bond.case(id, BlockTag::Latest).await?;
        let is_over = match case.state {
            CaseState::Open => case.deadline_s < self.chain_time_s || self.is_frozen,
            // Removed by a reorganisation.
            CaseState::None => true,
            CaseState::Answered | CaseState::Closed => {
                let then = self.bond.case(id, BlockTag::Block(final_number)).await?;
                then.state == case.state
            }
        };
        let Some(tracked) = self.cases.get_mut(&id) else {
            return Ok(());
        };
        tracked.follow(id, case, self.chain_time_s);
        if is_over {
            let is_ours = case.state == CaseState::Answered && tracked.answer.is_some();
            // The row goes first: a case without a row is found again on the chain, but a row without a case would be
            // answered twice.
            self.store.remove(id).await?;
            self.cases.remove(&id);
            if is_ours {
                count("finalized");
            }
        }
        Ok(())
    }
}

impl ResponderCase {
    /// Adopts the chain's state of a case, and logs changes.
    fn follow(&mut self, id: Hash, case: crate::contract::bond::BondCase, chain_time_s: u64) {
        let before = self.case.replace(case).map(|case| case.state);
        let kind = self.kind();
        if before.is_none() && case.state == CaseState::Open {
            let left_s = case.deadline_s.saturating_sub(chain_time_s);
            tracing::warn!(case = %id, kind, left_s, "a case was opened against the bond");
        }
        if before != Some(case.state) && case.state == CaseState::Answered {
            tracing::info!(case = %id, kind, "a case against the bond is answered");
            count("answered");
        }
        if case.state == CaseState::Open && case.deadline_s < chain_time_s && !self.is_counted {
            tracing::error!(case = %id, kind, "a case was not answered in time: the bond can be taken");
            count("missed");
            self.is_counted = true;
        }
    }
}

//! Pure rules of the sender: observation in, decision out.

use super::intent::{Inclusion, StoredIntent};

/// Observations of another next nonce, without a receipt, before the transaction is considered dead; fewer may come
/// from a lagging node.
const NONCE_STRIKES_MAX: u8 = 3;

/// A receipt of one of the intent's transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnchorReceipt {
    /// It anchored a checkpoint.
    Anchored(Inclusion),
    /// It is in a block, and reverted.
    Reverted(Inclusion),
    /// Succeeded without an event of the anchor contract.
    Silent(Inclusion),
}

/// The chain's state at one reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IntentObservation {
    pub(super) now_ms: u64,
    pub(super) head_number: u64,
    /// `None` if the node does not know the `finalized` tag.
    pub(super) finalized_number: Option<u64>,
    /// The contract's last checkpoint.
    pub(super) contract_batches: u64,
    /// The sender's next nonce, as of the newest block.
    pub(super) next_nonce: u64,
    pub(super) seen: Option<AnchorReceipt>,
    /// Whether the node has the last transaction in its pool or in a block.
    pub(super) in_pool: bool,
    /// Whether an earlier intent is not in a block yet, so that this one must wait.
    pub(super) blocked: bool,
}

/// This process's memory of an intent; not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct IntentMemory {
    pub(super) confirmed: bool,
    pub(super) nonce_strikes: u8,
    /// The node rejected the fee as too low.
    pub(super) underpriced: bool,
}

/// Depths and times of the decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SenderRules {
    pub(super) confirmations: u64,
    pub(super) finality_fallback_depth: u64,
    pub(super) bump_after_ms: u64,
}

/// The sender's next action for an intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IntentDecision {
    /// Nothing to do yet.
    Wait,
    Include(Inclusion),
    /// Deep enough to report as confirmed.
    Confirm,
    /// Final, if its block is still the one at that height.
    Finalize,
    /// The contract rejected the transaction.
    Refused(Inclusion),
    /// The transaction succeeded without anchoring: the address is not an anchor contract's.
    NotAnchored(Inclusion),
    /// A reorganisation dropped its block.
    Dropped,
    /// The contract already has the checkpoint; the transaction is unknown.
    FindCovering,
    /// The proof does not start from the contract's last checkpoint.
    Stale,
    Send,
    SendAgain,
    /// Raise the fees on the same nonce.
    Bump,
    /// The nonce is used without a receipt, or unreachable after a gap.
    Strike,
    /// Take a new nonce after repeated strikes.
    Reconcile,
}

/// Whether a transaction can no longer be mined at this next nonce: its own is used, or follows a gap. A reorganisation
/// can drop its predecessors, which may never be sent again; raising the fees would not help.
pub(crate) fn is_out_of_reach(nonce: u64, next_nonce: u64, is_late: bool) -> bool {
    next_nonce > nonce || (next_nonce < nonce && is_late)
}

/// The next action for `stored`.
pub(super) fn decide(
    stored: &StoredIntent,
    memory: IntentMemory,
    observed: &IntentObservation,
    rules: SenderRules,
) -> IntentDecision {
    let covered = observed.contract_batches >= stored.intent.batches();
    match observed.seen {
        Some(AnchorReceipt::Anchored(inclusion)) => {
            return included(stored, memory, observed, rules, inclusion);
        }
        // Another transaction anchored first, so the contract rightly reverted this one.
        Some(AnchorReceipt::Reverted(_) | AnchorReceipt::Silent(_)) if covered => {
            return IntentDecision::FindCovering;
        }
        Some(AnchorReceipt::Reverted(inclusion)) => return IntentDecision::Refused(inclusion),
        Some(AnchorReceipt::Silent(inclusion)) => return IntentDecision::NotAnchored(inclusion),
        None => {}
    }
    if stored.inclusion.is_some() {
        return IntentDecision::Dropped;
    }
    if covered {
        return IntentDecision::FindCovering;
    }
    if observed.blocked {
        return IntentDecision::Wait;
    }
    if observed.contract_batches != stored.intent.extends_batches {
        return IntentDecision::Stale;
    }
    let Some((attempt, own)) = stored.last_own() else {
        return IntentDecision::Send;
    };
    let age_ms = observed.now_ms.saturating_sub(attempt.at_ms);
    let is_late = age_ms >= rules.bump_after_ms;
    if is_out_of_reach(own.nonce, observed.next_nonce, is_late) {
        return if memory.nonce_strikes + 1 >= NONCE_STRIKES_MAX {
            IntentDecision::Reconcile
        } else {
            IntentDecision::Strike
        };
    }
    if memory.underpriced || is_late {
        return IntentDecision::Bump;
    }
    if observed.in_pool {
        IntentDecision::Wait
    } else {
        IntentDecision::SendAgain
    }
}

fn included(
    stored: &StoredIntent,
    memory: IntentMemory,
    observed: &IntentObservation,
    rules: SenderRules,
    inclusion: Inclusion,
) -> IntentDecision {
    if stored.inclusion != Some(inclusion) {
        return IntentDecision::Include(inclusion);
    }
    let depth = (observed.head_number + 1).saturating_sub(inclusion.block_number);
    let is_final = match observed.finalized_number {
        Some(number) => inclusion.block_number <= number,
        None => depth >= rules.finality_fallback_depth,
    };
    if is_final {
        IntentDecision::Finalize
    } else if depth >= rules.confirmations && !memory.confirmed {
        IntentDecision::Confirm
    } else {
        IntentDecision::Wait
    }
}

#[cfg(test)]
mod tests {
    use kedge_protocol::Hash;
    use kedge_protocol::checkpoint::Checkpoint;
    use kedge_protocol::signature::SigningKey;

    use super::super::intent::{AnchorAttempt, AnchorIntent, AttemptParameters};
    use super::*;
    use crate::transaction::Fees;

    const RULES: SenderRules = SenderRules {
        confirmations: 3,
        finality_fallback_depth: 10,
        bump_after_ms: 1_000,
    };

    fn stored() -> StoredIntent {
        let checkpoint = Checkpoint {
            batches: 5,
            sequence: 50,
            head: Hash([1; 32]),
            history: Hash([2; 32]),
            state: Hash::ZERO,
            issued_at_ms: 1,
        };
        let key = SigningKey::from_bytes(&[1; 32]).unwrap();
        StoredIntent::new(AnchorIntent {
            signed: checkpoint.sign(&Hash::ZERO, &key),
            extends_batches: 2,
            proof: Vec::new(),
        })
    }

    fn sent() -> StoredIntent {
        let mut stored = stored();
        stored.attempts.push(AnchorAttempt {
            tx_hash: Hash([7; 32]),
            own: Some(AttemptParameters {
                nonce: 4,
                gas_limit: 100_000,
                fees: Fees {
                    max_fee_per_gas_wei: 10,
                    max_priority_fee_per_gas_wei: 1,
                },
            }),
            at_ms: 0,
        });
        stored
    }

    fn inclusion(block_number: u64) -> Inclusion {
        Inclusion {
            tx_hash: Hash([7; 32]),
            block_number,
            block_hash: Hash([8; 32]),
            gas_used: 90_000,
            covers_batches: 5,
        }
    }

    fn observed() -> IntentObservation {
        IntentObservation {
            now_ms: 10,
            head_number: 100,
            finalized_number: Some(90),
            contract_batches: 2,
            next_nonce: 4,
            seen: None,
            in_pool: true,
            blocked: false,
        }
    }

    fn check(stored: &StoredIntent, observed: IntentObservation, expected: IntentDecision) {
        let decision = decide(stored, IntentMemory::default(), &observed, RULES);
        assert_eq!(decision, expected, "{observed:?}");
    }

    #[test]
    fn before_the_first_transaction_the_contract_is_looked_at() {
        check(&stored(), observed(), IntentDecision::Send);
        let with = |contract_batches| IntentObservation {
            contract_batches,
            ..observed()
        };
        check(&stored(), with(3), IntentDecision::Stale);
        check(&stored(), with(5), IntentDecision::FindCovering);
        check(&stored(), with(9), IntentDecision::FindCovering);
        let blocked = IntentObservation {
            blocked: true,
            ..observed()
        };
        check(&stored(), blocked, IntentDecision::Wait);
    }

    #[test]
    fn a_transaction_that_is_out_waits_is_bumped_or_sent_again() {
        check(&sent(), observed(), IntentDecision::Wait);
        let lost = IntentObservation {
            in_pool: false,
            ..observed()
        };
        check(&sent(), lost, IntentDecision::SendAgain);
        let late = IntentObservation {
            now_ms: 1_000,
            ..observed()
        };
        check(&sent(), late, IntentDecision::Bump);
        let memory = IntentMemory {
            underpriced: true,
            ..IntentMemory::default()
        };
        assert_eq!(
            decide(&sent(), memory, &observed(), RULES),
            IntentDecision::Bump
        );
    }

    #[test]
    fn a_used_nonce_is_reconciled_the_third_time() {
        let used = IntentObservation {
            next_nonce: 5,
            ..observed()
        };
        let strikes = |nonce_strikes| IntentMemory {
            nonce_strikes,
            ..IntentMemory::default()
        };
        assert_eq!(
            decide(&sent(), strikes(0), &used, RULES),
            IntentDecision::Strike
        );
        assert_eq!(
            decide(&sent(), strikes(1), &used, RULES),
            IntentDecision::Strike
        );
        let third = decide(&sent(), strikes(2), &used, RULES);
        assert_eq!(third, IntentDecision::Reconcile);
    }

    // Holds invariant 14.
    #[test]
    fn a_transaction_behind_a_gap_of_nonces_takes_the_chains_nonce_once_it_is_late() {
        let gap = |now_ms| IntentObservation {
            next_nonce: 3,
            now_ms,
            ..observed()
        };
        check(&sent(), gap(999), IntentDecision::Wait);
        check(&sent(), gap(1_000), IntentDecision::Strike);
        let memory = IntentMemory {
            nonce_strikes: 2,
            underpriced: true,
            ..IntentMemory::default()
        };
        let third = decide(&sent(), memory, &gap(1_000), RULES);
        assert_eq!(third, IntentDecision::Reconcile);
    }

    #[test]
    fn inclusion_confirmation_finality() {
        let seen = |block_number, finalized_number| IntentObservation {
            seen: Some(AnchorReceipt::Anchored(inclusion(block_number))),
            contract_batches: 5,
            finalized_number,
            ..observed()
        };
        let included = |block_number| StoredIntent {
            inclusion: Some(inclusion(block_number)),
            ..sent()
        };
        check(
            &sent(),
            seen(100, Some(90)),
            IntentDecision::Include(inclusion(100)),
        );
        check(&included(100), seen(100, Some(90)), IntentDecision::Wait);
        check(&included(98), seen(98, Some(90)), IntentDecision::Confirm);
        check(&included(98), seen(98, Some(98)), IntentDecision::Finalize);
        check(&included(92), seen(92, None), IntentDecision::Confirm);
        check(&included(91), seen(91, None), IntentDecision::Finalize);
        // A reorganisation moved it to another block.
        check(
            &included(98),
            seen(99, Some(90)),
            IntentDecision::Include(inclusion(99)),
        );
    }

    #[test]
    fn a_reorganisation_that_drops_it_is_noticed_before_anything_else() {
        let included = StoredIntent {
            inclusion: Some(inclusion(99)),
            ..sent()
        };
        check(&included, observed(), IntentDecision::Dropped);
        let blocked = IntentObservation {
            blocked: true,
            ..observed()
        };
        check(&included, blocked, IntentDecision::Dropped);
    }

    #[test]
    fn a_revert_counts_only_if_nothing_covers_the_intent() {
        let with = |contract_batches| IntentObservation {
            seen: Some(AnchorReceipt::Reverted(inclusion(99))),
            contract_batches,
            ..observed()
        };
        check(&sent(), with(2), IntentDecision::Refused(inclusion(99)));
        check(&sent(), with(6), IntentDecision::FindCovering);
        let silent = IntentObservation {
            seen: Some(AnchorReceipt::Silent(inclusion(99))),
            ..observed()
        };
        check(&sent(), silent, IntentDecision::NotAnchored(inclusion(99)));
    }
}

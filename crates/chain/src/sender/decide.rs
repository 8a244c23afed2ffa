//! Pure rules of the sender: observation in, decision out.

use super::intent::{Inclusion, StoredIntent};

/// Observations of another next nonce, without a receipt, before the transaction is considered dead; fewer may come
/// from a lagging node.
const NONCE_STRIKES_MAX: u8 = 3;

/// A receipt of one of the intent's transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// It anchored a checkpoint.
    Anchored(Inclusion),
    /// It is in a block, and reverted.
    Reverted(Inclusion),
    /// Succeeded without an event of the anchor contract.
    Silent(Inclusion),
}

/// The chain's state at one reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Observation {
    pub(super) now_ms: u64,
    pub(super) head_number: u64,
    /// `None` if the node does not know the `finalized` tag.
    pub(super) finalized_number: Option<u64>,
    /// The contract's last checkpoint.
    pub(super) contract_batches: u64,
    /// The sender's next nonce, as of the newest block.
    pub(super) next_nonce: u64,
    pub(super) seen: Option<Seen>,
    /// Whether the node has the last transaction in its pool or in a block.
    pub(super) in_pool: bool,
    /// Whether an earlier intent is not in a block yet, so that this one must wait.
    pub(super) blocked: bool,
}

/// This process's memory of an intent; not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Memory {
    pub(super) confirmed: bool,
    pub(super) nonce_strikes: u8,
    /// The node rejected the fee as too low.
    pub(super) underpriced: bool,
}

/// Depths and times of the decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rules {
    pub(super) confirmations: u64,
    pub(super) finality_fallback_depth: u64,
    pub(super) bump_after_ms: u64,
}

/// The sender's next action for an intent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
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
    memory: Memory,
    observed: &Observation,
    rules: Rules,
) -> Decision {
    let covered = observed.contract_batches >= stored.intent.batches();
    match observed.seen {
        Some(Seen::Anchored(inclusion)) => {
            return included(stored, memory, observed, rules, inclusion);
        }
        // Another transaction anchored first, so the contract rightly reverted this one.
        Some(Seen::Reverted(_) | Seen::Silent(_)) if covered => return Decision::FindCovering,
        Some(Seen::Reverted(inclusion)) => return Decision::Refused(inclusion),
        Some(Seen::Silent(inclusion)) => return Decision::NotAnchored(inclusion),
        None => {}
    }
    if stored.inclusion.is_some() {
        return Decision::Dropped;
    }
    if covered {
        return Decision::FindCovering;
    }
    if observed.blocked {
        return Decision::Wait;
    }
    if observed.contract_batches != stored.intent.extends_batches {
        return Decision::Stale;
    }
    let Some((attempt, own)) = stored.last_own() else {
        return Decision::Send;
    };
    let age_ms = observed.now_ms.saturating_sub(attempt.at_ms);
    let is_late = age_ms >= rules.bump_after_ms;
    if is_out_of_reach(own.nonce, observed.next_nonce, is_late) {
        return if memory.nonce_strikes + 1 >= NONCE_STRIKES_MAX {
            Decision::Reconcile
        } else {
            Decision::Strike
        };
    }
    if memory.underpriced || is_late {
        return Decision::Bump;
    }
    if observed.in_pool {
        Decision::Wait
    } else {
        Decision::SendAgain
    }
}

fn included(
    stored: &StoredIntent,
    memory: Memory,
    observed: &Observation,
    rules: Rules,
    inclusion: Inclusion,
) -> Decision {
    if stored.inclusion != Some(inclusion) {
        return Decision::Include(inclusion);
    }
    let depth = (observed.head_number + 1).saturating_sub(inclusion.block_number);
    let is_final = match observed.finalized_number {
        Some(number) => inclusion.block_number <= number,
        None => depth >= rules.finality_fallback_depth,
    };
    if is_final {
        Decision::Finalize
    } else if depth >= rules.confirmations && !memory.confirmed {
        Decision::Confirm
    } else {
        Decision::Wait
    }
}

#[cfg(test)]
mod tests {
    use kedge_protocol::Hash;
    use kedge_protocol::checkpoint::Checkpoint;
    use kedge_protocol::signature::SigningKey;

    use super::super::intent::{AnchorIntent, Attempt, OwnAttempt};
    use super::*;
    use crate::transaction::Fees;

    const RULES: Rules = Rules {
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
        stored.attempts.push(Attempt {
            tx_hash: Hash([7; 32]),
            own: Some(OwnAttempt {
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

    fn observed() -> Observation {
        Observation {
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

    fn check(stored: &StoredIntent, observed: Observation, expected: Decision) {
        let decision = decide(stored, Memory::default(), &observed, RULES);
        assert_eq!(decision, expected, "{observed:?}");
    }

    #[test]
    fn before_the_first_transaction_the_contract_is_looked_at() {
        check(&stored(), observed(), Decision::Send);
        let with = |contract_batches| Observation {
            contract_batches,
            ..observed()
        };
        check(&stored(), with(3), Decision::Stale);
        check(&stored(), with(5), Decision::FindCovering);
        check(&stored(), with(9), Decision::FindCovering);
        let blocked = Observation {
            blocked: true,
            ..observed()
        };
        check(&stored(), blocked, Decision::Wait);
    }

    #[test]
    fn a_transaction_that_is_out_waits_is_bumped_or_sent_again() {
        check(&sent(), observed(), Decision::Wait);
        let lost = Observation {
            in_pool: false,
            ..observed()
        };
        check(&sent(), lost, Decision::SendAgain);
        let late = Observation {
            now_ms: 1_000,
            ..observed()
        };
        check(&sent(), late, Decision::Bump);
        let memory = Memory {
            underpriced: true,
            ..Memory::default()
        };
        assert_eq!(decide(&sent(), memory, &observed(), RULES), Decision::Bump);
    }

    #[test]
    fn a_used_nonce_is_reconciled_the_third_time() {
        let used = Observation {
            next_nonce: 5,
            ..observed()
        };
        let strikes = |nonce_strikes| Memory {
            nonce_strikes,
            ..Memory::default()
        };
        assert_eq!(decide(&sent(), strikes(0), &used, RULES), Decision::Strike);
        assert_eq!(decide(&sent(), strikes(1), &used, RULES), Decision::Strike);
        let third = decide(&sent(), strikes(2), &used, RULES);
        assert_eq!(third, Decision::Reconcile);
    }

    #[test]
    fn a_transaction_behind_a_gap_of_nonces_takes_the_chains_nonce_once_it_is_late() {
        let gap = |now_ms| Observation {
            next_nonce: 3,
            now_ms,
            ..observed()
        };
        check(&sent(), gap(999), Decision::Wait);
        check(&sent(), gap(1_000), Decision::Strike);
        let memory = Memory {
            nonce_strikes: 2,
            underpriced: true,
            ..Memory::default()
        };
        let third = decide(&sent(), memory, &gap(1_000), RULES);
        assert_eq!(third, Decision::Reconcile);
    }

    #[test]
    fn inclusion_confirmation_finality() {
        let seen = |block_number, finalized_number| Observation {
            seen: Some(Seen::Anchored(inclusion(block_number))),
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
            Decision::Include(inclusion(100)),
        );
        check(&included(100), seen(100, Some(90)), Decision::Wait);
        check(&included(98), seen(98, Some(90)), Decision::Confirm);
        check(&included(98), seen(98, Some(98)), Decision::Finalize);
        check(&included(92), seen(92, None), Decision::Confirm);
        check(&included(91), seen(91, None), Decision::Finalize);
        // A reorganisation moved it to another block.
        check(
            &included(98),
            seen(99, Some(90)),
            Decision::Include(inclusion(99)),
        );
    }

    #[test]
    fn a_reorganisation_that_drops_it_is_noticed_before_anything_else() {
        let included = StoredIntent {
            inclusion: Some(inclusion(99)),
            ..sent()
        };
        check(&included, observed(), Decision::Dropped);
        let blocked = Observation {
            blocked: true,
            ..observed()
        };
        check(&included, blocked, Decision::Dropped);
    }

    #[test]
    fn a_revert_counts_only_if_nothing_covers_the_intent() {
        let with = |contract_batches| Observation {
            seen: Some(Seen::Reverted(inclusion(99))),
            contract_batches,
            ..observed()
        };
        check(&sent(), with(2), Decision::Refused(inclusion(99)));
        check(&sent(), with(6), Decision::FindCovering);
        let silent = Observation {
            seen: Some(Seen::Silent(inclusion(99))),
            ..observed()
        };
        check(&sent(), silent, Decision::NotAnchored(inclusion(99)));
    }
}

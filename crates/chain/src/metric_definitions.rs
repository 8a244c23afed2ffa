//! Names and descriptions of this crate's metrics.

use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge};

/// Requests to the Ethereum node, by `method` and `outcome`.
pub const RPC_REQUESTS_TOTAL: &str = "kedge_chain_rpc_requests_total";
/// Response time of the node, by `method`.
pub const RPC_DURATION_SECONDS: &str = "kedge_chain_rpc_duration_seconds";
/// Anchor transactions, by `outcome`: one of `ANCHOR_OUTCOMES`.
pub const ANCHOR_TRANSACTIONS_TOTAL: &str = "kedge_anchor_transactions_total";
/// Gas that the anchor transactions used.
pub const ANCHOR_GAS_USED: &str = "kedge_anchor_gas_used";
/// Fee cap per gas of the last anchor transaction.
pub const ANCHOR_MAX_FEE_WEI: &str = "kedge_anchor_max_fee_wei";
/// Anchor intents that are not final yet.
pub const ANCHOR_INTENTS_OPEN: &str = "kedge_anchor_intents_open";
/// 1 while a transaction waits because of the fee ceiling or for funds.
pub const ANCHOR_HELD: &str = "kedge_anchor_held";
/// Failed steps of the sender since the last successful one; above 0, the node has problems.
pub const ANCHOR_STEP_FAILURES: &str = "kedge_anchor_step_failures";
/// Cases of the bond that await this operator's answer.
pub const BOND_CASES_OPEN: &str = "kedge_bond_cases_open";
/// Open cases that the log cannot answer.
pub const BOND_CASES_UNANSWERABLE: &str = "kedge_bond_cases_unanswerable";
/// Seconds until the nearest deadline of an open case; the full time for an answer if there is none.
pub const BOND_DEADLINE_SECONDS: &str = "kedge_bond_deadline_seconds";
/// Answers to cases, by `outcome`: one of `BOND_OUTCOMES`.
pub const BOND_ANSWERS_TOTAL: &str = "kedge_bond_answers_total";
/// 1 once a fault was proven and the anchor contract is frozen.
pub const BOND_FROZEN: &str = "kedge_bond_frozen";
/// Failed reads of the bond since the last successful one.
pub const BOND_LOOK_FAILURES: &str = "kedge_bond_look_failures";

const ANCHOR_OUTCOMES: [&str; 7] = [
    "sent",
    "bumped",
    "resent",
    "confirmed",
    "finalized",
    "reorged",
    "failed",
];

const BOND_OUTCOMES: [&str; 10] = [
    "sent",
    "bumped",
    "refused",
    "answered",
    "finalized",
    "missed",
    "archived",
    "unreadable",
    "unsent",
    "slow",
];

/// Describes every metric; called once, after the recorder is installed.
pub fn describe() {
    describe_counter!(RPC_REQUESTS_TOTAL, "Requests to the Ethereum node");
    describe_histogram!(
        RPC_DURATION_SECONDS,
        "Time the Ethereum node took to answer"
    );
    describe_counter!(ANCHOR_TRANSACTIONS_TOTAL, "Anchor transactions by outcome");
    describe_histogram!(ANCHOR_GAS_USED, "Gas used by an anchor transaction");
    describe_gauge!(
        ANCHOR_MAX_FEE_WEI,
        "Fee cap of the last anchor transaction, wei per gas"
    );
    describe_gauge!(ANCHOR_INTENTS_OPEN, "Anchor intents that are not final yet");
    describe_gauge!(
        ANCHOR_HELD,
        "1 while an anchor transaction waits at the fee ceiling or for funds"
    );
    describe_gauge!(
        ANCHOR_STEP_FAILURES,
        "Failed steps of the anchor sender since the last successful one"
    );
    describe_gauge!(
        BOND_CASES_OPEN,
        "Cases of the bond that wait for an answer by this operator"
    );
    describe_gauge!(
        BOND_CASES_UNANSWERABLE,
        "Open cases of the bond for which the log has no answer"
    );
    describe_gauge!(
        BOND_DEADLINE_SECONDS,
        "Time until the nearest deadline of an open case"
    );
    describe_counter!(BOND_ANSWERS_TOTAL, "Answers to cases by outcome");
    describe_gauge!(
        BOND_FROZEN,
        "1 once a fault was proven and the anchor contract is frozen"
    );
    describe_gauge!(
        BOND_LOOK_FAILURES,
        "Failed checks of the bond since the last successful one"
    );
    // A counter that appears with its first event has no rate for that event.
    for outcome in ANCHOR_OUTCOMES {
        counter!(ANCHOR_TRANSACTIONS_TOTAL, "outcome" => outcome).increment(0);
    }
    start_gauges();
    for outcome in BOND_OUTCOMES {
        counter!(BOND_ANSWERS_TOTAL, "outcome" => outcome).increment(0);
    }
}

/// Resets the gauges of senders and responders: without a bond there are no cases, and a node that stopped leading
/// works on none.
pub fn start_gauges() {
    for name in [
        ANCHOR_HELD,
        ANCHOR_INTENTS_OPEN,
        ANCHOR_STEP_FAILURES,
        BOND_CASES_OPEN,
        BOND_CASES_UNANSWERABLE,
        BOND_DEADLINE_SECONDS,
        BOND_FROZEN,
        BOND_LOOK_FAILURES,
    ] {
        gauge!(name).set(0.0);
    }
}

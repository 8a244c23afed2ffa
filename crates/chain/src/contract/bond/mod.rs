//! Binding of the bond (`KedgeBond`) and of its judge (`KedgeJudge`).
//!
//! Covers demands on the operator, the operator's answers ([`state_calldata`]: those about the state), and reports of
//! evidence. Evidence is opaque here: a report
//! carries the calldata of a judge's function.

mod calldata;
mod deploy;
mod events;
mod reader;
mod state_calldata;
pub(crate) mod tokens;

use kedge_protocol::hash::keccak;
use kedge_protocol::{Address, Hash, Id};
use serde::{Deserialize, Serialize};

pub use calldata::{
    AnchoredAction, answer_action_calldata, answer_inclusion_calldata, answer_leaves_calldata,
    answer_stale_calldata, challenge_action_calldata, collect_calldata, commit_calldata,
    demand_inclusion_calldata, demand_leaves_calldata, deposit_calldata, report_calldata,
    request_withdrawal_calldata, settle_calldata, withdraw_calldata,
};
pub use deploy::{BondDeployment, FaultJudges, deploy_bond};
pub use events::{BondEvent, CaseOpened, CaseSubject};
pub use reader::{BondCase, BondContract, BondState, Withdrawal};
pub use state_calldata::{
    AnchoredHeader, answer_entry_calldata, answer_stale_entry_calldata, answer_state_calldata,
    challenge_entry_calldata, demand_made_state_calldata, demand_state_calldata,
};

/// The bond's terms, fixed at deployment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BondTerms {
    /// Seconds from a withdrawal's request to the withdrawal; more than the next three together.
    pub withdrawal_delay_s: u64,
    /// Seconds after its anchoring during which an action can be challenged.
    pub challenge_window_s: u64,
    /// Seconds that the operator has for an answer.
    pub response_time_s: u64,
    /// Seconds between a commitment and its opening, at least.
    pub reveal_delay_s: u64,
    /// Deposit of the first open case, in wei; the n-th open case costs n times as much.
    pub case_deposit_wei: u128,
    /// Limit of simultaneously open cases.
    pub open_cases_max: u32,
}

impl Default for BondTerms {
    /// Terms for a public chain: a week to challenge, three days to answer.
    fn default() -> Self {
        const DAY_S: u64 = 24 * 60 * 60;
        Self {
            withdrawal_delay_s: 14 * DAY_S,
            challenge_window_s: 7 * DAY_S,
            response_time_s: 3 * DAY_S,
            reveal_delay_s: 10 * 60,
            case_deposit_wei: 50_000_000_000_000_000,
            open_cases_max: 32,
        }
    }
}

/// The proof that a case demands of the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaseKind {
    /// The request of an anchored action.
    Action,
    /// The anchoring of a signed header.
    Inclusion,
    /// The leaves of an anchored batch.
    Leaves,
    /// The leaf that an entry of an anchored state tells of.
    Entry,
    /// What an anchored state holds under an id.
    State,
}

/// What an entry tells of its last action: a challenge asks for that action's leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryClaim {
    /// The id that the entry stands under.
    pub key: Id,
    /// Whether it is an organization's in version 1, whose integrity is not its leaf's.
    pub is_first: bool,
    /// The action's sequence.
    pub sequence: u64,
    /// The entry's integrity.
    pub integrity: Hash,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CaseState {
    /// Unknown case.
    None,
    /// Waits for an answer or, past the deadline, for settlement.
    Open,
    Answered,
    Closed,
}

/// The reporter's commitment, made before showing evidence; equals the contract's `commitmentOf`.
pub fn commitment(
    chain_id: u64,
    bond: Address,
    reporter: Address,
    subject: Hash,
    salt: Hash,
) -> Hash {
    let mut preimage = [0; 160];
    preimage[24..32].copy_from_slice(&chain_id.to_be_bytes());
    preimage[44..64].copy_from_slice(&bond.0);
    preimage[76..96].copy_from_slice(&reporter.0);
    preimage[96..128].copy_from_slice(&subject.0);
    preimage[128..].copy_from_slice(&salt.0);
    keccak(&preimage)
}

/// The id of a case, as the contract computes it.
pub fn case_id(kind: CaseKind, words: &[Hash]) -> Hash {
    let mut preimage = vec![0; 32];
    preimage[31] = kind as u8;
    for word in words {
        preimage.extend_from_slice(&word.0);
    }
    keccak(&preimage)
}

/// The id of a challenge.
pub fn action_case_id(batch_hash: Hash, leaf: Hash) -> Hash {
    case_id(CaseKind::Action, &[batch_hash, leaf])
}

/// The id of a demand to anchor a header.
pub fn inclusion_case_id(batch_hash: Hash) -> Hash {
    case_id(CaseKind::Inclusion, &[batch_hash])
}

/// The id of a demand to publish a batch's leaves.
pub fn leaves_case_id(number: u64) -> Hash {
    case_id(CaseKind::Leaves, &[number_word(number)])
}

/// The id of a challenge of an entry.
pub fn entry_case_id(claim: &EntryClaim) -> Hash {
    let words = [
        keccak(&claim.key.text_bytes()),
        number_word(u64::from(claim.is_first)),
        number_word(claim.sequence),
        claim.integrity,
    ];
    case_id(CaseKind::Entry, &words)
}

/// The id of a demand for what the anchored state after `batches` batches holds under an id.
pub fn state_case_id(batches: u64, key: &Id) -> Hash {
    let words = [number_word(batches), keccak(&key.text_bytes())];
    case_id(CaseKind::State, &words)
}

fn number_word(number: u64) -> Hash {
    let mut word = [0; 32];
    word[24..].copy_from_slice(&number.to_be_bytes());
    Hash(word)
}

//! Answers to the bond's cases, before their deadlines.
//!
//! The owner calls [`Responder::look`] regularly, which reads the open cases and returns those without an answer. It
//! makes the answers from its log, hands them over ([`Responder::prepare`]) and calls [`Responder::step`]. A step sends
//! them, one at a time and nearest deadline first, until a final block holds each. There is no hidden task and no
//! clock: the owner passes the time. Waiting is measured on a monotonic clock, so a wall clock that is set back or
//! stands still cannot delay answers.
//!
//! Guarantees, for any behaviour of the node:
//! - open cases are read from the chain, after a restart too; transactions are stored before they are sent;
//! - one nonce is in flight. Anchors use the same account, so an answer waits for an anchor in flight, unless half of
//!   the response time has passed: then it takes the anchor's nonce, and the anchor's sender chooses a new one;
//! - a case is forgotten only when a final block holds its answer;
//! - cases fail independently: one whose answer cannot be made or sent waits alone.

mod answer;
mod case_scan;
mod intent;

use std::collections::BTreeMap;

use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash};
use thiserror::Error;

use crate::contract::bond::{BondCase, BondContract, BondTerms, CaseKind, CaseOpened};
use crate::contract::{AnchorContract, ContractReadError};
use crate::metric_definitions as metric;
use crate::rpc::{RpcClient, RpcError};
use crate::sender::StoreError;
use crate::transaction::{FeePolicy, Fees};

pub use intent::{AnswerStore, StoredAnswer};

/// Settings of the responder.
#[derive(Debug, Clone)]
pub struct ResponderOptions {
    /// Id of the node's chain.
    pub chain_id: u64,
    pub bond: Address,
    /// The anchor contract that the bond must belong to.
    pub anchor: Address,
    /// Fees. The ceiling should be far above an anchor's: a late answer costs the bond.
    pub fee_policy: FeePolicy,
    /// Time in the pool after which the fees are raised.
    pub bump_after_ms: u64,
    /// Depth at which an answer counts as final on a node without the `finalized` tag.
    pub finality_fallback_depth: u64,
    /// Interval of reads while no case is open.
    pub look_ms: u64,
    /// The longest pause after failed reads.
    pub backoff_ms_max: u64,
}

/// Why the responder made no progress. All but [`RespondError::Store`] are transient.
#[derive(Debug, Error)]
pub enum RespondError {
    #[error(transparent)]
    Rpc(#[from] RpcError),
    #[error(transparent)]
    Read(#[from] ContractReadError),
    /// The bond belongs to another anchor contract.
    #[error("the bond {bond} is over the anchor contract {found}, not {expected}")]
    OtherAnchor {
        bond: Address,
        found: Address,
        expected: Address,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Availability of the account's next nonce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NonceTurn {
    /// No other transaction is in flight.
    Free,
    /// An anchor with these fees is in flight.
    Anchor(Fees),
}

/// An open case without an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenCase {
    pub asked: CaseOpened,
    /// The contract's record of the case.
    pub case: BondCase,
}

/// A followed case.
#[derive(Debug, Default)]
struct ResponderCase {
    /// The event; `None` for a stored answer whose event has not been read again yet.
    asked: Option<CaseOpened>,
    /// The case as of the newest block.
    case: Option<BondCase>,
    answer: Option<StoredAnswer>,
    /// Why the log has no answer.
    unanswerable: Option<String>,
    /// Monotonic time of the next try after failures, and the number of failures in a row.
    again_at_ms: u64,
    failures: u32,
    /// Monotonic time of the last transaction; `None` after a start.
    sent_at_ms: Option<u64>,
    nonce_strikes: u8,
    is_counted: bool,
}

/// Minimum number of tries in the time that a failing case has left.
const TRIES_LEFT: u64 = 8;

/// Why a case's answer could not be made or sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerObstacle {
    /// The needed part of the log is archived.
    Archived,
    /// The log or the store could not be read.
    Log,
    /// The Ethereum node refused, or did not answer.
    Node,
    /// Making the answer took too long.
    Slow,
}

impl AnswerObstacle {
    /// The value of the metric's `outcome` label.
    const fn outcome(self) -> &'static str {
        match self {
            Self::Archived => "archived",
            Self::Log => "unreadable",
            Self::Node => "unsent",
            Self::Slow => "slow",
        }
    }
}

/// See the module's documentation.
pub struct Responder<S> {
    options: ResponderOptions,
    key: SigningKey,
    bond: BondContract,
    anchor: AnchorContract,
    store: S,
    cases: BTreeMap<Hash, ResponderCase>,
    terms: Option<BondTerms>,
    /// The first block whose events may still be new; `None` before the first read.
    next_block: Option<u64>,
    /// The newest block's time at the last read, Unix seconds.
    chain_time_s: u64,
    is_frozen: bool,
    failures: u32,
    /// Monotonic times of the owner's last call of [`Responder::look`] and of the next due read.
    passed_ms: u64,
    next_look_at_ms: u64,
}

impl<S: AnswerStore> Responder<S> {
    /// Continues with the stored answers. The node may be down.
    pub async fn open(
        options: ResponderOptions,
        key: SigningKey,
        rpc: RpcClient,
        store: S,
    ) -> Result<Self, StoreError> {
        let mut cases = BTreeMap::new();
        for answer in store.load().await? {
            let tracked = ResponderCase {
                answer: Some(answer.clone()),
                ..ResponderCase::default()
            };
            cases.insert(answer.case, tracked);
        }
        metrics::gauge!(metric::BOND_LOOK_FAILURES).set(0.0);
        Ok(Self {
            bond: BondContract::new(rpc.clone(), options.bond),
            anchor: AnchorContract::new(rpc, options.anchor),
            options,
            key,
            store,
            cases,
            terms: None,
            next_block: None,
            chain_time_s: 0,
            is_frozen: false,
            failures: 0,
            passed_ms: 0,
            next_look_at_ms: 0,
        })
    }

    pub fn anchor(&self) -> &AnchorContract {
        &self.anchor
    }

    /// The terms; `None` until read.
    pub fn terms(&self) -> Option<BondTerms> {
        self.terms
    }

    /// Whether a transaction of the responder occupies the account's next nonce. Meanwhile the account should send no
    /// other transaction.
    pub fn holds_nonce(&self, next_nonce: u64) -> bool {
        self.waiting().any(|(_, answer)| {
            answer
                .last()
                .is_some_and(|(_, own)| own.nonce == next_nonce)
        })
    }

    /// Whether a transaction of the responder may occupy the account's next nonce, whichever that is.
    pub fn may_hold_nonce(&self) -> bool {
        self.waiting().any(|(_, answer)| answer.last().is_some())
    }

    /// Whether any case is open, or answered but not final.
    pub fn is_busy(&self) -> bool {
        !self.cases.is_empty()
    }

    /// Whether any answer is not in a block yet.
    pub fn has_answers(&self) -> bool {
        self.waiting().next().is_some()
    }

    /// Sets the answer to a case.
    pub fn prepare(&mut self, case: Hash, calldata: Vec<u8>) {
        if let Some(tracked) = self.cases.get_mut(&case) {
            tracked.answer = Some(StoredAnswer::new(case, calldata));
            tracked.unanswerable = None;
            tracked.again_at_ms = 0;
            tracked.failures = 0;
        }
    }

    /// Records that the log has no answer, or none yet; the next read returns the case again.
    pub fn cannot_answer(&mut self, case: Hash, why: String) {
        let Some(tracked) = self.cases.get_mut(&case) else {
            return;
        };
        if tracked.unanswerable.as_ref() != Some(&why) {
            tracing::error!(%case, why, "a case against the bond has no answer");
        }
        tracked.unanswerable = Some(why);
        self.record_gauges();
    }

    /// Records that a case's answer could not be made or sent now. The case is tried again before its deadline; other
    /// cases do not wait for it.
    pub fn failed(&mut self, case: Hash, trouble: AnswerObstacle, why: String) {
        count(trouble.outcome());
        let (passed_ms, backoff_ms_max) = (self.passed_ms, self.options.backoff_ms_max);
        let chain_time_s = self.chain_time_s;
        self.cannot_answer(case, why);
        let Some(tracked) = self.cases.get_mut(&case) else {
            return;
        };
        let deadline_s = tracked.case.map_or(0, |case| case.deadline_s);
        let left_ms = deadline_s.saturating_sub(chain_time_s) * 1_000;
        let pause_ms = (1_000_u64 << tracked.failures.min(16)).min(backoff_ms_max);
        tracked.failures = tracked.failures.saturating_add(1);
        tracked.again_at_ms = passed_ms + pause_ms.min(left_ms / TRIES_LEFT).max(1);
    }

    /// Open cases whose answers are not in a block yet.
    fn waiting(&self) -> impl Iterator<Item = (&ResponderCase, &StoredAnswer)> {
        self.cases
            .values()
            .filter(|tracked| tracked.is_open())
            .filter_map(|tracked| Some((tracked, tracked.answer.as_ref()?)))
    }

    fn record_gauges(&self) {
        let open = || self.cases.values().filter(|tracked| tracked.is_open());
        let unanswerable = open().filter(|tracked| tracked.unanswerable.is_some());
        let nearest = open()
            .filter_map(|tracked| tracked.case.map(|case| case.deadline_s))
            .min();
        let left_s = nearest.map_or_else(
            || self.terms.map_or(0, |terms| terms.response_time_s),
            |deadline_s| deadline_s.saturating_sub(self.chain_time_s),
        );
        metrics::gauge!(metric::BOND_CASES_OPEN).set(open().count() as f64);
        metrics::gauge!(metric::BOND_CASES_UNANSWERABLE).set(unanswerable.count() as f64);
        metrics::gauge!(metric::BOND_DEADLINE_SECONDS).set(left_s as f64);
        metrics::gauge!(metric::BOND_FROZEN).set(f64::from(u8::from(self.is_frozen)));
        metrics::gauge!(metric::BOND_LOOK_FAILURES).set(f64::from(self.failures));
    }
}

impl ResponderCase {
    fn is_open(&self) -> bool {
        use crate::contract::bond::CaseState;
        // A stored answer counts as open until the chain says otherwise.
        self.case.is_none_or(|case| case.state == CaseState::Open)
    }

    fn kind(&self) -> &'static str {
        match self.asked.map(|asked| asked.subject.kind()) {
            Some(CaseKind::Action) => "action",
            Some(CaseKind::Inclusion) => "inclusion",
            Some(CaseKind::Leaves) => "leaves",
            Some(CaseKind::Entry) => "entry",
            Some(CaseKind::State) => "state",
            None => "stored",
        }
    }
}

fn count(outcome: &'static str) {
    metrics::counter!(metric::BOND_ANSWERS_TOTAL, "outcome" => outcome).increment(1);
}

//! Answers what the bond asks of the operator, before the deadline.
//!
//! The owner calls [`Responder::look`] now and then: it reads which cases are open and returns those without a known
//! answer. The owner makes the answers from its log ([`Responder::prepare`]) and calls [`Responder::step`]. That sends
//! them, one at a time, the nearest deadline first, until the bond has them as answered and its block is final. There
//! is no hidden task and no clock: the owner states the time, and what waits is measured by time that passes. A wall
//! clock that is set back or stands must not keep the responder from the bond.
//!
//! What holds, whatever the node does:
//! - which cases are open is read from the chain, after a restart too; the transactions are stored before they are
//!   sent;
//! - one nonce is in flight. The account is the anchors' too, so an answer waits for an anchor that is in flight,
//!   unless half of the time has passed: then it takes the anchor's nonce, and the anchor's sender finds it used and
//!   takes another one;
//! - a case is forgotten only when a final block holds its answer;
//! - each case has its own trouble: one whose answer cannot be made or sent waits by itself, and the others are answered.

mod intent;
mod look;
mod send;

use std::collections::BTreeMap;

use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash};
use thiserror::Error;

use crate::contract::bond::{BondCase, BondContract, BondTerms, CaseKind, CaseOpened};
use crate::contract::{AnchorContract, ReadError};
use crate::metric_definitions as metric;
use crate::rpc::{RpcClient, RpcError};
use crate::sender::StoreError;
use crate::transaction::{FeePolicy, Fees};

pub use intent::{AnswerStore, StoredAnswer};

/// How the responder behaves.
#[derive(Debug, Clone)]
pub struct ResponderOptions {
    /// The node's chain.
    pub chain_id: u64,
    /// The bond.
    pub bond: Address,
    /// The anchor contract that the bond must be over.
    pub anchor: Address,
    /// What is offered for gas. The ceiling should be far above an anchor's: a late answer costs the bond.
    pub fee_policy: FeePolicy,
    /// How long a transaction waits in the pool before the offer is raised, in milliseconds.
    pub bump_after_ms: u64,
    /// Blocks until an answer counts as final on a node without the `finalized` tag.
    pub finality_fallback_depth: u64,
    /// How often to look at the bond while nothing is open, in milliseconds.
    pub look_ms: u64,
    /// The longest pause after failed looks, in milliseconds.
    pub backoff_ms_max: u64,
}

/// Why the responder made no progress. All failures but the store's pass with time.
#[derive(Debug, Error)]
pub enum RespondError {
    /// A request to the node failed.
    #[error(transparent)]
    Rpc(#[from] RpcError),
    /// Reading a contract failed.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The bond is over another anchor contract.
    #[error("the bond {bond} is over the anchor contract {found}, not {expected}")]
    OtherAnchor {
        /// The bond.
        bond: Address,
        /// Its anchor contract.
        found: Address,
        /// The expected anchor contract.
        expected: Address,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Who may use the account's next nonce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Nothing else is in flight.
    Free,
    /// An anchor is in flight with this offer.
    Anchor(Fees),
}

/// A case that waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenCase {
    /// What was requested.
    pub asked: CaseOpened,
    /// The contract's state of the case.
    pub case: BondCase,
}

/// A case that is followed.
#[derive(Debug, Default)]
struct Tracked {
    /// What was requested; unknown for a stored answer whose event has not been read again yet.
    asked: Option<CaseOpened>,
    /// The case as of the newest block.
    case: Option<BondCase>,
    /// The answer, once there is one.
    answer: Option<StoredAnswer>,
    /// Why there is none.
    unanswerable: Option<String>,
    /// When an answer is next made or sent after it failed, by the clock of [`Responder::look`], and how often in a row
    /// it has failed.
    again_at_ms: u64,
    failures: u32,
    /// When its last transaction was sent, by the clock of [`Responder::look`]; unknown after a start.
    sent_at_ms: Option<u64>,
    nonce_strikes: u8,
    is_counted: bool,
}

/// A case that failed is tried at least about this often in the time that it has left.
const TRIES_LEFT: u64 = 8;

/// What kept a case's answer from being made or sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// The log's part that it needs is archived.
    Archived,
    /// The log or the store could not be read.
    Log,
    /// The Ethereum node refused, or did not answer.
    Node,
    /// It took longer than a case may take.
    Slow,
}

impl Trouble {
    /// How it is counted.
    const fn outcome(self) -> &'static str {
        match self {
            Self::Archived => "archived",
            Self::Log => "unreadable",
            Self::Node => "unsent",
            Self::Slow => "slow",
        }
    }
}

/// The responder; see the module's documentation.
pub struct Responder<S> {
    options: ResponderOptions,
    key: SigningKey,
    bond: BondContract,
    anchor: AnchorContract,
    store: S,
    cases: BTreeMap<Hash, Tracked>,
    terms: Option<BondTerms>,
    /// The first block whose events may still be new; `None` before the first look.
    next_block: Option<u64>,
    /// The newest block's time at the last look, Unix seconds.
    chain_time_s: u64,
    is_frozen: bool,
    failures: u32,
    /// When the owner last asked for a look, and when the next one is due: milliseconds that pass whatever the wall clock
    /// is set to.
    passed_ms: u64,
    next_look_at_ms: u64,
}

impl<S: AnswerStore> Responder<S> {
    /// Continues with the answers in the store. Does not need the node to be up.
    pub async fn open(
        options: ResponderOptions,
        key: SigningKey,
        rpc: RpcClient,
        store: S,
    ) -> Result<Self, StoreError> {
        let mut cases = BTreeMap::new();
        for answer in store.load().await? {
            let tracked = Tracked {
                answer: Some(answer.clone()),
                ..Tracked::default()
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

    /// The anchor contract, for reading.
    pub fn anchor(&self) -> &AnchorContract {
        &self.anchor
    }

    /// The terms, once read.
    pub fn terms(&self) -> Option<BondTerms> {
        self.terms
    }

    /// Whether a transaction of the responder waits for the account's next nonce. While it does,
    /// nothing else should be sent from the account.
    pub fn holds_nonce(&self, next_nonce: u64) -> bool {
        self.waiting().any(|(_, answer)| {
            answer
                .last()
                .is_some_and(|(_, own)| own.nonce == next_nonce)
        })
    }

    /// Whether a transaction of the responder may wait for the account's next nonce, whichever that is.
    pub fn may_hold_nonce(&self) -> bool {
        self.waiting().any(|(_, answer)| answer.last().is_some())
    }

    /// Whether anything is open or not final yet.
    pub fn is_busy(&self) -> bool {
        !self.cases.is_empty()
    }

    /// Whether there are answers that no block holds yet.
    pub fn has_answers(&self) -> bool {
        self.waiting().next().is_some()
    }

    /// Accepts the answer to a case.
    pub fn prepare(&mut self, case: Hash, calldata: Vec<u8>) {
        if let Some(tracked) = self.cases.get_mut(&case) {
            tracked.answer = Some(StoredAnswer::new(case, calldata));
            tracked.unanswerable = None;
            tracked.again_at_ms = 0;
            tracked.failures = 0;
        }
    }

    /// Records that there is no answer, or none yet; the next look requests it again.
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

    /// Records that a case's answer could not be made or sent now. The case alone waits, and no longer than its own
    /// deadline allows; the others are answered meanwhile.
    pub fn failed(&mut self, case: Hash, trouble: Trouble, why: String) {
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

    /// Open cases that no block answers yet, with their answers.
    fn waiting(&self) -> impl Iterator<Item = (&Tracked, &StoredAnswer)> {
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

impl Tracked {
    fn is_open(&self) -> bool {
        use crate::contract::bond::CaseState;
        // A stored answer counts as open until the chain states otherwise.
        self.case.is_none_or(|case| case.state == CaseState::Open)
    }

    fn kind(&self) -> &'static str {
        match self.asked.map(|asked| asked.kind) {
            Some(CaseKind::Action) => "action",
            Some(CaseKind::Inclusion) => "inclusion",
            Some(CaseKind::Leaves) => "leaves",
            None => "stored",
        }
    }
}

fn count(outcome: &'static str) {
    metrics::counter!(metric::BOND_ANSWERS_TOTAL, "outcome" => outcome).increment(1);
}

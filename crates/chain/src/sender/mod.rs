//! Lifecycle of anchor transactions, from intent to finality.
//!
//! One key, one nonce in flight. The owner calls [`AnchorSender::step`] every few seconds. A step reads the chain,
//! applies the pure rules of `decision`, acts, and returns what changed. There is no hidden task and no clock: tests
//! drive it as the server does.
//!
//! Guarantees, for any behaviour of the node:
//! - a transaction's hash is stored before it is sent, so a restart continues with it instead of making a second one;
//! - the contract is read before anything is sent, and an already anchored checkpoint is a success;
//! - only one nonce is in flight: a second transaction for an intent replaces the first;
//! - nothing is final before its block is; transactions dropped by a reorganisation are sent again;
//! - an unreachable node costs time, never state: steps fail, back off, and continue.

mod decision;
mod execution;
mod intent;
mod observation;
mod status;
mod store;

use kedge_protocol::signature::SigningKey;
use kedge_protocol::{Address, Hash};
use thiserror::Error;

use crate::contract::{AnchorContract, ContractReadError, LatestCheckpoint};
use crate::metric_definitions::{ANCHOR_HELD, ANCHOR_INTENTS_OPEN, ANCHOR_STEP_FAILURES};
use crate::rpc::{BlockTag, RpcClient, RpcError};
use crate::transaction::{FeePolicy, FeePolicyError, Fees};
use decision::{IntentMemory, SenderRules};

pub(crate) use decision::is_out_of_reach;
pub use intent::{
    AnchorAttempt, AnchorIntent, AttemptParameters, Inclusion, IntentOutcome, StoredIntent,
};
pub use status::{AnchorIntentStatus, AnchorSenderHealth, IntentUpdate};
pub use store::{IntentStore, StoreError};

/// Settings of the sender.
#[derive(Debug, Clone)]
pub struct SenderOptions {
    /// Id of the expected chain.
    pub chain_id: u64,
    pub contract: Address,
    /// EIP-712 domain separator of the log; contracts with another one are refused.
    pub domain_separator: Hash,
    /// Depth at which a transaction is reported as confirmed; its own block counts as 1.
    pub confirmations: u64,
    /// Depth at which it counts as final on a node without the `finalized` tag.
    pub finality_fallback_depth: u64,
    /// Time in the pool after which the fees are raised.
    pub bump_after_ms: u64,
    pub fee_policy: FeePolicy,
    /// The pause after a failed step; doubles with each further failure.
    pub backoff_ms_min: u64,
    /// The longest pause after failed steps.
    pub backoff_ms_max: u64,
}

impl SenderOptions {
    /// Defaults for a public chain.
    pub fn new(chain_id: u64, contract: Address, domain_separator: Hash) -> Self {
        Self {
            chain_id,
            contract,
            domain_separator,
            confirmations: 2,
            finality_fallback_depth: 96,
            bump_after_ms: 90_000,
            fee_policy: FeePolicy::default(),
            backoff_ms_min: 1_000,
            backoff_ms_max: 60_000,
        }
    }
}

/// Why an intent was not accepted.
#[derive(Debug, Error)]
pub enum AnchorSubmitError {
    /// A transaction is not in a block yet, or an outcome is unreported.
    #[error("the anchor of {batches} batches is still in flight")]
    Busy { batches: u64 },
    /// An open intent already covers as much.
    #[error("an anchor of {open_batches} batches is already open")]
    NotNewer {
        /// Batch count of the largest open intent.
        open_batches: u64,
    },
    /// The store failed; the intent is not accepted.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a sender cannot be created.
#[derive(Debug, Error)]
pub enum AnchorSenderError {
    /// The fee policy is contradictory.
    #[error(transparent)]
    FeePolicy(#[from] FeePolicyError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a step was not completed. All but the store's failures are transient.
#[derive(Debug, Error)]
pub(crate) enum SenderStepError {
    #[error(transparent)]
    Rpc(#[from] RpcError),
    #[error(transparent)]
    Read(#[from] ContractReadError),
    #[error("the node is on chain {found}, not {expected}")]
    WrongChain { found: u64, expected: u64 },
    #[error("the contract {address} has the domain separator {found}, not this log's {expected}")]
    WrongDomain {
        address: Address,
        found: Hash,
        expected: Hash,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a due transaction waits. Each reason passes by itself or through an operator.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
enum SendObstacle {
    #[error("held: the fee ceiling is reached")]
    FeeCeiling,
    #[error("held: the sender's account does not have enough funds")]
    Funds,
    #[error("held: the node refused it: {0}")]
    Refused(String),
}

struct TrackedIntent {
    stored: StoredIntent,
    memory: IntentMemory,
    held: Option<SendObstacle>,
    note: Option<String>,
    reported: Option<IntentUpdate>,
}

impl TrackedIntent {
    fn new(stored: StoredIntent) -> Self {
        Self {
            stored,
            memory: IntentMemory::default(),
            held: None,
            note: None,
            reported: None,
        }
    }

    fn update(&self) -> IntentUpdate {
        let held = self.held.as_ref().map(SendObstacle::to_string);
        let note = held.as_deref().or(self.note.as_deref());
        status::project(&self.stored, self.memory.confirmed, note)
    }
}

/// See the module's documentation.
pub struct AnchorSender<S> {
    options: SenderOptions,
    key: SigningKey,
    contract: AnchorContract,
    store: S,
    /// In the order of their batch counts, which is also that of their nonces.
    open: Vec<TrackedIntent>,
    chain_checked: bool,
    consecutive_failures: u32,
    last_error: Option<String>,
    next_step_at_ms: u64,
}

impl<S: IntentStore> AnchorSender<S> {
    /// Continues with the stored intents. The node may be down.
    pub async fn open(
        options: SenderOptions,
        key: SigningKey,
        rpc: RpcClient,
        store: S,
    ) -> Result<Self, AnchorSenderError> {
        options.fee_policy.validate()?;
        let mut open: Vec<TrackedIntent> = store
            .load()
            .await?
            .into_iter()
            .map(TrackedIntent::new)
            .collect();
        open.sort_by_key(|tracked| tracked.stored.intent.batches());
        Ok(Self {
            contract: AnchorContract::new(rpc, options.contract),
            options,
            key,
            store,
            open,
            chain_checked: false,
            consecutive_failures: 0,
            last_error: None,
            next_step_at_ms: 0,
        })
    }

    /// The paying account.
    pub fn address(&self) -> Address {
        self.key.address()
    }

    pub fn contract(&self) -> &AnchorContract {
        &self.contract
    }

    /// The contract's last checkpoint as of the newest block, which the next intent must extend.
    pub async fn latest(&self) -> Result<LatestCheckpoint, ContractReadError> {
        self.contract.latest(BlockTag::Latest).await
    }

    /// Whether [`AnchorSender::submit`] would accept a larger intent now.
    pub fn is_ready(&self) -> bool {
        self.under_way().is_none()
    }

    /// The fees of the transaction in flight that is not in a block.
    pub fn offer_under_way(&self) -> Option<Fees> {
        let batches = self.under_way()?;
        let mut open = self.open.iter();
        let tracked = open.find(|tracked| tracked.stored.intent.batches() == batches)?;
        tracked.stored.last_own().map(|(_, own)| own.fees)
    }

    /// The intent whose transaction is in flight and not in a block.
    fn under_way(&self) -> Option<u64> {
        let is_out = |tracked: &&TrackedIntent| {
            let stored = &tracked.stored;
            stored.outcome.is_none() && stored.inclusion.is_none() && !stored.attempts.is_empty()
        };
        let found = self.open.iter().find(is_out)?;
        Some(found.stored.intent.batches())
    }

    /// Stores an intent; a later step sends it. A larger intent replaces one without transactions, so one transaction
    /// covers what accumulated while the node was down.
    pub async fn submit(&mut self, intent: AnchorIntent) -> Result<(), AnchorSubmitError> {
        self.forget_what_was_reported().await?;
        let unreported = |tracked: &&TrackedIntent| tracked.stored.outcome.is_some();
        let unreported = self.open.iter().find(unreported);
        let unreported = unreported.map(|tracked| tracked.stored.intent.batches());
        if let Some(batches) = self.under_way().or(unreported) {
            return Err(AnchorSubmitError::Busy { batches });
        }
        if let Some(last) = self.open.last() {
            let open_batches = last.stored.intent.batches();
            if intent.batches() <= open_batches {
                return Err(AnchorSubmitError::NotNewer { open_batches });
            }
        }
        let stored = StoredIntent::new(intent);
        self.store.save(&stored).await?;
        let unsent = |tracked: &TrackedIntent| tracked.stored.attempts.is_empty();
        while let Some(index) = self.open.iter().position(unsent) {
            let batches = self.open[index].stored.intent.batches();
            self.store.remove(batches).await?;
            self.open.remove(index);
        }
        self.open.push(TrackedIntent::new(stored));
        Ok(())
    }

    /// Reads the chain and does what is due at `now_ms`. Returns the intents whose state changed since their last report
    /// ([`AnchorSender::reported`]). An unresponsive node is not an error: see [`AnchorSender::health`].
    pub async fn step(&mut self, now_ms: u64) -> Result<Vec<IntentUpdate>, StoreError> {
        self.forget_what_was_reported().await?;
        if !self.open.is_empty() && now_ms >= self.next_step_at_ms {
            match self.advance(now_ms).await {
                Ok(()) => {
                    self.consecutive_failures = 0;
                    self.last_error = None;
                }
                Err(SenderStepError::Store(error)) => return Err(error),
                Err(error) => self.back_off(now_ms, &error),
            }
        }
        self.record_gauges();
        Ok(self.changes())
    }

    pub fn health(&self) -> AnchorSenderHealth {
        AnchorSenderHealth {
            consecutive_failures: self.consecutive_failures,
            last_error: self.last_error.clone(),
            next_step_at_ms: self.next_step_at_ms,
            open: self.open.iter().map(TrackedIntent::update).collect(),
        }
    }

    /// Removes ended intents after their report, so a crash or a failure before repeats the report instead of losing it.
    async fn forget_what_was_reported(&mut self) -> Result<(), StoreError> {
        let is_over = |tracked: &TrackedIntent| {
            tracked.stored.outcome.is_some() && tracked.reported == Some(tracked.update())
        };
        while let Some(index) = self.open.iter().position(is_over) {
            let batches = self.open[index].stored.intent.batches();
            self.store.remove(batches).await?;
            self.open.remove(index);
        }
        Ok(())
    }

    fn back_off(&mut self, now_ms: u64, error: &SenderStepError) {
        let doublings = self.consecutive_failures.min(16);
        let pause_ms = (self.options.backoff_ms_min << doublings).min(self.options.backoff_ms_max);
        self.consecutive_failures = self.consecutive_failures.saturating_add(1);
        self.next_step_at_ms = now_ms + pause_ms;
        tracing::warn!(%error, pause_ms, failures = self.consecutive_failures,
            "the anchor sender cannot continue");
        self.last_error = Some(error.to_string());
    }

    fn changes(&self) -> Vec<IntentUpdate> {
        let updates = self
            .open
            .iter()
            .map(|tracked| (tracked.update(), &tracked.reported));
        let changes = updates.filter(|(update, reported)| reported.as_ref() != Some(update));
        changes.map(|(update, _)| update).collect()
    }

    /// Notes that a change is stored. Until then each step returns it again.
    pub fn reported(&mut self, update: IntentUpdate) {
        let mut open = self.open.iter_mut();
        if let Some(of) = open.find(|of| of.stored.intent.batches() == update.batches) {
            of.reported = Some(update);
        }
    }

    fn record_gauges(&self) {
        let open = self.open.iter().filter(|t| t.stored.outcome.is_none());
        let held = self.open.iter().any(|tracked| tracked.held.is_some());
        metrics::gauge!(ANCHOR_INTENTS_OPEN).set(open.count() as f64);
        metrics::gauge!(ANCHOR_HELD).set(f64::from(u8::from(held)));
        metrics::gauge!(ANCHOR_STEP_FAILURES).set(f64::from(self.consecutive_failures));
    }

    fn rules(&self) -> SenderRules {
        SenderRules {
            confirmations: self.options.confirmations,
            finality_fallback_depth: self.options.finality_fallback_depth,
            bump_after_ms: self.options.bump_after_ms,
        }
    }
}

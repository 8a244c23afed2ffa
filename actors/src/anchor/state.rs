//! State of the anchor actor.

use std::sync::Arc;

use crate::timing::SpanObserver;
use kedge_chain::contract::AnchorContract;
use kedge_chain::responder::Responder;
use kedge_chain::sender::AnchorSender;
use ractor::RpcReplyPort;

use super::demand_terms::DemandTerms;
use super::ordered_writes::OrderedWrites;
use super::rows::{AnchorIntentRows, AnswerRows};
use crate::engine::Engine;
use crate::messages::AnchorReport;

pub(crate) struct AnchorActorState {
    pub(super) engine: Engine,
    pub(super) writes: Arc<OrderedWrites>,
    pub(super) sender: AnchorSender<AnchorIntentRows>,
    pub(super) responder: Option<Responder<AnswerRows>>,
    pub(super) interval_ms: u64,
    pub(super) last_begun_ms: u64,
    /// The batches that the next anchor has to cover, while a checkpoint over them is being made.
    pub(super) wanted_batches: Option<u64>,
    pub(super) chain_compared: bool,
    /// Batches of a checkpoint that the chain holds and no row covers yet.
    pub(super) foreign: Option<u64>,
    /// A node's claim that made the store read-only.
    pub(super) doubt: Option<ChainConflict>,
    /// The contract through the second node, if there is one.
    pub(super) second: Option<AnchorContract>,
    pub(super) node: NodeProbe,
    pub(super) finality_fallback_depth: u64,
    pub(super) next_keys_at_ms: u64,
    pub(super) demand_terms: DemandTerms,
    /// Callers that requested an anchor that has not begun yet.
    pub(super) asked: Vec<RpcReplyPort<Result<AnchorReport, String>>>,
    pub(super) observer: Option<Arc<dyn SpanObserver>>,
}

/// A checkpoint that a node claims and that this store does not lead to.
pub(super) struct ChainConflict {
    /// Its batches; unknown if the claim appeared before the start, when no actor could check it.
    pub(super) batches: Option<u64>,
    /// Consecutive answers that led to the log.
    pub(super) agreeing: u32,
}

impl ChainConflict {
    /// The conflict after a start at which the chain contradicted the store.
    pub(super) fn of_start(engine: &Engine) -> Option<Self> {
        engine.inner.store.is_suspended().then_some(Self {
            batches: None,
            agreeing: 0,
        })
    }
}

/// Probe state of the chain's node.
#[derive(Default)]
pub(super) struct NodeProbe {
    pub(super) next_at_ms: u64,
    pub(super) failures: u32,
    pub(super) failing_since_ms: u64,
    /// When the log last reported it.
    pub(super) reported_ms: u64,
}

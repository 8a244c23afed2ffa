//! The anchor actor: at every interval it anchors the log's newest checkpoint, if there is anything new, and follows
//! the transaction until the chain cannot drop it. An anchor is one Ethereum transaction for everything since the last
//! one. The actor drives `crates/chain/src/sender`, a state machine with one transaction in flight.
//!
//! The intent is stored through the committer before it is sent. The actor reads the contract at every start and before
//! each send, because the chain is the truth. The next anchor's time follows from the time of the last one, which is
//! stored.

use std::sync::Arc;
use std::time::Duration;

use crate::timing::{AnchorRound, SpanObserver};
use kedge_chain::contract::AnchorContract;
use kedge_chain::responder::{Responder, ResponderOptions};
use kedge_chain::rpc::RpcClient;
use kedge_chain::sender::{
    AnchorIntent, AnchorIntentStatus as Status, AnchorSender, AnchorSenderError, IntentUpdate,
    SenderOptions, StoreError,
};
use kedge_protocol::checkpoint::SignedCheckpoint;
use kedge_protocol::log_tree;
use kedge_protocol::signature::SigningKey;
use kedge_replay::events::anchor_events;
use kedge_storage::{AnchorProgress, AnchorRow, SideWrite};
use ractor::{Actor, ActorProcessingErr, ActorRef};

use super::checkpoint::CheckpointError;
use super::demand_terms::DemandTerms;
use super::obstacles::AnchorObstacles;
use super::ordered_writes::OrderedWrites;
use super::rows::{
    AnchorIntentRows, AnswerRows, foreign, move_last, recent, status_after, store_error,
};
use super::state::{AnchorActorState, ChainConflict, NodeProbe};
use crate::engine::Engine;
use crate::messages::{AnchorMessage, AnchorReport};
use crate::metric_definitions as metric;

/// Options of anchoring.
#[derive(Clone)]
pub struct AnchorOptions {
    pub sender: SenderOptions,
    /// The account that pays for the transactions.
    pub key: SigningKey,
    /// The chain's node.
    pub rpc: RpcClient,
    /// A second node, for answers of the first that contradict the log.
    pub second_rpc: Option<RpcClient>,
    /// Time between anchors, milliseconds.
    pub interval_ms: u64,
    /// Time between looks at the chain while an anchor is in progress, milliseconds.
    pub poll_ms: u64,
    /// The bond whose cases are answered, if the log has one.
    pub responder: Option<ResponderOptions>,
    /// Receives a span for each anchor, if the server traces.
    pub observer: Option<Arc<dyn SpanObserver>>,
}

pub(crate) struct AnchorActor;

/// Starts the anchor actor. It ticks until the engine stops it.
pub(crate) async fn start(
    engine: &Engine,
    options: AnchorOptions,
) -> Result<ActorRef<AnchorMessage>, AnchorSenderError> {
    let writes = OrderedWrites::new(engine);
    let rows = AnchorIntentRows {
        engine: engine.clone(),
        writes: Arc::clone(&writes),
        contract: options.sender.contract,
    };
    let responder = match options.responder {
        Some(responding) => {
            let (key, rpc) = (options.key.clone(), options.rpc.clone());
            let rows = AnswerRows {
                engine: engine.clone(),
                writes: Arc::clone(&writes),
            };
            Some(Responder::open(responding, key, rpc, rows).await?)
        }
        None => None,
    };
    let contract = options.sender.contract;
    let second = options
        .second_rpc
        .map(|rpc| AnchorContract::new(rpc, contract));
    let finality_fallback_depth = options.sender.finality_fallback_depth;
    let sender = AnchorSender::open(options.sender, options.key, options.rpc, rows).await?;
    let state = AnchorActorState {
        engine: engine.clone(),
        writes,
        sender,
        responder,
        interval_ms: options.interval_ms,
        last_begun_ms: last_begun_ms(engine)?,
        wanted_batches: None,
        chain_compared: false,
        foreign: None,
        doubt: ChainConflict::of_start(engine),
        second,
        node: NodeProbe::default(),
        finality_fallback_depth,
        next_keys_at_ms: 0,
        demand_terms: DemandTerms::default(),
        asked: Vec::new(),
        observer: options.observer,
    };
    let actor = engine
        .spawn_linked(AnchorActor, state)
        .await
        .map_err(|error| AnchorSenderError::Store(StoreError(error.to_string().into())))?;
    let ticking = actor.clone();
    tokio::spawn(async move {
        let mut ticks = tokio::time::interval(Duration::from_millis(options.poll_ms));
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if ticking.send_message(AnchorMessage::Tick).is_err() {
                return;
            }
        }
    });
    Ok(actor)
}

/// Time at which the last anchor began; before the first anchor, that of the first batch. The next anchor is due from
/// then, not from the server's start.
fn last_begun_ms(engine: &Engine) -> Result<u64, StoreError> {
    let rows = recent(engine)?;
    let last = rows.iter().find(|row| row.status != AnchorProgress::Failed);
    let begun_ms = if let Some(row) = last {
        Some(row.checkpoint.checkpoint.issued_at_ms)
    } else {
        let first = engine.published().snapshot.batch(0).map_err(store_error)?;
        first.map(|batch| batch.header.sealed_at_ms)
    };
    let now_ms = engine.now_ms();
    Ok(begun_ms.map_or(now_ms, |begun_ms| begun_ms.min(now_ms)))
}

impl Actor for AnchorActor {
    type Msg = AnchorMessage;
    type State = AnchorActorState;
    type Arguments = AnchorActorState;

    async fn pre_start(
        &self,
        _: ActorRef<AnchorMessage>,
        state: AnchorActorState,
    ) -> Result<AnchorActorState, ActorProcessingErr> {
        Ok(state)
    }

    async fn handle(
        &self,
        _: ActorRef<AnchorMessage>,
        message: AnchorMessage,
        state: &mut AnchorActorState,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            AnchorMessage::Tick => {}
            AnchorMessage::Now(reply) => state.asked.push(reply),
            AnchorMessage::ReadKeys(reply) => {
                // The caller may be gone.
                let _ = reply.send(state.read_keys_now().await);
                return Ok(());
            }
            AnchorMessage::Recover(reply) => {
                // The caller may be gone.
                let _ = reply.send(state.recover().await);
                return Ok(());
            }
        }
        // A node that is down is no failure of this server. A store that is closing ends the actor together with the
        // rest of the engine.
        if let Err(error) = state.tick().await {
            tracing::warn!(%error, "anchoring made no progress");
        }
        Ok(())
    }
}

impl AnchorActorState {
    async fn tick(&mut self) -> Result<(), StoreError> {
        let now_ms = self.engine.now_ms();
        if !self.writes.are_settled() {
            self.record_lag(now_ms)?;
            return self.reply(|| Err("the rows of anchors wait for room on the disk".to_owned()));
        }
        if let Some(why) = self.probe_node(now_ms).await {
            self.record_lag(now_ms)?;
            return self.reply(|| Err(why.clone()));
        }
        self.read_keys(now_ms).await;
        if self.respond(now_ms).await {
            // An answer to the bond has a deadline and an anchor has none, so the answer gets the nonce.
            return self.record_lag(now_ms);
        }
        if self.engine.inner.store.has_unsigned_action() {
            self.reply(|| Err("the log holds an action that its author did not sign".into()))?;
            return self.record_lag(now_ms);
        }
        self.reconsider().await?;
        self.adopt().await?;
        self.end_demand_terms(now_ms).await;
        if self.doubt.is_some() {
            self.reply(|| {
                Err("the chain's node contradicts this store; it will be asked again".into())
            })?;
        }
        let due = now_ms >= self.last_begun_ms + self.interval_ms || !self.asked.is_empty();
        let may_begin = self.doubt.is_none() && self.sender.is_ready();
        if (due || !self.chain_compared) && may_begin {
            self.begin(now_ms, due).await?;
        }
        let mut failed = None;
        for update in self.sender.step(now_ms).await? {
            if update.status == Status::Failed {
                failed = Some((update.batches, update.note.clone().unwrap_or_default()));
            }
            self.record(&update).await?;
            self.sender.reported(update);
        }
        let trouble = &self.engine.inner.anchor_trouble;
        let before = trouble.load_full();
        let after = AnchorObstacles::after(before.as_deref(), &self.sender.health(), failed);
        trouble.store(Some(Arc::new(after)));
        self.record_lag(now_ms)
    }

    /// Compares the log with the chain, and submits an anchor if one is due.
    async fn begin(&mut self, now_ms: u64, due: bool) -> Result<(), StoreError> {
        let latest = match self.sender.latest().await {
            Ok(latest) => latest,
            Err(error) => {
                tracing::warn!(%error, "the chain cannot be read; anchoring waits");
                let why = format!("the chain cannot be read: {error}");
                return self.reply(|| Err(why.clone()));
            }
        };
        if let Some(why) = self.contradiction(latest.batches, latest.history)? {
            let why = self.contradicted(latest, why).await?;
            return self.reply(|| Err(why.clone()));
        }
        self.engine.inner.seen_anchors.note(latest);
        self.chain_compared = true;
        self.foreign = Some(latest.batches);
        self.adopt().await?;
        if !due {
            return Ok(());
        }
        let Some(signed) = self.due_checkpoint()? else {
            return Ok(());
        };
        self.last_begun_ms = now_ms;
        let batches = signed.checkpoint.batches;
        let open = self
            .sender
            .health()
            .open
            .iter()
            .map(|open| open.batches)
            .max();
        if batches <= latest.batches || open >= Some(batches) {
            let covered = open.unwrap_or(latest.batches);
            let row = recent(&self.engine)?
                .into_iter()
                .find(|row| row.checkpoint.checkpoint.batches == covered);
            return self.reply(|| {
                Ok(AnchorReport {
                    number: row.as_ref().map(|row| row.number),
                    id: row.as_ref().map(|row| row.id),
                    batches: covered,
                })
            });
        }
        let snapshot = &self.engine.published().snapshot;
        let proof = if latest.batches == 0 {
            Vec::new()
        } else {
            log_tree::consistency_path(snapshot, latest.batches, batches).map_err(store_error)?
        };
        let intent = AnchorIntent {
            signed,
            extends_batches: latest.batches,
            proof,
        };
        if let Err(error) = self.sender.submit(intent).await {
            // An anchor is in progress after all: the next tick tries again.
            tracing::debug!(%error, "the anchor waits");
            return Ok(());
        }
        let row = recent(&self.engine)?.into_iter().next();
        self.reply(|| {
            Ok(AnchorReport {
                number: row.as_ref().map(|row| row.number),
                id: row.as_ref().map(|row| row.id),
                batches,
            })
        })
    }

    /// The checkpoint to anchor, which covers what the log held when the anchor was due. `None` while its root is being made;
    /// a later tick continues.
    fn due_checkpoint(&mut self) -> Result<Option<SignedCheckpoint>, StoreError> {
        let head = self.engine.published().head.batches;
        let wanted = *self.wanted_batches.get_or_insert(head);
        let signed = match self.engine.checkpoint() {
            Err(CheckpointError::NoRoot) => None,
            signed => Some(signed.map_err(store_error)?),
        };
        let covers = |signed: &SignedCheckpoint| signed.checkpoint.batches >= wanted;
        let signed = signed.filter(|signed| covers(signed) || !self.engine.makes_roots());
        if signed.is_some() {
            self.wanted_batches = None;
        } else {
            self.engine.want_root(wanted.max(1));
        }
        Ok(signed)
    }

    /// Makes the next tick anchor.
    pub(crate) fn anchor_soon(&mut self) {
        self.last_begun_ms = 0;
    }

    #[expect(
        clippy::unnecessary_wraps,
        reason = "the end of several fallible steps"
    )]
    fn reply(
        &mut self,
        report: impl Fn() -> Result<AnchorReport, String>,
    ) -> Result<(), StoreError> {
        for reply in self.asked.drain(..) {
            // The caller may be gone.
            let _ = reply.send(report());
        }
        Ok(())
    }

    /// Stores an anchor's progress and the events about it.
    pub(crate) async fn store(
        &self,
        before: AnchorProgress,
        row: AnchorRow,
    ) -> Result<(), StoreError> {
        let events = anchor_events(before, &row, self.engine.now_ms());
        self.writes
            .write(vec![SideWrite::Anchor(row)], events)
            .await
    }

    async fn record(&mut self, update: &IntentUpdate) -> Result<(), StoreError> {
        if let Some(note) = &update.note {
            tracing::warn!(batches = update.batches, note, "anchor");
        }
        let found = recent(&self.engine)?.into_iter().find(|row| {
            row.checkpoint.checkpoint.batches == update.batches
                && row.status != AnchorProgress::Failed
        });
        let Some(mut row) = found else { return Ok(()) };
        let before = row.status;
        let Some(status) = status_after(&row, update) else {
            return Ok(());
        };
        row.status = status;
        row.block_number = update.block_number;
        row.block_hash = update.block_hash;
        row.attempts = update.attempts;
        if let Some(hash) = update.tx_hash {
            move_last(&mut row.tx_hashes, hash);
        }
        if matches!(update.status, Status::Finalized | Status::Failed) {
            tracing::info!(batches = update.batches, status = ?row.status, "anchor ended");
            if update.status == Status::Failed {
                self.anchor_soon();
            }
        }
        self.observe(before, &row);
        self.store(before, row).await?;
        if let (Some(covered), Status::Finalized) = (foreign(update), update.status) {
            self.foreign = Some(covered);
            self.adopt().await?;
        }
        Ok(())
    }

    /// Reports an anchor that has just reached a block that counts, or has failed.
    fn observe(&self, before: AnchorProgress, row: &AnchorRow) {
        let status = |status| match status {
            AnchorProgress::Pending | AnchorProgress::Submitted => None,
            AnchorProgress::Confirmed => Some("confirmed"),
            AnchorProgress::Finalized => Some("finalized"),
            AnchorProgress::Failed => Some("failed"),
        };
        let (Some(observer), None, Some(status)) =
            (&self.observer, status(before), status(row.status))
        else {
            return;
        };
        let checkpoint = &row.checkpoint.checkpoint;
        observer.anchored(&AnchorRound {
            batches: checkpoint.batches,
            status,
            begun_ms: checkpoint.issued_at_ms,
            ended_ms: self.engine.now_ms(),
            attempts: row.attempts,
            block_number: row.block_number,
        });
    }

    fn record_lag(&self, now_ms: u64) -> Result<(), StoreError> {
        let published = self.engine.published();
        let finalized = recent(&self.engine)?
            .iter()
            .find(|row| row.status == AnchorProgress::Finalized)
            .map_or(0, |row| row.checkpoint.checkpoint.batches);
        let lag_batches = published.head.batches.saturating_sub(finalized);
        metrics::gauge!(metric::ANCHOR_LAG_BATCHES).set(lag_batches as f64);
        let oldest = published.snapshot.batch(finalized).map_err(store_error)?;
        let lag_ms = oldest.map_or(0, |batch| now_ms.saturating_sub(batch.header.sealed_at_ms));
        metrics::gauge!(metric::ANCHOR_LAG_SECONDS).set(lag_ms as f64 / 1_000.0);
        Ok(())
    }
}

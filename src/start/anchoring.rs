//! Anchoring in a running server: options, commands and status.

use std::sync::Arc;
use std::time::Duration;

use kedge_actors::{AnchorOptions, AnchorSource, ContractAnchorSource, Engine};
use kedge_chain::contract::AnchorContract;
use kedge_chain::responder::ResponderOptions;
use kedge_chain::rpc::RpcClient;
use kedge_chain::sender::SenderOptions;
use kedge_chain::transaction::FeePolicy;
use kedge_config::Config;
use kedge_protocol::Address;
use kedge_storage::{AnchorProgress, AnchorRow, RowPage};
use kedge_telemetry::Tracer;
use serde_json::{Map, Value, json};

use super::ChainConnection;
use crate::api::view_conversion;

/// Poll interval of a public chain with transactions in flight, milliseconds.
const POLL_MS: u64 = 4_000;
/// Poll interval of the embedded chain, milliseconds.
const EMBEDDED_POLL_MS: u64 = 250;

/// Longest pause after failed checks of the bond, milliseconds.
const LOOK_BACKOFF_MS_MAX: u64 = 60_000;

/// Time for which the operator's command waits for a block: less than the command line's own wait, including the time
/// until the anchor begins.
const OUTCOME_LIMIT: Duration = Duration::from_secs(25);
/// Newest anchors searched for the one before a stop.
const ANCHORS_LOOKED_AT: usize = 64;
/// Interval of that search.
const WAIT_STEP: Duration = Duration::from_millis(100);

/// Options for answering the bond's cases, if the log has a bond.
fn responder(config: &Config, chain: &ChainConnection) -> Option<ResponderOptions> {
    let anchor = SenderOptions::new(
        chain.domain().chain_id,
        chain.contract(),
        chain.domain().separator(),
    );
    Some(ResponderOptions {
        chain_id: anchor.chain_id,
        bond: config.bond_contract?,
        anchor: anchor.contract,
        fee_policy: FeePolicy {
            max_fee_ceiling_wei: u128::from(config.bond_max_fee_gwei) * 1_000_000_000,
            ..anchor.fee_policy
        },
        bump_after_ms: anchor.bump_after_ms,
        finality_fallback_depth: anchor.finality_fallback_depth,
        look_ms: config.bond_poll_s * 1_000,
        backoff_ms_max: LOOK_BACKOFF_MS_MAX,
    })
}

fn is_held(row: &AnchorRow) -> bool {
    matches!(
        row.status,
        AnchorProgress::Confirmed | AnchorProgress::Finalized
    )
}

#[derive(Clone)]
pub struct AnchoringTask {
    engine: Engine,
    options: AnchorOptions,
}

impl AnchoringTask {
    /// Prepares anchoring of the engine's log; nothing is anchored before [`Self::begin`].
    pub fn new(
        config: &Config,
        chain: &ChainConnection,
        engine: &Engine,
        tracer: Option<&Tracer>,
    ) -> Self {
        let domain = chain.domain();
        let mut sender = SenderOptions::new(domain.chain_id, chain.contract(), domain.separator());
        sender.confirmations = config.chain_confirmations;
        let mut poll_ms = POLL_MS;
        if chain.url().is_some() {
            // The embedded chain makes one block per transaction and no others.
            sender.confirmations = 1;
            poll_ms = EMBEDDED_POLL_MS;
        }
        let options = AnchorOptions {
            sender,
            key: chain.anchor_key().clone(),
            rpc: chain.rpc().clone(),
            second_rpc: chain.second_rpc().cloned(),
            interval_ms: config.anchor_interval_s * 1_000,
            poll_ms,
            responder: responder(config, chain),
            observer: tracer.map(Tracer::observer),
        };
        Self {
            engine: engine.clone(),
            options,
        }
    }

    /// Source of the newest anchor for a follower.
    pub fn witness(&self) -> Arc<dyn AnchorSource> {
        let address = self.options.sender.contract;
        let contract = |rpc: &RpcClient| AnchorContract::new(rpc.clone(), address);
        Arc::new(ContractAnchorSource {
            first: contract(&self.options.rpc),
            second: self.options.second_rpc.as_ref().map(contract),
        })
    }

    /// The account that pays.
    pub fn payer(&self) -> Address {
        self.options.key.address()
    }

    /// Anchors until the engine no longer leads. The chain's node may be down.
    pub async fn begin(&self) -> Result<(), kedge_chain::sender::AnchorSenderError> {
        // Boxed because it is large, and awaited only once.
        Box::pin(self.engine.start_anchoring(self.options.clone())).await
    }

    /// Anchors the newest head. Returns once a block contains it, or after a time limit once the transaction was sent.
    /// An error states why it was not anchored.
    pub async fn anchor_now(&self) -> Result<Map<String, Value>, String> {
        let report = self.engine.anchor_now().await?;
        let outcome = self.engine.anchored(&report, OUTCOME_LIMIT).await?;
        let mut members = Map::new();
        members.insert("number".to_owned(), json!(outcome.number));
        members.insert("id".to_owned(), json!(outcome.id));
        members.insert("batches".to_owned(), json!(outcome.batches));
        members.insert(
            "status".to_owned(),
            json!(outcome.status.map(view_conversion::anchor_state)),
        );
        members.insert("block_number".to_owned(), json!(outcome.block_number));
        Ok(members)
    }

    /// Anchors the newest head and waits at most `limit` until a block contains it: the last step before an orderly
    /// stop. The result is logged; the next start follows the transaction.
    pub async fn anchor_before_stop(&self, limit: Duration) {
        tracing::info!(limit_s = limit.as_secs(), "anchoring before the stop");
        match tokio::time::timeout(limit, self.anchor_and_wait()).await {
            Ok(Ok(batches)) => tracing::info!(batches, "anchored before the stop"),
            Ok(Err(error)) => tracing::warn!(error, "nothing was anchored before the stop"),
            Err(_) => tracing::warn!(
                "the anchor before the stop was not seen in a block in time; the next start follows it"
            ),
        }
    }

    async fn anchor_and_wait(&self) -> Result<u64, String> {
        let batches = self.engine.anchor_now().await?.batches;
        let newest = RowPage {
            after: None,
            descending: true,
            limit: ANCHORS_LOOKED_AT,
        };
        loop {
            let rows = self.engine.published().snapshot.anchors(newest);
            let rows = rows.map_err(|error| error.to_string())?;
            let covers = |row: &AnchorRow| row.checkpoint.checkpoint.batches >= batches;
            if batches == 0 || rows.iter().any(|row| is_held(row) && covers(row)) {
                return Ok(batches);
            }
            tokio::time::sleep(WAIT_STEP).await;
        }
    }

    pub fn status(&self) -> Map<String, Value> {
        let published = self.engine.published();
        let last = published.snapshot.last_anchor();
        let last: Option<AnchorRow> = last.unwrap_or_else(|error| {
            tracing::error!(%error, "the last anchor could not be read");
            None
        });
        let newest = RowPage {
            after: None,
            descending: true,
            limit: ANCHORS_LOOKED_AT,
        };
        let anchors = published.snapshot.anchors(newest).unwrap_or_default();
        let held = anchors.iter().find(|row| is_held(row));
        let anchored = held.map_or(0, |row| row.checkpoint.checkpoint.batches);
        let lag = published.head.batches.saturating_sub(anchored);
        let mut members = Map::new();
        members.insert(
            "anchor_interval_s".to_owned(),
            json!(self.options.interval_ms / 1_000),
        );
        members.insert("batches_not_anchored".to_owned(), json!(lag));
        members.insert(
            "last_anchor".to_owned(),
            json!(last.as_ref().map(view_conversion::anchor)),
        );
        if let Some(node) = self.engine.node() {
            let away_ms = node
                .unreachable_since_ms
                .map(|since_ms| self.engine.now_ms().saturating_sub(since_ms));
            members.insert(
                "node".to_owned(),
                json!({
                    "endpoint": node.endpoint,
                    "reachable": away_ms.is_none(),
                    "unreachable_s": away_ms.map(|away_ms| away_ms / 1_000),
                    "error": node.error,
                }),
            );
        }
        members
    }
}

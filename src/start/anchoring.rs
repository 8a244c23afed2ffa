//! Anchoring, as the server starts and asks it.

use kedge_actors::{AnchorOptions, Engine};
use kedge_chain::responder::Options as ResponderOptions;
use kedge_chain::sender::Options as SenderOptions;
use kedge_chain::transaction::FeePolicy;
use kedge_storage::AnchorRow;
use serde_json::{Map, Value, json};

use super::Chain;
use crate::config::Config;
use crate::views::log::AnchorView;

/// How often a public chain is looked at while something is under way, milliseconds.
const POLL_MS: u64 = 4_000;
/// How often the embedded chain is looked at, milliseconds.
const EMBEDDED_POLL_MS: u64 = 250;

/// The longest pause after looks at the bond that failed, milliseconds.
const LOOK_BACKOFF_MS_MAX: u64 = 60_000;

/// How the bond's cases are answered, if the log has a bond.
fn responder(config: &Config, chain: &Chain) -> Option<ResponderOptions> {
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

/// The anchors of a running server.
#[derive(Clone)]
pub struct Anchoring {
    engine: Engine,
    interval_s: u64,
}

impl Anchoring {
    /// Starts anchoring the engine's log on the chain. The node need not be up.
    pub async fn start(
        config: &Config,
        chain: &Chain,
        engine: &Engine,
    ) -> Result<Self, kedge_chain::sender::OpenError> {
        let domain = chain.domain();
        let mut sender = SenderOptions::new(domain.chain_id, chain.contract(), domain.separator());
        sender.confirmations = config.chain_confirmations;
        let mut poll_ms = POLL_MS;
        if chain.url().is_some() {
            // The embedded chain has a block for each transaction and none besides.
            sender.confirmations = 1;
            poll_ms = EMBEDDED_POLL_MS;
        }
        let options = AnchorOptions {
            sender,
            key: chain.anchor_key().clone(),
            rpc: chain.rpc().clone(),
            interval_ms: config.anchor_interval_s * 1_000,
            poll_ms,
            responder: responder(config, chain),
        };
        // Large, and awaited once.
        Box::pin(engine.start_anchoring(options)).await?;
        Ok(Self {
            engine: engine.clone(),
            interval_s: config.anchor_interval_s,
        })
    }

    /// Asks for an anchor of the newest head; returns when it has begun.
    pub async fn anchor_now(&self) -> Result<Map<String, Value>, String> {
        let report = self.engine.anchor_now().await?;
        let mut members = Map::new();
        members.insert("number".to_owned(), json!(report.number));
        members.insert("id".to_owned(), json!(report.id));
        members.insert("batches".to_owned(), json!(report.batches));
        Ok(members)
    }

    /// How far anchoring has come.
    pub fn status(&self) -> Map<String, Value> {
        let published = self.engine.published();
        let last = published.snapshot.last_anchor();
        let last: Option<AnchorRow> = last.unwrap_or_else(|error| {
            tracing::error!(%error, "the last anchor could not be read");
            None
        });
        let lag = last.as_ref().map_or(published.head.batches, |anchor| {
            published
                .head
                .batches
                .saturating_sub(anchor.checkpoint.checkpoint.batches)
        });
        let mut members = Map::new();
        members.insert("anchor_interval_s".to_owned(), json!(self.interval_s));
        members.insert("batches_not_anchored".to_owned(), json!(lag));
        members.insert("last_anchor".to_owned(), json!(last.map(AnchorView::from)));
        members
    }
}

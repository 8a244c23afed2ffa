//! Facts that evidence is judged by: this server's anchors, and the contract's keys as the anchor actor last read them.
//! Requests cause no calls to a node.

use kedge_actors::{Engine, PublishedState};
use kedge_protocol::evidence::{ContractView, Evidence, NoFault};
use kedge_storage::AnchorProgress;

use crate::error::ApiResult;

/// The facts for a piece of evidence. Until the contract's keys have been read, the server's own keys stand in for
/// them.
pub fn of(
    engine: &Engine,
    published: &PublishedState,
    evidence: &Evidence,
) -> ApiResult<ContractView> {
    let domain = *engine.domain();
    let mut trust = match engine.contract_keys() {
        Some(known) => known.trust(domain, engine.now_ms() / 1_000),
        None => ContractView::of_known_keys(domain, &published.snapshot.sequencer_keys()?),
    };
    for batches in evidence.anchored_batches() {
        let Some(last) = batches.checked_sub(1) else {
            continue;
        };
        let anchor = published.snapshot.anchor_covering(last)?;
        let held = anchor.filter(|anchor| {
            anchor.checkpoint.checkpoint.batches == batches
                && matches!(
                    anchor.status,
                    AnchorProgress::Confirmed | AnchorProgress::Finalized
                )
        });
        if let Some(anchor) = held {
            trust
                .anchored
                .insert(batches, anchor.checkpoint.checkpoint.history);
        }
    }
    Ok(trust)
}

/// Addition to a refusal: the key may be one that this server does not know yet.
pub fn remark(engine: &Engine, refusal: &NoFault) -> &'static str {
    match refusal {
        NoFault::NotSigned { .. } if engine.contract_keys().is_none() => {
            "; this server has not read the contract's keys yet and knows only its own: submit \
             evidence under another key again once its node answers, or to the contract"
        }
        _ => "",
    }
}

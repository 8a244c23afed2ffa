//! Owners of webhooks: they create, switch, change and delete them, and abandon some of their requests.

use std::sync::Arc;
use std::time::Duration;

use kedge_actors::{Engine, Principal};
use kedge_protocol::Id;
use kedge_protocol::resource::Webhook;
use kedge_storage::RowPage;

use super::oracle::unread;
use super::rates::WebhookFaultRates;
use crate::client::ActionOrder;
use crate::plan::Violation;
use crate::random::SimulationRandom;
use crate::workload::{CallerWait, FULL, ProcessCallers};

/// Limit on an organization's live webhooks.
const LIVE_MAX: usize = 3;
/// Possible subscriptions.
const WANTED: &[&str] = &[
    r#"["*"]"#,
    r#"["object.created","object.updated"]"#,
    r#"["object.updated","object.transferred","object.burned"]"#,
    r#"["batch.sealed"]"#,
];

fn order(kind: &'static str, target: Option<Id>, payload: String) -> ActionOrder {
    ActionOrder {
        kind,
        target: target.map(|id| id.to_string()).unwrap_or_default(),
        payload,
    }
}

/// A change without effect.
pub(super) fn touch(webhook: Id) -> ActionOrder {
    let payload = r#"{"description":"touched"}"#.to_owned();
    order("webhook.update", Some(webhook), payload)
}

fn next(
    live: &[Webhook],
    rates: &WebhookFaultRates,
    random: &mut SimulationRandom,
) -> Option<ActionOrder> {
    let wanted = random.pick(WANTED).copied().unwrap_or_default();
    if live.len() < LIVE_MAX && random.chance(rates.made) {
        let active = random.below(6) > 0;
        let payload = format!(
            r#"{{"url":"https://receiver.example/{}","events":{wanted},"active":{active}}}"#,
            random.below(100)
        );
        return Some(order("webhook.create", None, payload));
    }
    let webhook = random.pick(live)?;
    let update = |payload| order("webhook.update", Some(webhook.id), payload);
    if random.chance(rates.switched) {
        return Some(update(format!(r#"{{"active":{}}}"#, !webhook.active)));
    }
    if random.chance(rates.changed) {
        return Some(update(format!(r#"{{"events":{wanted}}}"#)));
    }
    if random.chance(rates.ended) {
        return Some(order("webhook.delete", Some(webhook.id), String::new()));
    }
    None
}

/// Changes webhooks until the process ends.
pub(super) async fn tend(
    callers: Arc<ProcessCallers>,
    engine: Engine,
    rates: WebhookFaultRates,
    mut random: SimulationRandom,
) {
    loop {
        tokio::time::sleep(Duration::from_millis(5 + random.below(60))).await;
        if engine.failure().reason().is_some() {
            return;
        }
        if let Err(violation) = once(&callers, &engine, &rates, &mut random).await {
            return callers.report(violation);
        }
    }
}

async fn once(
    callers: &ProcessCallers,
    engine: &Engine,
    rates: &WebhookFaultRates,
    random: &mut SimulationRandom,
) -> Result<(), Violation> {
    let signer = random.below(callers.count() as u64) as usize;
    let asker = callers.asker(engine, signer)?;
    let Principal::Wallet {
        organization_id, ..
    } = asker
    else {
        return Ok(());
    };
    let all = RowPage {
        after: None,
        descending: false,
        limit: usize::MAX,
    };
    let live = engine.published().snapshot.listed(organization_id, all);
    let mut live: Vec<Webhook> = live.map_err(unread)?;
    live.retain(|webhook| !webhook.deleted);
    let Some(order) = next(&live, rates, random) else {
        return Ok(());
    };
    let signed = callers.sign(signer, None, (false, 300, None), &[order])?;
    let wait = if random.chance(rates.abandon) {
        CallerWait::Gone(Duration::from_millis(random.below(15)))
    } else {
        FULL
    };
    callers.send(engine, (asker, &signed), wait).await?;
    Ok(())
}

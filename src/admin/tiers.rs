//! Tier commands: limits and number of organizations of each tier, and the storage tiers of the log's segments.

use std::sync::Arc;

use kedge_http::clock::now_s;
use kedge_http::limits::NEAREST_MAX;
use kedge_protocol::Id;
use kedge_protocol::action::Kind;
use kedge_protocol::resource::CustomLimits;
use kedge_upkeep::archive;
use serde_json::{Value, json};

use super::{AdminAnswer, AdminBackupSource, AdminSocket, blocking, members, text};

/// Default length of the list of organizations nearest to a limit.
pub(super) fn nearest_by_default() -> usize {
    10
}

impl AdminSocket {
    /// Sets an organization's tier, in the log.
    pub(super) async fn set_tier(
        &self,
        organization_id: Id,
        tier: &str,
        limits: &CustomLimits,
    ) -> AdminAnswer {
        self.check_leads()?;
        let operator = self.operator()?;
        let limits = serde_json::to_value(limits).map_err(text)?;
        let mut payload = members(limits);
        payload.insert("tier".to_owned(), json!(tier));
        let payload = Value::Object(payload).to_string();
        let (kind, target) = (Kind::SystemTier, organization_id);
        let outcome = operator
            .act(organization_id, kind, target, &payload, None)
            .await
            .map_err(|error| error.message.into_owned())?;
        self.services.limits.rates.count_again();
        let placement = outcome.placement.as_ref();
        Ok(members(json!({
            "organization_id": organization_id,
            "tier": tier,
            "sequence": placement.map(|placement| placement.first_sequence),
        })))
    }

    /// Limits and number of organizations by tier; organizations nearest to a limit; and the log's segments.
    pub(super) async fn tiers(&self, nearest: usize) -> AdminAnswer {
        if nearest > NEAREST_MAX {
            return Err(format!("nearest must be at most {NEAREST_MAX}"));
        }
        let (services, AdminBackupSource { store, data }) =
            (Arc::clone(&self.services), self.copied.clone());
        let reading = move || {
            let overview = services
                .limits
                .rates
                .overview(now_s(), nearest)
                .map_err(text)?;
            let forms = archive::forms(&store, &data).map_err(text)?;
            let mut answer = members(serde_json::to_value(overview).map_err(text)?);
            answer.insert("log".to_owned(), json!(forms));
            Ok::<_, String>(answer)
        };
        blocking(reading).await
    }
}

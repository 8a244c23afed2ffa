//! Limits and prices of the tiers.

use std::sync::Arc;

use hyper::header::HeaderValue;
use kedge_protocol::resource::{CustomLimits, Tier};
use schemars::JsonSchema;
use serde::Serialize;

use super::fields;
use super::policy::{LimitClass, LimitPolicy};
use kedge_net::window::COUNT_MAX;

/// One value for each of an organization's limits.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "PerLimitOf{T}")]
pub struct PerLimit<T> {
    /// All requests, per minute (`tier-minute`).
    pub requests_per_minute: T,
    /// All requests, per UTC day (`tier-day`).
    pub requests_per_day: T,
    /// POST /objects and PATCH /objects/{id} together, per minute (`object-writes`).
    pub object_writes_per_minute: T,
    /// POST /ebus/actions/batch, per minute; a batch is one request (`action-batches`).
    pub action_batches_per_minute: T,
    /// POST /files, per minute (`file-uploads`).
    pub file_uploads_per_minute: T,
    /// POST /templates, per minute (`template-writes`).
    pub template_writes_per_minute: T,
    /// GET /objects, GET /templates and GET /batches together, per minute (`list-reads`).
    pub list_reads_per_minute: T,
}

impl<T> PerLimit<T> {
    /// The value for a policy of an organization.
    pub fn of(&self, policy: LimitPolicy) -> Option<&T> {
        match policy {
            LimitPolicy::TierMinute => Some(&self.requests_per_minute),
            LimitPolicy::TierDay => Some(&self.requests_per_day),
            LimitPolicy::ObjectWrites => Some(&self.object_writes_per_minute),
            LimitPolicy::ActionBatches => Some(&self.action_batches_per_minute),
            LimitPolicy::FileUploads => Some(&self.file_uploads_per_minute),
            LimitPolicy::TemplateWrites => Some(&self.template_writes_per_minute),
            LimitPolicy::ListReads => Some(&self.list_reads_per_minute),
            LimitPolicy::Address
            | LimitPolicy::LoginAddress
            | LimitPolicy::LoginAccount
            | LimitPolicy::LoginAccountHour => None,
        }
    }

    pub fn each(mut of: impl FnMut(LimitPolicy) -> T) -> Self {
        Self {
            requests_per_minute: of(LimitPolicy::TierMinute),
            requests_per_day: of(LimitPolicy::TierDay),
            object_writes_per_minute: of(LimitPolicy::ObjectWrites),
            action_batches_per_minute: of(LimitPolicy::ActionBatches),
            file_uploads_per_minute: of(LimitPolicy::FileUploads),
            template_writes_per_minute: of(LimitPolicy::TemplateWrites),
            list_reads_per_minute: of(LimitPolicy::ListReads),
        }
    }
}

pub type OrganizationLimits = PerLimit<Option<u64>>;

impl From<&CustomLimits> for OrganizationLimits {
    fn from(limits: &CustomLimits) -> Self {
        Self {
            requests_per_minute: limits.requests_per_minute,
            requests_per_day: limits.requests_per_day,
            object_writes_per_minute: limits.object_writes_per_minute,
            action_batches_per_minute: limits.action_batches_per_minute,
            file_uploads_per_minute: limits.file_uploads_per_minute,
            template_writes_per_minute: limits.template_writes_per_minute,
            list_reads_per_minute: limits.list_reads_per_minute,
        }
    }
}

impl OrganizationLimits {
    fn limit(&self, policy: LimitPolicy) -> Option<u64> {
        self.of(policy).copied().flatten()
    }
}

/// The limits of a tier: from the service's two tables, or as agreed. The tables have the same endpoint limits for
/// every tier.
pub fn limits_of(tier: &Tier) -> OrganizationLimits {
    let (minute, day) = match tier {
        Tier::Free => (100, Some(1_000)),
        Tier::Developer => (500, Some(50_000)),
        Tier::Enterprise => (5_000, None),
        Tier::Custom(limits) => return OrganizationLimits::from(limits),
    };
    OrganizationLimits {
        requests_per_minute: Some(minute),
        requests_per_day: day,
        object_writes_per_minute: Some(50),
        action_batches_per_minute: Some(10),
        file_uploads_per_minute: Some(20),
        template_writes_per_minute: Some(10),
        list_reads_per_minute: Some(1_000),
    }
}

pub fn price_of(tier: &Tier) -> &'static str {
    match tier {
        Tier::Free => "Free",
        Tier::Developer => "99 USD per month",
        Tier::Enterprise | Tier::Custom(_) => "Custom",
    }
}

/// Configured log quotas in bytes, by tier; 0 is unlimited.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LogQuotas {
    pub(super) free: u64,
    pub(super) developer: u64,
}

impl LogQuotas {
    /// The quota of a tier; `None` is unlimited.
    pub(super) fn of(self, tier: &Tier) -> Option<u64> {
        let quota = match tier {
            Tier::Free => Some(self.free),
            Tier::Developer => Some(self.developer),
            Tier::Enterprise => None,
            Tier::Custom(limits) => return limits.log_bytes,
        };
        quota.filter(|bytes| *bytes > 0)
    }
}

/// Configured disk bytes that a tier leaves to the others.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DiskReserves {
    pub(super) free: u64,
    pub(super) developer: u64,
}

impl DiskReserves {
    pub(super) fn of(self, tier: &Tier) -> u64 {
        match tier {
            Tier::Free => self.free,
            Tier::Developer => self.developer,
            Tier::Enterprise | Tier::Custom(_) => 0,
        }
    }
}

const CLASSES: [LimitClass; 6] = [
    LimitClass::Tier,
    LimitClass::ObjectWrites,
    LimitClass::ActionBatches,
    LimitClass::FileUploads,
    LimitClass::TemplateWrites,
    LimitClass::Lists,
];

/// A tier's limits, prepared for counters and headers.
#[derive(Debug)]
pub(super) struct TierPlan {
    pub(super) tier: Tier,
    pub(super) limits: OrganizationLimits,
    /// Log quota in bytes; `None` is unlimited.
    pub(super) log_bytes: Option<u64>,
    /// The `RateLimit-Policy` field of each class.
    policies: [HeaderValue; CLASSES.len()],
}

impl TierPlan {
    pub(super) fn new(tier: Tier, quotas: LogQuotas) -> Arc<Self> {
        let limits = limits_of(&tier);
        let policies = CLASSES.map(|class| {
            let narrowest_first = LimitPolicy::covering(class).iter().rev();
            let quotas: Vec<(LimitPolicy, u64)> = narrowest_first
                .filter_map(|&policy| Some((policy, reported(&limits, policy)?)))
                .collect();
            fields::policy(&quotas)
        });
        Arc::new(Self {
            tier,
            log_bytes: quotas.of(&tier),
            limits,
            policies,
        })
    }

    /// The highest count that a counter may reach.
    pub(super) fn ceiling(&self, policy: LimitPolicy) -> u32 {
        let limit = self.limits.limit(policy).unwrap_or(COUNT_MAX);
        u32::try_from(limit).unwrap_or(u32::MAX)
    }

    /// The limit as stated to callers; `None` is unlimited.
    pub(super) fn reported(&self, policy: LimitPolicy) -> Option<u64> {
        reported(&self.limits, policy)
    }

    /// The `RateLimit-Policy` field for this class.
    pub(super) fn policy_field(&self, class: LimitClass) -> Option<&HeaderValue> {
        let index = CLASSES.iter().position(|known| *known == class)?;
        self.policies.get(index)
    }
}

/// Every answer states a limit, so an unlimited minute is stated as the counters' maximum.
fn reported(limits: &OrganizationLimits, policy: LimitPolicy) -> Option<u64> {
    match (policy, limits.limit(policy)) {
        (LimitPolicy::TierMinute, None) => Some(COUNT_MAX),
        (_, limit) => limit.map(|limit| limit.min(COUNT_MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_the_services() {
        let rows = [
            (Tier::Free, 100, Some(1_000), "Free"),
            (Tier::Developer, 500, Some(50_000), "99 USD per month"),
            (Tier::Enterprise, 5_000, None, "Custom"),
        ];
        for (tier, minute, day, price) in rows {
            let limits = limits_of(&tier);
            assert_eq!(limits.requests_per_minute, Some(minute));
            assert_eq!(limits.requests_per_day, day);
            assert_eq!(price_of(&tier), price);
            assert_eq!(limits.object_writes_per_minute, Some(50));
            assert_eq!(limits.action_batches_per_minute, Some(10));
            assert_eq!(limits.file_uploads_per_minute, Some(20));
            assert_eq!(limits.template_writes_per_minute, Some(10));
            assert_eq!(limits.list_reads_per_minute, Some(1_000));
        }
    }

    #[test]
    fn what_was_agreed_on_takes_the_place_of_the_tables() {
        let agreed = CustomLimits {
            requests_per_day: Some(7),
            file_uploads_per_minute: Some(u64::MAX),
            ..CustomLimits::default()
        };
        let plan = TierPlan::new(Tier::Custom(agreed), LogQuotas::default());
        assert_eq!(plan.ceiling(LimitPolicy::TierDay), 7);
        assert_eq!(plan.reported(LimitPolicy::ObjectWrites), None);
        // A larger limit is stated as the counter's maximum; a minute's limit is always stated.
        assert_eq!(plan.reported(LimitPolicy::FileUploads), Some(COUNT_MAX));
        assert_eq!(plan.reported(LimitPolicy::TierMinute), Some(COUNT_MAX));
        assert_eq!(plan.ceiling(LimitPolicy::ObjectWrites), u32::MAX);
        assert_eq!(price_of(&plan.tier), "Custom");
    }

    #[test]
    fn the_log_has_a_quota_where_the_options_or_the_operator_say_so() {
        let quotas = LogQuotas {
            free: 7,
            developer: 0,
        };
        let agreed = |log_bytes| {
            Tier::Custom(CustomLimits {
                log_bytes,
                ..CustomLimits::default()
            })
        };
        for (tier, quota) in [
            (Tier::Free, Some(7)),
            (Tier::Developer, None),
            (Tier::Enterprise, None),
            (agreed(None), None),
            (agreed(Some(0)), Some(0)),
        ] {
            assert_eq!(TierPlan::new(tier, quotas).log_bytes, quota, "{tier:?}");
        }
    }

    #[test]
    fn the_policy_field_names_what_covers_a_class() {
        let text = |tier, class| {
            let plan = TierPlan::new(tier, LogQuotas::default());
            plan.policy_field(class)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned()
        };
        assert_eq!(
            text(Tier::Free, LimitClass::ObjectWrites),
            r#""object-writes";q=50;w=60, "tier-minute";q=100;w=60, "tier-day";q=1000;w=86400"#
        );
        assert_eq!(
            text(Tier::Enterprise, LimitClass::Tier),
            r#""tier-minute";q=5000;w=60"#
        );
    }
}

//! Overview of all organizations for the operator: how many are in each tier, and which are nearest to a limit.
//!
//! Nothing is counted as organizations register and change. They are read from a snapshot on request: at most
//! [`COUNTED_MAX`] of them, at most once in [`COUNT_KEPT`], on a blocking thread. Ids are hashes, so the first ones by
//! id are a fair sample. Requests are counted in memory, so they are current at every call.

use std::time::{Duration, Instant};

use kedge_net::window::WindowPeriod;
use kedge_protocol::Id;
use kedge_protocol::resource::{CustomLimits, Organization, Tier};
use kedge_storage::{StoreReadError, StoreSnapshot};
use serde::Serialize;

use super::policy::{LOG_BYTES, LimitPolicy};
use super::tier::{LogQuotas, OrganizationLimits, limits_of, price_of};
use crate::scalars::{ResourceIdText, TimeText};

/// Organizations read for one count.
const COUNTED_MAX: usize = 100_000;
/// Lifetime of a count.
const COUNT_KEPT: Duration = Duration::from_mins(1);
/// Length of the list of nearest organizations.
pub const NEAREST_MAX: usize = 100;

#[derive(Serialize)]
pub struct TierOverview {
    /// Number of counted organizations.
    organizations: u64,
    /// Whether these are all; otherwise they are a sample.
    all_counted: bool,
    counted_at: TimeText,
    tiers: Vec<TierView>,
    nearest: Vec<NearestLimit>,
}

#[derive(Serialize)]
struct TierView {
    tier: &'static str,
    price: &'static str,
    /// `None` for the custom tier: each organization has its own limits.
    limits: Option<TierLimits>,
    organizations: u64,
}

#[derive(Serialize)]
struct TierLimits {
    #[serde(flatten)]
    requests: OrganizationLimits,
    log_bytes: Option<u64>,
}

/// An organization and the limit it is nearest to.
#[derive(Serialize)]
pub(super) struct NearestLimit {
    organization_id: ResourceIdText,
    name: String,
    tier: &'static str,
    #[serde(flatten)]
    part: LimitFraction,
}

impl NearestLimit {
    pub(super) fn new(organization: Organization, part: LimitFraction) -> Self {
        Self {
            organization_id: ResourceIdText(organization.id),
            tier: organization.tier.name(),
            name: organization.name,
            part,
        }
    }
}

/// Sorts the nearest first, and keeps at most `count`.
pub(super) fn sort(nearest: &mut Vec<NearestLimit>, count: usize) {
    nearest.sort_by(|one, other| other.part.share().total_cmp(&one.part.share()));
    nearest.truncate(count);
}

/// The used part of a limit.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub(super) struct LimitFraction {
    policy: &'static str,
    used: u64,
    limit: u64,
}

impl LimitFraction {
    /// `None` if there is no limit, or none of it is used.
    pub(super) fn of(policy: &'static str, used: u64, limit: Option<u64>) -> Option<Self> {
        let limit = limit.filter(|_| used > 0)?;
        Some(Self {
            policy,
            used,
            limit,
        })
    }

    /// The largest used part among the request limits.
    pub(super) fn of_requests(
        limits: &OrganizationLimits,
        used: impl Fn(LimitPolicy) -> u64,
    ) -> Option<Self> {
        let policies = LimitPolicy::ALL[..LimitPolicy::OF_ORGANIZATION].iter();
        let parts = policies.map(|policy| {
            let limit = limits.of(*policy).copied().flatten();
            Self::of(policy.name(), used(*policy), limit)
        });
        parts.fold(None, Self::larger)
    }

    /// The larger of two; the first of equal ones.
    pub(super) fn larger(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(one), Some(other)) if other.share() > one.share() => Some(other),
            (one, other) => one.or(other),
        }
    }

    fn share(&self) -> f64 {
        self.used as f64 / self.limit.max(1) as f64
    }
}

/// Organizations, each with the used part of its nearest limit.
#[derive(Default)]
pub(super) struct UsageShares(Vec<(f64, Id)>);

impl UsageShares {
    pub(super) fn add(&mut self, id: Id, part: Option<LimitFraction>) {
        self.0.extend(part.map(|part| (part.share(), id)));
    }

    /// At most `count` organizations with the largest parts.
    pub(super) fn largest(mut self, count: usize) -> impl Iterator<Item = Id> {
        self.0
            .sort_unstable_by(|one, other| other.0.total_cmp(&one.0));
        self.0.into_iter().take(count).map(|(_, id)| id)
    }
}

/// Result of a count.
pub(super) struct TierCensus {
    made: Instant,
    /// Number of tier changes before the count.
    tiers_set: u32,
    counted_at_s: u64,
    is_complete: bool,
    /// In the order of [`named_tiers`].
    tiers: [u64; 4],
    nearest: Vec<Id>,
}

fn named_tiers() -> [Tier; 4] {
    let custom = Tier::Custom(CustomLimits::default());
    [Tier::Free, Tier::Developer, Tier::Enterprise, custom]
}

impl TierCensus {
    /// Counts the organizations of a snapshot.
    pub(super) fn take(
        snapshot: &StoreSnapshot,
        quotas: LogQuotas,
        now_s: u64,
        tiers_set: u32,
    ) -> Result<Self, StoreReadError> {
        let today = u64::from(WindowPeriod::Day.window(now_s));
        let (mut tiers, mut shares, mut is_complete) = ([0; 4], UsageShares::default(), true);
        for (index, organization) in snapshot.every::<Organization>().enumerate() {
            if index == COUNTED_MAX {
                is_complete = false;
                break;
            }
            let Organization { id, tier, .. } = organization?;
            tiers[match tier {
                Tier::Free => 0,
                Tier::Developer => 1,
                Tier::Enterprise => 2,
                Tier::Custom(_) => 3,
            }] += 1;
            let usage = snapshot.usage(id)?.filter(|usage| usage.day == today);
            let requests = usage.map_or(0, |usage| usage.requests);
            let day = limits_of(&tier).requests_per_day;
            let day = LimitFraction::of(LimitPolicy::TierDay.name(), requests, day);
            let log = LimitFraction::of(LOG_BYTES, snapshot.log_bytes(id)?, quotas.of(&tier));
            shares.add(id, LimitFraction::larger(day, log));
        }
        Ok(Self {
            made: Instant::now(),
            tiers_set,
            counted_at_s: now_s,
            is_complete,
            tiers,
            nearest: shares.largest(NEAREST_MAX).collect(),
        })
    }

    /// Whether it is recent, and made after all `tiers_set` tier changes.
    pub(super) fn is_fresh(&self, tiers_set: u32) -> bool {
        self.tiers_set == tiers_set && self.made.elapsed() < COUNT_KEPT
    }

    /// The organizations nearest to a limit, by stored values.
    pub(super) fn nearest(&self) -> impl Iterator<Item = Id> {
        self.nearest.iter().copied()
    }

    pub(super) fn overview(&self, quotas: LogQuotas, nearest: Vec<NearestLimit>) -> TierOverview {
        let tiers = named_tiers().into_iter().zip(self.tiers);
        let tiers = tiers.map(|(tier, organizations)| TierView {
            tier: tier.name(),
            price: price_of(&tier),
            limits: (!matches!(tier, Tier::Custom(_))).then(|| TierLimits {
                requests: limits_of(&tier),
                log_bytes: quotas.of(&tier),
            }),
            organizations,
        });
        TierOverview {
            organizations: self.tiers.iter().sum(),
            all_counted: self.is_complete,
            counted_at: TimeText(self.counted_at_s * 1_000),
            tiers: tiers.collect(),
            nearest,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds invariant 202.
    #[test]
    fn the_nearest_limit_is_the_one_with_the_largest_used_share() {
        let limits = OrganizationLimits {
            requests_per_day: Some(1_000),
            requests_per_minute: Some(100),
            file_uploads_per_minute: None,
            object_writes_per_minute: Some(0),
            ..limits_of(&Tier::Free)
        };
        let used = |policy| match policy {
            LimitPolicy::TierDay => 510,
            LimitPolicy::TierMinute => 50,
            LimitPolicy::FileUploads => 1_000_000,
            _ => 0,
        };
        let part = LimitFraction::of_requests(&limits, used).unwrap();
        let expected = ("tier-day", 510, 1_000);
        assert_eq!((part.policy, part.used, part.limit), expected);
        assert_eq!(LimitFraction::of_requests(&limits, |_| 0), None);
        // Above a limit that the operator lowered: nearer than any other.
        let lowered = |policy| u64::from(policy == LimitPolicy::ObjectWrites) * 3;
        let part = LimitFraction::of_requests(&limits, lowered).unwrap();
        assert!((part.share() - 3.0).abs() < 1e-9);
    }

    #[test]
    fn the_nearest_come_first_and_few_are_kept() {
        let id = |byte| Id {
            prefix: kedge_protocol::Prefix::Organization,
            bytes: [byte; 16],
        };
        let mut shares = UsageShares::default();
        for (byte, used) in [(1, 1), (2, 20), (3, 5), (4, 0)] {
            shares.add(id(byte), LimitFraction::of(LOG_BYTES, used, Some(10)));
        }
        let largest: Vec<Id> = shares.largest(2).collect();
        assert_eq!(largest, [id(2), id(3)]);
    }
}

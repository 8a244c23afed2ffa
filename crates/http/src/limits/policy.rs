//! The limits by name, and their state for a caller.

use kedge_net::window::WindowPeriod;

/// Name of the log quota, as in `body.policy`.
pub const LOG_BYTES: &str = "log-bytes";
/// Name of a tier's share of the disk.
pub(super) const DISK_SHARE: &str = "disk-share";

/// The limit that a request counts towards besides its organization's tier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LimitClass {
    /// No limit, not even the tier: health and public keys.
    Free,
    Tier,
    ObjectWrites,
    ActionBatches,
    FileUploads,
    TemplateWrites,
    Lists,
}

macro_rules! policies {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $period:ident;)*) => {
        /// A limit. The names are part of the interface: `body.policy` and the RateLimit fields.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum LimitPolicy { $($(#[$doc])* $name),* }

        impl LimitPolicy {
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The name that callers see.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            pub const fn period(self) -> WindowPeriod {
                match self { $(Self::$name => WindowPeriod::$period),* }
            }
        }
    };
}

policies! {
    /// Requests of an organization, per day.
    TierDay = "tier-day", Day;
    /// Requests of an organization, per minute.
    TierMinute = "tier-minute", Minute;
    /// POST /objects and PATCH /objects/{id}.
    ObjectWrites = "object-writes", Minute;
    /// POST /ebus/actions/batch.
    ActionBatches = "action-batches", Minute;
    /// POST /files.
    FileUploads = "file-uploads", Minute;
    /// POST /templates.
    TemplateWrites = "template-writes", Minute;
    /// GET /objects, GET /templates and GET /batches.
    ListReads = "list-reads", Minute;
    /// Requests from one address without an organization.
    Address = "address", Minute;
    /// Failed logins from one address.
    LoginAddress = "login-address", Minute;
    /// Failed logins of one account from one address.
    LoginAccount = "login-account", QuarterHour;
    /// Failed logins of one account from all unknown addresses.
    LoginAccountHour = "login-account-hour", Hour;
}

impl LimitPolicy {
    /// The first policies belong to an organization; this is their number.
    pub const OF_ORGANIZATION: usize = 7;

    /// The organization's policies that cover this class, longest window first: the first one without room is the one
    /// with the longest wait.
    pub const fn covering(class: LimitClass) -> &'static [Self] {
        use LimitPolicy::{
            ActionBatches, FileUploads, ListReads, ObjectWrites, TemplateWrites, TierDay,
            TierMinute,
        };
        match class {
            LimitClass::Free => &[],
            LimitClass::Tier => &[TierDay, TierMinute],
            LimitClass::ObjectWrites => &[TierDay, TierMinute, ObjectWrites],
            LimitClass::ActionBatches => &[TierDay, TierMinute, ActionBatches],
            LimitClass::FileUploads => &[TierDay, TierMinute, FileUploads],
            LimitClass::TemplateWrites => &[TierDay, TierMinute, TemplateWrites],
            LimitClass::Lists => &[TierDay, TierMinute, ListReads],
        }
    }
}

/// State of a limit for a caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LimitStatus {
    pub policy: LimitPolicy,
    /// Quota in a window.
    pub limit: u64,
    pub remaining: u64,
    /// Start of the next window, Unix seconds.
    pub resets_at_s: u64,
}

impl LimitStatus {
    /// Placeholder to be overwritten.
    pub const NOTHING: Self = Self {
        policy: LimitPolicy::TierMinute,
        limit: 0,
        remaining: 0,
        resets_at_s: 0,
    };

    /// Seconds until the next window, at least one.
    pub fn resets_in_s(&self, now_s: u64) -> u64 {
        self.resets_at_s.saturating_sub(now_s).max(1)
    }

    /// Sorts by requests left, fewest first; equal ones by the longest time to reset.
    pub fn sort_nearest_first(standings: &mut [Self]) {
        standings
            .sort_unstable_by_key(|standing| (standing.remaining, u64::MAX - standing.resets_at_s));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_with_the_least_left_come_first() {
        let standing = |policy: LimitPolicy, remaining, resets_at_s| LimitStatus {
            policy,
            limit: 100,
            remaining,
            resets_at_s,
        };
        let day = standing(LimitPolicy::TierDay, 9, 900);
        let minute = standing(LimitPolicy::TierMinute, 10, 60);
        let bucket = standing(LimitPolicy::ObjectWrites, 9, 60);
        let mut standings = [minute, bucket, day];
        LimitStatus::sort_nearest_first(&mut standings);
        assert_eq!(standings, [day, bucket, minute]);
        assert_eq!(bucket.resets_in_s(59), 1);
        assert_eq!(bucket.resets_in_s(61), 1);
    }

    #[test]
    fn every_request_that_counts_counts_on_the_tier() {
        use LimitClass::{
            ActionBatches, FileUploads, Free, Lists, ObjectWrites, TemplateWrites, Tier,
        };
        assert!(LimitPolicy::covering(Free).is_empty());
        let buckets = [
            ObjectWrites,
            ActionBatches,
            FileUploads,
            TemplateWrites,
            Lists,
        ];
        for class in buckets.into_iter().chain([Tier]) {
            let covering = LimitPolicy::covering(class);
            assert_eq!(
                covering[..2],
                [LimitPolicy::TierDay, LimitPolicy::TierMinute]
            );
            for policy in covering {
                assert!(
                    (*policy as usize) < LimitPolicy::OF_ORGANIZATION,
                    "{policy:?}"
                );
            }
        }
    }
}

//! The limits by name, and how much of one is left.

use kedge_net::window::Period;

/// The name of the quota of bytes in the log, as `body.policy` of a refusal states it.
pub const LOG_BYTES: &str = "log-bytes";
/// The name of a tier's share of the disk.
pub(super) const DISK_SHARE: &str = "disk-share";

/// The limit that a request counts towards besides its organization's tier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LimitClass {
    /// None, and not the tier either: health and public keys.
    Free,
    /// Only the tier.
    Tier,
    /// Creating and changing objects.
    ObjectWrites,
    /// Batches of actions.
    ActionBatches,
    /// Uploads.
    FileUploads,
    /// Creating templates.
    TemplateWrites,
    /// The three lists.
    Lists,
}

macro_rules! policies {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $period:ident;)*) => {
        /// A limit. The names are part of the interface: `body.policy` and the RateLimit fields
        /// state them.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Policy { $($(#[$doc])* $name),* }

        impl Policy {
            /// Every policy.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The name that callers see.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// The windows that it counts in.
            pub const fn period(self) -> Period {
                match self { $(Self::$name => Period::$period),* }
            }
        }
    };
}

policies! {
    /// All requests of an organization, per day.
    TierDay = "tier-day", Day;
    /// All requests of an organization, per minute.
    TierMinute = "tier-minute", Minute;
    /// Its requests that create or change objects: POST /objects and PATCH /objects/{id}.
    ObjectWrites = "object-writes", Minute;
    /// Its batches of actions: POST /ebus/actions/batch.
    ActionBatches = "action-batches", Minute;
    /// Its uploads: POST /files.
    FileUploads = "file-uploads", Minute;
    /// Its templates: POST /templates.
    TemplateWrites = "template-writes", Minute;
    /// Its lists: GET /objects, GET /templates and GET /batches.
    ListReads = "list-reads", Minute;
    /// Requests from one address that name no organization.
    Address = "address", Minute;
    /// Failed logins from one address.
    LoginAddress = "login-address", Minute;
    /// Failed logins of one account from one address.
    LoginAccount = "login-account", QuarterHour;
    /// Failed logins of one account from all addresses that are not known to it.
    LoginAccountHour = "login-account-hour", Hour;
}

impl Policy {
    /// How many policies belong to an organization; they come first.
    pub const OF_ORGANIZATION: usize = 7;

    /// The organization's policies that cover a request of this class, those with the longest
    /// window first: the first one without room is the one that makes the caller wait longest.
    pub const fn covering(class: LimitClass) -> &'static [Self] {
        use Policy::{
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

/// The state of a limit for a caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    /// Which limit.
    pub policy: Policy,
    /// Its quota in a window.
    pub limit: u64,
    /// The part of it that is left.
    pub remaining: u64,
    /// When the next window begins, Unix seconds.
    pub resets_at_s: u64,
}

impl Standing {
    /// A placeholder for standings to be filled in.
    pub const NOTHING: Self = Self {
        policy: Policy::TierMinute,
        limit: 0,
        remaining: 0,
        resets_at_s: 0,
    };

    /// Seconds until the next window, at least one.
    pub fn resets_in_s(&self, now_s: u64) -> u64 {
        self.resets_at_s.saturating_sub(now_s).max(1)
    }

    /// Sorts those with the fewest requests left first; equal ones by the longest time to reset.
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
        let standing = |policy: Policy, remaining, resets_at_s| Standing {
            policy,
            limit: 100,
            remaining,
            resets_at_s,
        };
        let day = standing(Policy::TierDay, 9, 900);
        let minute = standing(Policy::TierMinute, 10, 60);
        let bucket = standing(Policy::ObjectWrites, 9, 60);
        let mut standings = [minute, bucket, day];
        Standing::sort_nearest_first(&mut standings);
        assert_eq!(standings, [day, bucket, minute]);
        assert_eq!(bucket.resets_in_s(59), 1);
        assert_eq!(bucket.resets_in_s(61), 1);
    }

    #[test]
    fn every_request_that_counts_counts_on_the_tier() {
        use LimitClass::{
            ActionBatches, FileUploads, Free, Lists, ObjectWrites, TemplateWrites, Tier,
        };
        assert!(Policy::covering(Free).is_empty());
        let buckets = [
            ObjectWrites,
            ActionBatches,
            FileUploads,
            TemplateWrites,
            Lists,
        ];
        for class in buckets.into_iter().chain([Tier]) {
            let covering = Policy::covering(class);
            assert_eq!(covering[..2], [Policy::TierDay, Policy::TierMinute]);
            for policy in covering {
                assert!((*policy as usize) < Policy::OF_ORGANIZATION, "{policy:?}");
            }
        }
    }
}

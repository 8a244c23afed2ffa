//! Accounts of organizations: request counters in memory. The day's count goes to the store periodically:
//! [`LimitAccounts::take_changed`].

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use kedge_protocol::Id;
use kedge_storage::UsageRow;
use parking_lot::Mutex;
use quick_cache::sync::Cache;
use quick_cache::{DefaultHashBuilder, Lifecycle, UnitWeighter};

use super::leases::OrganizationLeases;
use super::policy::{LimitClass, LimitPolicy, LimitStatus};
use super::tier::TierPlan;
use crate::clock;
use kedge_net::window::{WindowCount, WindowCounter, WindowPeriod};

/// An organization's limits and counters.
#[derive(Debug)]
pub(super) struct LimitAccount {
    organization_id: Id,
    plan: ArcSwap<TierPlan>,
    counters: [WindowCounter; LimitPolicy::OF_ORGANIZATION],
    /// Requests given back in this minute.
    given_back: WindowCounter,
    /// Queued for storing the day's count.
    queued: AtomicBool,
    /// Leases from the leader, on a follower.
    leased: OnceLock<Box<OrganizationLeases>>,
    /// The last term of leading in which the stored day count was read.
    looked_up: AtomicU32,
}

/// Counts a request on every limit that covers it, or on none; then returns the limit without room. `of` gives a
/// limit's counter and maximum.
pub(super) fn take_all<'a>(
    class: LimitClass,
    now_s: u64,
    of: impl Fn(LimitPolicy) -> (&'a WindowCounter, u32),
) -> Result<(), LimitPolicy> {
    let covering = LimitPolicy::covering(class);
    for (taken, &policy) in covering.iter().enumerate() {
        let window = policy.period().window(now_s);
        let (counter, ceiling) = of(policy);
        if counter.take(window, ceiling) || ceiling == u32::MAX {
            continue;
        }
        for &earlier in &covering[..taken] {
            of(earlier).0.give_back(earlier.period().window(now_s));
        }
        return Err(policy);
    }
    Ok(())
}

impl LimitAccount {
    /// The day's count continues from the stored one.
    pub(super) fn new(organization_id: Id, plan: Arc<TierPlan>, stored: Option<UsageRow>) -> Self {
        let counters = std::array::from_fn(|policy| match stored {
            Some(usage) if policy == LimitPolicy::TierDay as usize => {
                WindowCounter::from_count(WindowCount {
                    window: u32::try_from(usage.day).unwrap_or_default(),
                    used: u32::try_from(usage.requests).unwrap_or(u32::MAX),
                })
            }
            _ => WindowCounter::default(),
        });
        Self {
            organization_id,
            plan: ArcSwap::new(plan),
            counters,
            given_back: WindowCounter::default(),
            queued: AtomicBool::new(false),
            leased: OnceLock::new(),
            looked_up: AtomicU32::new(0),
        }
    }

    pub(super) fn counter(&self, policy: LimitPolicy) -> &WindowCounter {
        &self.counters[policy as usize]
    }

    pub(super) fn organization_id(&self) -> Id {
        self.organization_id
    }

    pub(super) fn plan(&self) -> Arc<TierPlan> {
        self.plan.load_full()
    }

    /// Counts a request on every limit that covers it. If one has no room, counts on none and returns that limit's
    /// state. If limits are not `enforced` there is always room.
    pub(super) fn take(
        &self,
        class: LimitClass,
        now_s: u64,
        enforced: bool,
    ) -> Result<(), LimitStatus> {
        let plan = self.plan.load();
        let taken = take_all(class, now_s, |policy| {
            let ceiling = if enforced {
                plan.ceiling(policy)
            } else {
                u32::MAX
            };
            (self.counter(policy), ceiling)
        });
        taken.map_err(|policy| self.spent(policy, now_s))
    }

    /// The state of a limit without room.
    pub(super) fn spent(&self, policy: LimitPolicy, now_s: u64) -> LimitStatus {
        LimitStatus {
            policy,
            limit: u64::from(self.plan.load().ceiling(policy)),
            remaining: 0,
            resets_at_s: policy.period().ends_s(policy.period().window(now_s)),
        }
    }

    /// Leases from the leader.
    pub(super) fn leased(&self) -> &OrganizationLeases {
        self.leased.get_or_init(Box::default)
    }

    /// Whether the stored day count has to be read, in this term of leading.
    pub(super) fn is_new_in(&self, leading: u32) -> bool {
        self.looked_up.load(Ordering::Relaxed) != leading
            && self.looked_up.swap(leading, Ordering::Relaxed) != leading
    }

    /// Gives back a request counted at that time, on leases or by [`Self::take`].
    pub(super) fn give_back(&self, class: LimitClass, taken_s: u64, is_leased: bool) {
        for &policy in LimitPolicy::covering(class) {
            let counter = if is_leased {
                self.leased().used(policy)
            } else {
                self.counter(policy)
            };
            counter.give_back(policy.period().window(taken_s));
        }
    }

    /// Gives back a request whose answer the caller already had, at most the minute's limit per minute.
    pub(super) fn give_back_known(
        &self,
        class: LimitClass,
        (taken_s, now_s): (u64, u64),
        is_leased: bool,
    ) {
        let minute = LimitPolicy::TierMinute;
        // A request may take minutes, and counting in a window of the past would begin the present one again.
        let window = minute.period().window(now_s);
        let ceiling = self.plan.load().ceiling(minute);
        if self.given_back.take(window, ceiling) {
            self.give_back(class, taken_s, is_leased);
        }
    }

    /// The count of the current window.
    pub(super) fn count(&self, policy: LimitPolicy, now_s: u64) -> WindowCount {
        self.counter(policy).count(policy.period().window(now_s))
    }

    /// Writes the state of the limits that cover this class to `standings`; returns the written part. Unused leases
    /// count as left (`is_leased`).
    pub(super) fn standings<'a>(
        &self,
        (class, is_leased): (LimitClass, bool),
        now_s: u64,
        standings: &'a mut [LimitStatus; 3],
    ) -> &'a mut [LimitStatus] {
        let plan = self.plan.load();
        let mut count = 0;
        for &policy in LimitPolicy::covering(class) {
            if let (Some(limit), Some(place)) = (plan.reported(policy), standings.get_mut(count)) {
                let used = self.count(policy, now_s);
                let left = limit.saturating_sub(u64::from(used.used));
                let remaining = if is_leased {
                    self.leased().remaining(policy, left, now_s)
                } else {
                    left
                };
                *place = LimitStatus {
                    policy,
                    limit,
                    remaining: remaining.min(limit),
                    resets_at_s: policy.period().ends_s(used.window),
                };
                count += 1;
            }
        }
        &mut standings[..count]
    }
}

/// Keeps accounts with unsaved state: active in this minute, or with an unstored day count. All others can be rebuilt
/// from the store.
#[derive(Clone, Debug)]
struct ActiveAccounts;

impl Lifecycle<Id, Arc<LimitAccount>> for ActiveAccounts {
    type RequestState = ();

    fn is_pinned(&self, _: &Id, account: &Arc<LimitAccount>) -> bool {
        let minute = WindowPeriod::Minute.window(clock::now_s());
        let is_held = Arc::strong_count(account) > 1;
        let is_lent = || {
            account
                .leased
                .get()
                .is_some_and(|leased| leased.is_used(minute))
        };
        is_held || account.counter(LimitPolicy::TierMinute).count(minute).used > 0 || is_lent()
    }
}

/// Cache of accounts, by organization.
pub(super) struct LimitAccounts {
    accounts: Cache<Id, Arc<LimitAccount>, UnitWeighter, DefaultHashBuilder, ActiveAccounts>,
    changed: Mutex<Vec<Arc<LimitAccount>>>,
}

impl LimitAccounts {
    /// Keeps approximately this many.
    pub(super) fn new(accounts_max: usize) -> Self {
        Self {
            accounts: Cache::with(
                accounts_max,
                accounts_max as u64,
                UnitWeighter,
                DefaultHashBuilder::default(),
                ActiveAccounts,
            ),
            changed: Mutex::default(),
        }
    }

    /// An organization's account; `load` makes one that is not cached, while concurrent callers wait.
    pub(super) fn account<E>(
        &self,
        organization_id: Id,
        load: impl FnOnce() -> Result<(Arc<TierPlan>, Option<UsageRow>), E>,
    ) -> Result<Arc<LimitAccount>, E> {
        self.accounts.get_or_insert_with(&organization_id, || {
            let (plan, stored) = load()?;
            Ok(Arc::new(LimitAccount::new(organization_id, plan, stored)))
        })
    }

    pub(super) fn all(&self) -> impl Iterator<Item = Arc<LimitAccount>> + '_ {
        self.accounts.iter().map(|(_, account)| account)
    }

    /// Puts another tier in force if the account is cached. Called after the tier is stored: it waits for an account
    /// that is being loaded, and one loaded later has the new tier.
    pub(super) fn set_plan(&self, organization_id: Id, plan: Arc<TierPlan>) {
        if let Ok(account) = self.account(organization_id, || Err(())) {
            account.plan.store(plan);
        }
    }

    /// Marks an account's day count for storing.
    pub(super) fn note(&self, account: &Arc<LimitAccount>) {
        // Both sides read and write in one step. So either this finds the account already taken for storing and queues
        // it again, or the storing side sees this count.
        if !account.queued.swap(true, Ordering::AcqRel) {
            self.locked().push(Arc::clone(account));
        }
    }

    /// Accounts marked since the last call, each with its day's count.
    pub(super) fn take_changed(&self) -> Vec<(Arc<LimitAccount>, UsageRow)> {
        let noted = std::mem::take(&mut *self.locked());
        let day = |account: Arc<LimitAccount>| {
            account.queued.swap(false, Ordering::AcqRel);
            let count = account.counter(LimitPolicy::TierDay).latest();
            let usage = UsageRow {
                day: u64::from(count.window),
                requests: u64::from(count.used),
            };
            (account, usage)
        };
        noted.into_iter().map(day).collect()
    }

    fn locked(&self) -> parking_lot::MutexGuard<'_, Vec<Arc<LimitAccount>>> {
        self.changed.lock()
    }
}

#[cfg(test)]
mod tests {
    use kedge_protocol::Prefix;
    use kedge_protocol::resource::Tier;

    use super::super::tier::LogQuotas;
    use super::*;

    /// In the middle of a minute and of a day.
    const NOW_S: u64 = 1_795_255_308;

    fn id(number: u8) -> Id {
        Id {
            prefix: Prefix::Organization,
            bytes: [number; 16],
        }
    }

    fn free(stored: Option<UsageRow>) -> LimitAccount {
        LimitAccount::new(
            id(1),
            TierPlan::new(Tier::Free, LogQuotas::default()),
            stored,
        )
    }

    fn used(account: &LimitAccount, policy: LimitPolicy) -> u32 {
        account.count(policy, NOW_S).used
    }

    fn loaded(organizations: &LimitAccounts, number: u8) -> Arc<LimitAccount> {
        let load = || Ok::<_, ()>((TierPlan::new(Tier::Free, LogQuotas::default()), None));
        organizations.account(id(number), load).unwrap()
    }

    // Holds invariant 21.
    #[test]
    fn a_request_counts_on_all_that_covers_it_or_on_nothing() {
        let account = free(None);
        for _ in 0..50 {
            account.take(LimitClass::ObjectWrites, NOW_S, true).unwrap();
        }
        let full = account
            .take(LimitClass::ObjectWrites, NOW_S, true)
            .unwrap_err();
        assert_eq!(full.policy, LimitPolicy::ObjectWrites);
        assert_eq!((full.limit, full.remaining), (50, 0));
        assert_eq!(full.resets_at_s, 1_795_255_320);
        for policy in [
            LimitPolicy::TierDay,
            LimitPolicy::TierMinute,
            LimitPolicy::ObjectWrites,
        ] {
            assert_eq!(used(&account, policy), 50, "{policy:?}");
        }
        // Other requests can still use the rest of the tier's minute.
        for _ in 50..100 {
            account.take(LimitClass::Tier, NOW_S, true).unwrap();
        }
        let full = account
            .take(LimitClass::ActionBatches, NOW_S, true)
            .unwrap_err();
        assert_eq!(full.policy, LimitPolicy::TierMinute);
        assert_eq!(used(&account, LimitPolicy::ActionBatches), 0);
        assert!(
            account
                .take(LimitClass::ObjectWrites, NOW_S + 60, true)
                .is_ok()
        );
    }

    #[test]
    fn the_limit_that_makes_one_wait_longest_is_named() {
        let day = WindowPeriod::Day.window(NOW_S);
        let account = free(Some(UsageRow {
            day: u64::from(day),
            requests: 900,
        }));
        for _ in 0..100 {
            account.take(LimitClass::Tier, NOW_S, true).unwrap();
        }
        let full = account.take(LimitClass::Tier, NOW_S, true).unwrap_err();
        assert_eq!(full.policy, LimitPolicy::TierDay);
        assert_eq!(full.resets_at_s, 1_795_305_600);
        assert!(
            account
                .take(LimitClass::Tier, full.resets_at_s, true)
                .is_ok()
        );
    }

    #[test]
    fn yesterdays_count_is_over() {
        let yesterday = WindowPeriod::Day.window(NOW_S) - 1;
        let account = free(Some(UsageRow {
            day: u64::from(yesterday),
            requests: 1_000,
        }));
        account.take(LimitClass::Tier, NOW_S, true).unwrap();
        assert_eq!(used(&account, LimitPolicy::TierDay), 1);
    }

    #[test]
    fn where_limits_are_off_everything_is_counted_and_let_in() {
        let account = free(None);
        for _ in 0..150 {
            account
                .take(LimitClass::ObjectWrites, NOW_S, false)
                .unwrap();
        }
        assert_eq!(used(&account, LimitPolicy::TierMinute), 150);
        let mut room = [LimitStatus::NOTHING; 3];
        let standings = account.standings((LimitClass::ObjectWrites, false), NOW_S, &mut room);
        assert_eq!(standings.len(), 3);
        assert_eq!(
            standings.iter().map(|standing| standing.remaining).min(),
            Some(0)
        );
    }

    #[test]
    fn what_is_given_back_is_given_back_everywhere() {
        let account = free(None);
        account.take(LimitClass::Lists, NOW_S, true).unwrap();
        account.give_back(LimitClass::Lists, NOW_S, false);
        for policy in [
            LimitPolicy::TierDay,
            LimitPolicy::TierMinute,
            LimitPolicy::ListReads,
        ] {
            assert_eq!(used(&account, policy), 0, "{policy:?}");
        }
    }

    #[test]
    fn a_new_tier_is_in_force_at_once_and_what_was_used_stays_used() {
        let organizations = LimitAccounts::new(100);
        let account = loaded(&organizations, 1);
        for _ in 0..100 {
            account.take(LimitClass::Tier, NOW_S, true).unwrap();
        }
        account.take(LimitClass::Tier, NOW_S, true).unwrap_err();
        organizations.set_plan(id(1), TierPlan::new(Tier::Developer, LogQuotas::default()));
        organizations.set_plan(id(2), TierPlan::new(Tier::Developer, LogQuotas::default()));
        account.take(LimitClass::Tier, NOW_S, true).unwrap();
        assert_eq!(used(&account, LimitPolicy::TierMinute), 101);
        // An account that was not cached is built from the store.
        assert_eq!(loaded(&organizations, 2).plan().tier, Tier::Free);
    }

    #[test]
    fn each_change_is_stored_once_and_none_is_missed() {
        let organizations = LimitAccounts::new(100);
        let account = loaded(&organizations, 1);
        for _ in 0..3 {
            account.take(LimitClass::Tier, NOW_S, true).unwrap();
            organizations.note(&account);
        }
        let changed = organizations.take_changed();
        assert_eq!(changed.len(), 1);
        assert_eq!(changed[0].1.requests, 3);
        assert!(organizations.take_changed().is_empty());
        account.give_back(LimitClass::Tier, NOW_S, false);
        organizations.note(&account);
        assert_eq!(organizations.take_changed()[0].1.requests, 2);
    }

    #[test]
    fn counts_noted_in_parallel_all_reach_the_store() {
        let organizations = LimitAccounts::new(100);
        let account = loaded(&organizations, 1);
        let mut stored = 0;
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        for _ in 0..2_000 {
                            account.take(LimitClass::Tier, NOW_S, false).unwrap();
                            organizations.note(&account);
                        }
                    })
                })
                .collect();
            while threads.iter().any(|thread| !thread.is_finished()) {
                for (_, usage) in organizations.take_changed() {
                    stored = usage.requests;
                }
            }
        });
        for (_, usage) in organizations.take_changed() {
            stored = usage.requests;
        }
        assert_eq!(stored, 8_000);
    }

    #[test]
    fn accounts_in_use_stay_at_hand_whoever_else_comes() {
        let organizations = LimitAccounts::new(64);
        let now_s = clock::now_s();
        // The cache is full, so the next account would be evicted first.
        for number in 1..=100 {
            loaded(&organizations, number);
        }
        let account = loaded(&organizations, 0);
        account.take(LimitClass::Tier, now_s, true).unwrap();
        let window = WindowPeriod::Minute.window(now_s);
        drop(account);
        for number in 101..=u8::MAX {
            loaded(&organizations, number);
        }
        let count = loaded(&organizations, 0).count(LimitPolicy::TierMinute, now_s);
        // The minute may have ended meanwhile; then nothing had to be kept.
        let is_over = WindowPeriod::Minute.window(clock::now_s()) != window;
        assert!(count.used == 1 || is_over);
        assert!(organizations.accounts.len() < 128, "idle accounts go");
    }
}

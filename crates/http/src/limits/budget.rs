//! Budgets of scarce resources, such as memory for request and answer bodies, with a bound for each caller. An
//! organization is one caller, and so is an address without a known organization. Organizations are free, so a few
//! callers with full shares could hold everything indefinitely. Therefore a caller never holds more than is still free,
//! which leaves something for callers without any.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hyper::header::RETRY_AFTER;
use kedge_protocol::Code;
use metrics::counter;
use parking_lot::{Mutex, MutexGuard};

use super::ShareHolder;
use crate::error::{ApiError, ApiResult, ErrorDetail};
use crate::metric_definitions::RATE_LIMITED;

pub const BODY_BYTES: &str = "body-bytes";
/// Bytes of unsent answers.
pub const ANSWER_BYTES: &str = "answer-bytes";
pub const PASSWORD_CHECKS: &str = "password-checks";
/// All budgets, by their names in refusals.
pub const ALL: [&str; 3] = [BODY_BYTES, ANSWER_BYTES, PASSWORD_CHECKS];

/// Shards of the table of holders; separate locks reduce contention.
const SHARDS: usize = 16;
/// `Retry-After`: holdings are released as requests end.
const RETRY_S: u64 = 1;

#[derive(Debug)]
pub struct SharedBudget {
    policy: &'static str,
    all_max: usize,
    each_max: usize,
    all: AtomicUsize,
    each: [Mutex<HashMap<ShareHolder, usize>>; SHARDS],
    hasher: RandomState,
}

/// A request's part of a budget, released on drop.
#[derive(Debug)]
pub struct BudgetReservation {
    budget: Arc<SharedBudget>,
    holder: ShareHolder,
    amount: usize,
}

/// 429 for an exhausted share.
pub fn refuse(policy: &'static str, message: String) -> ApiError {
    counter!(RATE_LIMITED, "policy" => policy).increment(1);
    ApiError {
        detail: ErrorDetail::Limit { policy },
        ..ApiError::new(Code::RateLimited, message)
    }
    .with_header(RETRY_AFTER, RETRY_S.to_string())
}

/// 429 for a caller that holds its maximum.
pub fn no_room(policy: &'static str, each_max: usize) -> ApiError {
    let message = format!(
        "your requests hold {policy} of {each_max}, the most that one caller may hold at one time; try again \
         when one of them has ended"
    );
    refuse(policy, message)
}

impl SharedBudget {
    /// One caller holds at most `each_max` of `all_max`.
    pub fn new(policy: &'static str, all_max: usize, each_max: usize) -> Arc<Self> {
        Arc::new(Self {
            policy,
            all_max,
            each_max,
            all: AtomicUsize::new(0),
            each: std::array::from_fn(|_| Mutex::default()),
            hasher: RandomState::new(),
        })
    }

    fn shard(&self, holder: &ShareHolder) -> MutexGuard<'_, HashMap<ShareHolder, usize>> {
        let shard = self.hasher.hash_one(holder) as usize % SHARDS;
        self.each[shard].lock()
    }

    /// Reserves an amount, or refuses.
    pub fn hold(
        self: &Arc<Self>,
        holder: ShareHolder,
        amount: usize,
    ) -> ApiResult<BudgetReservation> {
        let mut held = self.nothing(holder);
        held.grow_to(amount)?;
        Ok(held)
    }

    /// Reserves an amount even without room: for work that can no longer be refused.
    pub fn hold_over(self: &Arc<Self>, holder: ShareHolder, amount: usize) -> BudgetReservation {
        let mut held = self.nothing(holder);
        self.all.fetch_add(amount, Ordering::Relaxed);
        *self.shard(&holder).entry(holder).or_default() += amount;
        held.amount = amount;
        held
    }

    fn nothing(self: &Arc<Self>, holder: ShareHolder) -> BudgetReservation {
        BudgetReservation {
            budget: Arc::clone(self),
            holder,
            amount: 0,
        }
    }

    /// Refuses a caller that holds a full share.
    pub fn check(&self, holder: &ShareHolder) -> ApiResult<()> {
        if self.all.load(Ordering::Relaxed) < self.each_max {
            // In that case no caller can hold a full share.
            return Ok(());
        }
        let held = self.shard(holder).get(holder).copied().unwrap_or_default();
        if held < self.each_max {
            Ok(())
        } else {
            Err(no_room(self.policy, self.each_max))
        }
    }

    /// Takes more, or nothing if less would stay free than the caller would hold. A caller that holds nothing gets one
    /// amount of any size, because it could otherwise never get it.
    fn take(&self, holder: &ShareHolder, amount: usize) -> ApiResult<()> {
        let all = self.all.fetch_add(amount, Ordering::Relaxed);
        if all > 0 && all.saturating_add(amount) > self.all_max {
            self.all.fetch_sub(amount, Ordering::Relaxed);
            return Err(ApiError::overloaded());
        }
        let mut shard = self.shard(holder);
        let held = shard.get(holder).copied().unwrap_or_default();
        if held > 0 && held.saturating_add(amount) > self.each_max {
            drop(shard);
            self.all.fetch_sub(amount, Ordering::Relaxed);
            return Err(no_room(self.policy, self.each_max));
        }
        if held > 0 && held.saturating_add(amount) > self.all_max.saturating_sub(all) {
            drop(shard);
            self.all.fetch_sub(amount, Ordering::Relaxed);
            return Err(ApiError::overloaded());
        }
        shard.insert(*holder, held + amount);
        Ok(())
    }

    fn give_back(&self, holder: &ShareHolder, amount: usize) {
        if amount == 0 {
            return;
        }
        self.all.fetch_sub(amount, Ordering::Relaxed);
        let mut shard = self.shard(holder);
        if let Some(held) = shard.get_mut(holder) {
            *held = held.saturating_sub(amount);
            if *held == 0 {
                shard.remove(holder);
            }
        }
    }
}

impl BudgetReservation {
    /// Raises the amount held; without room it stays as it was.
    pub fn grow_to(&mut self, amount: usize) -> ApiResult<()> {
        let more = amount.saturating_sub(self.amount);
        if more > 0 {
            self.budget.take(&self.holder, more)?;
            self.amount = amount;
        }
        Ok(())
    }
}

impl Drop for BudgetReservation {
    fn drop(&mut self) {
        self.budget.give_back(&self.holder, self.amount);
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    fn address(number: u8) -> ShareHolder {
        ShareHolder::Address(IpAddr::from([192, 0, 2, number]).into())
    }

    fn held(budget: &SharedBudget) -> (usize, usize) {
        let holders = budget.each.iter().map(|shard| shard.lock().len());
        (budget.all.load(Ordering::Relaxed), holders.sum())
    }

    // Holds invariant 115.
    #[test]
    fn a_caller_holds_its_share_and_all_hold_the_whole() {
        let budget = SharedBudget::new(BODY_BYTES, 100, 40);
        let mut first = budget.hold(address(1), 30).unwrap();
        let refused = first.grow_to(41).unwrap_err();
        assert_eq!(refused.code, Code::RateLimited);
        assert_eq!(refused.detail, ErrorDetail::Limit { policy: BODY_BYTES });
        first.grow_to(40).unwrap();
        assert!(budget.check(&address(1)).is_err());
        assert!(budget.hold(address(1), 1).is_err());
        let _second = budget.hold(address(2), 40).unwrap();
        let third = budget.hold(address(3), 30).unwrap_err();
        assert_eq!(third.code, Code::Unavailable);
        assert_eq!(held(&budget), (80, 2));
        drop(first);
        assert!(budget.check(&address(1)).is_ok());
        let _third = budget.hold(address(3), 30).unwrap();
        assert_eq!(held(&budget), (70, 2));
    }

    // Holds invariants 115, 118.
    #[test]
    fn callers_with_whole_shares_leave_something_for_one_that_holds_nothing() {
        let budget = SharedBudget::new(ANSWER_BYTES, 1_000, 250);
        let mut held: Vec<BudgetReservation> =
            (0..20).map(|n| budget.nothing(address(n))).collect();
        // Each takes as much as it can get, in small steps, in turns.
        loop {
            let grew = held.iter_mut().map(|held| held.grow_to(held.amount + 1));
            if !grew.fold(false, |any, grew| any | grew.is_ok()) {
                break;
            }
        }
        let _newcomer = budget.hold(address(100), 1_000 / 25).unwrap();
        drop(held);
        let mut alone = budget.hold(address(1), 250).unwrap();
        assert_eq!(alone.grow_to(251).unwrap_err().code, Code::RateLimited);
    }

    // Holds invariant 115.
    #[test]
    fn all_that_was_held_is_given_back() {
        let budget = SharedBudget::new(ANSWER_BYTES, 100, 40);
        let over = budget.hold_over(address(1), 500);
        assert!(budget.hold(address(2), 1).is_err(), "the whole is used up");
        assert!(budget.check(&address(1)).is_err());
        drop(over);
        // An amount larger than a share is accepted if the caller holds nothing else.
        let large = budget.hold(address(1), 90).unwrap();
        assert!(budget.hold(address(1), 1).is_err());
        drop(large);
        assert_eq!(held(&budget), (0, 0));
    }
}

//! Limits on failed logins, meant to slow guessers but not owners. Failures are counted in three ways:
//!
//! - of one account from one address, strictly: this stops a guesser with one address;
//! - from one address, over all accounts;
//! - of one account from everywhere. Past half of an hour's failures the others are spaced: a guesser with many
//!   addresses waits for the next slot, and gets no more than an hour's failures in any hour.
//!
//! An address from which the account was logged in to or refreshed before is known to it, and only the first limit
//! applies there: guesses from elsewhere do not lock the owner out. Known addresses are stored separately from what
//! guesses fill.
//!
//! Accounts are identified by the digest of the given e-mail address. Unknown ones are counted alike, so nothing is
//! revealed.

use std::hash::Hash as HashKey;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use kedge_protocol::Hash;
use parking_lot::Mutex;
use quick_cache::sync::Cache;

use super::policy::{LimitPolicy, LimitStatus};
use kedge_net::addresses::ClientAddress;
use kedge_net::window::WindowCounter;

/// Known addresses of one account.
const KNOWN_MAX: usize = 16;
const HOUR_MS: u64 = 60 * 60 * 1_000;

/// Failures of an address, or of an account from one address, and its logins in flight.
#[derive(Default, Debug)]
struct LoginAttempts {
    failures: WindowCounter,
    under_way: AtomicU32,
}

/// A login in flight, released on drop.
struct LoginAttempt {
    attempts: Arc<LoginAttempts>,
    policy: LimitPolicy,
}

impl LoginAttempts {
    /// Admits a login if the limit holds even when all logins in flight fail.
    fn begin(
        self: Arc<Self>,
        policy: LimitPolicy,
        limit: u32,
        now_s: u64,
    ) -> Result<LoginAttempt, LimitStatus> {
        let others = self.under_way.fetch_add(1, Ordering::AcqRel);
        let attempt = LoginAttempt {
            attempts: self,
            policy,
        };
        let window = policy.period().window(now_s);
        // A failure is counted before its login is released, so it is seen in one count or the other.
        let failures = attempt.attempts.failures.count(window);
        if failures.used.saturating_add(others) < limit {
            return Ok(attempt);
        }
        let is_full = failures.used >= limit;
        Err(LimitStatus {
            policy,
            limit: u64::from(limit),
            remaining: 0,
            // Logins in flight end as soon as their password is hashed.
            resets_at_s: if is_full {
                policy.period().ends_s(failures.window)
            } else {
                now_s + 1
            },
        })
    }
}

impl LoginAttempt {
    fn count_failure(&self, now_s: u64) {
        let window = self.policy.period().window(now_s);
        self.attempts.failures.take(window, u32::MAX);
    }
}

impl Drop for LoginAttempt {
    fn drop(&mut self) {
        self.attempts.under_way.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Time of an account's next failure slot, if all slots are evenly spaced: Unix milliseconds (GCRA).
#[derive(Default, Debug)]
struct FailurePace(AtomicU64);

/// A slot for a failure, returned unless the login fails.
struct FailureSlot {
    pace: Arc<FailurePace>,
    spacing_ms: u64,
}

impl FailurePace {
    /// Takes the slot of one failure of `limit` in an hour, or returns when the next one is free, Unix seconds. Half of
    /// them may come together; the others are spaced over the hour.
    fn begin(self: Arc<Self>, limit: u32, now_s: u64) -> Result<FailureSlot, u64> {
        let spaced = u64::from(limit / 2).max(1);
        let together = u64::from(limit - limit / 2);
        let spacing_ms = HOUR_MS / spaced;
        let now_ms = now_s.saturating_mul(1_000);
        let ahead_ms_max = (together - 1) * spacing_ms;
        let next = |next_ms: u64| {
            let next_ms = next_ms.max(now_ms);
            (next_ms - now_ms <= ahead_ms_max).then(|| next_ms + spacing_ms)
        };
        let (order, seen) = (Ordering::AcqRel, Ordering::Acquire);
        match self.0.fetch_update(order, seen, next) {
            Ok(_) => Ok(FailureSlot {
                pace: self,
                spacing_ms,
            }),
            Err(next_ms) => Err((next_ms - ahead_ms_max).div_ceil(1_000)),
        }
    }
}

impl FailureSlot {
    /// The login failed, so its slot is used.
    fn keep(mut self) {
        self.spacing_ms = 0;
    }
}

impl Drop for FailureSlot {
    fn drop(&mut self) {
        self.pace.0.fetch_sub(self.spacing_ms, Ordering::AcqRel);
    }
}

/// An admitted login. Dropped without a result, it counts as neither success nor failure.
pub struct AdmittedLogin {
    of_both: LoginAttempt,
    of_address: Option<LoginAttempt>,
    of_account: Option<FailureSlot>,
}

impl AdmittedLogin {
    /// The password was wrong, or the account does not exist.
    pub fn failed(self, now_s: u64) {
        self.of_both.count_failure(now_s);
        if let Some(of_address) = self.of_address {
            of_address.count_failure(now_s);
        }
        if let Some(of_account) = self.of_account {
            of_account.keep();
        }
    }

    /// The password was right, so earlier failures of the account from this address are forgotten (NIST SP 800-63B,
    /// 3.2.2). Those of the address still count: otherwise callers could keep guessing by logging in to their own
    /// account in between. So do those of the account: its owner's logins are no use to a guesser elsewhere.
    pub fn succeeded(self) {
        self.of_both.attempts.failures.clear();
    }
}

/// An admitted request with an e-mail address that may be taken. Held until dropped, so that concurrent requests reveal
/// no more than consecutive ones.
pub struct EmailProbe(LoginAttempt);

impl EmailProbe {
    /// The address was taken, which reveals as much as a login.
    pub fn met_taken(&self, now_s: u64) {
        self.0.count_failure(now_s);
    }
}

/// Allowed failures.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoginLimits {
    /// From one address, per minute.
    pub(super) per_address: u32,
    /// Of one account from one address, per quarter of an hour.
    pub(super) per_account: u32,
    /// Of one account from all unknown addresses, per hour.
    pub(super) per_account_hour: u32,
}

pub(super) struct LoginCounter {
    limits: LoginLimits,
    addresses: Cache<ClientAddress, Arc<LoginAttempts>>,
    both: Cache<(Hash, ClientAddress), Arc<LoginAttempts>>,
    accounts: Cache<Hash, Arc<FailurePace>>,
    /// Addresses known to accounts, latest logins last. Only correct passwords and refresh tokens add any.
    known: Cache<Hash, Arc<Mutex<Vec<ClientAddress>>>>,
}

fn made<K: HashKey + Eq + Clone, V: Default>(of: &Cache<K, Arc<V>>, key: &K) -> Arc<V> {
    of.get_or_insert_with(key, || Ok::<_, std::convert::Infallible>(Arc::default()))
        .unwrap_or_else(|never| match never {})
}

impl LoginCounter {
    /// `entries_max` bounds the cached addresses and accounts, approximately.
    pub(super) fn new(limits: LoginLimits, entries_max: usize) -> Self {
        Self {
            limits,
            addresses: Cache::new(entries_max),
            both: Cache::new(entries_max),
            accounts: Cache::new(entries_max),
            known: Cache::new(entries_max),
        }
    }

    /// Admits a request that may reveal that an e-mail address is taken, as often from one address as logins may fail.
    pub(super) fn begin_naming(
        &self,
        address: ClientAddress,
        now_s: u64,
    ) -> Result<EmailProbe, LimitStatus> {
        let attempts = made(&self.addresses, &address);
        let attempt = attempts.begin(LimitPolicy::LoginAddress, self.limits.per_address, now_s);
        attempt.map(EmailProbe)
    }

    /// Notes that the account's owner is at this address.
    pub(super) fn note(&self, address: ClientAddress, account: Hash) {
        let known = made(&self.known, &account);
        let mut known = known.lock();
        known.retain(|other| *other != address);
        if known.len() >= KNOWN_MAX {
            known.remove(0);
        }
        known.push(address);
    }

    fn knows(&self, address: ClientAddress, account: &Hash) -> bool {
        let known = self.known.get(account);
        known.is_some_and(|known| known.lock().contains(&address))
    }

    /// Admits a login, or returns the limit without room. `is_owner`: other evidence than the password identifies the
    /// account's owner.
    pub(super) fn begin(
        &self,
        address: ClientAddress,
        account: Hash,
        is_owner: bool,
        now_s: u64,
    ) -> Result<AdmittedLogin, LimitStatus> {
        let limits = &self.limits;
        let both = made(&self.both, &(account, address));
        let of_both = both.begin(LimitPolicy::LoginAccount, limits.per_account, now_s)?;
        if is_owner || self.knows(address, &account) {
            return Ok(AdmittedLogin {
                of_both,
                of_address: None,
                of_account: None,
            });
        }
        let of_address = made(&self.addresses, &address).begin(
            LimitPolicy::LoginAddress,
            limits.per_address,
            now_s,
        )?;
        let pace = made(&self.accounts, &account);
        let of_account = pace
            .begin(limits.per_account_hour, now_s)
            .map_err(|resets_at_s| LimitStatus {
                policy: LimitPolicy::LoginAccountHour,
                limit: u64::from(limits.per_account_hour),
                remaining: 0,
                resets_at_s,
            })?;
        Ok(AdmittedLogin {
            of_both,
            of_address: Some(of_address),
            of_account: Some(of_account),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    /// The beginning of an hour.
    const NOW_S: u64 = 1_795_255_200;
    const ANN: Hash = Hash([1; 32]);
    const BOB: Hash = Hash([2; 32]);

    fn logins() -> LoginCounter {
        let limits = LoginLimits {
            per_address: 10,
            per_account: 5,
            per_account_hour: 20,
        };
        LoginCounter::new(limits, 1_000)
    }

    fn address(number: u8) -> ClientAddress {
        IpAddr::from([192, 0, 2, number]).into()
    }

    fn begin(
        logins: &LoginCounter,
        address: ClientAddress,
        account: Hash,
        now_s: u64,
    ) -> Result<AdmittedLogin, LimitStatus> {
        logins.begin(address, account, false, now_s)
    }

    #[track_caller]
    fn fail(logins: &LoginCounter, from: u8, account: Hash, now_s: u64) {
        let login = begin(logins, address(from), account, now_s);
        login.ok().unwrap().failed(now_s);
    }

    fn refusal(result: Result<AdmittedLogin, LimitStatus>) -> LimitStatus {
        result.err().expect("it should have been refused")
    }

    // Holds invariant 24.
    #[test]
    fn a_guesser_is_shut_out_and_the_owner_is_not() {
        let logins = logins();
        for _ in 0..5 {
            fail(&logins, 1, ANN, NOW_S);
        }
        let refused = refusal(begin(&logins, address(1), ANN, NOW_S + 60));
        assert_eq!(refused.policy, LimitPolicy::LoginAccount);
        assert_eq!((refused.limit, refused.remaining), (5, 0));
        assert_eq!(refused.resets_at_s, NOW_S + 900);
        assert!(begin(&logins, address(2), ANN, NOW_S).is_ok());
        assert!(begin(&logins, address(1), BOB, NOW_S).is_ok());
        assert!(begin(&logins, address(1), ANN, NOW_S + 900).is_ok());
    }

    #[test]
    fn an_address_is_shut_after_ten_failures_of_any_accounts() {
        let logins = logins();
        for number in 0..10 {
            fail(&logins, 1, Hash([number; 32]), NOW_S);
        }
        let refused = refusal(begin(&logins, address(1), Hash([99; 32]), NOW_S));
        assert_eq!(refused.policy, LimitPolicy::LoginAddress);
        assert_eq!(refused.resets_at_s, NOW_S + 60);
        assert!(begin(&logins, address(2), Hash([99; 32]), NOW_S).is_ok());
        assert!(begin(&logins, address(1), Hash([99; 32]), NOW_S + 60).is_ok());
        // A neighbour at the same address does not lock out an owner known there.
        logins.note(address(1), ANN);
        assert!(begin(&logins, address(1), ANN, NOW_S).is_ok());
    }

    // Holds invariant 24.
    #[test]
    fn many_addresses_make_no_more_guesses_than_an_hours() {
        let logins = logins();
        logins.note(address(200), ANN);
        let mut times = Vec::new();
        // As many addresses as there are seconds, for three hours.
        for second in 0..3 * 3_600_u64 {
            let number = (second % 65_536) as u16;
            let from = IpAddr::from([10, 0, (number >> 8) as u8, number as u8]).into();
            match begin(&logins, from, ANN, NOW_S + second) {
                Ok(login) => {
                    login.failed(NOW_S + second);
                    times.push(second);
                }
                Err(refused) => {
                    assert_eq!(refused.policy, LimitPolicy::LoginAccountHour);
                    let wait_s = refused.resets_at_s - (NOW_S + second);
                    assert!(
                        (1..=360).contains(&wait_s),
                        "{wait_s}: a delay, not the end"
                    );
                }
            }
        }
        for (index, begun) in times.iter().enumerate() {
            let within = times[index..].iter().filter(|time| **time < begun + 3_600);
            assert!(within.count() <= 20, "in the hour from {begun}");
        }
        assert_eq!(times.len(), 10 + 29);
        let last_s = NOW_S + 3 * 3_600 - 1;
        assert!(begin(&logins, address(200), ANN, last_s).is_ok(), "known");
        assert!(logins.begin(address(3), ANN, true, last_s).is_ok());
        assert!(begin(&logins, address(3), BOB, last_s).is_ok());
    }

    #[test]
    fn a_right_password_takes_no_place_from_an_accounts_failures() {
        let logins = logins();
        for number in 0..100 {
            let login = begin(&logins, address(number), ANN, NOW_S);
            login.ok().unwrap().succeeded();
            drop(begin(&logins, address(number), ANN, NOW_S).ok().unwrap());
        }
    }

    #[test]
    fn an_account_knows_so_many_addresses_and_forgets_the_oldest() {
        let logins = logins();
        let known = u8::try_from(KNOWN_MAX).unwrap();
        for number in 0..=known {
            logins.note(address(number), ANN);
        }
        logins.note(address(1), ANN);
        logins.note(address(200), ANN);
        let knows = |number| logins.knows(address(number), &ANN);
        assert!(!knows(0) && knows(1) && !knows(2) && knows(3) && knows(known) && knows(200));
        assert!(!logins.knows(address(200), &BOB));
    }

    // Holds invariant 24.
    #[test]
    fn guesses_sent_at_one_time_are_no_more_than_the_limit() {
        let logins = logins();
        let under_way: Vec<AdmittedLogin> = (0..5)
            .map(|_| begin(&logins, address(1), ANN, NOW_S).ok().unwrap())
            .collect();
        let refused = refusal(begin(&logins, address(1), ANN, NOW_S));
        assert_eq!(refused.resets_at_s, NOW_S + 1, "they may all be right");
        for login in under_way {
            login.failed(NOW_S);
        }
        let refused = refusal(begin(&logins, address(1), ANN, NOW_S));
        assert_eq!(refused.resets_at_s, NOW_S + 900);
        let logins = self::logins();
        let from_everywhere: Vec<AdmittedLogin> = (0..10)
            .map(|number| begin(&logins, address(number), ANN, NOW_S).ok().unwrap())
            .collect();
        let refused = refusal(begin(&logins, address(99), ANN, NOW_S));
        assert_eq!(refused.policy, LimitPolicy::LoginAccountHour);
        drop(from_everywhere);
        assert!(begin(&logins, address(99), ANN, NOW_S).is_ok());
    }

    #[test]
    fn a_right_password_wipes_the_accounts_failures_and_not_the_addresses() {
        let logins = logins();
        for round in 0..2 {
            for _ in 0..4 {
                fail(&logins, 1, ANN, NOW_S);
            }
            let login = begin(&logins, address(1), ANN, NOW_S);
            login.ok().unwrap().succeeded();
            // An undecided login has no effect.
            drop(begin(&logins, address(1), ANN, NOW_S).ok().unwrap());
            assert!(
                begin(&logins, address(1), ANN, NOW_S).is_ok(),
                "round {round}"
            );
        }
        for _ in 8..10 {
            fail(&logins, 1, ANN, NOW_S);
        }
        assert_eq!(
            refusal(begin(&logins, address(1), ANN, NOW_S)).policy,
            LimitPolicy::LoginAddress
        );
    }
}

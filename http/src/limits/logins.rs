//! Failed logins, by address and by account. Accounts are known by the digest of the given e-mail address. One that
//! does not exist is counted like any other, so nothing about it is revealed.

use std::hash::Hash as HashKey;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use kedge_protocol::Hash;
use quick_cache::sync::Cache;

use super::addresses::ClientAddress;
use super::policy::{Policy, Standing};
use super::window::Counter;

/// The failures of one address or account, and its logins in flight.
#[derive(Default, Debug)]
struct Attempts {
    failures: Counter,
    under_way: AtomicU32,
}

/// A login in flight; it holds its place until it is dropped.
struct Attempt {
    attempts: Arc<Attempts>,
    policy: Policy,
}

impl Attempts {
    /// Admits a login if all logins in flight may fail without exceeding the limit.
    fn begin(self: Arc<Self>, policy: Policy, limit: u32, now_s: u64) -> Result<Attempt, Standing> {
        let others = self.under_way.fetch_add(1, Ordering::AcqRel);
        let attempt = Attempt {
            attempts: self,
            policy,
        };
        let window = policy.period().window(now_s);
        // A failure is counted before its place is released, so it is seen in one count or the
        // other.
        let failures = attempt.attempts.failures.count(window);
        if failures.used.saturating_add(others) < limit {
            return Ok(attempt);
        }
        let is_full = failures.used >= limit;
        Err(Standing {
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

impl Attempt {
    fn count_failure(&self, now_s: u64) {
        let window = self.policy.period().window(now_s);
        self.attempts.failures.take(window, u32::MAX);
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.attempts.under_way.fetch_sub(1, Ordering::AcqRel);
    }
}

/// An admitted login. Dropped without a result it counts as neither success nor failure.
pub struct Login {
    of_address: Attempt,
    of_account: Attempt,
}

impl Login {
    /// The password was wrong, or there is no such account.
    pub fn failed(self, now_s: u64) {
        self.of_address.count_failure(now_s);
        self.of_account.count_failure(now_s);
    }

    /// The password was right, so earlier failures of the account are forgotten (NIST SP 800-63B,
    /// 3.2.2). Those of the address still count: otherwise callers could keep guessing by logging
    /// in to their own account in between.
    pub fn succeeded(self) {
        self.of_account.attempts.failures.clear();
    }
}

/// How many failed logins are allowed.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoginLimits {
    /// From one address, per minute.
    pub(super) per_address: u32,
    /// Of one account, per quarter of an hour.
    pub(super) per_account: u32,
}

/// Counts failed logins.
pub(super) struct Logins {
    limits: LoginLimits,
    addresses: Cache<ClientAddress, Arc<Attempts>>,
    accounts: Cache<Hash, Arc<Attempts>>,
}

fn attempts<K: HashKey + Eq + Clone>(of: &Cache<K, Arc<Attempts>>, key: &K) -> Arc<Attempts> {
    of.get_or_insert_with(key, || Ok::<_, std::convert::Infallible>(Arc::default()))
        .unwrap_or_else(|never| match never {})
}

impl Logins {
    /// Keeps about this many addresses and accounts in memory.
    pub(super) fn new(limits: LoginLimits, entries_max: usize) -> Self {
        Self {
            limits,
            addresses: Cache::new(entries_max),
            accounts: Cache::new(entries_max),
        }
    }

    /// Admits a login, or returns which limit has no room.
    pub(super) fn begin(
        &self,
        address: ClientAddress,
        account: Hash,
        now_s: u64,
    ) -> Result<Login, Standing> {
        let of_account = attempts(&self.accounts, &account).begin(
            Policy::LoginAccount,
            self.limits.per_account,
            now_s,
        )?;
        let of_address = attempts(&self.addresses, &address).begin(
            Policy::LoginAddress,
            self.limits.per_address,
            now_s,
        )?;
        Ok(Login {
            of_address,
            of_account,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    /// The beginning of a quarter of an hour.
    const NOW_S: u64 = 1_795_255_200;
    const ANN: Hash = Hash([1; 32]);
    const BOB: Hash = Hash([2; 32]);

    fn logins() -> Logins {
        let limits = LoginLimits {
            per_address: 10,
            per_account: 5,
        };
        Logins::new(limits, 100)
    }

    fn address(number: u8) -> ClientAddress {
        IpAddr::from([192, 0, 2, number]).into()
    }

    fn refusal(result: Result<Login, Standing>) -> Standing {
        result.err().expect("it should have been refused")
    }

    #[test]
    fn an_account_is_shut_after_five_failures_from_anywhere() {
        let logins = logins();
        for number in 0..5 {
            logins
                .begin(address(number), ANN, NOW_S)
                .ok()
                .unwrap()
                .failed(NOW_S);
        }
        let refused = refusal(logins.begin(address(9), ANN, NOW_S + 60));
        assert_eq!(refused.policy, Policy::LoginAccount);
        assert_eq!((refused.limit, refused.remaining), (5, 0));
        assert_eq!(refused.resets_at_s, NOW_S + 900);
        assert!(logins.begin(address(9), BOB, NOW_S).is_ok());
        assert!(logins.begin(address(9), ANN, NOW_S + 900).is_ok());
    }

    #[test]
    fn an_address_is_shut_after_ten_failures_of_any_accounts() {
        let logins = logins();
        for number in 0..10 {
            let account = Hash([number; 32]);
            logins
                .begin(address(1), account, NOW_S)
                .ok()
                .unwrap()
                .failed(NOW_S);
        }
        let refused = refusal(logins.begin(address(1), Hash([99; 32]), NOW_S));
        assert_eq!(refused.policy, Policy::LoginAddress);
        assert_eq!(refused.resets_at_s, NOW_S + 60);
        assert!(logins.begin(address(2), Hash([99; 32]), NOW_S).is_ok());
        assert!(logins.begin(address(1), Hash([99; 32]), NOW_S + 60).is_ok());
    }

    #[test]
    fn guesses_sent_at_one_time_are_no_more_than_the_limit() {
        let logins = logins();
        let under_way: Vec<Login> = (0..5)
            .map(|_| logins.begin(address(1), ANN, NOW_S).ok().unwrap())
            .collect();
        let refused = refusal(logins.begin(address(1), ANN, NOW_S));
        assert_eq!(refused.resets_at_s, NOW_S + 1, "they may all be right");
        for login in under_way {
            login.failed(NOW_S);
        }
        let refused = refusal(logins.begin(address(1), ANN, NOW_S));
        assert_eq!(refused.resets_at_s, NOW_S + 900);
    }

    #[test]
    fn a_right_password_wipes_the_accounts_failures_and_not_the_addresses() {
        let logins = logins();
        for round in 0..2 {
            for _ in 0..4 {
                logins
                    .begin(address(1), ANN, NOW_S)
                    .ok()
                    .unwrap()
                    .failed(NOW_S);
            }
            logins
                .begin(address(1), ANN, NOW_S)
                .ok()
                .unwrap()
                .succeeded();
            // An undecided login has no effect.
            drop(logins.begin(address(1), ANN, NOW_S).ok().unwrap());
            assert!(
                logins.begin(address(1), ANN, NOW_S).is_ok(),
                "round {round}"
            );
        }
        for _ in 8..10 {
            logins
                .begin(address(1), ANN, NOW_S)
                .ok()
                .unwrap()
                .failed(NOW_S);
        }
        assert_eq!(
            refusal(logins.begin(address(1), ANN, NOW_S)).policy,
            Policy::LoginAddress
        );
    }
}

//! Rate limits: how many requests an organization may send, by its tier; how many may come from one address without an
//! organization; how often a login may fail.
//!
//! A request is counted as soon as its caller is known, on atomics in memory: on every limit that covers it, or on
//! none. Once a second the day counts that have changed go to the store in one side write. Whatever the answer is, it
//! shows how the limits stand: the fields are written when the answer leaves.

mod addresses;
pub mod budget;
pub mod fields;
mod log_bytes;
mod logins;
mod organizations;
mod policy;
mod shares;
mod tier;
mod window;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::HeaderMap;
use hyper::header::{HeaderValue, RETRY_AFTER};
use kedge_actors::Engine;
use kedge_actors::api::SubmitError;
use kedge_api::Code;
use kedge_config::{Config, Switch};
use kedge_protocol::hash::sha256;
use kedge_protocol::limits::{
    LIMITED_ACCOUNTS_MAX, LIMITED_ADDRESSES_MAX, LIMITED_ORGANIZATIONS_MAX,
};
use kedge_protocol::resource::{Organization, Tier};
use kedge_protocol::{Hash, Id};
use kedge_storage::{Mode, ReadError, SideWrite, Usage};
use metrics::counter;

use self::addresses::Addresses;
use self::log_bytes::Arriving;
use self::logins::{LoginLimits, Logins};
use self::organizations::{Account, Organizations};
use self::tier::{LogQuotas, Plan};
use crate::error::{ApiError, Detail};
use crate::metric_definitions::{RATE_LIMITED, USAGE_ROWS_WRITTEN};

pub use self::addresses::ClientAddress;
pub use self::budget::{Budget, Held};
pub use self::log_bytes::{LOG_BYTES, LogHold, LogUse};
pub use self::logins::Login;
pub use self::policy::{LimitClass, Policy, Standing};
pub use self::shares::{Holder, Share};
pub use self::tier::{Limits, PerLimit, limits_of, price_of};
pub use self::window::Period;

/// Every limit by the name that refusals and metrics have for it.
pub fn names() -> impl Iterator<Item = &'static str> {
    let policies = Policy::ALL.iter().map(|policy| policy.name());
    let shares = Share::ALL.iter().map(|share| share.name());
    policies.chain(shares).chain(budget::ALL)
}

/// How often the days' counts are stored: a crash loses no more than that.
const STORE_INTERVAL: Duration = Duration::from_secs(1);

/// Counts requests and refuses those for which there is no room.
pub struct RateLimits {
    engine: Engine,
    enforced: bool,
    organizations: Organizations,
    addresses: Addresses,
    per_address: u32,
    address_policy: HeaderValue,
    logins: Logins,
    quotas: LogQuotas,
    arriving: Arc<Arriving>,
    free: Arc<Plan>,
    developer: Arc<Plan>,
    enterprise: Arc<Plan>,
}

/// The limits that one request was counted on.
pub struct Tally {
    address: ClientAddress,
    taken_s: u64,
    counted: Counted,
}

enum Counted {
    Nothing,
    Address,
    Organization(Arc<Account>, LimitClass),
}

impl Tally {
    /// The caller's address.
    pub fn client_address(&self) -> ClientAddress {
        self.address
    }

    /// The holder of the request's share.
    pub fn holder(&self) -> Holder {
        match &self.counted {
            Counted::Organization(account, _) => Holder::Organization(account.organization_id()),
            Counted::Address | Counted::Nothing => Holder::Address(self.address),
        }
    }
}

/// How much of an organization's limits is used.
#[derive(Clone)]
pub struct Use {
    /// Its tier.
    pub tier: Tier,
    /// Its limits.
    pub limits: Limits,
    /// The counts of each in the current window.
    pub used: PerLimit<u64>,
}

impl RateLimits {
    /// Counts for a running engine.
    pub fn new(config: &Config, engine: Engine) -> Self {
        let per_address = config.address_requests_per_minute;
        let quotas = LogQuotas {
            free: config.log_bytes_free,
            developer: config.log_bytes_developer,
        };
        Self {
            engine,
            enforced: config.rate_limits == Switch::On,
            organizations: Organizations::new(LIMITED_ORGANIZATIONS_MAX),
            addresses: Addresses::new(config.trusted_proxies.clone(), LIMITED_ADDRESSES_MAX),
            per_address,
            address_policy: fields::policy(&[(Policy::Address, u64::from(per_address))]),
            logins: Logins::new(
                LoginLimits {
                    per_address: config.login_failures_per_address,
                    per_account: config.login_failures_per_account,
                },
                LIMITED_ACCOUNTS_MAX,
            ),
            quotas,
            arriving: Arc::default(),
            free: Plan::new(Tier::Free, quotas),
            developer: Plan::new(Tier::Developer, quotas),
            enterprise: Plan::new(Tier::Enterprise, quotas),
        }
    }

    fn plan(&self, tier: &Tier) -> Arc<Plan> {
        Arc::clone(match tier {
            Tier::Free => &self.free,
            Tier::Developer => &self.developer,
            Tier::Enterprise => &self.enterprise,
            Tier::Custom(_) => return Plan::new(*tier, self.quotas),
        })
    }

    /// Begins the tally of an arriving request.
    pub fn begin(&self, peer: IpAddr, headers: &HeaderMap, now_s: u64) -> Tally {
        Tally {
            address: self.addresses.client(peer, headers),
            taken_s: now_s,
            counted: Counted::Nothing,
        }
    }

    /// Counts a request on its organization's limits, or on its address's if the organization is
    /// unknown; or refuses it.
    pub fn count(
        &self,
        tally: &mut Tally,
        class: LimitClass,
        organization: Option<Id>,
    ) -> Result<(), ApiError> {
        match organization {
            _ if class == LimitClass::Free => Ok(()),
            Some(id) => {
                let account = self.account(id)?;
                account
                    .take(class, tally.taken_s, self.enforced)
                    .map_err(|standing| refuse(&standing, tally.taken_s))?;
                self.note(&account);
                tally.counted = Counted::Organization(account, class);
                Ok(())
            }
            None => self.count_address(tally),
        }
    }

    /// Counts a request on its address's limit, or refuses it.
    pub fn count_address(&self, tally: &mut Tally) -> Result<(), ApiError> {
        let period = Policy::Address.period();
        let window = period.window(tally.taken_s);
        let ceiling = if self.enforced {
            self.per_address
        } else {
            u32::MAX
        };
        let counter = self.addresses.counter(tally.address);
        if counter.take(window, ceiling) || !self.enforced {
            tally.counted = Counted::Address;
            return Ok(());
        }
        let standing = Standing {
            policy: Policy::Address,
            limit: u64::from(ceiling),
            remaining: 0,
            resets_at_s: period.ends_s(window),
        };
        Err(refuse(&standing, tally.taken_s))
    }

    /// Admits a login, or refuses it because of earlier failures. `email` is the account's e-mail
    /// address in its normal form, whether the account exists or not.
    pub fn begin_login(
        &self,
        address: ClientAddress,
        email: &str,
        now_s: u64,
    ) -> Result<Option<Login>, ApiError> {
        if !self.enforced {
            return Ok(None);
        }
        let account: Hash = sha256(email.as_bytes());
        self.logins
            .begin(address, account, now_s)
            .map(Some)
            .map_err(|standing| refuse(&standing, now_s))
    }

    /// Writes the state of the limits into an outgoing answer. If the caller named exactly the state that it would have
    /// received (`is_known`), the answer costs nothing: its count is returned first.
    pub fn finish(&self, tally: &Tally, is_known: bool, headers: &mut HeaderMap, now_s: u64) {
        if is_known {
            self.give_back(tally);
        }
        if headers.contains_key(fields::LIMIT) {
            // A refusal describes the limit it is for.
            return;
        }
        match &tally.counted {
            Counted::Organization(account, class) => {
                let plan = account.plan();
                let mut room = [Standing::NOTHING; 3];
                let standings = account.standings(&plan, *class, now_s, &mut room);
                if let Some(policy) = plan.policy_field(*class) {
                    fields::write(headers, standings, policy.clone(), now_s);
                }
            }
            Counted::Address | Counted::Nothing => {
                let standing = self.address_standing(tally.address, now_s);
                fields::write(headers, &mut [standing], self.address_policy.clone(), now_s);
            }
        }
    }

    /// At most as many are returned per minute as the minute's limit allows, because each took the work of an answer.
    fn give_back(&self, tally: &Tally) {
        match &tally.counted {
            Counted::Organization(account, class) => {
                account.give_back_known(*class, tally.taken_s);
                self.note(account);
            }
            Counted::Address => {
                let window = Policy::Address.period().window(tally.taken_s);
                self.addresses
                    .counter(tally.address)
                    .give_back_known(window, self.per_address);
            }
            Counted::Nothing => {}
        }
    }

    /// Notes that the account's day has to be stored. With limits off nothing is stored, so that a
    /// server being measured does no extra work.
    fn note(&self, account: &Arc<Account>) {
        if self.enforced {
            self.organizations.note(account);
        }
    }

    fn address_standing(&self, address: ClientAddress, now_s: u64) -> Standing {
        let period = Policy::Address.period();
        let now = period.window(now_s);
        let (window, used) = match self.addresses.known(address) {
            Some(counter) => {
                let count = counter.count(now);
                (count.window, count.used)
            }
            None => (now, 0),
        };
        Standing {
            policy: Policy::Address,
            limit: u64::from(self.per_address),
            remaining: u64::from(self.per_address.saturating_sub(used)),
            resets_at_s: period.ends_s(window),
        }
    }

    fn account(&self, organization_id: Id) -> Result<Arc<Account>, ReadError> {
        self.organizations.account(organization_id, || {
            let snapshot = &self.engine.published().snapshot;
            let organization = snapshot.organization(organization_id)?;
            // A token may outlive a store that was restored to a time before its organization.
            let tier = organization.map_or(Tier::Free, |organization| organization.tier);
            let stored: Option<Usage> = snapshot.usage(organization_id)?;
            Ok((self.plan(&tier), stored))
        })
    }

    /// How much an organization has used.
    pub fn used(&self, organization_id: Id, now_s: u64) -> Result<Use, ReadError> {
        let account = self.account(organization_id)?;
        let plan = account.plan();
        Ok(Use {
            tier: plan.tier,
            limits: plan.limits.clone(),
            used: PerLimit::each(|policy| u64::from(account.count(policy, now_s).used)),
        })
    }

    /// Puts an organization's tier in force, once it is stored.
    pub fn tier_changed(&self, organization: &Organization) {
        let plan = self.plan(&organization.tier);
        self.organizations.set_plan(organization.id, plan);
    }

    /// Stores the days' counts once a second, for ever.
    pub async fn keep_stored(&self) {
        let mut ticks = tokio::time::interval(STORE_INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.store().await;
        }
    }

    /// Stores the days' counts that have changed.
    pub async fn store(&self) {
        if self.engine.disk_full() {
            // The counts wait until there is room.
            return;
        }
        let changed = self.organizations.take_changed();
        if changed.is_empty() || self.engine.mode() != Mode::ReadWrite {
            // A store that accepts no writes is no reason to keep every account in memory: they are
            // released, and noted again with their next request.
            return;
        }
        let write = |(account, usage): &(Arc<Account>, Usage)| SideWrite::Usage {
            organization: account.organization_id(),
            usage: *usage,
        };
        let writes: Vec<SideWrite> = changed.iter().map(write).collect();
        let rows = writes.len() as u64;
        let stored: Result<(), SubmitError> = self.engine.side_writes(writes).await;
        match stored {
            Ok(()) => counter!(USAGE_ROWS_WRITTEN).increment(rows),
            Err(error) => {
                tracing::warn!(%error, "the daily request counts were not stored; they will be retried");
                for (account, _) in &changed {
                    self.organizations.note(account);
                }
            }
        }
    }
}

/// 429 for the limit that has no room.
fn refuse(standing: &Standing, now_s: u64) -> ApiError {
    let policy = standing.policy;
    counter!(RATE_LIMITED, "policy" => policy.name()).increment(1);
    let wait_s = standing.resets_in_s(now_s);
    let what = match policy {
        Policy::LoginAddress | Policy::LoginAccount => "failed logins",
        _ => "requests",
    };
    let window = match policy.period() {
        Period::Minute => "a minute",
        Period::QuarterHour => "in 15 minutes",
        Period::Day => "a day",
    };
    let message = format!(
        "the limit {} of {} {what} {window} is used up; try again in {wait_s} s",
        policy.name(),
        standing.limit
    );
    let mut error = ApiError {
        detail: Detail::Limit {
            policy: policy.name(),
        },
        ..ApiError::new(Code::RateLimited, message)
    }
    .with_header(RETRY_AFTER, wait_s.to_string());
    let mut headers = HeaderMap::with_capacity(5);
    let quota = fields::policy(&[(policy, standing.limit)]);
    fields::write(&mut headers, &mut [*standing], quota, now_s);
    for (name, value) in &headers {
        let text = value.to_str().unwrap_or_default();
        error = error.with_header(name.clone(), text.to_owned());
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_its_limit_and_says_when_to_come_back() {
        let now_s = 1_795_255_308;
        let standing = Standing {
            policy: Policy::ActionBatches,
            limit: 10,
            remaining: 0,
            resets_at_s: 1_795_255_320,
        };
        let error = refuse(&standing, now_s);
        assert_eq!(error.code, Code::RateLimited);
        let header = |name: &str| {
            let mut headers = error.headers.iter();
            headers
                .find(|(known, _)| known == name)
                .map(|(_, value)| value.as_str())
        };
        assert_eq!(header("retry-after"), Some("12"));
        assert_eq!(header("x-ratelimit-limit"), Some("10"));
        assert_eq!(header("x-ratelimit-remaining"), Some("0"));
        assert_eq!(header("x-ratelimit-reset"), Some("1795255320"));
        assert_eq!(header("ratelimit"), Some(r#""action-batches";r=0;t=12"#));
        assert_eq!(
            error.message,
            "the limit action-batches of 10 requests a minute is used up; try again in 12 s"
        );
    }
}

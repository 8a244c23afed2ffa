//! Rate limits: requests of an organization, by its tier; requests of an address without an organization; failed
//! logins.
//!
//! A request is counted as soon as its caller is known, on atomics in memory: on every limit that covers it, or on
//! none. Changed day counts are stored once a second in one side write. Every answer states the limits, as of the time
//! it leaves.

pub mod budget;
mod census;
pub mod fields;
pub mod leases;
mod log_bytes;
mod logins;
mod organizations;
mod policy;
mod refusal;
mod share_pool;
mod shares;
mod tier;

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hyper::HeaderMap;
use hyper::header::HeaderValue;
use kedge_actors::Engine;
use kedge_actors::api::SubmissionError;
use kedge_config::{Config, ConfigSwitch};
use kedge_protocol::hash::sha256;
use kedge_protocol::limits::{
    LIMITED_ACCOUNTS_MAX, LIMITED_ADDRESSES_MAX, LIMITED_ORGANIZATIONS_MAX,
};
use kedge_protocol::resource::{Organization, Tier};
use kedge_protocol::{Hash, Id};
use kedge_storage::{SideWrite, StoreMode, StoreReadError, UsageRow};
use metrics::{counter, gauge};
use parking_lot::Mutex;

use self::census::{LimitFraction, NearestLimit, TierCensus, UsageShares};
use self::leases::LeaseClient;
use self::log_bytes::LogBytesInFlight;
use self::logins::{LoginCounter, LoginLimits};
use self::organizations::{LimitAccount, LimitAccounts};
use self::refusal::refuse;
use self::tier::{DiskReserves, LogQuotas, TierPlan};
use crate::error::ApiResult;
use crate::metric_definitions::{DISK_KEPT_BYTES, USAGE_ROWS_WRITTEN};
use kedge_net::addresses::AddressCounter;

pub use self::budget::{BudgetReservation, SharedBudget};
pub use self::census::{NEAREST_MAX, TierOverview};
pub use self::log_bytes::{LogBytesHold, LogUse};
pub use self::logins::{AdmittedLogin, EmailProbe};
pub use self::policy::{LOG_BYTES, LimitClass, LimitPolicy, LimitStatus};
pub use self::share_pool::{SharePool, ShareSlot};
pub use self::shares::{ShareHolder, ShareKind};
pub use self::tier::{OrganizationLimits, PerLimit, limits_of, price_of};
pub use kedge_net::addresses::ClientAddress;
pub use kedge_net::window::WindowPeriod;

/// The names of all limits, as in refusals and metrics.
pub fn names() -> impl Iterator<Item = &'static str> {
    let policies = LimitPolicy::ALL.iter().map(|policy| policy.name());
    let shares = ShareKind::ALL.iter().map(|share| share.name());
    policies.chain(shares).chain(budget::ALL)
}

/// Interval of storing the day counts: a crash loses no more than that.
const STORE_INTERVAL: Duration = Duration::from_secs(1);

pub struct RateLimits {
    engine: Engine,
    enforced: bool,
    organizations: LimitAccounts,
    addresses: AddressCounter,
    per_address: u32,
    address_policy: HeaderValue,
    logins: LoginCounter,
    quotas: LogQuotas,
    disk_reserves: DiskReserves,
    arriving: Arc<LogBytesInFlight>,
    free: Arc<TierPlan>,
    developer: Arc<TierPlan>,
    enterprise: Arc<TierPlan>,
    /// The last count of organizations by tier.
    census: Mutex<Option<TierCensus>>,
    /// Number of tier changes by the operator.
    tiers_set: AtomicU32,
    /// Source of leases while this node follows.
    leases: OnceLock<LeaseClient>,
    /// Whether this node led at the last look, and how often it began to.
    led: AtomicBool,
    times_led: AtomicU32,
}

/// The limits that a request was counted on.
#[derive(Clone)]
pub struct LimitCharge {
    address: ClientAddress,
    taken_s: u64,
    counted: ChargeTarget,
}

#[derive(Clone)]
enum ChargeTarget {
    Nothing,
    Address,
    /// The account, the class, and whether the request was counted on leases.
    Organization(Arc<LimitAccount>, LimitClass, bool),
}

impl LimitCharge {
    pub fn client_address(&self) -> ClientAddress {
        self.address
    }

    /// The holder of the request's shares.
    pub fn holder(&self) -> ShareHolder {
        match &self.counted {
            ChargeTarget::Organization(account, ..) => {
                ShareHolder::Organization(account.organization_id())
            }
            ChargeTarget::Address | ChargeTarget::Nothing => ShareHolder::Address(self.address),
        }
    }
}

/// An organization's use of its limits.
#[derive(Clone)]
pub struct LimitUse {
    pub tier: Tier,
    pub limits: OrganizationLimits,
    /// Counts in the current windows.
    pub used: PerLimit<u64>,
}

impl RateLimits {
    pub fn new(config: &Config, engine: Engine) -> Self {
        let per_address = config.address_requests_per_minute;
        let quotas = LogQuotas {
            free: config.log_bytes_free,
            developer: config.log_bytes_developer,
        };
        let disk_reserves = DiskReserves {
            free: config.disk_kept_from_free,
            developer: config.disk_kept_from_developer,
        };
        let enforced = config.rate_limits == ConfigSwitch::On;
        for tier in [Tier::Free, Tier::Developer] {
            let kept = if enforced { disk_reserves.of(&tier) } else { 0 };
            gauge!(DISK_KEPT_BYTES, "tier" => tier.name()).set(kept as f64);
        }
        Self {
            engine,
            enforced,
            organizations: LimitAccounts::new(LIMITED_ORGANIZATIONS_MAX),
            addresses: AddressCounter::new(config.trusted_proxies.clone(), LIMITED_ADDRESSES_MAX),
            per_address,
            address_policy: fields::policy(&[(LimitPolicy::Address, u64::from(per_address))]),
            logins: LoginCounter::new(
                LoginLimits {
                    per_address: config.login_failures_per_address,
                    per_account: config.login_failures_per_account,
                    per_account_hour: config.login_failures_per_account_hour,
                },
                LIMITED_ACCOUNTS_MAX,
            ),
            quotas,
            disk_reserves,
            arriving: Arc::default(),
            free: TierPlan::new(Tier::Free, quotas),
            developer: TierPlan::new(Tier::Developer, quotas),
            enterprise: TierPlan::new(Tier::Enterprise, quotas),
            census: Mutex::default(),
            tiers_set: AtomicU32::new(0),
            leases: OnceLock::new(),
            led: AtomicBool::new(false),
            times_led: AtomicU32::new(0),
        }
    }

    fn plan(&self, tier: &Tier) -> Arc<TierPlan> {
        Arc::clone(match tier {
            Tier::Free => &self.free,
            Tier::Developer => &self.developer,
            Tier::Enterprise => &self.enterprise,
            Tier::Custom(_) => return TierPlan::new(*tier, self.quotas),
        })
    }

    pub fn begin(&self, peer: IpAddr, headers: &HeaderMap, now_s: u64) -> LimitCharge {
        LimitCharge {
            address: self.addresses.client(peer, headers),
            taken_s: now_s,
            counted: ChargeTarget::Nothing,
        }
    }

    /// Counts a request on its organization's limits, or on its address's without an organization; or refuses it.
    pub async fn count(
        &self,
        tally: &mut LimitCharge,
        class: LimitClass,
        organization: Option<Id>,
    ) -> ApiResult<()> {
        match organization {
            _ if class == LimitClass::Free => Ok(()),
            Some(id) => {
                let account = self.account(id)?;
                let taken = self.take(&account, class, tally.taken_s).await?;
                let is_leased = taken.map_err(|standing| refuse(&standing, tally.taken_s))?;
                self.note(&account);
                tally.counted = ChargeTarget::Organization(account, class, is_leased);
                Ok(())
            }
            None => self.count_address(tally),
        }
    }

    /// Counts a request, on leases while this node has them from the leader; returns whether it did.
    async fn take(
        &self,
        account: &LimitAccount,
        class: LimitClass,
        taken_s: u64,
    ) -> ApiResult<Result<bool, LimitStatus>> {
        let Some(leases) = self.leases().filter(|_| self.enforced) else {
            self.catch_up(account)?;
            let taken = account.take(class, taken_s, self.enforced);
            return Ok(taken.map(|()| false));
        };
        let taken = self.take_leased(leases, account, class, taken_s).await;
        Ok(taken.map(|()| true))
    }

    /// How many more requests the limits of one that was counted have room for.
    pub fn left(&self, tally: &LimitCharge, now_s: u64) -> u32 {
        let ChargeTarget::Organization(account, class, is_leased) = &tally.counted else {
            return u32::MAX;
        };
        if !self.enforced {
            return u32::MAX;
        }
        let mut room = [LimitStatus::NOTHING; 3];
        let standings = account.standings((*class, *is_leased), now_s, &mut room);
        let least = standings.iter().map(|standing| standing.remaining).min();
        least.map_or(u32::MAX, |least| u32::try_from(least).unwrap_or(u32::MAX))
    }

    /// Counts so many items of an answer as requests, on the limits of the one that asked for them.
    ///
    /// # Errors
    /// Others have taken the room meanwhile, so that none is counted; or the rows cannot be read.
    pub async fn count_items(&self, tally: &LimitCharge, items: u32, now_s: u64) -> ApiResult<()> {
        let ChargeTarget::Organization(account, class, _) = &tally.counted else {
            return Ok(());
        };
        let mut counted = Vec::new();
        while counted.len() < items as usize {
            match self.take(account, *class, now_s).await? {
                Ok(is_leased) => counted.push(is_leased),
                Err(standing) => {
                    for is_leased in counted {
                        account.give_back(*class, now_s, is_leased);
                    }
                    return Err(refuse(&standing, now_s));
                }
            }
        }
        self.note(account);
        Ok(())
    }

    pub fn count_address(&self, tally: &mut LimitCharge) -> ApiResult<()> {
        let period = LimitPolicy::Address.period();
        let window = period.window(tally.taken_s);
        let ceiling = if self.enforced {
            self.per_address
        } else {
            u32::MAX
        };
        let counter = self.addresses.counter(tally.address);
        if counter.take(window, ceiling) || !self.enforced {
            tally.counted = ChargeTarget::Address;
            return Ok(());
        }
        let standing = LimitStatus {
            policy: LimitPolicy::Address,
            limit: u64::from(ceiling),
            remaining: 0,
            resets_at_s: period.ends_s(window),
        };
        Err(refuse(&standing, tally.taken_s))
    }

    /// Admits a login, or refuses it because of earlier failures. `email` is the account's address in its normal form,
    /// whether the account exists or not. `is_owner`: other evidence than the password identifies the account's owner.
    pub fn begin_login(
        &self,
        address: ClientAddress,
        email: &str,
        is_owner: bool,
        now_s: u64,
    ) -> ApiResult<Option<AdmittedLogin>> {
        if !self.enforced {
            return Ok(None);
        }
        let account: Hash = sha256(email.as_bytes());
        self.logins
            .begin(address, account, is_owner, now_s)
            .map(Some)
            .map_err(|standing| refuse(&standing, now_s))
    }

    /// Admits a request that may reveal that an e-mail address is taken, or refuses it because of too many from this
    /// address.
    pub fn begin_naming(
        &self,
        address: ClientAddress,
        now_s: u64,
    ) -> ApiResult<Option<EmailProbe>> {
        if !self.enforced {
            return Ok(None);
        }
        let begun = self.logins.begin_naming(address, now_s);
        begun.map(Some).map_err(|standing| refuse(&standing, now_s))
    }

    /// Notes that the account's owner is at this address: guesses from elsewhere will not lock it out.
    pub fn note_owner(&self, address: ClientAddress, email: &str) {
        if self.enforced {
            self.logins.note(address, sha256(email.as_bytes()));
        }
    }

    /// Writes the limits' state into an outgoing answer. An answer that the caller already has (`is_known`) is free:
    /// its count is returned first.
    pub fn finish(&self, tally: &LimitCharge, is_known: bool, headers: &mut HeaderMap, now_s: u64) {
        if is_known {
            self.give_back(tally, now_s);
        }
        if headers.contains_key(fields::LIMIT) {
            // A refusal already describes its limit.
            return;
        }
        match &tally.counted {
            ChargeTarget::Organization(account, class, is_leased) => {
                let plan = account.plan();
                let mut room = [LimitStatus::NOTHING; 3];
                let standings = account.standings((*class, *is_leased), now_s, &mut room);
                if let Some(policy) = plan.policy_field(*class) {
                    fields::write(headers, standings, policy.clone(), now_s);
                }
            }
            ChargeTarget::Address | ChargeTarget::Nothing => {
                let standing = self.address_standing(tally.address, now_s);
                fields::write(headers, &mut [standing], self.address_policy.clone(), now_s);
            }
        }
    }

    /// Returns at most the minute's limit per minute, because each such answer took work.
    fn give_back(&self, tally: &LimitCharge, now_s: u64) {
        match &tally.counted {
            ChargeTarget::Organization(account, class, is_leased) => {
                account.give_back_known(*class, (tally.taken_s, now_s), *is_leased);
                self.note(account);
            }
            ChargeTarget::Address => {
                let window = |at_s| LimitPolicy::Address.period().window(at_s);
                self.addresses.counter(tally.address).give_back_known(
                    window(tally.taken_s),
                    window(now_s),
                    self.per_address,
                );
            }
            ChargeTarget::Nothing => {}
        }
    }

    /// Marks the account's day count for storing. With limits off nothing is stored, so benchmarks measure no extra
    /// work.
    fn note(&self, account: &Arc<LimitAccount>) {
        if self.enforced {
            self.organizations.note(account);
        }
    }

    fn address_standing(&self, address: ClientAddress, now_s: u64) -> LimitStatus {
        let period = LimitPolicy::Address.period();
        let now = period.window(now_s);
        let (window, used) = match self.addresses.known(address) {
            Some(counter) => {
                let count = counter.count(now);
                (count.window, count.used)
            }
            None => (now, 0),
        };
        LimitStatus {
            policy: LimitPolicy::Address,
            limit: u64::from(self.per_address),
            remaining: u64::from(self.per_address.saturating_sub(used)),
            resets_at_s: period.ends_s(window),
        }
    }

    fn account(&self, organization_id: Id) -> Result<Arc<LimitAccount>, StoreReadError> {
        self.organizations.account(organization_id, || {
            let snapshot = &self.engine.published().snapshot;
            let organization = snapshot.organization(organization_id)?;
            // A token may outlive a store restored to a time before its organization.
            let tier = organization.map_or(Tier::Free, |organization| organization.tier);
            let stored: Option<UsageRow> = snapshot.usage(organization_id)?;
            Ok((self.plan(&tier), stored))
        })
    }

    /// A former leader may have stored a higher day count before this node began to lead.
    fn catch_up(&self, account: &LimitAccount) -> Result<(), StoreReadError> {
        if !account.is_new_in(self.times_led.load(Ordering::Acquire)) {
            return Ok(());
        }
        let organization = account.organization_id();
        let stored: Option<UsageRow> = self.engine.published().snapshot.usage(organization)?;
        if let Some(usage) = stored {
            let used = u32::try_from(usage.requests).unwrap_or(u32::MAX);
            let day = u32::try_from(usage.day).unwrap_or_default();
            account.counter(LimitPolicy::TierDay).raise_to(day, used);
        }
        Ok(())
    }

    pub fn used(&self, organization_id: Id, now_s: u64) -> Result<LimitUse, StoreReadError> {
        let account = self.account(organization_id)?;
        let plan = account.plan();
        Ok(LimitUse {
            tier: plan.tier,
            limits: plan.limits.clone(),
            used: PerLimit::each(|policy| u64::from(account.count(policy, now_s).used)),
        })
    }

    /// Puts an organization's stored tier in force.
    pub fn tier_changed(&self, organization: &Organization) {
        let plan = self.plan(&organization.tier);
        self.organizations.set_plan(organization.id, plan);
    }

    /// Stores changed day counts once a second, forever.
    pub async fn keep_stored(&self) {
        let mut ticks = tokio::time::interval(STORE_INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.store().await;
        }
    }

    pub async fn store(&self) {
        if self.engine.disk_full() {
            // The counts wait until there is room.
            return;
        }
        let changed = self.organizations.take_changed();
        if changed.is_empty() || self.engine.mode() != StoreMode::ReadWrite || !self.engine.leads()
        {
            // If the store accepts no writes, accounts are still released from memory, and noted again with their next
            // request.
            return;
        }
        let write = |(account, usage): &(Arc<LimitAccount>, UsageRow)| SideWrite::Usage {
            organization: account.organization_id(),
            usage: *usage,
        };
        let writes: Vec<SideWrite> = changed.iter().map(write).collect();
        let rows = writes.len() as u64;
        let stored: Result<(), SubmissionError> = self.engine.side_writes(writes).await;
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

    /// Organizations by tier, and at most `count` of those nearest to a limit. A count of the last minute is reused.
    /// May read for a while: call it on a blocking thread.
    pub fn overview(&self, now_s: u64, count: usize) -> Result<TierOverview, StoreReadError> {
        let tiers_set = self.tiers_set.load(Ordering::Acquire);
        let mut kept = self.census.lock();
        let fresh = kept.take_if(|census| census.is_fresh(tiers_set));
        let census = if let Some(census) = fresh {
            census
        } else {
            let snapshot = &self.engine.published().snapshot;
            TierCensus::take(snapshot, self.quotas, now_s, tiers_set)?
        };
        let census = kept.insert(census);
        let nearest = self.nearest(census, now_s, count.min(NEAREST_MAX))?;
        Ok(census.overview(self.quotas, nearest))
    }

    /// Invalidates the count: the operator has changed a tier.
    pub fn count_again(&self) {
        self.tiers_set.fetch_add(1, Ordering::AcqRel);
    }

    /// The organizations nearest to a limit, among those in memory and those counted.
    fn nearest(
        &self,
        census: &TierCensus,
        now_s: u64,
        count: usize,
    ) -> Result<Vec<NearestLimit>, StoreReadError> {
        let mut shares = UsageShares::default();
        for account in self.organizations.all() {
            let used = |policy| u64::from(account.count(policy, now_s).used);
            shares.add(
                account.organization_id(),
                LimitFraction::of_requests(&account.plan().limits, used),
            );
        }
        let mut nearest = Vec::new();
        for id in shares
            .largest(count)
            .chain(census.nearest())
            .collect::<BTreeSet<Id>>()
        {
            let Some(organization) = self.engine.published().snapshot.organization(id)? else {
                continue;
            };
            let (LimitUse { limits, used, .. }, log) = (self.used(id, now_s)?, self.log_use(id)?);
            let requests =
                LimitFraction::of_requests(&limits, |policy| used.of(policy).copied().unwrap_or(0));
            let part =
                LimitFraction::larger(requests, LimitFraction::of(LOG_BYTES, log.bytes, log.limit));
            nearest.extend(part.map(|part| NearestLimit::new(organization, part)));
        }
        census::sort(&mut nearest, count);
        Ok(nearest)
    }
}

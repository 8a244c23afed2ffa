//! Leases of limits between the nodes of one log. The leader counts an organization's requests; followers lease parts
//! of each limit and admit requests on them. So all nodes together admit at most the limit plus unused leases.
//!
//! - A lease is at most a sixteenth of the limit and an eighth of the rest, so little is unused when a window ends. It
//!   ends with its window, by the clock of the node that has it.
//! - At most one request for leases is pending for an organization, and [`ASKED_MAX`] in all. When the leader has
//!   nothing left, a node asks again in the next minute.
//! - Without an answer within [`PATIENCE`], a node admits its own part of the limit (limit / nodes), and does not ask
//!   for [`SILENCE`]: reads continue while the leader is replaced.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use kedge_protocol::{Id, Prefix};
use metrics::counter;
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use super::RateLimits;
use super::organizations::{LimitAccount, take_all};
use super::policy::{LimitClass, LimitPolicy, LimitStatus};
use super::tier::TierPlan;
use crate::metric_definitions::LIMIT_LEASES;
use kedge_net::window::{WindowCount, WindowCounter, WindowPeriod};

/// Time limit of the leader's answer.
pub const PATIENCE: Duration = Duration::from_millis(250);
/// Pause after a leader gave no answer.
const SILENCE: Duration = Duration::from_secs(1);
/// Pending lease requests of one node.
const ASKED_MAX: usize = 64;
/// A lease is at most this part of its limit,
const LIMIT_PARTS: u32 = 16;
/// and at most this part of the rest.
const LEFT_PARTS: u32 = 8;
/// Version of the encoding.
const VERSION: u8 = 1;
const POLICIES: usize = LimitPolicy::OF_ORGANIZATION;
const QUESTION_BYTES: usize = 1 + 16 + 1;
const ANSWER_BYTES: usize = 1 + 8 * POLICIES;

/// The leader's answer, if there is one.
pub type LeaseFuture = Pin<Box<dyn Future<Output = Option<Bytes>> + Send>>;

/// Access to the other nodes.
pub struct LimitLender {
    /// Asks the leader, for at most [`PATIENCE`].
    pub ask: Box<dyn Fn(Bytes) -> LeaseFuture + Send + Sync>,
    /// Number of nodes that this one knows of.
    pub nodes: Box<dyn Fn() -> usize + Send + Sync>,
}

/// Client of the leader's leases.
pub(super) struct LeaseClient {
    lender: LimitLender,
    places: Semaphore,
    silent_until: Mutex<Option<Instant>>,
}

/// Size of one lease, given the rest (`left`) of `limit`.
fn part_of(limit: u32, left: u32) -> u32 {
    (left / LEFT_PARTS).min(limit / LIMIT_PARTS).max(1)
}

/// Bit set of an organization's limits.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct PolicySet(u8);

impl PolicySet {
    fn insert(&mut self, policy: LimitPolicy) {
        self.0 |= 1 << policy as u8;
    }

    fn holds(self, policy: LimitPolicy) -> bool {
        self.0 >> policy as u8 & 1 == 1
    }
}

/// Request for a lease of each of these limits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct LeaseRequest {
    organization_id: Id,
    policies: PolicySet,
}

impl LeaseRequest {
    fn write(self) -> Bytes {
        let mut bytes = Vec::with_capacity(QUESTION_BYTES);
        bytes.push(VERSION);
        bytes.extend_from_slice(&self.organization_id.bytes);
        bytes.push(self.policies.0);
        bytes.into()
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; QUESTION_BYTES] = bytes.try_into().ok()?;
        let [VERSION, id @ .., policies] = bytes else {
            return None;
        };
        let organization_id = Id {
            prefix: Prefix::Organization,
            bytes: *id,
        };
        (policies >> POLICIES == 0).then_some(Self {
            organization_id,
            policies: PolicySet(*policies),
        })
    }
}

/// A granted lease.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct LeaseGrant {
    /// Requests that the node may admit.
    lent: u32,
    /// Count of the leader's window, this lease included.
    counted: u32,
}

/// One grant for each limit of the organization.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct LeaseResponse([LeaseGrant; POLICIES]);

impl LeaseResponse {
    fn write(self) -> Bytes {
        let mut bytes = Vec::with_capacity(ANSWER_BYTES);
        bytes.push(VERSION);
        for LeaseGrant { lent, counted } in self.0 {
            bytes.extend_from_slice(&lent.to_be_bytes());
            bytes.extend_from_slice(&counted.to_be_bytes());
        }
        bytes.into()
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (&VERSION, rest) = bytes
            .split_first()
            .filter(|_| bytes.len() == ANSWER_BYTES)?
        else {
            return None;
        };
        let mut answer = Self::default();
        for (read, bytes) in answer.0.iter_mut().zip(rest.chunks_exact(8)) {
            let (lent, counted) = bytes.split_at(4);
            *read = LeaseGrant {
                lent: u32::from_be_bytes(lent.try_into().ok()?),
                counted: u32::from_be_bytes(counted.try_into().ok()?),
            };
        }
        Some(answer)
    }
}

impl LeaseClient {
    pub(super) fn new(lender: LimitLender) -> Self {
        Self {
            lender,
            places: Semaphore::new(ASKED_MAX),
            silent_until: Mutex::default(),
        }
    }

    /// Asks the leader; `None` if that is not possible now, or the leader does not answer.
    async fn ask(&self, question: LeaseRequest) -> Option<LeaseResponse> {
        if self.is_silent() {
            return None;
        }
        let Ok(_place) = self.places.try_acquire() else {
            counter!(LIMIT_LEASES, "outcome" => "crowded").increment(1);
            return None;
        };
        let answered = (self.lender.ask)(question.write()).await;
        let answer = answered.and_then(|bytes| LeaseResponse::read(&bytes));
        if answer.is_none() {
            counter!(LIMIT_LEASES, "outcome" => "unanswered").increment(1);
            *self.silent_until.lock() = Some(Instant::now() + SILENCE);
        }
        answer
    }

    fn is_silent(&self) -> bool {
        let until = *self.silent_until.lock();
        until.is_some_and(|until| Instant::now() < until)
    }
}

/// Leases of one limit.
#[derive(Default, Debug)]
struct LimitLease {
    leased: WindowCounter,
    used: WindowCounter,
    /// The last minute in which the leader had nothing left.
    spent_in: AtomicU32,
    /// The last window in which this node admitted its own part, because the leader did not answer.
    alone_in: AtomicU32,
}

/// An organization's leases on this node.
#[derive(Default, Debug)]
pub(super) struct OrganizationLeases {
    leases: [LimitLease; POLICIES],
    /// Held by the request that asks for all of them.
    asking: tokio::sync::Mutex<()>,
}

impl OrganizationLeases {
    fn of(&self, policy: LimitPolicy) -> &LimitLease {
        &self.leases[policy as usize]
    }

    /// Counter of the used part of a limit's leases.
    pub(super) fn used(&self, policy: LimitPolicy) -> &WindowCounter {
        &self.of(policy).used
    }

    /// Unused part of a limit's leases.
    fn left(&self, policy: LimitPolicy, now_s: u64) -> u32 {
        let window = policy.period().window(now_s);
        let lease = self.of(policy);
        let leased = lease.leased.count(window).used;
        leased.saturating_sub(lease.used.count(window).used)
    }

    /// The rest of a limit, given the leader's last statement `left`. Without a leader, the rest on this node.
    pub(super) fn remaining(&self, policy: LimitPolicy, left: u64, now_s: u64) -> u64 {
        let held = u64::from(self.left(policy, now_s));
        let window = policy.period().window(now_s);
        if self.of(policy).alone_in.load(Ordering::Acquire) == window {
            held
        } else {
            left + held
        }
    }

    pub(super) fn is_used(&self, minute: u32) -> bool {
        self.used(LimitPolicy::TierMinute).count(minute).used > 0
    }

    /// Counts a request on the leases of all limits that cover it, or on none; then returns the limit without room.
    fn take(&self, plan: &TierPlan, class: LimitClass, now_s: u64) -> Result<(), LimitPolicy> {
        take_all(class, now_s, |policy| {
            let lease = self.of(policy);
            let ceiling = if is_limited(plan, policy) {
                let window = policy.period().window(now_s);
                lease.leased.count(window).used
            } else {
                u32::MAX
            };
            (&lease.used, ceiling)
        })
    }

    /// The limits of which a request needs a lease.
    fn lacking(&self, plan: &TierPlan, class: LimitClass, now_s: u64) -> PolicySet {
        let mut lacking = PolicySet::default();
        for &policy in LimitPolicy::covering(class) {
            if is_limited(plan, policy) && self.left(policy, now_s) == 0 {
                lacking.insert(policy);
            }
        }
        lacking
    }

    fn is_spent(&self, policy: LimitPolicy, now_s: u64) -> bool {
        let minute = WindowPeriod::Minute.window(now_s);
        self.of(policy).spent_in.load(Ordering::Acquire) == minute
    }

    /// Adds granted leases.
    fn add(&self, asked: PolicySet, answer: &LeaseResponse, now_s: u64) {
        let mut is_spent = false;
        for &policy in &LimitPolicy::ALL[..POLICIES] {
            let LeaseGrant { lent, .. } = answer.0[policy as usize];
            let lease = self.of(policy);
            lease.alone_in.store(0, Ordering::Release);
            if lent > 0 {
                lease.leased.add(policy.period().window(now_s), lent);
            } else if asked.holds(policy) {
                let minute = WindowPeriod::Minute.window(now_s);
                lease.spent_in.store(minute, Ordering::Release);
                is_spent = true;
            }
        }
        let outcome = if is_spent { "spent" } else { "leased" };
        counter!(LIMIT_LEASES, "outcome" => outcome).increment(1);
    }

    /// Admits this node's own part of each limit while the leader does not answer.
    fn allow_alone(&self, plan: &TierPlan, class: LimitClass, now_s: u64, nodes: usize) {
        let nodes = u32::try_from(nodes).unwrap_or(u32::MAX).max(2);
        for &policy in LimitPolicy::covering(class) {
            if is_limited(plan, policy) {
                let ceiling = plan.ceiling(policy);
                let part = (ceiling / nodes).max(1).min(ceiling);
                let window = policy.period().window(now_s);
                let lease = self.of(policy);
                lease.leased.raise_to(window, part);
                lease.alone_in.store(window, Ordering::Release);
            }
        }
    }
}

fn is_limited(plan: &TierPlan, policy: LimitPolicy) -> bool {
    plan.ceiling(policy) < u32::MAX
}

impl LimitAccount {
    /// Counts a request on leases, and asks for more if they are used up.
    async fn take_leased(
        &self,
        leases: &LeaseClient,
        class: LimitClass,
        now_s: u64,
        renewed: impl FnOnce() -> Arc<TierPlan>,
    ) -> Result<(), LimitStatus> {
        let leased = self.leased();
        if leased.take(&self.plan(), class, now_s).is_ok() {
            return Ok(());
        }
        let _asking = leased.asking.lock().await;
        // An earlier request may have got enough.
        let Err(lacking) = leased.take(&self.plan(), class, now_s) else {
            return Ok(());
        };
        if leased.is_spent(lacking, now_s) {
            return Err(self.spent(lacking, now_s));
        }
        let plan = renewed();
        let policies = leased.lacking(&plan, class, now_s);
        let question = LeaseRequest {
            organization_id: self.organization_id(),
            policies,
        };
        match leases.ask(question).await {
            Some(answer) => {
                leased.add(policies, &answer, now_s);
                for &policy in &LimitPolicy::ALL[..POLICIES] {
                    let window = policy.period().window(now_s);
                    let counted = answer.0[policy as usize].counted;
                    self.counter(policy).raise_to(window, counted);
                }
            }
            None => leased.allow_alone(&plan, class, now_s, (leases.lender.nodes)()),
        }
        let taken = leased.take(&plan, class, now_s);
        taken.map_err(|policy| self.spent(policy, now_s))
    }

    /// Counts a part of each of these limits as used by another node.
    fn lend(&self, policies: PolicySet, now_s: u64) -> LeaseResponse {
        let plan = self.plan();
        let lend = |policy: LimitPolicy| {
            let window = policy.period().window(now_s);
            let counter = self.counter(policy);
            let lent = if policies.holds(policy) {
                counter.take_share(window, plan.ceiling(policy), part_of)
            } else {
                0
            };
            let WindowCount { used, .. } = counter.count(window);
            LeaseGrant {
                lent,
                counted: used,
            }
        };
        LeaseResponse(std::array::from_fn(|index| lend(LimitPolicy::ALL[index])))
    }
}

impl RateLimits {
    /// Sets where leases come from while this node follows.
    pub fn lease_from(&self, lender: LimitLender) {
        // A node joins a cluster once.
        let _ = self.leases.set(LeaseClient::new(lender));
    }

    /// Source of leases; `None` while this node leads or is the only one.
    pub(super) fn leases(&self) -> Option<&LeaseClient> {
        let leases = self.leases.get()?;
        let leads = self.engine.leads();
        if self.led.load(Ordering::Acquire) != leads
            && self.led.swap(leads, Ordering::AcqRel) != leads
            && leads
        {
            self.times_led.fetch_add(1, Ordering::AcqRel);
        }
        (!leads).then_some(leases)
    }

    pub(super) async fn take_leased(
        &self,
        leases: &LeaseClient,
        account: &LimitAccount,
        class: LimitClass,
        now_s: u64,
    ) -> Result<(), LimitStatus> {
        // Only the leader learns of a new tier by its own action.
        let renewed = || {
            let organization = account.organization_id();
            let read = self.engine.published().snapshot.organization(organization);
            if let Ok(Some(organization)) = read
                && organization.tier != account.plan().tier
            {
                self.tier_changed(&organization);
            }
            account.plan()
        };
        account.take_leased(leases, class, now_s, renewed).await
    }

    /// Answers another node's request for leases; `None` if the request is malformed, or this node does not lead.
    pub fn lease(&self, question: &[u8], now_s: u64) -> Option<Bytes> {
        let LeaseRequest {
            organization_id,
            policies,
        } = LeaseRequest::read(question)?;
        if self.leases().is_some() {
            return None;
        }
        let account = self.account(organization_id).ok()?;
        self.catch_up(&account).ok()?;
        let answer = account.lend(policies, now_s);
        self.note(&account);
        Some(answer.write())
    }
}

#[cfg(test)]
mod tests;

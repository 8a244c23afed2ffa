//! Tests of leases against a leader in memory, at given times.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use kedge_protocol::resource::{CustomLimits, Tier};

use super::super::tier::LogQuotas;
use super::*;

/// In the middle of a minute and of a day.
const NOW_S: u64 = 1_795_255_308;
const LIMIT: u32 = 1_000;

fn id(number: u8) -> Id {
    Id {
        prefix: Prefix::Organization,
        bytes: [number; 16],
    }
}

fn plan(per_minute: u32, per_day: Option<u32>) -> Arc<TierPlan> {
    let limits = CustomLimits {
        requests_per_minute: Some(u64::from(per_minute)),
        requests_per_day: per_day.map(u64::from),
        ..CustomLimits::default()
    };
    TierPlan::new(Tier::Custom(limits), LogQuotas::default())
}

/// The leader: its accounts, its log of lease requests, and whether it answers.
struct Leader {
    plan: Arc<TierPlan>,
    accounts: Mutex<BTreeMap<Id, Arc<LimitAccount>>>,
    now_s: Arc<Mutex<u64>>,
    asked: AtomicUsize,
    answers: AtomicBool,
}

impl Leader {
    fn new(plan: &Arc<TierPlan>) -> Arc<Self> {
        Arc::new(Self {
            plan: Arc::clone(plan),
            accounts: Mutex::default(),
            now_s: Arc::new(Mutex::new(NOW_S)),
            asked: AtomicUsize::default(),
            answers: AtomicBool::new(true),
        })
    }

    fn account(&self, id: Id) -> Arc<LimitAccount> {
        let mut accounts = self.accounts.lock();
        let made = || Arc::new(LimitAccount::new(id, Arc::clone(&self.plan), None));
        Arc::clone(accounts.entry(id).or_insert_with(made))
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    fn now_s(&self) -> u64 {
        *self.now_s.lock()
    }

    /// A node that follows it.
    fn node(self: &Arc<Self>) -> Node {
        let leader = Arc::clone(self);
        let ask = move |question: Bytes| -> LeaseFuture {
            let leader = Arc::clone(&leader);
            Box::pin(async move {
                leader.asked.fetch_add(1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                let question = LeaseRequest::read(&question).unwrap();
                let account = leader.account(question.organization_id);
                let answer = account.lend(question.policies, leader.now_s()).write();
                leader.answers.load(Ordering::SeqCst).then_some(answer)
            })
        };
        Node {
            leases: LeaseClient::new(LimitLender {
                ask: Box::new(ask),
                nodes: Box::new(|| 3),
            }),
            account: LimitAccount::new(id(1), Arc::clone(&self.plan), None),
            leader: Arc::clone(self),
        }
    }
}

struct Node {
    leases: LeaseClient,
    account: LimitAccount,
    leader: Arc<Leader>,
}

impl Node {
    async fn read(&self, class: LimitClass) -> Result<(), LimitStatus> {
        let renewed = || self.account.plan();
        let now_s = self.leader.now_s();
        self.account
            .take_leased(&self.leases, class, now_s, renewed)
            .await
    }

    /// Number of admitted reads.
    async fn reads(&self, count: u32) -> u32 {
        let mut accepted = 0;
        for _ in 0..count {
            accepted += u32::from(self.read(LimitClass::Tier).await.is_ok());
        }
        accepted
    }
}

// Holds invariant 199.
#[tokio::test]
async fn nodes_together_let_in_the_limit_and_no_more() {
    let leader = Leader::new(&plan(LIMIT, None));
    let nodes = [leader.node(), leader.node()];
    let own = leader.account(id(1));
    for minute in 0..3 {
        *leader.now_s.lock() = NOW_S + 60 * minute;
        let mut accepted = 0;
        for _ in 0..2 * LIMIT {
            let now_s = leader.now_s();
            accepted += u32::from(own.take(LimitClass::Tier, now_s, true).is_ok());
            for node in &nodes {
                accepted += node.reads(1).await;
            }
        }
        assert_eq!(accepted, LIMIT, "in minute {minute}");
    }
}

// Holds invariant 199.
#[tokio::test]
async fn what_idles_when_a_node_falls_silent_is_a_small_part() {
    let leader = Leader::new(&plan(LIMIT, None));
    let (silent, busy) = (leader.node(), leader.node());
    let before = silent.reads(1).await;
    let accepted = before + busy.reads(2 * LIMIT).await;
    assert!(accepted <= LIMIT, "{accepted}");
    assert!(accepted >= LIMIT * 9 / 10, "{accepted}");
    assert!(silent.account.leased().left(LimitPolicy::TierMinute, NOW_S) < LIMIT / LIMIT_PARTS);
}

#[tokio::test]
async fn a_lease_ends_with_its_window() {
    let leader = Leader::new(&plan(LIMIT, None));
    let node = leader.node();
    assert_eq!(node.reads(1).await, 1);
    assert!(node.account.leased().left(LimitPolicy::TierMinute, NOW_S) > 0);
    let next = NOW_S + 60;
    assert_eq!(node.account.leased().left(LimitPolicy::TierMinute, next), 0);
    *leader.now_s.lock() = next;
    let asked = leader.asked();
    assert_eq!(node.reads(1).await, 1);
    assert_eq!(leader.asked(), asked + 1);
}

// Holds invariant 199.
#[tokio::test]
async fn a_flood_of_one_organization_asks_once_at_a_time_and_not_again_in_vain() {
    let leader = Leader::new(&plan(LIMIT, None));
    let node = Arc::new(leader.node());
    let reads = (0..5 * LIMIT).map(|_| {
        let node = Arc::clone(&node);
        tokio::spawn(async move { node.read(LimitClass::Tier).await.is_ok() })
    });
    let reads: Vec<_> = reads.collect();
    let mut accepted = 0;
    for read in reads {
        accepted += u32::from(read.await.unwrap());
    }
    assert_eq!(accepted, LIMIT);
    let asked = leader.asked();
    // Sixteenths, then eighths of the rest.
    assert!(asked < 60, "{asked} questions");
    let refused = node.read(LimitClass::Tier).await.unwrap_err();
    assert_eq!(
        (refused.policy, refused.limit, refused.remaining),
        (LimitPolicy::TierMinute, u64::from(LIMIT), 0)
    );
    assert_eq!(refused.resets_at_s, 1_795_255_320);
    assert_eq!(leader.asked(), asked, "nothing was left in this minute");
    *leader.now_s.lock() = refused.resets_at_s;
    assert!(node.read(LimitClass::Tier).await.is_ok());
}

#[tokio::test]
async fn a_day_that_is_spent_is_asked_about_once_a_minute() {
    let leader = Leader::new(&plan(LIMIT, Some(10)));
    let node = leader.node();
    assert_eq!(node.reads(100).await, 10);
    let asked = leader.asked();
    *leader.now_s.lock() = NOW_S + 60;
    assert_eq!(node.reads(100).await, 0);
    assert_eq!(leader.asked(), asked + 1);
}

// Holds invariant 199.
#[tokio::test]
async fn without_an_answer_a_node_lets_in_its_part_and_asks_no_more() {
    let leader = Leader::new(&plan(LIMIT, None));
    let node = leader.node();
    leader.answers.store(false, Ordering::SeqCst);
    assert_eq!(node.reads(2 * LIMIT).await, LIMIT / 3);
    assert_eq!(leader.asked(), 1, "it was silent");
    let mut room = [LimitStatus::NOTHING; 3];
    let shown = (node.account).standings((LimitClass::Tier, true), NOW_S, &mut room);
    assert_eq!(shown[0].remaining, 0, "of its part");
    leader.answers.store(true, Ordering::SeqCst);
    tokio::time::sleep(SILENCE).await;
    assert_eq!(node.reads(1).await, 1);
    assert_eq!(leader.asked(), 2);
}

// Holds invariant 199.
#[tokio::test]
async fn many_organizations_do_not_flood_the_leader() {
    let leader = Leader::new(&plan(LIMIT, None));
    let Node { leases, .. } = leader.node();
    let leases = Arc::new(leases);
    let reads = (0..=u8::MAX).map(|number| {
        let (leases, plan) = (Arc::clone(&leases), Arc::clone(&leader.plan));
        tokio::spawn(async move {
            let account = LimitAccount::new(id(number), Arc::clone(&plan), None);
            let taking = account.take_leased(&leases, LimitClass::Tier, NOW_S, || plan);
            taking.await.is_ok()
        })
    });
    let reads: Vec<_> = reads.collect();
    for read in reads {
        assert!(read.await.unwrap(), "it has this node's part at least");
    }
    let asked = leader.asked();
    assert_eq!(asked, ASKED_MAX, "of 256 that came at one time");
}

#[tokio::test]
async fn each_limit_is_leased_and_answers_state_what_is_left_of_all() {
    let limits = CustomLimits {
        requests_per_minute: Some(100),
        requests_per_day: Some(2_000),
        list_reads_per_minute: Some(20),
        ..CustomLimits::default()
    };
    let plan = TierPlan::new(Tier::Custom(limits), LogQuotas::default());
    let leader = Leader::new(&plan);
    let node = leader.node();
    let own = leader.account(id(1));
    for _ in 0..40 {
        own.take(LimitClass::Tier, NOW_S, true).unwrap();
    }
    for read in 0..20 {
        node.read(LimitClass::Lists).await.unwrap();
        let mut room = [LimitStatus::NOTHING; 3];
        let class = (LimitClass::Lists, true);
        let standings = node.account.standings(class, NOW_S, &mut room);
        let left: BTreeMap<_, _> = standings
            .iter()
            .map(|standing| (standing.policy.name(), standing.remaining))
            .collect();
        assert_eq!(left["list-reads"], 19 - read);
        assert_eq!(left["tier-minute"], 59 - read);
        assert_eq!(left["tier-day"], 1_959 - read);
    }
    let full = node.read(LimitClass::Lists).await.unwrap_err();
    assert_eq!(full.policy, LimitPolicy::ListReads);
    assert!(node.read(LimitClass::Tier).await.is_ok());
}

#[tokio::test]
async fn what_is_given_back_is_leased_still() {
    let leader = Leader::new(&plan(20, None));
    let node = leader.node();
    let mut reads = 0;
    while leader.asked() < 2 {
        node.read(LimitClass::Tier).await.unwrap();
        node.account
            .give_back_known(LimitClass::Tier, (NOW_S, NOW_S), true);
        reads += 1;
    }
    // A lease for one read, given back as often as the limit of the minute.
    assert_eq!(reads, 22);
}

// Holds invariant 120.
#[test]
fn an_answer_that_comes_late_begins_no_minute_again() {
    let account = LimitAccount::new(id(1), plan(20, None), None);
    let class = LimitClass::Tier;
    let known = |taken_s: u64, now_s: u64| {
        account.take(class, taken_s, true).unwrap();
        account.give_back_known(class, (taken_s, now_s), false);
        account.count(LimitPolicy::TierMinute, now_s).used
    };
    for _ in 0..20 {
        assert_eq!(known(NOW_S, NOW_S), 0);
    }
    assert_eq!(known(NOW_S, NOW_S), 1);
    // The request came two minutes ago.
    account.give_back_known(class, (NOW_S - 120, NOW_S), false);
    assert_eq!(known(NOW_S, NOW_S), 2);
}

#[test]
fn questions_and_answers_read_back_and_nothing_else_is_read() {
    let mut policies = PolicySet::default();
    policies.insert(LimitPolicy::TierDay);
    policies.insert(LimitPolicy::ListReads);
    let question = LeaseRequest {
        organization_id: id(3),
        policies,
    };
    let bytes = question.write();
    assert_eq!(LeaseRequest::read(&bytes), Some(question));
    assert!(policies.holds(LimitPolicy::ListReads) && !policies.holds(LimitPolicy::TierMinute));
    let answer = LeaseResponse(std::array::from_fn(|index| LeaseGrant {
        lent: index as u32,
        counted: u32::MAX - index as u32,
    }));
    let written = answer.write();
    assert_eq!(LeaseResponse::read(&written), Some(answer));
    for length in 0..written.len() + 3 {
        let cut = [&written[..], &[0; 3]].concat();
        let is_whole = length == ANSWER_BYTES;
        assert_eq!(
            LeaseResponse::read(&cut[..length]).is_some(),
            is_whole,
            "{length}"
        );
    }
    for length in 0..bytes.len() + 3 {
        let cut = [&bytes[..], &[0; 3]].concat();
        let is_whole = length == QUESTION_BYTES;
        assert_eq!(
            LeaseRequest::read(&cut[..length]).is_some(),
            is_whole,
            "{length}"
        );
    }
    let mut other = bytes.to_vec();
    other[0] = 2;
    assert_eq!(LeaseRequest::read(&other), None, "another version");
    let mut other = bytes.to_vec();
    other[17] = 0x80;
    assert_eq!(
        LeaseRequest::read(&other),
        None,
        "a limit that is not there"
    );
}

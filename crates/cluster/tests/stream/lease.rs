//! The lease as the permission to try to lead.

use std::time::{Duration, Instant};

use kedge_cluster::{Cluster, ClusterMember, Lease, LeaseHolder, LeaseObservation};
use tokio::sync::watch;

use super::nats::Servers;
use super::node::{IDENTITY, options, runtime};

const NAMES: [&str; 3] = ["one", "two", "three"];

fn holder(node: &str, term: u64) -> LeaseHolder {
    LeaseHolder {
        node: node.to_owned(),
        url: format!("http://{node}"),
        term,
        successor: None,
    }
}

async fn clusters(servers: &Servers) -> Vec<Cluster> {
    let mut clusters = Vec::new();
    for name in NAMES {
        let connected = Cluster::connect(options(servers, name), IDENTITY).await;
        clusters.push(connected.unwrap());
    }
    clusters
}

/// Waits until a node may take the lease; returns the revision.
async fn takeable(
    seen: &mut watch::Receiver<Option<LeaseObservation>>,
    node: &str,
    lease: Duration,
) -> u64 {
    loop {
        let now = seen.borrow_and_update().clone();
        if let Some(now) = now
            && now.may_be_taken_by(node, lease)
        {
            return now.revision;
        }
        let _ = tokio::time::timeout(Duration::from_millis(10), seen.changed()).await;
    }
}

// Holds invariant 178.
#[test]
fn one_of_many_takes_the_lease_and_the_next_one_after_it_is_lost() {
    let servers = Servers::start(1);
    runtime().block_on(async {
        let clusters = clusters(&servers).await;
        let leases: Vec<Lease> = clusters.iter().map(Cluster::lease).collect();
        let lease = clusters[0].options().lease;
        let mut seen: Vec<_> = leases.iter().map(Lease::watch).collect();
        for (seen, name) in seen.iter_mut().zip(NAMES) {
            assert_eq!(takeable(seen, name, lease).await, 0);
        }
        let taken = leases.iter().zip(NAMES).map(|(lease, name)| {
            let (lease, value) = (lease.clone(), holder(name, 1));
            tokio::spawn(async move { lease.take(0, &value).await.unwrap() })
        });
        let taken: Vec<_> = taken.collect();
        let mut winners = Vec::new();
        for (name, taken) in NAMES.iter().zip(taken) {
            if let Some(revision) = taken.await.unwrap() {
                winners.push((*name, revision));
            }
        }
        assert_eq!(winners.len(), 1, "{winners:?}");
        let (winner, mut revision) = winners[0];
        let at = NAMES.iter().position(|name| *name == winner).unwrap();
        let other = (at + 1) % 3;

        // No node takes it while it is renewed, even for longer than its duration.
        let began = Instant::now();
        while began.elapsed() < 2 * lease {
            let renewed = leases[at].take(revision, &holder(winner, 1)).await.unwrap();
            revision = renewed.unwrap();
            tokio::time::sleep(lease / 5).await;
            let now = seen[other].borrow_and_update().clone().unwrap();
            assert!(!now.may_be_taken_by(NAMES[other], lease), "{now:?}");
        }
        // The holder is lost.
        let lost = Instant::now();
        let last = takeable(&mut seen[other], NAMES[other], lease).await;
        assert_eq!(last, revision);
        assert!(
            lost.elapsed() > lease / 2 && lost.elapsed() < 2 * lease,
            "{:?}",
            lost.elapsed()
        );
        let taken = leases[other]
            .take(last, &holder(NAMES[other], 2))
            .await
            .unwrap();
        assert!(taken.is_some());
        assert_eq!(
            leases[at].take(revision, &holder(winner, 1)).await.unwrap(),
            None
        );
    });
}

// Holds invariant 193.
/// Older servers may confirm the lease to two nodes. It then has the later revision, which the other node finds.
#[test]
fn of_nodes_that_take_the_lease_at_once_one_has_it() {
    const ROUNDS: u64 = 40;
    let servers = Servers::start(3);
    runtime().block_on(async {
        let clusters = clusters(&servers).await;
        let leases: Vec<Lease> = clusters.iter().map(Cluster::lease).collect();
        let mut last = 0;
        let mut doubled = 0;
        for term in 1..=ROUNDS {
            let taken = leases.iter().zip(NAMES).map(|(lease, name)| {
                let (lease, value) = (lease.clone(), holder(name, term));
                tokio::spawn(async move { lease.take(last, &value).await.unwrap() })
            });
            let taken: Vec<_> = taken.collect();
            let mut revisions = Vec::new();
            for (lease, taken) in leases.iter().zip(taken) {
                if let Some(revision) = taken.await.unwrap() {
                    revisions.push((lease, revision));
                }
            }
            doubled += u64::from(revisions.len() > 1);
            // A lagging server may need a moment.
            let began = Instant::now();
            loop {
                let mut held = 0;
                for (lease, revision) in &revisions {
                    // No answer shows nothing, so this asks again.
                    held += usize::from(lease.is_at(*revision).await.unwrap_or(false));
                }
                if held == 1 {
                    break;
                }
                assert!(began.elapsed() < Duration::from_secs(5), "{held} have it");
            }
            last = revisions
                .iter()
                .map(|(_, revision)| *revision)
                .max()
                .unwrap();
        }
        eprintln!(
            "in {doubled} of {ROUNDS} rounds more than one node was answered that it took the lease"
        );
    });
}

#[test]
fn a_lease_is_handed_over_to_a_successor() {
    let servers = Servers::start(1);
    runtime().block_on(async {
        let clusters = clusters(&servers).await;
        let leases: Vec<Lease> = clusters.iter().map(Cluster::lease).collect();
        let lease = clusters[0].options().lease;
        let mut seen: Vec<_> = leases.iter().map(Lease::watch).collect();
        let revision = leases[0].take(0, &holder("one", 1)).await.unwrap().unwrap();
        seen[1]
            .wait_for(|seen| seen.as_ref().is_some_and(|seen| seen.revision == revision))
            .await
            .unwrap();
        let released = leases[0]
            .release(revision, 1, Some("two".to_owned()))
            .await
            .unwrap();
        let began = Instant::now();
        let found = takeable(&mut seen[1], "two", lease).await;
        assert!(
            began.elapsed() < Duration::from_millis(300),
            "{:?}",
            began.elapsed()
        );
        assert_eq!(Some(found), released);
        let third = seen[2]
            .wait_for(|seen| seen.as_ref().is_some_and(|seen| seen.revision == found))
            .await
            .unwrap()
            .clone()
            .unwrap();
        assert!(!third.may_be_taken_by("three", lease));
        assert!(
            leases[1]
                .take(found, &holder("two", 2))
                .await
                .unwrap()
                .is_some()
        );
        assert_eq!(
            leases[1].read().await.unwrap().holder,
            Some(holder("two", 2))
        );
    });
}

#[test]
fn the_nodes_report_themselves() {
    let servers = Servers::start(1);
    runtime().block_on(async {
        let clusters = clusters(&servers).await;
        assert_eq!(clusters[0].members().await.unwrap(), []);
        for (cluster, name) in clusters.iter().zip(NAMES).rev() {
            for frame in 1..4 {
                let member = ClusterMember {
                    node: name.to_owned(),
                    url: format!("http://{name}"),
                    role: "follower".to_owned(),
                    term: 1,
                    frame,
                    reported_at: 7,
                    ..ClusterMember::default()
                };
                cluster.put_member(&member).await.unwrap();
            }
        }
        let members = clusters[2].members().await.unwrap();
        let found: Vec<_> = members
            .iter()
            .map(|member| (member.node.as_str(), member.frame))
            .collect();
        assert_eq!(found, [("one", 3), ("three", 3), ("two", 3)]);
        assert!(
            members
                .iter()
                .all(|member| member.age.unwrap() < Duration::from_secs(30))
        );
        assert!(clusters[0].health().borrow().connected);
    });
}

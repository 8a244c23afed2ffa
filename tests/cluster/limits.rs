//! Limits over all nodes: a follower admits reads on leases from the leader, and by itself while no node leads.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use tokio::task::JoinSet;

use crate::nodes::{Cluster, ready};
use crate::signed::Signer;
use crate::support::http::{self, Answer};
use crate::support::program::kedge;
use crate::support::{Rng, eventually};

/// Reads of an organization in a minute.
const LIMIT: usize = 320;
/// Largest lease: a sixteenth of the limit.
const LEASE: usize = LIMIT / 16;
/// Reads sent to each node.
const READS: usize = 200;
/// Reads in flight on one node.
const CLIENTS: usize = 4;
/// The operator's key, for setting a tier.
const OPERATOR: &str = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d";
/// Seconds that a part of this test may take: it counts within one minute.
const PART_S: u64 = 25;

/// A caller's reads on one node.
#[derive(Clone)]
struct Caller {
    port: u16,
    token: String,
}

impl Caller {
    async fn read(&self) -> Answer {
        let header = format!("Authorization: Bearer {}\r\n", self.token);
        http::get_with(self.port, "/organizations/me", &header).await
    }
}

/// A signer's callers, one for each running node.
fn callers(cluster: &Cluster, signer: &Signer) -> Vec<Caller> {
    let running = cluster.nodes.iter().filter(|node| node.runs());
    let caller = |port| Caller {
        port,
        token: signer.token.clone(),
    };
    running.map(|node| caller(node.setup.port())).collect()
}

fn number(answer: &Answer, name: &str) -> usize {
    let head = answer.head.to_lowercase();
    let line = head.lines().find_map(|line| line.strip_prefix(name));
    let line = line.unwrap_or_else(|| panic!("{name}: {head}"));
    line.trim_start_matches(':').trim().parse().unwrap()
}

/// Sends this many reads over several connections; returns the number accepted, and the other answers.
async fn send(caller: &Caller, reads: usize) -> (usize, Vec<Answer>) {
    let mut sending = JoinSet::new();
    for _ in 0..CLIENTS {
        let caller = caller.clone();
        sending.spawn(async move {
            let mut answers = Vec::new();
            for _ in 0..reads / CLIENTS {
                answers.push(caller.read().await);
            }
            answers
        });
    }
    let answers = sending.join_all().await.into_iter().flatten();
    let (accepted, refused): (Vec<_>, Vec<_>) = answers.partition(|answer| answer.status == 200);
    for answer in &accepted {
        assert_eq!(number(answer, "x-ratelimit-limit"), LIMIT);
        assert!(number(answer, "x-ratelimit-remaining") < LIMIT);
    }
    (accepted.len(), refused)
}

/// Waits for a minute with enough time left.
async fn a_fresh_minute() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let left = Duration::from_secs(60 - now.as_secs() % 60);
    if left < Duration::from_secs(PART_S) {
        tokio::time::sleep(left).await;
    }
}

/// A signer whose organization has the limit, and has read nothing in this minute.
async fn limited(cluster: &Cluster, rng: &mut Rng) -> Signer {
    let signer = Signer::register(cluster, rng).await;
    let leader = &cluster.nodes[cluster.leader().await];
    let caller = Caller {
        port: leader.setup.port(),
        token: signer.token.clone(),
    };
    // Each node knows the first tier.
    for caller in callers(cluster, &signer) {
        caller.read().await;
    }
    let organization: Value = caller.read().await.json();
    let id = organization["id"].as_str().unwrap().to_owned();
    let done = kedge()
        .args(["admin", "tier", &id, "custom", "--requests-per-minute"])
        .arg(LIMIT.to_string())
        .arg("--socket")
        .arg(leader.setup.data().join("admin.sock"))
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    signer
}

// Holds invariant 199.
#[tokio::test(flavor = "multi_thread")]
async fn nodes_together_accept_the_limit_and_reads_continue_without_a_leader() {
    let mut rng = Rng::seeded("cluster-limits");
    let cluster = Cluster::start_with(3, |setup, _| {
        setup
            .set("rate_limits", "on")
            .set("address_requests_per_minute", 100_000)
            .environment("KEDGE_OPERATOR_KEY", OPERATOR)
    });
    let mut cluster = cluster.await;
    let spread = limited(&cluster, &mut rng).await;
    let lost = limited(&cluster, &mut rng).await;
    // The registrations are counted in this minute.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    tokio::time::sleep(Duration::from_secs(60 - now.as_secs() % 60)).await;

    let mut sending = JoinSet::new();
    for caller in callers(&cluster, &spread) {
        sending.spawn(async move { send(&caller, READS).await });
    }
    let mut counts = Vec::new();
    for (accepted, refused) in sending.join_all().await {
        counts.push(accepted);
        for answer in refused {
            assert_eq!(answer.status, 429, "{}", answer.body);
            assert_eq!(number(&answer, "x-ratelimit-remaining"), 0);
            assert!(number(&answer, "retry-after") <= 60);
        }
    }
    let accepted: usize = counts.iter().sum();
    eprintln!("accepted {counts:?} of {LIMIT}");
    assert!(accepted <= LIMIT + 2 * LEASE, "{counts:?}");
    assert!(accepted >= LIMIT * 9 / 10, "{counts:?}");
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    questions_are_few(&cluster).await;

    a_fresh_minute().await;
    let leader = cluster.leader().await;
    cluster.nodes[leader].kill();
    let begun = Instant::now();
    for caller in callers(&cluster, &lost) {
        let first = caller.read().await;
        assert_eq!(first.status, 200, "{}", first.body);
    }
    assert!(begun.elapsed() < Duration::from_secs(3), "{begun:?}");
    let mut accepted = 2;
    for caller in callers(&cluster, &lost) {
        let (more, refused) = send(&caller, LIMIT / 4).await;
        assert!(
            refused.is_empty(),
            "{:?}",
            refused.first().map(|one| &one.body)
        );
        accepted += more;
    }
    eprintln!("{accepted} while the leader was lost");
    the_next_leader_lends_again(&cluster, &lost).await;
}

/// A limit holds again once another node leads.
async fn the_next_leader_lends_again(cluster: &Cluster, lost: &Signer) {
    let leads = || async {
        for node in cluster.nodes.iter().filter(|node| node.runs()) {
            if ready(&node.setup).await?["cluster"]["role"] == "leader" {
                return Some(());
            }
        }
        None
    };
    eventually("another node leads", Duration::from_secs(30), leads).await;
    let mut refused = 0;
    for caller in callers(cluster, lost) {
        refused += send(&caller, 3 * LIMIT).await.1.len();
    }
    assert!(refused >= 2 * LIMIT, "{refused}");
}

/// Nodes do not ask the leader for each read, nor again once nothing is left.
async fn questions_are_few(cluster: &Cluster) {
    let mut questions = 0.0;
    for node in &cluster.nodes {
        let port = node.setup.metrics_port();
        questions += http::metric(port, "kedge_limit_leases_total", &[]).await;
        let unanswered = [r#"outcome="unanswered""#];
        let unanswered = http::metric(port, "kedge_limit_leases_total", &unanswered).await;
        assert!(unanswered <= 2.0, "{unanswered}");
    }
    eprintln!("{questions} questions for leases");
    assert!((2.0..100.0).contains(&questions), "{questions}");
}

//! A node that lags must not refuse a caller for what it has not read yet.

use std::time::Duration;

use kedge_client::NewApiKey;
use kedge_protocol::resource::{Area, Crud, Permission};
use tokio::time::Instant;

use crate::cut::linked;
use crate::nodes::{Cluster, Node, ready};
use crate::signed::Signer;
use crate::support::http::{self, Answer};
use crate::support::{Rng, connect, eventually, register};

const PATIENCE: Duration = Duration::from_secs(30);
/// What each caller reads: its own organization.
const OWN: &str = "/organizations/me";
/// How often a node is paused, and the number of callers each time.
const ROUNDS: usize = 6;
const CALLERS: usize = 4;
/// Objects that followers prove as soon as they are minted.
const PROVEN: usize = 24;
/// Length of a pause: shorter than the lease, so that nothing else happens.
const PAUSE: Duration = Duration::from_secs(1);

/// A caller whom the leader has just registered.
#[derive(Clone)]
struct Newcomer {
    bearer: String,
    api_key: String,
    /// The last sequence that it has written.
    sequence: u64,
}

impl Newcomer {
    async fn register(leader: &Node, rng: &mut Rng) -> Self {
        let account = register(&connect(&leader.url()).await, rng.key()).await;
        let key = NewApiKey {
            name: "reader".to_owned(),
            permissions: vec![Permission {
                resource: Area::Wallets,
                crud: Crud {
                    read: true,
                    ..Crud::default()
                },
            }],
            expires_at: None,
        };
        let made = account.create_api_key(&key).await.unwrap();
        let bearer = format!(
            "Authorization: Bearer {}\r\n",
            account.access_token().unwrap()
        );
        let read = http::get_with(leader.setup.port(), OWN, &bearer).await;
        Self {
            bearer,
            api_key: format!("x-api-key: {}\r\n", made.resource.key),
            sequence: read.header("x-sequence").unwrap().parse().unwrap(),
        }
    }

    /// The path of a read that waits for the caller's last write.
    fn after_own(&self) -> String {
        format!("{OWN}?min_sequence={}", self.sequence)
    }
}

/// Checks for a refusal that asks for a retry.
#[track_caller]
fn is_to_be_repeated(answer: &Answer) {
    assert_eq!(answer.status, 503, "{}{}", answer.head, answer.body);
    assert!(answer.header("retry-after").is_some(), "{}", answer.head);
    assert!(answer.body.contains("UNAVAILABLE"), "{}", answer.body);
}

// Holds invariant 252.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_lags_refuses_nobody_whom_it_has_not_read() {
    let mut rng = Rng::seeded("cluster-lagging");
    let (cluster, links) = linked().await;
    let leader = cluster.leader().await;
    let lagging = (leader + 1) % 3;
    let port = cluster.nodes[lagging].setup.port();
    links[lagging].cut();
    let caller = Newcomer::register(&cluster.nodes[leader], &mut rng).await;
    let lags = || async {
        let ready = ready(&cluster.nodes[lagging].setup).await?;
        (ready["status"] != "ready").then_some(())
    };
    eventually("the node notices that it lags", PATIENCE, lags).await;

    is_to_be_repeated(&http::get_with(port, OWN, &caller.bearer).await);
    is_to_be_repeated(&http::get_with(port, OWN, &caller.api_key).await);
    // An API key proves nothing before its entry is read, so it does not wait.
    let begun = Instant::now();
    is_to_be_repeated(&http::get_with(port, &caller.after_own(), &caller.api_key).await);
    assert!(begun.elapsed() < PAUSE, "{:?}", begun.elapsed());
    // A token that this service has not signed does not wait either.
    let forged = caller.bearer.trim_end().to_owned();
    let forged = format!("{}AAAA\r\n", &forged[..forged.len() - 4]);
    let answer = http::get_with(port, &caller.after_own(), &forged).await;
    assert_eq!(answer.status, 401, "{}", answer.body);
    assert!(begun.elapsed() < PAUSE, "{:?}", begun.elapsed());
    // A request that names a sequence waits for it, and is refused if it stays missing.
    let answer = http::get_with(port, &caller.after_own(), &caller.bearer).await;
    assert_eq!(answer.status, 409, "{}", answer.body);
    assert!(
        answer.body.contains("SEQUENCE_NOT_REACHED"),
        "{}",
        answer.body
    );

    let waiting = caller.clone();
    let waiting =
        tokio::spawn(
            async move { http::get_with(port, &waiting.after_own(), &waiting.bearer).await },
        );
    tokio::time::sleep(PAUSE).await;
    links[lagging].heal();
    let answer = waiting.await.unwrap();
    assert_ne!(answer.status, 401, "{}", answer.body);
    let read = || async {
        let answer = http::get_with(port, OWN, &caller.bearer).await;
        assert_ne!(answer.status, 401, "{}", answer.body);
        (answer.status == 200).then_some(())
    };
    eventually("the node has read the caller", PATIENCE, read).await;
    let answer = http::get_with(port, &caller.after_own(), &caller.api_key).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    cluster.stop();
}

// Holds invariant 252.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_stood_still_refuses_nobody_whom_it_has_not_read() {
    let mut rng = Rng::seeded("cluster-stood-still");
    let cluster = Cluster::start(3).await;
    let mut repeated = 0;
    for round in 0..ROUNDS {
        let leader = cluster.leader().await;
        let paused = &cluster.nodes[(leader + 1 + round % 2) % 3];
        let (port, server) = (paused.setup.port(), paused.server.as_ref().unwrap());
        server.freeze(true);
        let caller = Newcomer::register(&cluster.nodes[leader], &mut rng).await;
        let asking: Vec<_> = (0..2 * CALLERS)
            .map(|number| {
                let caller = caller.clone();
                let names_sequence = number % 2 == 0;
                let path = if names_sequence {
                    caller.after_own()
                } else {
                    OWN.to_owned()
                };
                tokio::spawn(async move {
                    (
                        names_sequence,
                        http::get_with(port, &path, &caller.bearer).await,
                    )
                })
            })
            .collect();
        tokio::time::sleep(PAUSE).await;
        server.freeze(false);
        for asked in asking {
            let (names_sequence, answer) = asked.await.unwrap();
            if names_sequence {
                assert_eq!(answer.status, 200, "{}", answer.body);
            } else if answer.status != 200 {
                is_to_be_repeated(&answer);
                repeated += 1;
            }
        }
        cluster.wait_until_ready().await;
    }
    eprintln!(
        "{repeated} of {} reads are to be repeated",
        ROUNDS * CALLERS
    );
    cluster.stop();
}

// Holds invariant 261.
/// The leader's signature may arrive before a follower has made the root.
#[tokio::test(flavor = "multi_thread")]
async fn a_follower_that_is_asked_to_wait_for_a_proof_has_it() {
    let mut rng = Rng::seeded("cluster-proven");
    let cluster = Cluster::start(3).await;
    let leader = cluster.leader().await;
    let mut signer = Signer::register(&cluster, &mut rng).await;
    let bearer = format!("Authorization: Bearer {}\r\n", signer.token);
    for round in 0..PROVEN {
        let minted = signer.mint().send(cluster.nodes[leader].setup.port()).await;
        assert_eq!(minted.status, 201, "{}", minted.body);
        let object = minted.json()["id"].as_str().unwrap().to_owned();
        let sequence = minted.header("x-sequence").unwrap();
        let path = format!("/objects/{object}/state-proof?min_sequence={sequence}&wait=60");
        let follower = &cluster.nodes[(leader + 1 + round % 2) % 3];
        let proof = http::get_with(follower.setup.port(), &path, &bearer).await;
        assert_eq!(proof.status, 200, "round {round}: {}", proof.body);
        assert_eq!(proof.json()["present"], true);
    }
    cluster.stop();
}

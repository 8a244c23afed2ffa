//! A resolver that hangs for one organization's names.

use std::time::Duration;

use kedge_client::{Account, BatchMode, ListQuery, NewAction, NewObject, NewWebhook};
use kedge_protocol::Id;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::support::faults::OnCall;
use crate::support::{Rng, connect, eventually, register, template};

const PATIENCE: Duration = Duration::from_secs(30);
/// A quarter of the 64 look-ups that may run in parallel.
const SHARE: i64 = 16;
/// Each webhook has eight attempts in flight, so together they could look up 64 names.
const HOOKS: usize = 8;

/// Answers every message with 204.
async fn receiver() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = [0; 4_096];
                let _read = stream.read(&mut request).await;
                let answer = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
                let _written = stream.write_all(answer).await;
            });
        }
    });
    port
}

async fn hook(account: &Account, url: String) -> Id {
    let hook = NewWebhook {
        url,
        events: vec!["object.created".to_owned()],
        active: true,
        description: String::new(),
    };
    account.create_webhook(&hook).await.unwrap().resource.id
}

// Holds invariant 126.
/// Hanging names take the places of the organization that uses them, and no others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_that_hang_take_one_organizations_places_and_no_others() {
    let mut rng = Rng::seeded("a resolver that hangs");
    let directory = tempfile::tempdir().unwrap();
    let (setup, faults) = crate::setup(directory.path());
    let setup = setup
        .set("webhook_allowed_networks", "[\"127.0.0.0/8\"]")
        .set("webhook_timeout_s", 60)
        .set("webhook_attempts_max", 1_000);
    let server = setup.start();
    let client = connect(&setup.url()).await;
    let (ann, bob) = (
        register(&client, rng.key()).await,
        register(&client, rng.key()).await,
    );
    let port = receiver().await;
    for number in 0..HOOKS {
        hook(&ann, format!("http://hangs-{number}.example.com:{port}/")).await;
    }
    let of_bob = hook(&bob, format!("http://answers.example.com:{port}/")).await;
    let (ticket, other) = (template(&ann, "ann's").await, template(&bob, "bob's").await);

    faults.stall(OnCall::Getaddrinfo, "hangs-");
    // One object per webhook, so that no delivery waits for another.
    let mint = NewAction::mint(ticket, &NewObject::default()).unwrap();
    ann.batch(&vec![mint; 8], BatchMode::Atomic).await.unwrap();
    let hang = || async { (faults.met() >= SHARE).then_some(()) };
    eventually("a share of the names hangs", PATIENCE, hang).await;
    let delivered = async |count: usize| {
        bob.mint(other, &NewObject::default()).await.unwrap();
        let all = || async {
            let query = ListQuery::default();
            let found = bob.deliveries(of_bob, &query).collect(10).await.unwrap();
            let done = found.iter().filter(|one| one.status == "delivered");
            (done.count() == count).then_some(())
        };
        eventually("another one's message arrives", PATIENCE, all).await;
    };
    for count in 1..=3 {
        delivered(count).await;
    }
    assert_eq!(faults.met(), SHARE, "no name past the share is looked up");
    faults.lift();
    server.stop();
}

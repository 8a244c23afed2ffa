//! Event streams and webhooks while the leader is lost.

#[path = "../api/feeds/webhooks/receiver.rs"]
#[expect(dead_code, reason = "a part of it is needed")]
mod receiver;

use std::collections::BTreeSet;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use kedge_client::NewWebhook;
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::load::Load;
use crate::nodes::Cluster;
use crate::signed::Signer;
use receiver::{Reaction, Receiver};

const PATIENCE: Duration = Duration::from_secs(30);
/// Mints around each failover.
const MINTS: usize = 10;

/// An event stream, read in the background.
struct Reader {
    events: watch::Receiver<Vec<Value>>,
    reading: JoinHandle<()>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

impl Reader {
    /// Reads a node's stream after a position.
    fn start(url: &str, token: &str, after: &str) -> Self {
        let request = Request::builder()
            .uri(format!("{url}/ebus/events/stream"))
            .header("authorization", format!("Bearer {token}"))
            .header("last-event-id", after)
            .body(Full::new(Bytes::new()))
            .unwrap();
        let (sender, events) = watch::channel(Vec::new());
        let reading = tokio::spawn(async move {
            let client = Client::builder(TokioExecutor::new()).build_http();
            let response = client.request(request).await.unwrap();
            assert_eq!(response.status(), 200);
            let mut body = response.into_body();
            let mut text = String::new();
            while let Some(Ok(frame)) = body.frame().await {
                let Ok(data) = frame.into_data() else {
                    continue;
                };
                text.push_str(std::str::from_utf8(&data).unwrap());
                while let Some((block, rest)) = text.split_once("\n\n") {
                    let data = block.lines().find_map(|line| line.strip_prefix("data:"));
                    if let Some(data) = data {
                        let event: Value = serde_json::from_str(data.trim()).unwrap();
                        sender.send_modify(|events| events.push(event));
                    }
                    text = rest.to_owned();
                }
            }
        });
        Self { events, reading }
    }

    /// The events, once they are enough.
    async fn wait(&mut self, enough: impl FnMut(&Vec<Value>) -> bool) -> Vec<Value> {
        let arrived = tokio::time::timeout(PATIENCE, self.events.wait_for(enough)).await;
        let arrived = arrived.map(|events| events.unwrap().clone());
        arrived.unwrap_or_else(|_| panic!("only these: {:?}", positions(&self.events.borrow())))
    }
}

fn positions(events: &[Value]) -> Vec<String> {
    let position = |event: &Value| event["position"].as_str().unwrap().to_owned();
    events.iter().map(position).collect()
}

/// Kills the leader while a stream is followed on another node and messages to a receiver are outstanding.
pub(crate) async fn survive_the_leader(cluster: &mut Cluster, signer: &mut Signer, load: &Load) {
    // The first message is refused until the leader was lost.
    let (lost, is_lost) = watch::channel(false);
    let receiver =
        Receiver::start(move |_, _| Reaction::Status(if *is_lost.borrow() { 204 } else { 500 }));
    let receiver = receiver.await;
    let leader = cluster.leader().await;
    let (follower, third) = ((leader + 1) % 3, (leader + 2) % 3);
    let account = cluster.account(leader, &signer.key).await;
    let webhook = NewWebhook {
        url: receiver.url.clone(),
        events: vec!["*".to_owned()],
        active: true,
        description: String::new(),
    };
    account.create_webhook(&webhook).await.unwrap();

    let url = cluster.nodes[follower].url();
    let mut reader = Reader::start(&url, &signer.token, "0");
    let mut minted = BTreeSet::new();
    mint(cluster, signer, follower, &mut minted).await;
    let owed = receiver.wait(|messages| !messages.is_empty()).await;
    cluster.nodes[leader].kill();
    lost.send_replace(true);
    load.progress(5).await;
    mint(cluster, signer, follower, &mut minted).await;
    // Half of it is read on the node that was followed throughout, the rest on another.
    let holds = |events: &[Value], minted: &BTreeSet<String>| {
        let found: BTreeSet<_> = events.iter().filter_map(object_of).collect();
        minted.iter().all(|object| found.contains(object))
    };
    let mut events = reader.wait(|events| holds(events, &minted)).await;
    drop(reader);
    mint(cluster, signer, follower, &mut minted).await;
    let last = positions(&events).pop().unwrap();
    let resumed = cluster.nodes[third].url();
    let mut resumed = Reader::start(&resumed, &signer.token, &last);
    let is_whole = |more: &Vec<Value>| {
        let all: Vec<Value> = events.iter().chain(more).cloned().collect();
        holds(&all, &minted)
    };
    let more = resumed.wait(is_whole).await;
    events.extend(more);
    cluster.nodes[leader].start();
    cluster.wait_until_ready().await;
    let whole = cluster.nodes[leader].url();
    let mut whole = Reader::start(&whole, &signer.token, "0");
    let count = events.len();
    let whole = whole.wait(|events| events.len() >= count).await;
    assert_eq!(positions(&events), positions(&whole)[..count]);
    let distinct: BTreeSet<_> = positions(&events).into_iter().collect();
    assert_eq!(distinct.len(), count, "an event was doubled");

    let all = |messages: &[receiver::Message]| {
        let found: BTreeSet<_> = messages
            .iter()
            .map(|one| one.object_id().to_owned())
            .collect();
        minted.iter().all(|object| found.contains(object))
    };
    let messages = receiver.wait(all).await;
    let again = messages.iter().filter(|one| one.id() == owed[0].id());
    assert!(
        again.count() > 1,
        "the delivery that was owed was not repeated"
    );
    let deliveries: BTreeSet<_> = messages
        .iter()
        .map(|one| (one.id(), event_of(one)))
        .collect();
    let events: BTreeSet<_> = messages.iter().map(event_of).collect();
    assert_eq!(
        deliveries.len(),
        events.len(),
        "an event got two deliveries"
    );
}

/// The event that a message reports.
fn event_of(message: &receiver::Message) -> &str {
    message.body["id"].as_str().unwrap()
}

fn object_of(event: &Value) -> Option<String> {
    event["object_id"].as_str().map(str::to_owned)
}

/// Mints, and retries where no node leads.
async fn mint(cluster: &Cluster, signer: &mut Signer, node: usize, minted: &mut BTreeSet<String>) {
    let port = cluster.nodes[node].setup.port();
    let target = minted.len() + MINTS;
    while minted.len() < target {
        let answer = signer.mint().send(port).await;
        match answer.status {
            201 => {
                let object = answer.json()["id"].as_str().unwrap().to_owned();
                assert!(minted.insert(object));
            }
            503 => tokio::time::sleep(Duration::from_millis(50)).await,
            _ => panic!("{}", answer.body),
        }
    }
}

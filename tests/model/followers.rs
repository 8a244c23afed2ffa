//! Readers of each organization's event stream. Each resumes where it stopped when the server was killed, so in the end
//! it has read what an uninterrupted reader would have.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use serde_json::Value;
use tokio::sync::watch;

use crate::clients::Clients;
use crate::wire::LOST_LIMIT;

/// The pause between two attempts while a server is down.
const PAUSE: Duration = Duration::from_millis(20);
/// A stream that lags for longer has stopped.
const PATIENCE: Duration = Duration::from_secs(30);

/// A stream read in the background.
pub(crate) struct Follower {
    events: watch::Receiver<Vec<Value>>,
    reading: tokio::task::JoinHandle<()>,
}

impl Follower {
    /// Reads from the log's beginning on.
    pub(crate) fn start(clients: Arc<Clients>, reader: usize) -> Self {
        let (sender, events) = watch::channel(Vec::new());
        let reading = tokio::spawn(async move {
            loop {
                read(&clients, reader, &sender).await;
                tokio::time::sleep(PAUSE).await;
            }
        });
        Self { events, reading }
    }

    /// The events up to a position, once they have arrived.
    pub(crate) async fn finish(mut self, last: (u64, u64)) -> Vec<Value> {
        let there =
            |events: &Vec<Value>| events.last().is_some_and(|event| position(event) >= last);
        let arrived = tokio::time::timeout(PATIENCE, self.events.wait_for(there))
            .await
            .is_ok();
        let mut events = self.events.borrow().clone();
        let come = events.last().map(position);
        assert!(arrived, "the stream came to {come:?} of {last:?}");
        self.reading.abort();
        events.retain(|event| position(event) <= last);
        events
    }
}

/// An event's position among all others.
pub(crate) fn position(event: &Value) -> (u64, u64) {
    let text = event["position"].as_str().unwrap();
    let (sequence, index) = text.split_once('.').unwrap_or((text, "0"));
    (sequence.parse().unwrap(), index.parse().unwrap())
}

/// Reads until the server goes down.
async fn read(clients: &Clients, reader: usize, events: &watch::Sender<Vec<Value>>) {
    let last = events
        .borrow()
        .last()
        .map(|event| event["position"].clone());
    let last = last.map_or_else(
        || "0".to_owned(),
        |position| position.as_str().unwrap().to_owned(),
    );
    let request = Request::builder()
        .uri(format!("{}/ebus/events/stream", clients.wire.url))
        .header(
            "authorization",
            format!("Bearer {}", clients.signers[reader].token),
        )
        .header("last-event-id", last)
        .body(Full::new(Bytes::new()));
    let answering = clients.wire.http().request(request.unwrap());
    let Ok(Ok(response)) = tokio::time::timeout(LOST_LIMIT, answering).await else {
        return;
    };
    assert_eq!(response.status(), 200);
    let mut body = response.into_body();
    let mut text = Vec::new();
    while let Some(Ok(frame)) = body.frame().await {
        let Ok(data) = frame.into_data() else {
            continue;
        };
        text.extend_from_slice(&data);
        while let Some(end) = text.windows(2).position(|pair| pair == b"\n\n") {
            let block: Vec<u8> = text.drain(..end + 2).collect();
            let block = String::from_utf8(block).unwrap();
            let data = block.lines().find_map(|line| line.strip_prefix("data:"));
            if let Some(data) = data {
                let event: Value = serde_json::from_str(data.trim()).unwrap();
                events.send_modify(|events| events.push(event));
            }
        }
    }
}

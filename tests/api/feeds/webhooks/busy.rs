//! Many messages to one receiver: they share connections, keep their order, and each arrives once.

use std::collections::HashSet;

use serde_json::json;

use super::receiver::{Message, Reaction, Receiver};
use super::{QUICK, all_are, hook, numbers, settled, system, update};
use crate::harness::{Caller, Server};

/// Attempts of one webhook that may be in flight.
const AT_ONCE: usize = 8;

/// Mints `count` objects in batches.
async fn mint(server: &Server, caller: &Caller, count: usize) {
    let template = caller.new_template(server, "ticket").await;
    let mint = ("mint", template.as_str(), "{}");
    let mut left = count;
    while left > 0 {
        let now = left.min(500);
        caller
            .bus(server, &vec![mint; now], false)
            .await
            .expect(200);
        left -= now;
    }
}

fn connections(messages: &[Message]) -> usize {
    let used: HashSet<usize> = messages.iter().map(|message| message.connection).collect();
    used.len()
}

fn ids(messages: &[Message]) -> HashSet<&str> {
    messages.iter().map(Message::id).collect()
}

// Holds invariant 39.
#[tokio::test]
async fn a_long_queue_arrives_once_over_few_connections() {
    // More than may be pending.
    const EVENTS: usize = 1_500;
    let (server, ann) = system(QUICK).await;
    let receiver = Receiver::good().await;
    let (path, _) = hook(&server, &ann, &receiver.url, &["object.created"]).await;
    mint(&server, &ann, EVENTS).await;
    let messages = receiver.wait(|messages| messages.len() >= EVENTS).await;
    assert_eq!(ids(&messages).len(), EVENTS);
    let used = connections(&messages);
    assert!(used <= EVENTS / 10, "{used} connections");
    settled(&server, &ann, &path, all_are("delivered")).await;
    assert_eq!(receiver.so_far().len(), EVENTS, "none arrives twice");
}

// Holds invariant 40.
#[tokio::test]
async fn updates_of_one_object_arrive_in_order() {
    const UPDATES: u64 = 40;
    let (server, ann) = system(QUICK).await;
    let receiver = Receiver::good().await;
    hook(&server, &ann, &receiver.url, &["object.updated"]).await;
    let template = ann.new_template(&server, "ticket").await;
    let object = ann.new_object(&server, &template).await;
    for n in 1..=UPDATES {
        update(&server, &ann, &object, n).await;
    }
    let all = |messages: &[Message]| messages.len() as u64 >= UPDATES;
    let messages = receiver.wait(all).await;
    let expected: Vec<u64> = (1..=UPDATES).collect();
    assert_eq!(numbers(&messages, &object), expected);
}

#[tokio::test]
async fn a_receiver_that_closes_every_connection_gets_everything_at_its_first_attempt() {
    const EVENTS: usize = 60;
    let (server, ann) = system(QUICK).await;
    let closing = Reaction::With(204, "connection", "close");
    let receiver = Receiver::start(move |_, _| closing).await;
    let (path, _) = hook(&server, &ann, &receiver.url, &["object.created"]).await;
    mint(&server, &ann, EVENTS).await;
    let messages = receiver.wait(|messages| messages.len() >= EVENTS).await;
    assert_eq!(connections(&messages), EVENTS);
    let found = settled(&server, &ann, &path, all_are("delivered")).await;
    assert!(found.iter().all(|item| item["attempts"] == json!(1)));
}

// Holds invariant 39.
/// A receiver may close a connection just when the next message is sent.
#[tokio::test]
async fn a_connection_that_ends_under_a_message_costs_no_attempt() {
    const EVENTS: usize = 60;
    let (server, ann) = system(QUICK).await;
    let receiver = Receiver::start(|message, before| {
        let mut others = before.iter().map(|other| other.connection);
        if others.any(|other| other == message.connection) {
            Reaction::HangUp
        } else {
            Reaction::Status(204)
        }
    })
    .await;
    let (path, _) = hook(&server, &ann, &receiver.url, &["object.created"]).await;
    mint(&server, &ann, EVENTS).await;
    let messages = receiver
        .wait(|messages| ids(messages).len() == EVENTS)
        .await;
    assert!(
        messages.len() > EVENTS + AT_ONCE,
        "connections were used again"
    );
    let found = settled(&server, &ann, &path, all_are("delivered")).await;
    assert!(
        found.iter().all(|item| item["attempts"] == json!(1)),
        "{found:#?}"
    );
}

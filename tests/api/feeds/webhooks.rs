//! Webhooks: what receivers get, when it is sent again, and which addresses are never contacted.

mod busy;
mod receiver;
mod tls;

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use kedge_protocol::receipt::Receipt;
use serde_json::{Value, json};

use crate::harness::{Caller, Server};
use receiver::{Message, Reaction, Receiver};

const LOOPBACK: &str = "webhook_allowed_networks=[\"127.0.0.0/8\"]";
const QUICK: &str = "webhook_retry_schedule_s=[0,1,1,1]";

async fn system(schedule: &str) -> (Server, Caller) {
    let server = Server::start_with(&[LOOPBACK, schedule]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    (server, ann)
}

/// Makes a webhook; returns its path and its secret.
async fn hook(server: &Server, caller: &Caller, url: &str, events: &[&str]) -> (String, String) {
    let body = json!({ "url": url, "events": events }).to_string();
    let request = (("POST", "/webhooks"), ("webhook.create", ""));
    let made = caller
        .change(server, request.0, request.1, &body)
        .await
        .expect(201);
    let text = |name: &str| made.body[name].as_str().unwrap().to_owned();
    (format!("/webhooks/{}", text("id")), text("secret"))
}

fn id_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap()
}

async fn update(server: &Server, caller: &Caller, object: &str, n: u64) {
    let payload = format!(r#"{{"properties":{{"n":{n}}}}}"#);
    caller
        .action(server, ("update", object, &payload))
        .await
        .expect(201);
}

async fn deliveries(server: &Server, caller: &Caller, path: &str) -> Vec<Value> {
    let answer = server
        .get(&format!("{path}/deliveries"), Some(&caller.token))
        .await;
    answer.expect(200).body["items"].as_array().unwrap().clone()
}

/// The webhook's deliveries, once they satisfy the test.
async fn settled(
    server: &Server,
    caller: &Caller,
    path: &str,
    enough: impl Fn(&[Value]) -> bool,
) -> Vec<Value> {
    for _ in 0..300 {
        let found = deliveries(server, caller, path).await;
        if enough(&found) {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("{:#?}", deliveries(server, caller, path).await);
}

fn all_are(status: &str) -> impl Fn(&[Value]) -> bool {
    move |items| !items.is_empty() && items.iter().all(|item| item["status"] == status)
}

/// The values of `n` in an object's updates, in the order of arrival.
fn numbers(messages: &[Message], object: &str) -> Vec<u64> {
    let of_object = messages
        .iter()
        .filter(|message| message.object_id() == object);
    let reported = of_object.map(|message| &message.body["data"]["payload"]["properties"]["n"]);
    reported.filter_map(Value::as_u64).collect()
}

#[tokio::test]
async fn events_arrive_signed_in_order_and_with_their_receipts() {
    let (server, ann) = system(QUICK).await;
    let receiver = Receiver::good().await;
    let wanted = ["object.created", "object.updated"];
    let (path, secret) = hook(&server, &ann, &receiver.url, &wanted).await;
    let template = ann.new_template(&server, "ticket").await;
    let object = ann.new_object(&server, &template).await;
    for n in 1..=3 {
        update(&server, &ann, &object, n).await;
    }
    let messages = receiver.wait(|messages| messages.len() >= 4).await;
    assert_eq!(messages.len(), 4, "nothing else was wanted: {messages:#?}");
    assert_eq!(messages[0].event_type(), "object.created");
    assert_eq!(numbers(&messages, &object), [1, 2, 3]);
    for message in &messages {
        assert_eq!(message.signatures(), [message.signature(&secret)]);
        assert_ne!(message.signatures(), [message.signature("whsec_AAAA")]);
        let receipt: Receipt = serde_json::from_value(message.body["receipt"].clone()).unwrap();
        receipt.verify(&server.domain, &server.sequencer).unwrap();
        assert_eq!(message.body["sequence"], receipt.leaf.sequence);
        assert_eq!(message.header("content-type"), "application/json");
    }
    let found = settled(&server, &ann, &path, all_are("delivered")).await;
    let ids: Vec<&str> = found
        .iter()
        .rev()
        .map(|item| item["id"].as_str().unwrap())
        .collect();
    let sent: Vec<&str> = messages.iter().map(Message::id).collect();
    assert_eq!(ids, sent, "newest first");
    let newest = &found[0];
    assert_eq!(
        (&newest["attempts"], &newest["response_status"]),
        (&json!(1), &json!(204))
    );
    assert_eq!(newest["event_id"], messages[3].body["id"]);
    assert!(newest["last_attempt_at"].is_string() && newest["next_attempt_at"].is_null());
    let webhook = server.get(&path, Some(&ann.token)).await.expect(200).body;
    assert!(
        !webhook.to_string().contains("whsec_"),
        "the secret is shown once"
    );
    let listed = server
        .get("/webhooks", Some(&ann.token))
        .await
        .expect(200)
        .body;
    assert_eq!(listed["items"][0], webhook);
}

// Holds invariant 40.
#[tokio::test]
async fn a_failure_holds_back_its_own_object_alone() {
    let (server, ann) = system(QUICK).await;
    // The first attempt for each object's first update fails.
    let receiver = Receiver::start(|message, before| {
        let first = message.body["data"]["payload"]["properties"]["n"] == 1;
        let tried = before.iter().any(|other| other.id() == message.id());
        Reaction::Status(if first && !tried { 500 } else { 200 })
    })
    .await;
    let (path, _) = hook(&server, &ann, &receiver.url, &["object.updated"]).await;
    let template = ann.new_template(&server, "ticket").await;
    let one = ann.new_object(&server, &template).await;
    let other = ann.new_object(&server, &template).await;
    update(&server, &ann, &one, 1).await;
    update(&server, &ann, &one, 2).await;
    update(&server, &ann, &other, 7).await;
    let messages = receiver.wait(|messages| messages.len() >= 4).await;
    assert_eq!(numbers(&messages, &one), [1, 1, 2]);
    assert_eq!(numbers(&messages, &other), [7]);
    let of_one: Vec<&Message> = messages.iter().filter(|m| m.object_id() == one).collect();
    assert_eq!(of_one[0].id(), of_one[1].id(), "the same message again");
    let place = |id: &str| {
        messages
            .iter()
            .position(|message| message.object_id() == id)
    };
    let again = messages
        .iter()
        .rposition(|message| message.id() == of_one[0].id());
    assert!(
        place(&other) < again,
        "the other object does not wait for the second try"
    );
    let found = settled(&server, &ann, &path, all_are("delivered")).await;
    assert_eq!(found[2]["attempts"], 2);
}

// Holds invariant 41.
#[tokio::test]
async fn redirects_are_failures_and_the_last_one_gives_up() {
    let (server, ann) = system("webhook_retry_schedule_s=[0,0]").await;
    let elsewhere = Receiver::good().await;
    let location: &'static str = Box::leak(elsewhere.url.clone().into_boxed_str());
    let receiver = Receiver::start(move |_, _| Reaction::With(307, "location", location)).await;
    let (path, _) = hook(&server, &ann, &receiver.url, &["template.created"]).await;
    ann.new_template(&server, "ticket").await;
    let found = settled(&server, &ann, &path, all_are("failed")).await;
    let failed = &found[0];
    assert_eq!(
        (&failed["attempts"], &failed["response_status"]),
        (&json!(2), &json!(307))
    );
    assert!(
        failed["error"].as_str().unwrap().contains("redirect"),
        "{failed}"
    );
    assert_eq!((receiver.so_far().len(), elsewhere.so_far().len()), (2, 0));
    let webhook = server.get(&path, Some(&ann.token)).await.body;
    assert_eq!(
        webhook["active"], true,
        "giving up one delivery switches nothing off"
    );
}

#[tokio::test]
async fn a_receiver_that_is_gone_is_switched_off_in_the_log() {
    let (server, ann) = system(QUICK).await;
    let receiver =
        Receiver::start(|_, before| Reaction::Status(if before.is_empty() { 410 } else { 200 }))
            .await;
    let (path, _) = hook(&server, &ann, &receiver.url, &["template.created"]).await;
    ann.new_template(&server, "one").await;
    let found = settled(&server, &ann, &path, all_are("failed")).await;
    assert_eq!(found[0]["response_status"], 410);
    let mut webhook = Value::Null;
    for _ in 0..100 {
        webhook = server.get(&path, Some(&ann.token)).await.body;
        if webhook["active"] == false {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(webhook["active"], false, "{webhook}");
    let sequence = webhook["sequence"].as_u64().unwrap();
    let action = server
        .get(&format!("/ebus/actions/{sequence}"), Some(&ann.token))
        .await;
    assert_eq!(action.expect(200).body["action_type"], "system.webhook_off");
    // Events during the pause are not delivered later; events after it are.
    ann.new_template(&server, "two").await;
    let again = format!(
        "{path}/deliveries/{}/redeliver",
        found[0]["id"].as_str().unwrap()
    );
    let refused = server.call("POST", &again, &[ann.bearer()], "").await;
    refused.refused(422, "STATE_VIOLATION");
    let change = (("PATCH", path.as_str()), ("webhook.update", id_of(&path)));
    ann.change(&server, change.0, change.1, r#"{"active":true}"#)
        .await
        .expect(200);
    ann.new_template(&server, "three").await;
    let messages = receiver.wait(|messages| messages.len() >= 2).await;
    let names: Vec<&Value> = messages.iter().map(|m| &m.body["data"]["name"]).collect();
    assert_eq!(names, ["one", "three"]);
}

#[tokio::test]
async fn a_receiver_may_ask_for_time() {
    let (server, ann) = system(QUICK).await;
    let receiver = Receiver::start(|_, _| Reaction::With(503, "retry-after", "3600")).await;
    let (path, _) = hook(&server, &ann, &receiver.url, &["template.created"]).await;
    ann.new_template(&server, "ticket").await;
    let tried = |items: &[Value]| items.first().is_some_and(|item| item["attempts"] == 1);
    let found = settled(&server, &ann, &path, tried).await;
    let hours = |text: &Value| text.as_str().unwrap()[..13].to_owned();
    assert_eq!(found[0]["status"], "pending");
    assert_ne!(
        hours(&found[0]["next_attempt_at"]),
        hours(&found[0]["last_attempt_at"])
    );
}

// Holds invariant 40.
#[tokio::test]
async fn a_dead_receiver_delays_nobody_else() {
    let (server, ann) = system(QUICK).await;
    let dead = Receiver::start(|_, _| Reaction::Silence).await;
    let good = Receiver::good().await;
    let (dead_path, _) = hook(&server, &ann, &dead.url, &["template.created"]).await;
    hook(&server, &ann, &good.url, &["template.created"]).await;
    for number in 0..12 {
        ann.new_template(&server, &format!("ticket {number}")).await;
    }
    good.wait(|messages| messages.len() == 12).await;
    dead.wait(|messages| !messages.is_empty()).await;
    let found = deliveries(&server, &ann, &dead_path).await;
    assert!(
        all_are("pending")(&found),
        "the dead one has answered nothing: {found:#?}"
    );
    assert!(
        dead.so_far().len() <= 8,
        "what one receiver holds up is bounded"
    );
}

// Holds invariant 126.
#[tokio::test]
async fn one_organizations_receivers_leave_attempts_to_the_others() {
    let options = [LOOPBACK, QUICK, "webhook_attempts_max=4"];
    let server = Server::start_with(&options).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let dead = Receiver::start(|_, _| Reaction::Silence).await;
    let good = Receiver::good().await;
    hook(&server, &ann, &dead.url, &["template.created"]).await;
    hook(&server, &bob, &good.url, &["template.created"]).await;
    for number in 0..6 {
        ann.new_template(&server, &format!("ticket {number}")).await;
    }
    dead.wait(|messages| !messages.is_empty()).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let begun = std::time::Instant::now();
    bob.new_template(&server, "ticket").await;
    good.wait(|messages| messages.len() == 1).await;
    // Before any attempt at the other receiver was given up.
    assert!(begun.elapsed() < Duration::from_secs(8));
    assert_eq!(dead.so_far().len(), 1, "a quarter of the attempts");
}

// Holds invariant 39.
#[tokio::test]
async fn every_event_arrives_at_least_once_across_kill_9() {
    let (mut server, ann) = system(QUICK).await;
    // The first messages are never answered: they are in flight when the server dies.
    let receiver = Receiver::start(|_, before| {
        if before.len() < 4 {
            Reaction::Silence
        } else {
            Reaction::Status(200)
        }
    })
    .await;
    let (path, _) = hook(&server, &ann, &receiver.url, &["object.created"]).await;
    let template = ann.new_template(&server, "ticket").await;
    let mint = ("mint", template.as_str(), "{}");
    let made = ann.bus(&server, &vec![mint; 40], false).await.expect(200);
    let mut expected: BTreeSet<String> = BTreeSet::new();
    let mut expect = |made: &Value| {
        for result in made["results"].as_array().unwrap() {
            expected.insert(result["object_id"].as_str().unwrap().to_owned());
        }
    };
    expect(&made.body);
    receiver.wait(|messages| messages.len() >= 4).await;
    // The kill comes before these are even queued.
    let more = ann.bus(&server, &vec![mint; 40], false).await.expect(200);
    expect(&more.body);
    server.kill();
    let server = server.restart_with(&[LOOPBACK, QUICK]).await;
    let arrived = |messages: &[Message]| -> BTreeSet<String> {
        messages
            .iter()
            .map(|message| message.object_id().to_owned())
            .collect()
    };
    let messages = receiver
        .wait(|messages| arrived(messages) == expected)
        .await;
    let mut ids: HashMap<&str, &str> = HashMap::new();
    for message in &messages {
        let known = ids.insert(message.object_id(), message.id());
        assert!(
            known.is_none_or(|known| known == message.id()),
            "one event, one webhook-id"
        );
    }
    let found = settled(&server, &ann, &path, all_are("delivered")).await;
    assert_eq!(found.len(), 80);
}

#[tokio::test]
async fn both_secrets_sign_while_they_overlap() {
    let (server, ann) = system(QUICK).await;
    let receiver = Receiver::good().await;
    let (path, first) = hook(&server, &ann, &receiver.url, &["template.created"]).await;
    let rotate = async |overlap_s: u64| {
        let body = json!({ "overlap_s": overlap_s }).to_string();
        let request = format!("{path}/rotate");
        let signed = ("webhook.rotate", id_of(&path));
        let made = ann
            .change(&server, ("POST", &request), signed, &body)
            .await
            .expect(200);
        made.body["secret"].as_str().unwrap().to_owned()
    };
    let second = rotate(600).await;
    ann.new_template(&server, "one").await;
    let messages = receiver.wait(|messages| messages.len() == 1).await;
    let expected = [
        messages[0].signature(&second),
        messages[0].signature(&first),
    ];
    assert_eq!(messages[0].signatures(), expected);
    let third = rotate(0).await;
    ann.new_template(&server, "two").await;
    let messages = receiver.wait(|messages| messages.len() == 2).await;
    assert_eq!(messages[1].signatures(), [messages[1].signature(&third)]);
    assert_eq!(BTreeSet::from([&first, &second, &third]).len(), 3);
}

#[tokio::test]
async fn a_delivery_is_made_again_and_a_test_is_sent_at_once() {
    let (server, ann) = system(QUICK).await;
    let bob = Caller::register(&server, "bob@example.com").await;
    let receiver = Receiver::good().await;
    let (path, secret) = hook(&server, &ann, &receiver.url, &["template.created"]).await;
    ann.new_template(&server, "ticket").await;
    let found = settled(&server, &ann, &path, all_are("delivered")).await;
    let id = found[0]["id"].as_str().unwrap();
    let again = format!("{path}/deliveries/{id}/redeliver");
    let queued = server
        .call("POST", &again, &[ann.bearer()], "")
        .await
        .expect(202);
    assert_eq!(queued.body["status"], "pending");
    let messages = receiver.wait(|messages| messages.len() == 2).await;
    assert_eq!(
        (messages[0].id(), &messages[0].body),
        (messages[1].id(), &messages[1].body)
    );
    let twice = |items: &[Value]| items[0]["attempts"] == 2 && items[0]["status"] == "delivered";
    assert_eq!(settled(&server, &ann, &path, twice).await.len(), 1);

    let sequence = server.sequence().await;
    let test = format!("{path}/test");
    let tried = server
        .call("POST", &test, &[ann.bearer()], "")
        .await
        .expect(200)
        .body;
    assert_eq!(
        (&tried["status"], &tried["response_status"]),
        (&json!("delivered"), &json!(204))
    );
    let messages = receiver.so_far();
    let last = messages.last().unwrap();
    assert_eq!(
        (last.event_type(), last.id()),
        ("webhook.test", tried["id"].as_str().unwrap())
    );
    assert_eq!(last.signatures(), [last.signature(&secret)]);
    assert_eq!(server.sequence().await, sequence, "nothing happened");
    for foreign in [&again, &test] {
        let refused = server.call("POST", foreign, &[bob.bearer()], "").await;
        refused.refused(404, "RESOURCE_NOT_FOUND");
    }
    let missing = format!("{path}/deliveries/dlv_{}/redeliver", "0".repeat(26));
    let refused = server.call("POST", &missing, &[ann.bearer()], "").await;
    refused.refused(404, "RESOURCE_NOT_FOUND");

    let signed = ("webhook.delete", id_of(&path));
    let ended = ann
        .change(&server, ("DELETE", &path), signed, "")
        .await
        .expect(200);
    assert_eq!(ended.body["active"], false);
    server
        .get(&path, Some(&ann.token))
        .await
        .refused(404, "RESOURCE_NOT_FOUND");
    let listed = server.get("/webhooks", Some(&ann.token)).await.body;
    assert_eq!(listed["items"], json!([]));
}

// Holds invariant 41.
#[tokio::test]
async fn nothing_is_sent_inside_and_secrets_stay_out_of_the_log() {
    let server = Server::start_traced().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let create = async |url: &str| {
        let body = json!({ "url": url, "events": ["*"] }).to_string();
        let request = (("POST", "/webhooks"), ("webhook.create", ""));
        ann.change(&server, request.0, request.1, &body).await
    };
    let inside = Receiver::good().await;
    let port = inside.url.rsplit(':').next().unwrap();
    for url in [
        inside.url.clone(),
        format!("https://127.0.0.1:{port}"),
        format!("https://localhost:{port}"),
        format!("https://2130706433:{port}"),
        format!("https://0x7f.1:{port}"),
        format!("https://[::ffff:127.0.0.1]:{port}"),
        "https://169.254.169.254/latest/meta-data/".to_owned(),
        "http://example.com/hook".to_owned(),
    ] {
        let refused = create(&url).await;
        refused.refused(400, "VALIDATION_ERROR");
        assert_eq!(
            refused.body["body"]["errors"][0]["pointer"], "/url",
            "{url}"
        );
    }
    let made = create("https://hooks.invalid/").await.expect(201);
    let secret = made.body["secret"].as_str().unwrap();
    let path = format!("/webhooks/{}", made.body["id"].as_str().unwrap());
    let moved = json!({ "url": inside.url }).to_string();
    let signed = ("webhook.update", id_of(&path));
    let refused = ann.change(&server, ("PATCH", &path), signed, &moved).await;
    refused.refused(400, "VALIDATION_ERROR");
    let test = format!("{path}/test");
    let tried = server
        .call("POST", &test, &[ann.bearer()], "")
        .await
        .expect(200)
        .body;
    assert_eq!(
        (&tried["status"], &tried["response_status"]),
        (&json!("failed"), &Value::Null)
    );
    assert!(inside.so_far().is_empty());
    let log = String::from_utf8(server.log()).unwrap();
    assert!(log.contains("webhook"), "the log tells something");
    let secret = secret.strip_prefix("whsec_").unwrap();
    assert!(!log.contains("whsec_") && !log.contains(secret));
}

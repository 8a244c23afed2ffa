//! Retried requests, and requests with conditions.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::{Answer, Caller, Server, Signed, bus_members, signature};

/// A signed request that can be sent any number of times.
struct Prepared {
    method: &'static str,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Prepared {
    async fn send(&self, server: &Server) -> Answer {
        server
            .call(self.method, &self.path, &self.headers, &self.body)
            .await
    }
}

/// Signs a mint with an idempotency key.
fn mint(server: &Server, caller: &Caller, key: &str, body: &Value) -> Prepared {
    let target = body["template_id"].as_str().unwrap();
    let body = body.to_string();
    let mut headers = signature(
        &caller.key,
        &caller.terms(server),
        &[("mint", target, &body)],
    );
    headers.push(caller.bearer());
    headers.push(("idempotency-key", key.to_owned()));
    Prepared {
        method: "POST",
        path: "/objects".to_owned(),
        headers,
        body,
    }
}

fn batch(server: &Server, caller: &Caller, key: &str, actions: &[Signed<'_>]) -> Prepared {
    let mut headers = signature(&caller.key, &caller.terms(server), actions);
    headers.push(caller.bearer());
    headers.push(("idempotency-key", key.to_owned()));
    Prepared {
        method: "POST",
        path: "/ebus/actions/batch".to_owned(),
        headers,
        body: format!(r#"{{"actions":[{}]}}"#, bus_members(actions)),
    }
}

/// The content of an answer, without the request's id.
fn reported(answer: &Answer) -> (u16, Value) {
    let mut body = answer.body.clone();
    if let Some(body) = body.get_mut("body").and_then(Value::as_object_mut) {
        body.remove("request_id");
    }
    (answer.status, body)
}

#[track_caller]
fn replayed(first: &Answer, again: &Answer) {
    assert_eq!(first.header("idempotent-replayed"), "");
    assert_eq!(
        again.header("idempotent-replayed"),
        "true",
        "{}",
        again.body
    );
    assert_eq!(reported(first), reported(again));
    for name in ["etag", "location", "x-sequence"] {
        assert_eq!(first.header(name), again.header(name), "{name}");
    }
    let highest = again.header("x-nonce-highest").parse::<u64>().unwrap();
    assert!(highest >= first.header("x-nonce-highest").parse::<u64>().unwrap());
}

// Holds invariant 19.
#[tokio::test]
async fn a_request_with_a_key_is_done_once_and_answered_again() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = ann.new_template(&server, "ticket").await;
    let body = json!({ "template_id": template, "properties": { "n": 1 } });
    let request = mint(&server, &ann, "key-1", &body);
    let first = request.send(&server).await.expect(201);
    let id = first.body["id"].as_str().unwrap().to_owned();
    let sequence = server.sequence().await;

    // The object changes further; the stored answer stays.
    let path = format!("/objects/{id}");
    let patch = r#"{"properties":{"n":12345678901234567890.10}}"#;
    let change = ("PATCH", path.as_str());
    ann.change(&server, change, ("update", &id), patch)
        .await
        .expect(200);
    replayed(&first, &request.send(&server).await);
    // With a new signature it is still the same request.
    let resigned = mint(&server, &ann, "key-1", &body);
    replayed(&first, &resigned.send(&server).await);
    assert_eq!(server.sequence().await, sequence + 1);

    let other = json!({ "template_id": template, "properties": { "n": 2 } });
    let other = mint(&server, &ann, "key-1", &other).send(&server).await;
    other.refused(422, "IDEMPOTENCY_MISMATCH");
    let fresh = mint(&server, &ann, "key-2", &body)
        .send(&server)
        .await
        .expect(201);
    assert_ne!(fresh.body["id"], first.body["id"]);
    // A key belongs to one organization: the same text from another organization is another key.
    let bob = Caller::register(&server, "bob@example.com").await;
    let his = bob.new_template(&server, "ticket").await;
    let his = json!({ "template_id": his, "properties": { "n": 1 } });
    let his = mint(&server, &bob, "key-1", &his)
        .send(&server)
        .await
        .expect(201);
    assert_eq!(his.header("idempotent-replayed"), "");
    let bad = mint(&server, &ann, &"x".repeat(256), &body)
        .send(&server)
        .await;
    bad.refused(400, "VALIDATION_ERROR");
}

#[tokio::test]
async fn numbers_come_back_digit_by_digit() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = ann.new_template(&server, "ticket").await;
    let body =
        format!(r#"{{"template_id":"{template}","properties":{{"n":0.1000000000000000000010}}}}"#);
    let mut headers = signature(&ann.key, &ann.terms(&server), &[("mint", &template, &body)]);
    headers.push(ann.bearer());
    headers.push(("idempotency-key", "digits".to_owned()));
    let mut texts = Vec::new();
    for _ in 0..2 {
        let answer = server.text("POST", "/objects", &headers, &body).await;
        assert!(answer.contains("0.1000000000000000000010"), "{answer}");
        texts.push(answer);
    }
    assert_eq!(texts[0], texts[1], "the same bytes");
}

// Holds invariant 19.
#[tokio::test]
async fn a_batch_and_its_failures_come_back_after_a_crash() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = ann.new_template(&server, "ticket").await;
    let object = ann.new_object(&server, &template).await;
    let actions = [
        ("lock", object.as_str(), "{}"),
        ("update", object.as_str(), r#"{"properties":{"n":1}}"#),
        ("unlock", object.as_str(), "{}"),
        ("update", object.as_str(), r#"{"properties":[]}"#),
    ];
    let request = batch(&server, &ann, "batch", &actions);
    let first = request.send(&server).await.expect(200);
    assert_eq!(first.body["results"][1]["error"]["code"], "STATE_VIOLATION");
    replayed(&first, &request.send(&server).await);
    let single = ("emit", object.as_str(), r#"{"word":"hello"}"#);
    let mut headers = signature(&ann.key, &ann.terms(&server), &[single]);
    headers.push(ann.bearer());
    headers.push(("idempotency-key", "batch".to_owned()));
    let single = Prepared {
        method: "POST",
        path: "/ebus/actions".to_owned(),
        headers,
        body: bus_members(&[single]),
    };
    let emitted = single.send(&server).await.expect(201);
    let sequence = server.sequence().await;

    let mut server = server;
    server.kill();
    let server = server.restart().await;
    replayed(&first, &request.send(&server).await);
    replayed(&emitted, &single.send(&server).await);
    assert_eq!(server.sequence().await, sequence);
}

#[tokio::test]
async fn a_key_is_not_used_up_by_what_did_nothing() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = ann.new_template(&server, "ticket").await;
    let object = ann.new_object(&server, &template).await;
    let unlock = [("unlock", object.as_str(), "{}")];
    let refused = batch(&server, &ann, "again", &unlock).send(&server).await;
    assert_eq!(
        refused.body["results"][0]["error"]["code"],
        "STATE_VIOLATION"
    );
    ann.action(&server, ("lock", &object, "{}"))
        .await
        .expect(201);
    let done = batch(&server, &ann, "again", &unlock).send(&server).await;
    assert_eq!(
        done.body["results"][0]["status"], "committed",
        "{}",
        done.body
    );
    assert_eq!(done.header("idempotent-replayed"), "");
}

// Holds invariant 19.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_at_once_one_is_done() {
    let server = Arc::new(Server::start().await);
    let ann = Arc::new(Caller::register(&server, "ann@example.com").await);
    let template = ann.new_template(&server, "ticket").await;
    let sequence = server.sequence().await;
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..40 {
        let (server, ann, template) = (Arc::clone(&server), Arc::clone(&ann), template.clone());
        tasks.spawn(async move {
            let body = json!({ "template_id": template });
            mint(&server, &ann, "one", &body).send(&server).await
        });
    }
    let answers = tasks.join_all().await;
    let made: Vec<&Answer> = answers
        .iter()
        .filter(|answer| answer.status == 201)
        .collect();
    let fresh = made
        .iter()
        .filter(|made| made.header("idempotent-replayed").is_empty());
    assert_eq!(fresh.count(), 1);
    let id = &made.first().unwrap().body["id"];
    assert!(made.iter().all(|made| made.body["id"] == *id));
    for other in answers.iter().filter(|answer| answer.status != 201) {
        other.refused(409, "IDEMPOTENCY_IN_PROGRESS");
    }
    assert_eq!(server.sequence().await, sequence + 1);
}

#[tokio::test]
async fn a_registration_comes_back_with_new_tokens() {
    let server = Server::start().await;
    let ann = Caller::nobody();
    let body = ann.registration("ann@example.com").to_string();
    let payload =
        kedge_protocol::payload::digest_text(&kedge_protocol::hash::sha256(body.as_bytes()));
    let action = [("wallet.register", "", payload.as_str())];
    let mut headers = signature(&ann.key, &ann.terms(&server), &action);
    headers.push(("idempotency-key", "first".to_owned()));
    let send = || server.call("POST", "/wallets/register", &headers, &body);
    let (first, again) = (send().await.expect(201), send().await.expect(201));
    assert_eq!(again.header("idempotent-replayed"), "true");
    for member in ["wallet", "action_id", "receipt"] {
        assert_eq!(first.body[member], again.body[member]);
    }
    assert_ne!(first.body["refresh_token"], again.body["refresh_token"]);
    let token = again.body["access_token"].as_str();
    server.get("/wallets/me", token).await.expect(200);
}

#[tokio::test]
async fn a_key_is_forgotten_when_its_time_is_over() {
    let server = Server::start_with(&["idempotency_key_s=1"]).await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = ann.new_template(&server, "ticket").await;
    let body = json!({ "template_id": template });
    let first = mint(&server, &ann, "k", &body)
        .send(&server)
        .await
        .expect(201);
    // Expired after two more seconds at most.
    tokio::time::sleep(std::time::Duration::from_millis(2_100)).await;
    let second = mint(&server, &ann, "k", &body)
        .send(&server)
        .await
        .expect(201);
    assert_ne!(first.body["id"], second.body["id"]);
}

/// Polls requests in turns, so that they are in flight together; returns the answers' statuses in order of arrival.
async fn statuses(racing: impl Iterator<Item = impl Future<Output = Answer>>) -> Vec<u16> {
    let mut racing: Vec<_> = racing.map(Box::pin).collect();
    let mut answers = Vec::new();
    std::future::poll_fn(|context| {
        racing.retain_mut(|request| match request.as_mut().poll(context) {
            std::task::Poll::Ready(answer) => {
                answers.push(answer.status);
                false
            }
            std::task::Poll::Pending => true,
        });
        if racing.is_empty() {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    answers
}

// Holds invariant 20.
#[tokio::test]
async fn a_lost_race_is_told_by_if_match() {
    let server = Server::start().await;
    let ann = Caller::register(&server, "ann@example.com").await;
    let template = ann.new_template(&server, "ticket").await;
    let id = ann.new_object(&server, &template).await;
    let path = format!("/objects/{id}");
    let tag = server
        .get(&path, Some(&ann.token))
        .await
        .header("etag")
        .to_owned();
    let change = async |tag: &str, n: u64| {
        let body = format!(r#"{{"properties":{{"n":{n}}}}}"#);
        let action = [("update", id.as_str(), body.as_str())];
        let mut headers = signature(&ann.key, &ann.terms(&server), &action);
        headers.push(ann.bearer());
        headers.push(("if-match", tag.to_owned()));
        server.call("PATCH", &path, &headers, &body).await
    };
    let changed = change(&tag, 1).await.expect(200);
    let lost = change(&tag, 2).await;
    lost.refused(412, "PRECONDITION_FAILED");
    assert!(
        lost.body["body"]["message"]
            .as_str()
            .unwrap()
            .contains("version 2")
    );
    let read = server.get(&path, Some(&ann.token)).await;
    assert_eq!(
        read.body["properties"],
        json!({ "n": 1 }),
        "nothing changed"
    );
    assert_eq!(read.header("etag"), changed.header("etag"));
    let either = format!("{tag}, {}", changed.header("etag"));
    change(&either, 3).await.expect(200);
    change("*", 4).await.expect(200);
    change("\"something else\"", 5)
        .await
        .refused(412, "PRECONDITION_FAILED");

    // Many callers saw the same state; one of them changes it.
    let tag = server
        .get(&path, Some(&ann.token))
        .await
        .header("etag")
        .to_owned();
    let racing = (0..16).map(|n| change(&tag, 10 + n));
    let mut answers = statuses(racing).await;
    answers.sort_unstable();
    assert_eq!(answers[0], 200);
    assert!(
        answers[1..].iter().all(|status| *status == 412),
        "{answers:?}"
    );
}

//! One organization, or many callers without one, against the others: the queue of writes, files, webhooks, passwords,
//! wrong signatures.

use std::sync::Arc;

use kedge_client::sign::{RequestTerms, SignableAction, sign, unix_now_s};
use kedge_client::{BatchMode, NewAction, NewWebhook};
use kedge_protocol::Hash;
use kedge_protocol::action::Kind;
use serde_json::json;
use tokio::net::TcpListener;

use crate::besieged::Siege;
use crate::field::{Field, exchange, repeat, swarm};
use crate::support::Rng;

/// Changes in one request.
const OF_BATCH: usize = 500;

async fn batches(field: Arc<Field>, number: usize) {
    let objects = field.objects.iter().cycle().skip(number * OF_BATCH);
    let patch = json!({ "filler": "y".repeat(200), "seat": format!("{number}") });
    let update = |object: &_| NewAction::update(*object, patch.as_object().unwrap()).unwrap();
    let updates: Vec<_> = objects.take(OF_BATCH).map(update).collect();
    if field
        .account
        .batch(&updates, BatchMode::Independent)
        .await
        .is_ok()
    {
        field.did();
    }
}

async fn singles(field: Arc<Field>, number: usize) {
    let object = field.objects[number % field.objects.len()];
    let update = NewAction::update(object, json!({ "seat": "1" }).as_object().unwrap()).unwrap();
    for _ in 0..50 {
        if field.account.act(&update).await.is_ok() {
            field.did();
        }
    }
}

/// All attackers change one object.
async fn one_object(field: Arc<Field>, _: usize) {
    singles(field, 0).await;
}

async fn files(field: Arc<Field>, number: usize) {
    let bytes = vec![number as u8; 1 << 20];
    if let Ok(made) = field.account.upload("filler.bin", &bytes).await {
        field.did();
        // Reads the content back.
        let _ = field.account.download(&made.resource).await;
    }
}

/// Wrong passwords for accounts that do not exist. Each is hashed all the same.
async fn logins(field: Arc<Field>, number: usize) {
    let body = format!(r#"{{"email":"nobody{number}@example.com","password":"wrong password"}}"#);
    repeat(&field, number, &field.post("/wallets/login", &body)).await;
}

/// Well-formed wrong signatures: each costs the server a check.
async fn signatures(field: Arc<Field>, number: usize) {
    let Some(mut stream) = field.connect(number).await else {
        return;
    };
    let object = field.objects[number % field.objects.len()];
    let body = format!(
        r#"{{"action_type":"update","object_id":"{object}","payload":{{"properties":{{}}}}}}"#
    );
    // The signature of another action.
    let text = [SignableAction {
        kind: &Kind::Update,
        target: &object.to_string(),
        payload: b"{}",
    }];
    let mut rng = Rng::of(number as u64);
    let key = rng.key();
    loop {
        let terms = RequestTerms {
            key: &key,
            domain_separator: &field.account.client().domain().separator(),
            nonce: rng.next(),
            deadline_s: unix_now_s() + 60,
            atomic: false,
            seed: Hash([number as u8; 32]),
        };
        let signed = sign(&terms, &text).unwrap();
        let mut more = format!(
            "content-type: application/json\r\ncontent-length: {}\r\n",
            body.len()
        );
        for (name, value) in signed.headers() {
            more.push_str(&format!("{name}: {value}\r\n"));
        }
        let request = field.head("POST", "/ebus/actions", &more) + &body;
        let Some(status) = exchange(&mut stream, request.as_bytes()).await else {
            return;
        };
        field.answered(status);
    }
}

/// A receiver that accepts and never answers, twenty webhooks to it, and changes that all of them report.
async fn webhooks(field: Arc<Field>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let silent = tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok(accepted) = listener.accept().await {
            held.push(accepted);
        }
    });
    let mut made = Vec::new();
    for _ in 0..20 {
        let new = NewWebhook {
            url: url.clone(),
            events: vec!["*".to_owned()],
            active: true,
            description: String::new(),
        };
        made.extend(field.account.create_webhook(&new).await);
    }
    assert!(!made.is_empty(), "there are webhooks");
    swarm(&field, 8, singles).await;
    for webhook in made {
        field
            .account
            .delete_webhook(webhook.resource.id)
            .await
            .unwrap();
    }
    silent.abort();
}

#[test]
#[ignore = "a siege: make siege"]
fn batches_of_one_tenant() {
    Siege::new("one tenant: batches of 500 changes, 16 at a time", 768)
        .leaves_mib(256)
        .run(async |field| swarm(&field, 16, batches).await);
}

#[test]
#[ignore = "a siege: make siege"]
fn changes_of_one_tenant() {
    Siege::new("one tenant: single changes, 200 at a time", 512)
        .leaves_mib(128)
        .run(async |field| swarm(&field, 200, singles).await);
}

#[test]
#[ignore = "a siege: make siege"]
fn changes_of_one_object() {
    Siege::new("one tenant: 200 change one object", 512)
        .leaves_mib(128)
        .run(async |field| swarm(&field, 200, one_object).await);
}

#[test]
#[ignore = "a siege: make siege"]
fn files_of_one_tenant() {
    Siege::new("one tenant: files of 1 MiB, sent and fetched by 16", 256)
        .run(async |field| swarm(&field, 16, files).await);
}

#[test]
#[ignore = "a siege: make siege"]
fn passwords_from_many_addresses() {
    Siege::new("wrong passwords, 200 connections from 200 addresses", 256)
        .run(async |field| swarm(&field, 200, logins).await);
}

#[test]
#[ignore = "a siege: make siege"]
fn signatures_that_are_wrong() {
    Siege::new("wrong signatures, 200 connections", 256)
        .run(async |field| swarm(&field, 200, signatures).await);
}

#[test]
#[ignore = "a siege: make siege"]
fn webhooks_of_one_tenant() {
    Siege::new("one tenant: 20 webhooks whose receiver never answers", 256)
        .leaves_mib(128)
        .set("webhook_allowed_networks", r#"["127.0.0.0/8"]"#)
        .run(webhooks);
}

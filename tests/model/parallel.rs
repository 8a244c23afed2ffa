//! A hundred parallel clients on the same things: every answer is consistent, versions are dense,
//! nothing is lost.

use std::sync::Arc;
use std::time::Duration;

use kedge_client::sign::{RequestTerms, SignableAction, deadline_in, sign};
use kedge_client::types::TemplateActionRule;
use kedge_client::{Account, BatchMode, ListQuery, NewAction, NewObject, NewTemplate};
use kedge_protocol::Id;
use kedge_protocol::action::Kind;
use kedge_protocol::resource::Who;
use kedge_protocol::signature::SigningKey;
use serde_json::json;
use tokio::task::JoinSet;

use crate::support::ledger::Ledger;
use crate::support::server::{Server, Setup};
use crate::support::{PASSWORD, Rng, connect, http, password_turn, register};

const CLIENTS: usize = 100;

/// A server, a template whose objects all wallets may update, and the issuing account.
struct Place {
    directory: tempfile::TempDir,
    setup: Setup,
    server: Server,
    issuer: Account,
    template: Id,
    ledger: Arc<Ledger>,
}

async fn place(rng: &mut Rng) -> Place {
    let directory = tempfile::tempdir().unwrap();
    let setup = Setup::development(&directory.path().join("data"));
    let server = setup.start();
    let client = connect(&setup.url()).await;
    let issuer = register(&client, rng.key()).await;
    let template = NewTemplate {
        name: "everybody's".to_owned(),
        public_access: true,
        actions: vec![TemplateActionRule {
            kind: "update".to_owned(),
            who: Who::Anyone,
            schema: None,
        }],
        ..NewTemplate::default()
    };
    let template = issuer.create_template(&template).await.unwrap().resource.id;
    Place {
        directory,
        setup,
        server,
        issuer,
        template,
        ledger: Arc::new(Ledger::default()),
    }
}

impl Place {
    async fn mint(&self, count: usize) -> Vec<Id> {
        let mint = NewAction::mint(self.template, &NewObject::default()).unwrap();
        let outcome = self
            .issuer
            .batch(&vec![mint; count], BatchMode::Atomic)
            .await
            .unwrap();
        self.ledger.batch(&outcome);
        outcome.done().map(|done| done.object_id).collect()
    }

    /// A hundred wallets, each with its own client and connections.
    async fn clients(&self, rng: &mut Rng) -> Vec<Account> {
        let mut joining = JoinSet::new();
        for _ in 0..CLIENTS {
            let (url, key) = (self.setup.url(), rng.key());
            joining.spawn(async move { register(&connect(&url).await, key).await });
        }
        joining.join_all().await
    }

    /// Stops the server and verifies the whole store.
    fn finish(self) {
        self.server.stop();
        let client = self.issuer.client();
        let (domain, sequencer) = (client.domain(), client.sequencer());
        kedge_upkeep::verify::store(&self.setup.store(), domain, sequencer, |_| ()).unwrap();
        drop(self.directory);
    }
}

fn update(object: Id, member: &str, value: usize) -> NewAction {
    let patch = json!({ member: value });
    NewAction::update(object, patch.as_object().unwrap()).unwrap()
}

// Holds invariant 4.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_clients_on_one_object() {
    const UPDATES: usize = 5;
    let mut rng = Rng::seeded("one object");
    let place = place(&mut rng).await;
    let object = place.mint(1).await[0];
    let clients = place.clients(&mut rng).await;
    let overlay = ["basis=\"overlay\"", "actor=\"object\""];
    let metrics_port = place.setup.metrics_port();
    let before = http::metric(metrics_port, "kedge_decisions_total", &overlay).await;

    let mut working = JoinSet::new();
    for (number, account) in clients.iter().cloned().enumerate() {
        let ledger = Arc::clone(&place.ledger);
        working.spawn(async move {
            let mut version = 0;
            for value in 0..UPDATES {
                let done = account
                    .act(&update(object, &format!("client{number}"), value))
                    .await;
                let done = done.unwrap();
                assert!(
                    done.object_version > version,
                    "a client's own updates keep their order"
                );
                version = done.object_version;
                ledger.action(&done);
            }
        });
    }
    working.join_all().await;

    let found = place.issuer.object(object).await.unwrap();
    assert_eq!(found.version, 1 + (CLIENTS * UPDATES) as u64);
    for number in 0..CLIENTS {
        let last = &found.properties[&format!("client{number}")];
        assert_eq!(last, UPDATES - 1, "the last update of client {number}");
    }
    let history = place.issuer.history(object, &ListQuery::default());
    let history = history.collect(2_000).await.unwrap();
    let versions = history.iter().map(|action| action.object_version);
    assert!(versions.eq((1..=found.version).rev()));
    let after = http::metric(metrics_port, "kedge_decisions_total", &overlay).await;
    assert!(
        after > before,
        "no decision rested on an uncommitted one: {before} to {after}"
    );

    let mut accounts = clients;
    accounts.push(place.issuer.clone());
    place.ledger.check_log(&accounts).await;
    place.finish();
}

/// Clients of one signer that share no nonces.
async fn logged_in(place: &Place, key: &SigningKey, email: &str) -> Vec<Account> {
    let mut joining = JoinSet::new();
    for _ in 0..CLIENTS {
        let (url, key, email) = (place.setup.url(), key.clone(), email.to_owned());
        joining.spawn(async move {
            let account = connect(&url).await.account(key);
            let _turn = password_turn().await;
            account.login(&email, PASSWORD).await.unwrap();
            account
        });
    }
    joining.join_all().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_clients_on_one_signer() {
    const ROUNDS: usize = 4;
    let mut rng = Rng::seeded("one signer");
    let place = place(&mut rng).await;
    let objects = place.mint(CLIENTS).await;
    // One shared account: each nonce is handed out once.
    let mut working = JoinSet::new();
    for object in objects.iter().copied() {
        let (account, ledger) = (place.issuer.clone(), Arc::clone(&place.ledger));
        working.spawn(async move {
            for value in 0..ROUNDS {
                ledger.action(&account.act(&update(object, "shared", value)).await.unwrap());
            }
        });
    }
    working.join_all().await;

    // These clients share no nonces, so they begin with the same one: a client that loses takes the next one, and gives
    // up after some losses. No request counts twice.
    let key = rng.key();
    let signer = register(place.issuer.client(), key.clone()).await;
    let email = signer.me().await.unwrap().email;
    let accounts = logged_in(&place, &key, &email).await;
    let mut working = JoinSet::new();
    for (account, object) in accounts.into_iter().zip(objects.clone()) {
        let ledger = Arc::clone(&place.ledger);
        working.spawn(async move {
            match account.act(&update(object, "own", 1)).await {
                Ok(done) => {
                    ledger.action(&done);
                    1
                }
                Err(error) => {
                    assert_eq!(error.code(), Some("NONCE_REUSED"), "{error}");
                    0
                }
            }
        });
    }
    let done: usize = working.join_all().await.into_iter().sum();
    assert!(done > 0, "not one of {CLIENTS} got through");

    let log = place
        .ledger
        .check_log(&[place.issuer.clone(), signer.clone()])
        .await;
    // Everything in the log was acknowledged, except the creation of the wallets and the template.
    assert_eq!(log.len(), place.ledger.len() + 3);
    let nonces = log
        .iter()
        .filter(|action| action.signer == signer.address());
    let mut nonces: Vec<u64> = nonces.map(|action| action.nonce).collect();
    nonces.sort_unstable();
    let count = nonces.len();
    nonces.dedup();
    assert_eq!(
        (nonces.len(), count),
        (count, done + 1),
        "each nonce is spent once"
    );
    place.finish();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_clients_with_batches_of_the_same_objects() {
    const OBJECTS: usize = 20;
    const BATCHES: usize = 2;
    let mut rng = Rng::seeded("one batch of objects");
    let place = place(&mut rng).await;
    let objects = place.mint(OBJECTS).await;
    let clients = place.clients(&mut rng).await;
    let mut working = JoinSet::new();
    for (number, account) in clients.iter().cloned().enumerate() {
        let ledger = Arc::clone(&place.ledger);
        let mut order = objects.clone();
        order.rotate_left(number % OBJECTS);
        if number % 3 == 0 {
            order.reverse();
        }
        working.spawn(async move {
            let mode = [BatchMode::Independent, BatchMode::Atomic][number % 2];
            for value in 0..BATCHES {
                let actions: Vec<NewAction> = order
                    .iter()
                    .map(|object| update(*object, &format!("client{number}"), value))
                    .collect();
                let outcome = account.batch(&actions, mode).await.unwrap();
                assert_eq!(
                    outcome.done().count(),
                    OBJECTS,
                    "{:?}",
                    outcome.first_refusal()
                );
                ledger.batch(&outcome);
            }
        });
    }
    let limit = Duration::from_mins(1);
    tokio::time::timeout(limit, working.join_all())
        .await
        .expect("no batch waits for ever");

    for object in objects {
        let found = place.issuer.object(object).await.unwrap();
        assert_eq!(found.version, 1 + (CLIENTS * BATCHES) as u64);
        for number in 0..CLIENTS {
            assert_eq!(found.properties[&format!("client{number}")], BATCHES - 1);
        }
    }
    let mut accounts = clients;
    accounts.push(place.issuer.clone());
    place.ledger.check_log(&accounts).await;
    place.finish();
}

// Holds invariant 6.
/// One body and one signature, sent a hundred times in parallel: it is done once, and the repetitions are refused as
/// such.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_request_sent_a_hundred_times_is_done_once() {
    let mut rng = Rng::seeded("one request");
    let place = place(&mut rng).await;
    let object = place.mint(1).await[0];
    let key = rng.key();
    let account = register(place.issuer.client(), key.clone()).await;
    let email = account.me().await.unwrap().email;
    let login = json!({ "email": email, "password": PASSWORD }).to_string();
    let port = place.setup.port();
    let login = http::post(port, "/wallets/login", &[], &login).await.json();
    let bearer = format!("Bearer {}", login["access_token"].as_str().unwrap());

    let payload = r#"{"properties":{"replayed":true}}"#;
    let body = format!(r#"{{"action_type":"update","object_id":"{object}","payload":{payload}}}"#);
    let terms = RequestTerms {
        key: &key,
        domain_separator: account.client().domain_separator(),
        nonce: 7,
        deadline_s: deadline_in(Duration::from_mins(1)),
        atomic: false,
        seed: kedge_client::random::seed().unwrap(),
    };
    let action = SignableAction {
        kind: &Kind::Update,
        target: &object.to_string(),
        payload: payload.as_bytes(),
    };
    let signed = sign(&terms, std::slice::from_ref(&action)).unwrap();
    let mut headers = signed.headers().to_vec();
    headers.push(("authorization", bearer));

    let mut working = JoinSet::new();
    for _ in 0..CLIENTS {
        let (headers, body) = (headers.clone(), body.clone());
        working.spawn(async move { http::post(port, "/ebus/actions", &headers, &body).await });
    }
    let mut done = Vec::new();
    for answer in working.join_all().await {
        match answer.status {
            201 => done.push(answer.json()),
            409 => assert_eq!(answer.json()["code"], "NONCE_REUSED"),
            other => panic!("status {other}: {}", answer.body),
        }
    }
    assert_eq!(done.len(), 1, "{done:?}");
    assert_eq!(done[0]["content"], signed.contents[0].to_string());
    let found = place.issuer.object(object).await.unwrap();
    assert_eq!(found.version, 2);
    place.finish();
}

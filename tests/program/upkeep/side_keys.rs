//! The keys that seal the log's side entries: rotation while the server runs, and reports of a missing key.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kedge_client::sign::{RequestTerms, SignableAction, deadline_in, sign};
use kedge_client::{Account, NewWebhook};
use kedge_log::LogReader;
use kedge_log::env::RealEnv;
use kedge_protocol::Id;
use kedge_protocol::action::Kind;
use kedge_protocol::signature::SigningKey;
use kedge_storage::Table;
use serde_json::{Value, json};

use super::drill::{back_up, json_of};
use super::made::{Made, done, kedge, refused};
use super::rebuild::tables;
use crate::support::server::Setup;
use crate::support::{PASSWORD, Rng, http, register, template};

/// A signed request with an idempotency key, to be sent any number of times.
struct Repeated {
    headers: Vec<(&'static str, String)>,
    body: String,
    answer: Value,
}

impl Repeated {
    /// Mints for the first time.
    async fn first(made: &Made, account: &Account, key: &SigningKey, template: Id) -> Self {
        let target = template.to_string();
        let body = json!({ "template_id": target }).to_string();
        let wallet = account.me().await.unwrap();
        let nonce = wallet.nonces.iter().map(|nonce| nonce.highest).max();
        let terms = RequestTerms {
            key,
            domain_separator: &made.client.domain().separator(),
            nonce: nonce.unwrap() + 1,
            deadline_s: deadline_in(Duration::from_mins(5)),
            atomic: false,
            seed: kedge_client::random::seed().unwrap(),
        };
        let mint = SignableAction {
            kind: &Kind::Mint,
            target: &target,
            payload: body.as_bytes(),
        };
        let signed = sign(&terms, std::slice::from_ref(&mint)).unwrap();
        let mut headers: Vec<(&'static str, String)> = signed.headers().into_iter().collect();
        headers.push(("Idempotency-Key", format!("key-{}", terms.nonce)));
        let mut repeated = Self {
            headers,
            body,
            answer: Value::Null,
        };
        repeated.answer = repeated.send(made, account, 201).await;
        // The account did not sign this request, so it has to learn the nonce.
        account.me().await.unwrap();
        repeated
    }

    async fn send(&self, made: &Made, account: &Account, status: u16) -> Value {
        let bearer = format!("Bearer {}", account.access_token().unwrap());
        let mut headers = self.headers.clone();
        headers.push(("Authorization", bearer));
        let port = made.setup.port();
        let answer = http::post(port, "/objects", &headers, &self.body).await;
        assert_eq!(answer.status, status, "{}", answer.body);
        let is_replayed = answer.head.contains("idempotent-replayed: true");
        assert_eq!(is_replayed, self.answer != Value::Null, "{}", answer.head);
        answer.json()
    }
}

/// A running server with an account whose requests can be repeated.
struct Sealed {
    made: Made,
    rng: Rng,
    key: SigningKey,
    account: Account,
    template: Id,
    repeated: Vec<Repeated>,
    registered: Vec<Account>,
}

impl Sealed {
    async fn new(setup: Setup, mut rng: Rng) -> Self {
        let made = Made::running(setup, &mut rng).await;
        let key = rng.key();
        let account = register(&made.client, key.clone()).await;
        let template = template(&account, "again").await;
        Self {
            made,
            rng,
            key,
            account,
            template,
            repeated: Vec::new(),
            registered: Vec::new(),
        }
    }

    /// Writes data that becomes side entries: a password, sessions, a webhook's secret, an idempotency key.
    async fn write(&mut self) {
        let registered = register(&self.made.client, self.rng.key()).await;
        self.registered.push(registered);
        self.account.refresh().await.unwrap();
        let webhook = NewWebhook {
            url: "https://hooks.example.com/".to_owned(),
            events: vec!["*".to_owned()],
            active: false,
            description: String::new(),
        };
        self.account.create_webhook(&webhook).await.unwrap();
        let repeated = Repeated::first(&self.made, &self.account, &self.key, self.template);
        self.repeated.push(repeated.await);
        self.made.mint(1).await;
    }

    /// Checks that the contents of the side entries still work.
    async fn counts(&self) {
        for repeated in &self.repeated {
            let again = repeated.send(&self.made, &self.account, 201).await;
            assert_eq!(again["id"], repeated.answer["id"]);
        }
        for account in &self.registered {
            let email = format!("{}@example.com", account.address()).to_lowercase();
            account.login(&email, PASSWORD).await.unwrap();
        }
        self.account.refresh().await.unwrap();
    }
}

fn rotate(setup: &Setup) -> std::process::Output {
    let socket = setup.data().join("admin.sock");
    kedge(
        &["admin", "rotate-side-key", "--json", "--socket"],
        &[&socket],
    )
}

fn key_file(setup: &Setup, number: u64) -> PathBuf {
    let name = kedge_upkeep::side_keys::name(number);
    setup.data().join("keys").join(name)
}

fn key_files(setup: &Setup) -> BTreeSet<String> {
    let entries = std::fs::read_dir(setup.data().join("keys")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("side-")).collect()
}

/// The keys that the log of a stopped server names, in order.
fn named(setup: &Setup) -> Vec<u64> {
    let log = setup.data().join("log");
    let (reader, _) = LogReader::open(Arc::new(RealEnv), &log, None, 1 << 20).unwrap();
    let frames = reader.frames(1);
    let mut named: Vec<u64> = frames
        .flat_map(|frame| frame.unwrap().side_keys().unwrap())
        .collect();
    named.dedup();
    named
}

// Holds invariant 159.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_rotate_while_the_server_runs_and_the_log_still_makes_every_row() {
    let rng = Rng::seeded("side keys");
    let directory = tempfile::tempdir().unwrap();
    let setup = Setup::development(&directory.path().join("data"));
    let mut server = setup.start();
    let mut sealed = Sealed::new(setup.clone(), rng).await;
    sealed.write().await;
    for number in 2..=4 {
        let before = std::fs::read(key_file(&setup, number - 1)).unwrap();
        let rotated = json_of(&rotate(&setup));
        let file = key_file(&setup, number);
        assert_eq!(rotated["number"], json!(number));
        assert_eq!(rotated["file"], json!(file));
        for (member, part) in [
            ("takes_effect", "now"),
            ("back_up", "the new file"),
            ("keep", "side-entries-1.key"),
        ] {
            assert!(
                rotated[member].as_str().unwrap().contains(part),
                "{rotated}"
            );
        }
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(std::fs::read(key_file(&setup, number - 1)).unwrap(), before);
        assert_ne!(std::fs::read(&file).unwrap(), before);
        sealed.write().await;
        if number == 3 {
            server.kill();
            server = setup.start();
            sealed.write().await;
        }
    }
    sealed.counts().await;
    server.stop();
    assert_eq!(named(&setup), [1, 2, 3, 4]);
    let printed = done(&kedge(&["verify", "log"], &[&setup.data().join("log")]));
    assert!(printed.contains("keys 1, 2, 3, 4"), "{printed}");

    // The log and the keys alone yield every row.
    let tables = tables();
    let before = sealed.made.rows(&tables);
    for table in [Table::Credentials, Table::Secrets, Table::Idempotency] {
        assert!(before[table.name()].len() >= 4, "{}", table.name());
    }
    std::fs::remove_dir_all(setup.store()).unwrap();
    setup.start().stop();
    assert!(sealed.made.rows(&tables) == before, "other rows");
    server = setup.start();
    sealed.counts().await;
    server.stop();
}

/// Checks that a server without write access makes no key, because it cannot know the next number.
async fn makes_no_key_read_only(setup: &Setup) {
    std::fs::remove_file(setup.high_water()).unwrap();
    let server = setup.start();
    server.read_only().await;
    let files = key_files(setup);
    let error = refused(&rotate(setup));
    assert!(error.contains("no key was made"), "{error}");
    assert_eq!(key_files(setup), files);
    server.stop();
}

// Holds invariant 159.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_missing_key_is_named_and_its_number_is_not_given_again() {
    let rng = Rng::seeded("missing side keys");
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let setup = Setup::development(&at("data"));
    let mut server = setup.start();
    let mut sealed = Sealed::new(setup.clone(), rng).await;
    for _ in 2..=3 {
        sealed.write().await;
        json_of(&rotate(&setup));
    }
    sealed.write().await;
    server.stop();
    let take = |number| std::fs::rename(key_file(&setup, number), at("taken")).unwrap();
    let put_back = |number| std::fs::rename(at("taken"), key_file(&setup, number)).unwrap();

    // Without the store every key is needed.
    take(2);
    std::fs::rename(setup.store(), at("store")).unwrap();
    let (status, error) = setup.start_refused();
    assert!(!status.success());
    assert!(
        error.contains("sealed under key 2, which is missing"),
        "{error}"
    );
    let _made_meanwhile = std::fs::remove_dir_all(setup.store());
    std::fs::rename(at("store"), setup.store()).unwrap();

    // With it the server serves, and refuses to make a backup without the key.
    server = setup.start();
    sealed.counts().await;
    let error = refused(&back_up(&setup, &at("backup"), None));
    assert!(
        error.contains("sealed under key 2") && error.contains("is not valid"),
        "{error}"
    );
    put_back(2);
    json_of(&back_up(&setup, &at("second"), None));

    // A key removed from a running server keeps its number.
    take(3);
    let rotated = json_of(&rotate(&setup));
    assert_eq!(rotated["number"], json!(4));
    let lost = rotated["lost"].as_str().unwrap();
    assert!(lost.contains("side-entries-3.key"), "{lost}");
    sealed.write().await;
    put_back(3);
    server.stop();

    // The newest one is always needed, because the next rotation must not reuse its number.
    take(4);
    let (status, error) = setup.start_refused();
    assert!(!status.success());
    for part in ["side-entries-4.key is lost", "--replace-lost-keys"] {
        assert!(error.contains(part), "{error}");
    }
    server = setup.clone().flag("--replace-lost-keys").start();
    sealed.write().await;
    server.kill();
    setup.start().kill();
    put_back(4);
    setup.start().stop();
    assert_eq!(named(&setup)[..4], [1, 2, 3, 4]);
    assert!(named(&setup)[4] > 1_700_000_000);

    makes_no_key_read_only(&setup).await;
}

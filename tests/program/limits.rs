//! Options that set a bound: past the bound a request is refused or waits, and the rest works.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kedge_client::{
    Account, BatchMode, ListQuery, NewAction, NewObject, NewWebhook, WebhookChange,
};
use kedge_protocol::hash::sha256;
use kedge_storage::{Store, StoreOptions};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::support::server::{Server, Setup};
use crate::support::{
    PASSWORD, Rng, checkpoint_over, connect, eventually, http, register, template,
};

const PATIENCE: Duration = Duration::from_secs(30);

async fn account(setup: &Setup, name: &str) -> Account {
    let mut rng = Rng::seeded(name);
    register(&connect(&setup.url()).await, rng.key()).await
}

fn email(account: &Account) -> String {
    format!("{}@example.com", account.address()).to_lowercase()
}

async fn log_in(setup: &Setup, email: &str, password: &str) -> http::Answer {
    let body = json!({ "email": email, "password": password }).to_string();
    http::post(setup.port(), "/wallets/login", &[], &body).await
}

/// A request with headers of about `bytes` bytes.
async fn with_headers(setup: &Setup, bytes: usize) -> Option<u16> {
    let mut stream = TcpStream::connect(("127.0.0.1", setup.port()))
        .await
        .unwrap();
    let filler = format!("X-Filler: {}\r\n", "x".repeat(1_000)).repeat(bytes / 1_012);
    let request = format!("GET /version HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{filler}\r\n");
    // The server may answer before it has read everything.
    let _ = stream.write_all(request.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8(answer).unwrap();
    answer.split(' ').nth(1)?.parse().ok()
}

/// The number of the process's threads with this name.
fn threads(server: u32, name: &str) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{server}/task")).unwrap();
    tasks
        .filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).ok())
        .filter(|found| found.trim() == name)
        .count()
}

/// A caller that requests a file and reads only its first bytes.
async fn slow_download(setup: &Setup, account: &Account, path: &str) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", setup.port()));
    asked(stream.await.unwrap(), account, path).await
}

/// The same with hardly any buffer for unread bytes.
async fn unread(setup: &Setup, account: &Account, path: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let stream = socket.connect(([127, 0, 0, 1], setup.port()).into());
    asked(stream.await.unwrap(), account, path).await
}

async fn asked(mut stream: TcpStream, account: &Account, path: &str) -> TcpStream {
    let token = account.access_token().unwrap();
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut first = [0; 12];
    stream.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    stream
}

/// Checks that all objects can be changed when there are more than can stay in memory.
async fn more_objects_than_live(setup: &Setup, ann: &Account) {
    const OBJECTS: usize = 1_500;
    let template = template(ann, "many").await;
    let mint = NewAction::mint(template, &NewObject::default()).unwrap();
    let mut objects = Vec::new();
    for _ in 0..OBJECTS / 500 {
        let outcome = ann.batch(&vec![mint.clone(); 500], BatchMode::Atomic).await;
        objects.extend(outcome.unwrap().done().map(|done| done.object_id));
    }
    for chunk in objects.chunks(500) {
        let patch = json!({ "seen": true }).as_object().unwrap().clone();
        let updates: Vec<_> = chunk
            .iter()
            .map(|object| NewAction::update(*object, &patch).unwrap())
            .collect();
        ann.batch(&updates, BatchMode::Atomic).await.unwrap();
    }
    // A recently used object stays until the next check, which happens with the next work.
    let work = vec![mint; 60];
    let few = || async {
        ann.batch(&work, BatchMode::Atomic).await.unwrap();
        let live = http::metric(setup.metrics_port(), "kedge_object_actors_live", &[]).await;
        (live > 500.0 && live <= f64::from(1_024 + 1_024 / 8)).then_some(())
    };
    eventually(
        "no more objects stay alive than may, and an eighth",
        PATIENCE,
        few,
    )
    .await;
}

/// Checks that a refresh token expires as the option states.
async fn a_session_ends_in_time(setup: &Setup, ann: &Account, server: Server) {
    let login = log_in(setup, &email(ann), PASSWORD).await.json();
    let now_s = kedge_client::sign::unix_now_s();
    let (domain, sequencer) = (ann.client().domain(), ann.client().sequencer());
    server.stop();
    let store = Store::open(StoreOptions {
        high_water_path: Some(setup.high_water()),
        access: kedge_storage::StoreAccess::Read,
        ..StoreOptions::of_store(&setup.store(), domain, sequencer)
    });
    let token = login["refresh_token"].as_str().unwrap();
    let session = store
        .unwrap()
        .snapshot()
        .session(sha256(token.as_bytes()).0);
    let lifetime_s = session.unwrap().unwrap().expires_at_s - now_s;
    assert!((3_990..=4_000).contains(&lifetime_s), "{lifetime_s}");
}

/// One server with several narrow limits: each is reached and none interferes with another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn narrow_bounds_hold() {
    let directory = tempfile::tempdir().unwrap();
    let setup = Setup::development(&directory.path().join("data"))
        .set("header_bytes_max", 8_192)
        .set("downloads_max", 1)
        .set("objects_live_max", 1_024)
        .set("shards", 3)
        .set("actor_threads", 5)
        .set("token_cache_entries", 1)
        .set("refresh_token_s", 4_000);
    let server = setup.start();
    let (ann, bob) = (account(&setup, "ann").await, account(&setup, "bob").await);

    assert_eq!(with_headers(&setup, 5_000).await, Some(200));
    let refused = with_headers(&setup, 20_000).await;
    assert!(refused.is_none_or(|status| status == 431), "{refused:?}");

    assert_eq!(threads(server.id(), "actors"), 5);
    let shards = http::get(setup.metrics_port(), "/metrics").await.body;
    let live = |line: &&str| line.starts_with("kedge_object_actors_live{");
    assert_eq!(shards.lines().filter(live).count(), 3, "{shards}");

    // A cache for one token serves each caller in turn.
    for _ in 0..3 {
        ann.me().await.unwrap();
        bob.me().await.unwrap();
    }

    more_objects_than_live(&setup, &ann).await;

    // While one file is being sent, another download has to wait.
    let file = ann
        .upload("large", &vec![7; 16 << 20])
        .await
        .unwrap()
        .resource;
    let path = format!("/files/{}/content", file.id);
    let slow = slow_download(&setup, &ann, &path).await;
    let busy = ann.download(&file).await.unwrap_err();
    assert_eq!(busy.code(), Some("UNAVAILABLE"), "{busy}");
    assert_eq!(
        ann.file(file.id).await.unwrap(),
        file,
        "its description is no download"
    );
    drop(slow);
    let free = || async { ann.download(&file).await.ok() };
    let bytes = eventually("the place is free again", PATIENCE, free).await;
    assert_eq!(bytes.len(), 16 << 20);

    a_session_ends_in_time(&setup, &ann, server).await;
}

/// Waits until the store holds no snapshot but the published one.
async fn only_the_newest_snapshot(setup: &Setup) {
    let one = || async {
        let held = http::metric(setup.metrics_port(), "kedge_storage_snapshots", &[]).await;
        ((held - 1.0).abs() < 0.1).then_some(())
    };
    eventually("no snapshot but the newest", PATIENCE, one).await;
}

// Holds invariant 129.
/// An unread export keeps no old state of the store, however much is written meanwhile. The store holds as many
/// snapshots as without it, each no older than the newest commits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_keeps_no_snapshot() {
    let directory = tempfile::tempdir().unwrap();
    let setup = Setup::development(&directory.path().join("data"));
    let server = setup.start();
    let ann = account(&setup, "export").await;
    let of = template(&ann, "large").await;
    // More than a connection's buffers hold.
    for _ in 0..20 {
        let large = json!({ "filler": "x".repeat(900_000) });
        let object = NewObject {
            properties: large.as_object().unwrap().clone(),
            ..NewObject::default()
        };
        ann.mint(of, &object).await.unwrap();
    }
    only_the_newest_snapshot(&setup).await;
    let newest = ListQuery {
        descending: true,
        ..ListQuery::default()
    };
    let newest = ann.actions(&newest).next().await.unwrap();
    checkpoint_over(ann.client(), newest.unwrap().sequence).await;
    let exports = [
        unread(&setup, &ann, "/export").await,
        unread(&setup, &ann, "/export?from=2").await,
    ];
    for _ in 0..20 {
        ann.mint(of, &NewObject::default()).await.unwrap();
    }
    only_the_newest_snapshot(&setup).await;
    // They are still in flight: the rest is far more than the buffers hold.
    for mut export in exports {
        let mut piece = vec![0; 1 << 20];
        let mut bytes = 0;
        while bytes < 10 << 20 {
            let read = export.read(&mut piece).await.unwrap();
            assert_ne!(read, 0, "the export ended after {bytes} bytes");
            bytes += read;
        }
    }
    server.stop();
}

/// A webhook's delivery pins no state of the store for as long as the webhook exists: not while it waits for events,
/// not while its receiver fails, and not while it is switched off.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_keeps_no_snapshot() {
    let directory = tempfile::tempdir().unwrap();
    let setup = Setup::development(&directory.path().join("data"))
        .set("webhook_allowed_networks", "[\"127.0.0.0/8\"]");
    let server = setup.start();
    let ann = account(&setup, "hooks").await;
    let of = template(&ann, "events").await;
    let mut made = Vec::new();
    for events in ["object.created", "object.burned", "template.created"] {
        let hook = NewWebhook {
            // Nothing listens there.
            url: "http://127.0.0.1:9/hook".to_owned(),
            events: vec![events.to_owned()],
            active: true,
            description: String::new(),
        };
        made.push(ann.create_webhook(&hook).await.unwrap().resource.id);
    }
    let off = WebhookChange {
        active: Some(false),
        ..WebhookChange::default()
    };
    ann.update_webhook(made[2], &off).await.unwrap();
    for _ in 0..20 {
        ann.mint(of, &NewObject::default()).await.unwrap();
    }
    only_the_newest_snapshot(&setup).await;
    server.stop();
}

/// After this many wrong passwords for one account, the right one is no longer tried. The window may end meanwhile; it
/// is long, so the second attempt cannot meet another end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_shuts_after_as_many_failures_as_the_option_says() {
    let directory = tempfile::tempdir().unwrap();
    let setup = Setup::development(&directory.path().join("data"))
        .set("rate_limits", "on")
        .set("login_failures_per_address", 1_000)
        .set("login_failures_per_account", 2);
    let server = setup.start();
    let mut shut = false;
    for name in ["shut", "shut again"] {
        let email = email(&account(&setup, name).await);
        for _ in 0..2 {
            let wrong = log_in(&setup, &email, "wrong horse battery staple").await;
            assert_eq!(wrong.status, 401, "{}", wrong.body);
        }
        let right = log_in(&setup, &email, PASSWORD).await;
        shut |= right.status == 429;
        if shut {
            break;
        }
    }
    assert!(shut, "more guesses were let in than there may be");
    server.stop();
}

/// A receiver that accepts every message without answering, and records each arrival.
struct Silent {
    url: String,
    came: Arc<Mutex<Vec<Instant>>>,
}

impl Silent {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let came = Arc::<Mutex<Vec<Instant>>>::default();
        let coming = Arc::clone(&came);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                coming.lock().unwrap().push(Instant::now());
                // Until the server gives up.
                tokio::spawn(async move { stream.read_to_end(&mut Vec::new()).await });
            }
        });
        Self { url, came }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attempts_end_in_time_and_are_as_many_as_may_be() {
    const HOOKS: usize = 4;
    let directory = tempfile::tempdir().unwrap();
    let setup = Setup::development(&directory.path().join("data"))
        .set("webhook_allowed_networks", "[\"127.0.0.0/8\"]")
        .set("webhook_retry_schedule_s", "[0]")
        .set("webhook_timeout_s", 2)
        .set("webhook_attempts_max", 2);
    let server = setup.start();
    let ann = account(&setup, "hooks").await;
    let receiver = Silent::start().await;
    let mut hooks = Vec::new();
    for _ in 0..HOOKS {
        let hook = NewWebhook {
            url: receiver.url.clone(),
            events: vec!["template.created".to_owned()],
            active: true,
            description: String::new(),
        };
        hooks.push(ann.create_webhook(&hook).await.unwrap().resource.id);
    }
    let begun = Instant::now();
    template(&ann, "reported").await;
    for hook in hooks {
        let given_up = || async {
            let query = ListQuery::default();
            let found = ann.deliveries(hook, &query).collect(10).await.unwrap();
            let failed = found.iter().any(|one| one.status == "failed");
            failed.then_some(())
        };
        eventually("the attempt is given up", PATIENCE, given_up).await;
    }
    // Four attempts of two seconds, two at a time: the third waits until one of the first ends.
    assert!(
        begun.elapsed() >= Duration::from_secs(4),
        "{:?}",
        begun.elapsed()
    );
    let came = receiver.came.lock().unwrap().clone();
    assert_eq!(came.len(), HOOKS);
    let between = came[2] - came[0];
    assert!(
        between >= Duration::from_secs(1),
        "the third came after {between:?}"
    );
    server.stop();
}

//! The field of an attack: the server's address, the attacker's resources, and the end time. Attackers use separate
//! addresses in 127.0.0.0/8, each of which is another caller for the server.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use kedge_client::{Account, BatchMode, NewAction, NewObject, NewTemplate};
use kedge_protocol::Id;
use parking_lot::Mutex;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use crate::support::{Rng, connect, register};

/// The first of the attackers' addresses; the well-behaved client has 127.0.0.1.
const FIRST: u8 = 2;
/// Most addresses of attackers.
const ADDRESSES: usize = 200;
/// The pause after a refused connection, so that attackers do not loop idly.
pub(crate) const PAUSE: Duration = Duration::from_millis(10);
/// Objects of the attacker's organization, minted by requests of this many.
const OBJECTS: usize = 3_000;
const OF_REQUEST: usize = 500;

/// The attackers' shared state.
pub(crate) struct Field {
    pub(crate) port: u16,
    pub(crate) until: Instant,
    /// A member of an organization, as any client can be.
    pub(crate) account: Account,
    pub(crate) template: Id,
    pub(crate) objects: Vec<Id>,
    /// The number of the attack's operations.
    done: AtomicU64,
    /// The received answers, by status.
    answers: Mutex<BTreeMap<u16, u64>>,
}

/// The attacker's resources on the server, prepared before the attack.
pub(crate) struct Stock {
    account: Account,
    template: Id,
    objects: Vec<Id>,
}

impl Stock {
    /// Creates an organization with many objects.
    pub(crate) async fn of(url: &str) -> Self {
        let client = connect(url).await;
        let account = register(&client, Rng::of(2).key()).await;
        let schema = json!({ "properties": { "seat": { "x-index": true } } });
        let new = NewTemplate {
            name: "attacker's".to_owned(),
            schema: schema.as_object().cloned(),
            ..NewTemplate::default()
        };
        let template = account.create_template(&new).await.unwrap().resource.id;
        let mut objects = Vec::new();
        while objects.len() < OBJECTS {
            let mint = |number| {
                let properties = json!({ "seat": format!("{number}"), "filler": "x".repeat(400) });
                let object = NewObject {
                    properties: properties.as_object().unwrap().clone(),
                    ..NewObject::default()
                };
                NewAction::mint(template, &object).unwrap()
            };
            let mints: Vec<_> = (0..OF_REQUEST).map(|n| mint(objects.len() + n)).collect();
            let outcome = account.batch(&mints, BatchMode::Atomic).await.unwrap();
            objects.extend(outcome.done().map(|done| done.object_id));
        }
        Self {
            account,
            template,
            objects,
        }
    }

    /// The field of an attack that ends at `until`.
    pub(crate) fn field(&self, port: u16, until: Instant) -> Arc<Field> {
        Arc::new(Field {
            port,
            until,
            account: self.account.clone(),
            template: self.template,
            objects: self.objects.clone(),
            done: AtomicU64::new(0),
            answers: Mutex::default(),
        })
    }
}

impl Field {
    /// Counts one operation of the attack.
    pub(crate) fn did(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// The number of operations.
    pub(crate) fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    pub(crate) fn answered(&self, status: u16) {
        self.did();
        *self.answers.lock().entry(status).or_default() += 1;
    }

    pub(crate) fn answers(&self) -> BTreeMap<u16, u64> {
        self.answers.lock().clone()
    }

    /// The header with the attacker's token.
    pub(crate) fn bearer(&self) -> String {
        format!("Bearer {}", self.account.access_token().unwrap())
    }

    /// Connects from one of the attackers' addresses.
    pub(crate) async fn connect(&self, from: usize) -> Option<TcpStream> {
        self.connect_with(from, None).await
    }

    /// Connects with a receive buffer of this size.
    pub(crate) async fn connect_with(&self, from: usize, buffer: Option<u32>) -> Option<TcpStream> {
        let socket = TcpSocket::new_v4().ok()?;
        if let Some(bytes) = buffer {
            socket.set_recv_buffer_size(bytes).ok()?;
        }
        let address = Ipv4Addr::new(127, 0, 0, FIRST + (from % ADDRESSES) as u8);
        socket.bind(SocketAddr::from((address, 0))).ok()?;
        let server = SocketAddr::from(([127, 0, 0, 1], self.port));
        let connected = socket.connect(server).await;
        if connected.is_err() {
            tokio::time::sleep(PAUSE).await;
        }
        connected.ok()
    }

    /// A request's head, with the attacker's token.
    pub(crate) fn head(&self, method: &str, path: &str, more: &str) -> String {
        let bearer = self.bearer();
        format!("{method} {path} HTTP/1.1\r\nhost: a\r\nauthorization: {bearer}\r\n{more}\r\n")
    }

    /// A request with a JSON body, with the attacker's token.
    pub(crate) fn post(&self, path: &str, body: &str) -> Vec<u8> {
        let more = format!(
            "content-type: application/json\r\ncontent-length: {}\r\n",
            body.len()
        );
        [self.head("POST", path, &more).as_bytes(), body.as_bytes()].concat()
    }
}

/// Sends a request over HTTP/1.1 and reads the answer, whose status it returns; `None` if the connection ends.
pub(crate) async fn exchange(stream: &mut TcpStream, request: &[u8]) -> Option<u16> {
    stream.write_all(request).await.ok()?;
    let mut bytes = Vec::new();
    let end = loop {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let mut left = length?
        .parse::<usize>()
        .ok()?
        .saturating_sub(bytes.len() - end);
    let mut piece = vec![0; 1 << 16];
    while left > 0 {
        let most = left.min(piece.len());
        let count = stream.read(&mut piece[..most]).await.ok()?;
        if count == 0 {
            return None;
        }
        left -= count;
    }
    head.split(' ').nth(1)?.parse().ok()
}

/// Repeats the same request until the connection ends.
pub(crate) async fn repeat(field: &Field, number: usize, request: &[u8]) {
    let Some(mut stream) = field.connect(number).await else {
        return;
    };
    while let Some(status) = exchange(&mut stream, request).await {
        field.answered(status);
    }
}

/// Reads until the server ends the connection.
pub(crate) async fn read_to_end(stream: &mut (impl tokio::io::AsyncRead + Unpin)) {
    let mut piece = vec![0; 1 << 16];
    while stream.read(&mut piece).await.is_ok_and(|count| count > 0) {}
}

/// Runs this many attackers until the field's end; each begins again whenever its connection ends. Then all go away
/// together, with their connections.
pub(crate) async fn swarm<F>(field: &Arc<Field>, count: usize, attacker: fn(Arc<Field>, usize) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut all = JoinSet::new();
    for number in 0..count {
        let field = Arc::clone(field);
        all.spawn(async move {
            loop {
                attacker(Arc::clone(&field), number).await;
                tokio::time::sleep(PAUSE).await;
            }
        });
    }
    tokio::time::sleep_until(field.until.into()).await;
    all.shutdown().await;
}

//! A TCP proxy in front of each NATS server as each node sees it, and between the servers. Each link and each direction
//! of it can be cut, slow or lossy by itself. A cut link holds everything back, and delivers it once it is healed, as a
//! network that loses packets does.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::support::Rng;

/// Servers announce each other's addresses to their clients, which would bypass the proxy. The replacement has the same
/// length, and no client reads it.
const NAMED: &[u8] = b"\"connect_urls\"";
const HIDDEN: &[u8] = b"\"connect_none\"";
/// Parts of a stream that may be in transit.
const PARTS_MAX: usize = 1_024;
/// TCP's stall until it has resent a lost packet.
const REPEATED_MS: u64 = 400;

/// The state of one direction.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Flow {
    pub(crate) is_cut: bool,
    /// The delay of every part.
    pub(crate) delay: Duration,
    /// Lost parts in a thousand: most stall the stream until they are resent, one in five resets it.
    pub(crate) lost_permille: u64,
}

impl Flow {
    pub(crate) const CUT: Self = Self {
        is_cut: true,
        delay: Duration::ZERO,
        lost_permille: 0,
    };

    pub(crate) fn slow(delay: Duration) -> Self {
        Self {
            delay,
            ..Self::default()
        }
    }

    pub(crate) fn lossy(lost_permille: u64) -> Self {
        Self {
            lost_permille,
            ..Self::default()
        }
    }
}

/// The link to one server.
pub(crate) struct Way {
    url: String,
    towards: watch::Sender<Flow>,
    back: watch::Sender<Flow>,
    serving: JoinHandle<()>,
}

impl Drop for Way {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Way {
    /// A link to the server with this URL.
    pub(crate) fn to(server: &str) -> Self {
        let server = server.strip_prefix("nats://").unwrap().to_owned();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("nats://{}", listener.local_addr().unwrap());
        let listener = TcpListener::from_std(listener).unwrap();
        let (towards, back) = (watch::Sender::default(), watch::Sender::default());
        let serving = serve(listener, server, towards.subscribe(), back.subscribe());
        Self {
            url,
            towards,
            back,
            serving: tokio::spawn(serving),
        }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Sets both directions.
    pub(crate) fn set(&self, flow: Flow) {
        self.set_towards(flow);
        self.set_back(flow);
    }

    /// Sets the direction to the server.
    pub(crate) fn set_towards(&self, flow: Flow) {
        self.towards.send_replace(flow);
    }

    /// Sets the direction from the server.
    pub(crate) fn set_back(&self, flow: Flow) {
        self.back.send_replace(flow);
    }
}

/// The links of one node to the servers.
pub(crate) struct Link {
    pub(crate) ways: Vec<Way>,
}

impl Link {
    /// Links to the servers with these URLs.
    pub(crate) fn to(servers: &[String]) -> Self {
        Self {
            ways: servers.iter().map(|server| Way::to(server)).collect(),
        }
    }

    pub(crate) fn urls(&self) -> Vec<String> {
        self.ways.iter().map(|way| way.url.clone()).collect()
    }

    /// Sets all links, in both directions.
    pub(crate) fn set(&self, flow: Flow) {
        for way in &self.ways {
            way.set(flow);
        }
    }

    /// Cuts all links, in both directions.
    pub(crate) fn cut(&self) {
        self.set(Flow::CUT);
    }

    pub(crate) fn heal(&self) {
        self.set(Flow::default());
    }
}

async fn serve(
    listener: TcpListener,
    server: String,
    towards: watch::Receiver<Flow>,
    back: watch::Receiver<Flow>,
) {
    loop {
        let (client, _) = listener.accept().await.unwrap();
        tokio::spawn(carry(client, server.clone(), towards.clone(), back.clone()));
    }
}

/// Waits until the direction is open.
async fn open(flow: &mut watch::Receiver<Flow>) -> Option<Flow> {
    let opened = flow.wait_for(|flow| !flow.is_cut).await;
    opened.ok().map(|flow| *flow)
}

async fn carry(
    client: TcpStream,
    server: String,
    mut towards: watch::Receiver<Flow>,
    mut back: watch::Receiver<Flow>,
) {
    // A connection needs both directions.
    if open(&mut towards).await.is_none() || open(&mut back).await.is_none() {
        return;
    }
    // The server may be down.
    let Ok(server) = TcpStream::connect(server).await else {
        return;
    };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    tokio::select! {
        () = pump(from_client, to_server, towards) => {}
        () = pump(from_server, to_client, back) => {}
    }
}

/// Carries bytes in one direction until an end closes, or a reset.
async fn pump(from: OwnedReadHalf, to: OwnedWriteHalf, flow: watch::Receiver<Flow>) {
    let (parts, arriving) = mpsc::channel(PARTS_MAX);
    tokio::select! {
        () = take(from, parts, flow.clone()) => {}
        () = deliver(to, arriving, flow) => {}
    }
}

/// Reads, and records the arrival of each part.
async fn take(
    mut from: OwnedReadHalf,
    parts: mpsc::Sender<(Instant, Vec<u8>)>,
    flow: watch::Receiver<Flow>,
) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count) = from.read(&mut buffer).await {
        let bytes = &mut buffer[..count];
        let named = bytes.windows(NAMED.len()).position(|part| part == NAMED);
        if let Some(start) = named {
            bytes[start..start + NAMED.len()].copy_from_slice(HIDDEN);
        }
        let due = Instant::now() + flow.borrow().delay;
        // An end of stream is delivered too, after everything before it.
        let is_end = count == 0;
        if parts.send((due, bytes.to_vec())).await.is_err() {
            return;
        }
        if is_end {
            std::future::pending::<()>().await;
        }
    }
}

async fn deliver(
    mut to: OwnedWriteHalf,
    mut parts: mpsc::Receiver<(Instant, Vec<u8>)>,
    mut flow: watch::Receiver<Flow>,
) {
    let clock = std::time::UNIX_EPOCH.elapsed().unwrap();
    let mut rng = Rng::of(u64::from(clock.subsec_nanos()));
    while let Some((due, bytes)) = parts.recv().await {
        tokio::time::sleep_until(due).await;
        let Some(now) = open(&mut flow).await else {
            return;
        };
        if rng.below(1_000) < now.lost_permille {
            if rng.below(5) == 0 {
                return;
            }
            let stall = REPEATED_MS / 2 + rng.below(REPEATED_MS);
            tokio::time::sleep(Duration::from_millis(stall)).await;
        }
        if bytes.is_empty() || to.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

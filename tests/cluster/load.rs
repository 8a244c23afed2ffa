//! Clients that write to all nodes, and the writes acknowledged to them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kedge_client::{Account, ClientError, NewObject};
use kedge_protocol::Id;
use kedge_protocol::signature::SigningKey;
use tokio::task::JoinSet;

use crate::nodes::Cluster;
use crate::support::ledger::Ledger;
use crate::support::{Rng, connect, eventually, register, template};

/// Longest time until writes continue after the fault is gone.
const PROGRESS_LIMIT: Duration = Duration::from_mins(1);

/// Clients that write to all nodes.
pub(crate) struct Load {
    shared: Arc<Shared>,
    workers: JoinSet<()>,
    /// Each client's wallet.
    pub(crate) keys: Vec<SigningKey>,
}

struct Shared {
    ledger: Ledger,
    acknowledged: AtomicUsize,
    is_over: AtomicBool,
    is_paused: AtomicBool,
    in_flight: AtomicUsize,
    /// When the last write was acknowledged, and the longest time without one.
    pauses: Mutex<(Instant, Duration)>,
    /// How often each kind of error was seen.
    errors: Mutex<BTreeMap<String, usize>>,
}

/// A client of one node, with its own wallet and template.
struct Writer {
    account: Account,
    template: Id,
}

impl Load {
    /// Starts this many clients of each node.
    pub(crate) async fn start(cluster: &Cluster, rng: &mut Rng, clients: usize) -> Self {
        let urls: Vec<String> = cluster.nodes.iter().map(crate::nodes::Node::url).collect();
        Self::start_at(cluster, rng, clients, &urls).await
    }

    /// Starts this many clients of each of these URLs.
    pub(crate) async fn start_at(
        cluster: &Cluster,
        rng: &mut Rng,
        clients: usize,
        urls: &[String],
    ) -> Self {
        let leader = cluster.leader().await;
        let client = connect(&cluster.nodes[leader].url()).await;
        let mut load = Self {
            shared: Arc::new(Shared {
                ledger: Ledger::default(),
                acknowledged: AtomicUsize::default(),
                is_over: AtomicBool::default(),
                is_paused: AtomicBool::default(),
                in_flight: AtomicUsize::default(),
                pauses: Mutex::new((Instant::now(), Duration::ZERO)),
                errors: Mutex::default(),
            }),
            workers: JoinSet::new(),
            keys: Vec::new(),
        };
        for index in 0..clients * urls.len() {
            let key = rng.key();
            let registered = register(&client, key.clone()).await;
            let template = template(&registered, "shared").await;
            let account = Cluster::account_at(&urls[index % urls.len()], &key).await;
            load.keys.push(key);
            let shared = Arc::clone(&load.shared);
            load.workers
                .spawn(async move { shared.write(Writer { account, template }).await });
        }
        load
    }

    /// Waits for this many more acknowledged writes; returns the time that took.
    pub(crate) async fn progress(&self, count: usize) -> Duration {
        let begun = Instant::now();
        let acknowledged = || self.shared.acknowledged.load(Ordering::SeqCst);
        let target = acknowledged() + count;
        let done = || async { (acknowledged() >= target).then_some(()) };
        eventually("writes continue", PROGRESS_LIMIT, done).await;
        begun.elapsed()
    }

    /// The longest time without an acknowledged write since the last call.
    pub(crate) fn longest_pause(&self) -> Duration {
        let mut pauses = self.shared.pauses.lock().unwrap();
        let longest = pauses.1.max(pauses.0.elapsed());
        *pauses = (Instant::now(), Duration::ZERO);
        longest
    }

    /// The number of writes acknowledged so far.
    pub(crate) fn acknowledged(&self) -> usize {
        self.shared.acknowledged.load(Ordering::SeqCst)
    }

    /// The number of requests without an answer so far, because the connection broke.
    pub(crate) fn unanswered(&self) -> usize {
        let errors = self.shared.errors.lock().unwrap();
        errors.get("transport").copied().unwrap_or_default()
    }

    /// Stops writing; returns once nothing is in flight.
    pub(crate) async fn pause(&self) {
        self.shared.is_paused.store(true, Ordering::SeqCst);
        let idle = || async { (self.shared.in_flight.load(Ordering::SeqCst) == 0).then_some(()) };
        eventually("every request is answered", PROGRESS_LIMIT, idle).await;
    }

    pub(crate) fn resume(&self) {
        self.shared.is_paused.store(false, Ordering::SeqCst);
    }

    pub(crate) fn last_sequence(&self) -> u64 {
        self.shared.ledger.last_sequence()
    }

    /// All writers, logged in on each running node: they can read there when no node leads, which logins need.
    pub(crate) async fn readers(&self, cluster: &Cluster) -> Vec<Vec<Account>> {
        let mut readers = Vec::new();
        for (index, node) in cluster.nodes.iter().enumerate() {
            let mut accounts = Vec::new();
            for key in self.keys.iter().filter(|_| node.runs()) {
                accounts.push(cluster.account(index, key).await);
            }
            readers.push(accounts);
        }
        readers
    }

    /// Ends the load and checks every node against the acknowledged writes. Returns their number.
    pub(crate) async fn check(mut self, cluster: &Cluster) -> usize {
        self.end().await;
        let readers = self.readers(cluster).await;
        self.check_by(&readers, cluster).await
    }

    /// The same, read by accounts that have logged in before.
    pub(crate) async fn check_by(mut self, readers: &[Vec<Account>], cluster: &Cluster) -> usize {
        self.end().await;
        let ledger = &self.shared.ledger;
        cluster.wait_for(ledger.last_sequence()).await;
        cluster.wait_for_one_head().await;
        for (node, accounts) in cluster.nodes.iter().zip(readers) {
            if node.runs() {
                ledger.check_log(accounts).await;
            }
        }
        assert!(ledger.len() > 100, "{} acknowledged", ledger.len());
        let errors = self.shared.errors.lock().unwrap();
        eprintln!("{} acknowledged; errors: {errors:?}", ledger.len());
        let expected = |kind: &String| kind == "503" || kind == "transport";
        assert!(errors.keys().all(expected), "{errors:?}");
        ledger.len()
    }

    /// Ends, and checks that every node holds each acknowledged write at its place. Others may have acted meanwhile.
    pub(crate) async fn check_leaves(mut self, cluster: &Cluster) {
        self.end().await;
        let ledger = &self.shared.ledger;
        cluster.wait_for(ledger.last_sequence()).await;
        for node in &cluster.nodes {
            let client = connect(&node.setup.url()).await;
            ledger.check_leaves(&client, 0).await;
        }
    }

    async fn end(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        while let Some(ended) = self.workers.join_next().await {
            ended.unwrap();
        }
    }
}

impl Shared {
    async fn write(&self, writer: Writer) {
        let Writer { account, template } = writer;
        while !self.is_over.load(Ordering::SeqCst) {
            self.in_flight.fetch_add(1, Ordering::SeqCst);
            if self.is_paused.load(Ordering::SeqCst) {
                self.in_flight.fetch_sub(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            }
            let minted = account.mint(template, &NewObject::default()).await;
            self.in_flight.fetch_sub(1, Ordering::SeqCst);
            match minted {
                Ok(minted) => {
                    self.ledger.changed(&minted);
                    self.acknowledged.fetch_add(1, Ordering::SeqCst);
                    let mut pauses = self.pauses.lock().unwrap();
                    pauses.1 = pauses.1.max(pauses.0.elapsed());
                    pauses.0 = Instant::now();
                }
                // The node is gone, or no node leads at the moment.
                Err(error) => {
                    self.note(&error);
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        }
    }

    fn note(&self, error: &ClientError) {
        let kind = match error {
            ClientError::Refused(refused) if refused.status == 503 => "503".to_owned(),
            ClientError::Transport(_) => "transport".to_owned(),
            other => other.to_string(),
        };
        *self.errors.lock().unwrap().entry(kind).or_default() += 1;
    }
}

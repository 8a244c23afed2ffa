//! Nodes of a log, without the rest of a server.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use kedge_cluster::{
    Cluster, ClusterOptions, LeadSwitch, ReplicatedLog, StreamError, StreamFollower,
};
use kedge_log::env::RealEnv;
use kedge_log::{
    AppendError, Durability, FileLog, Frame, Log, LogOptions, LogPosition, LogReader, ReleaseMark,
    SideEntry, SideKeys, SyncError,
};
use kedge_protocol::Hash;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::nats::Servers;

/// Limit of a sync while servers elect leaders on a busy machine.
const SYNC_MAX: Duration = Duration::from_mins(3);

/// How long the stream may seem not to continue a follower's log: servers that lost the others can appear to lack
/// acknowledged frames until they catch up.
const JOINS_WITHIN: Duration = Duration::from_mins(1);

pub(crate) const IDENTITY: Hash = Hash([7; 32]);

pub(crate) fn runtime() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().unwrap()
}

pub(crate) fn options(servers: &Servers, node: &str) -> ClusterOptions {
    ClusterOptions {
        replicas: servers.len(),
        unsynced_allowed: true,
        publish_timeout: Duration::from_millis(700),
        ..ClusterOptions::new(servers.urls(), "test", node)
    }
}

/// A frame of side entries, distinct per number.
pub(crate) fn frame(number: usize) -> Frame {
    let mut frame = Frame::new();
    frame.push_side(SideEntry {
        table: 1,
        key: number.to_be_bytes().to_vec(),
        value: Some(vec![number as u8; 100 + number % 7 * 1000]),
    });
    frame
}

pub(crate) fn open_log(dir: &Path) -> FileLog {
    let keys = SideKeys::one(1, [9; 32]);
    let opened = FileLog::open(
        Arc::new(RealEnv),
        dir,
        IDENTITY,
        &keys,
        ReleaseMark::default(),
        LogOptions::default(),
    );
    opened.unwrap().0
}

pub(crate) fn frames_of(reader: &LogReader) -> Vec<Vec<u8>> {
    let frames = reader.frames(1);
    frames
        .map(|frame| frame.unwrap().bytes().to_vec())
        .collect()
}

pub(crate) struct Node {
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) cluster: Cluster,
    pub(crate) log: ReplicatedLog,
    pub(crate) leading: LeadSwitch,
    pub(crate) reader: LogReader,
    pub(crate) durability: Arc<dyn Durability>,
    pub(crate) dir: TempDir,
}

impl Node {
    pub(crate) fn open(runtime: &Arc<Runtime>, options: ClusterOptions) -> Self {
        Self::open_in(runtime, options, tempfile::tempdir().unwrap())
    }

    pub(crate) fn open_in(runtime: &Arc<Runtime>, options: ClusterOptions, dir: TempDir) -> Self {
        let cluster = runtime
            .block_on(Cluster::connect(options, IDENTITY))
            .unwrap();
        let file = open_log(dir.path());
        let reader = file.reader();
        let (log, leading) = ReplicatedLog::new(file, cluster.clone(), runtime.handle().clone());
        Self {
            runtime: Arc::clone(runtime),
            cluster,
            durability: log.durability(),
            log,
            leading,
            reader,
            dir,
        }
    }

    /// Closes the log; returns its directory.
    pub(crate) fn close(self) -> TempDir {
        self.dir
    }

    /// Begins a term where this node's log ends.
    pub(crate) fn lead(&mut self, term: u64) {
        let after = self.log.position();
        let began = self.runtime.block_on(self.cluster.begin_term(&after, term));
        let began = began.unwrap();
        self.log.append_stored(&began.bytes).unwrap();
        self.durability.sync().unwrap();
        self.leading.begin(term, began.place).unwrap();
    }

    pub(crate) fn append(&mut self, number: usize) -> Result<LogPosition, AppendError> {
        self.log.append(&frame(number))
    }

    /// Appends and syncs.
    pub(crate) fn write(&mut self, number: usize) -> Result<LogPosition, SyncError> {
        self.append(number).unwrap();
        let durability = Arc::clone(&self.durability);
        let (done, synced) = std::sync::mpsc::channel();
        std::thread::spawn(move || done.send(durability.sync()));
        // Without followers it would wait forever.
        synced
            .recv_timeout(SYNC_MAX)
            .expect("a sync while the servers have a quorum ends")
    }

    /// Reads the stream up to a frame.
    pub(crate) fn follow_to(&mut self, last: u64) -> Result<(), StreamError> {
        let mut following = self.cluster.follow(&self.log.position());
        while self.log.position().frame < last {
            let first = self.runtime.block_on(async {
                let next = tokio::time::timeout(Duration::from_mins(1), next_of(&mut following));
                next.await.expect("the next frame within a minute")
            })?;
            self.log.append_stored(&first).unwrap();
            for frame in following.ready(1 << 20) {
                self.log.append_stored(&frame).unwrap();
            }
            let synced = self.durability.sync().unwrap();
            self.cluster.report_synced(&synced);
        }
        Ok(())
    }

    /// Every message of the stream.
    pub(crate) fn stream(&self) -> Vec<Vec<u8>> {
        self.runtime.block_on(async {
            let tail = answered(|| self.cluster.tail()).await.unwrap();
            let mut all = Vec::new();
            for number in 1..=tail.map_or(0, |tail| tail.number) {
                let frame = answered(|| self.cluster.frame(number)).await.unwrap();
                all.push(frame.unwrap().to_vec());
            }
            all
        })
    }
}

/// Retries while servers elect a leader and refuse to answer, which may take a few seconds.
pub(crate) async fn answered<T, F>(mut ask: impl FnMut() -> F) -> Result<T, StreamError>
where
    F: Future<Output = Result<T, StreamError>>,
{
    let since = Instant::now();
    loop {
        match ask().await {
            Err(StreamError::Unreachable(_)) if since.elapsed() < Duration::from_mins(1) => {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            answer => return answer,
        }
    }
}

/// The stream's next frame, retried like in a server while it does not continue the log.
async fn next_at_last(following: &mut StreamFollower) -> Bytes {
    let mut failed = None;
    loop {
        match next_of(following).await {
            Ok(frame) => return frame,
            Err(error) => {
                let since = *failed.get_or_insert_with(Instant::now);
                assert!(since.elapsed() < JOINS_WITHIN, "{error}");
                eprintln!("the follower looks again: {error}");
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        }
    }
}

/// The stream's next frame, with reconnections.
pub(crate) async fn next_of(following: &mut StreamFollower) -> Result<Bytes, StreamError> {
    loop {
        following.connect().await?;
        if let Some(frame) = following.read().await? {
            return Ok(frame);
        }
    }
}

/// A node that follows on a separate thread until the guard is dropped.
pub(crate) struct Follower {
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<Node>>,
}

impl Follower {
    pub(crate) fn start(mut node: Node) -> Self {
        let (stop, mut stopped) = tokio::sync::oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = Arc::clone(&node.runtime);
            let mut following = node.cluster.follow(&node.log.position());
            loop {
                let next = runtime.block_on(async {
                    tokio::select! {
                        biased;
                        _ = &mut stopped => None,
                        next = next_at_last(&mut following) => Some(next),
                    }
                });
                let Some(first) = next else { return node };
                node.log.append_stored(&first).unwrap();
                for frame in following.ready(1 << 20) {
                    node.log.append_stored(&frame).unwrap();
                }
                let synced = node.durability.sync().unwrap();
                node.cluster.report_synced(&synced);
            }
        });
        Self {
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    pub(crate) fn stop(mut self) -> Node {
        drop(self.stop.take());
        self.thread.take().unwrap().join().unwrap()
    }
}

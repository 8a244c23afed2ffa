//! Log of the bare pipeline: one thread that chains and writes all requests that have arrived, with one write and one
//! sync.

use std::ops::Range;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use kedge_protocol::Hash;
use kedge_protocol::action::{Kind, RequestHead};
use kedge_protocol::chain::{LogLeaf, next_head};
use kedge_protocol::signature::Signature;
use tokio::sync::{mpsc, oneshot};

use super::frames::FrameStorage;
use super::rows::RowStorage;
use crate::error::BenchResult;

/// Limit on requests that wait for the thread.
const WAITING_MAX: usize = 4_096;

/// Where the bare pipeline keeps its actions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum BareFormat {
    /// A RocksDB row for each action.
    Rows,
    /// Frames in the server's own log files.
    Frames,
}

/// Ranges of an action's texts within the body.
pub(super) struct BareTextRanges {
    pub(super) kind: Kind,
    pub(super) target: Range<usize>,
    pub(super) payload: Range<usize>,
}

/// A request with a valid signature.
pub(super) struct BareRequest {
    pub(super) body: Bytes,
    pub(super) texts: Vec<BareTextRanges>,
    pub(super) action_hashes: Vec<Hash>,
    pub(super) head: RequestHead,
    pub(super) salt_seed: Hash,
    pub(super) signature: Signature,
}

/// Position of a request in the log.
pub(super) struct BarePosition {
    pub(super) first_sequence: u64,
    pub(super) head: Hash,
}

/// A request with its hash chain, ready to be written.
pub(super) struct ChainedRequest<'a> {
    pub(super) entry: &'a BareRequest,
    pub(super) first_sequence: u64,
    pub(super) timestamp_ms: u64,
    pub(super) leaves: &'a [Hash],
    /// Heads of the chain: before the first action, and after each one.
    pub(super) heads: &'a [Hash],
}

/// Storage of the pipeline's actions.
pub(super) trait BareStorage: Send {
    /// Adds a request to the group.
    fn add(&mut self, request: &ChainedRequest<'_>) -> BenchResult<()>;
    /// Writes the group durably. The next group is empty.
    fn sync(&mut self) -> BenchResult<()>;
}

type BareSubmission = (BareRequest, oneshot::Sender<BarePosition>);

/// Channel to the writing thread.
pub(super) struct BareLog {
    /// `None` makes the thread close the files and end; the process must not end before.
    messages: mpsc::Sender<Option<BareSubmission>>,
}

impl BareLog {
    /// Opens an empty log and starts its thread, which ends after [`Self::end`].
    pub(super) fn open(
        files: BareFormat,
        path: &Path,
        head: Hash,
    ) -> BenchResult<(Self, JoinHandle<()>)> {
        let disk: Box<dyn BareStorage> = match files {
            BareFormat::Rows => Box::new(RowStorage::open(path)?),
            BareFormat::Frames => Box::new(FrameStorage::open(path, head)?),
        };
        let (messages, waiting) = mpsc::channel(WAITING_MAX);
        let chain = BareChain {
            disk,
            head,
            sequence: 0,
            heads: Vec::new(),
        };
        let thread = std::thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || chain.write_all(waiting))?;
        Ok((Self { messages }, thread))
    }

    /// Ends the thread after the waiting requests.
    pub(super) async fn end(&self) {
        // The thread may have ended already.
        let _ended = self.messages.send(None).await;
    }

    /// Returns when the request is durable.
    pub(super) async fn append(&self, entry: BareRequest) -> BenchResult<BarePosition> {
        let (reply, placed) = oneshot::channel();
        let ended = || "the log has ended: a write failed";
        self.messages
            .send(Some((entry, reply)))
            .await
            .map_err(|_| ended())?;
        Ok(placed.await.map_err(|_| ended())?)
    }
}

struct BareChain {
    disk: Box<dyn BareStorage>,
    head: Hash,
    sequence: u64,
    /// Buffer that all requests reuse.
    heads: Vec<Hash>,
}

impl BareChain {
    /// Writes until the end is requested or a write fails.
    fn write_all(mut self, mut messages: mpsc::Receiver<Option<BareSubmission>>) {
        let mut reported: Vec<Option<BareSubmission>> = Vec::with_capacity(WAITING_MAX);
        let mut group: Vec<BareSubmission> = Vec::with_capacity(WAITING_MAX);
        let mut continues = true;
        while continues && messages.blocking_recv_many(&mut reported, WAITING_MAX) > 0 {
            for message in reported.drain(..) {
                match message {
                    Some(waiting) => group.push(waiting),
                    None => continues = false,
                }
            }
            if let Err(error) = self.write(&mut group) {
                eprintln!("kedge-bench: the bare log: {error}");
                return;
            }
        }
    }

    fn write(&mut self, group: &mut Vec<BareSubmission>) -> BenchResult<()> {
        let placed: BenchResult<Vec<BarePosition>> =
            group.iter().map(|(entry, _)| self.place(entry)).collect();
        let placed = placed?;
        if !placed.is_empty() {
            self.disk.sync()?;
        }
        for ((_, reply), placed) in group.drain(..).zip(placed) {
            // The waiting task may be gone.
            let _gone = reply.send(placed);
        }
        Ok(())
    }

    fn place(&mut self, entry: &BareRequest) -> BenchResult<BarePosition> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let timestamp_ms = since.map_or(0, |since| since.as_millis() as u64);
        let first_sequence = self.sequence + 1;
        let leaves: Vec<LogLeaf> = (first_sequence..)
            .zip(&entry.action_hashes)
            .map(|(sequence, action_hash)| LogLeaf {
                sequence,
                timestamp_ms,
                content: *action_hash,
                integrity: Hash::ZERO,
            })
            .collect();
        let leaves = LogLeaf::hash_each(&leaves);
        self.heads.clear();
        self.heads.push(self.head);
        for leaf in &leaves {
            self.head = next_head(&self.head, leaf);
            self.heads.push(self.head);
        }
        self.sequence += leaves.len() as u64;
        self.disk.add(&ChainedRequest {
            entry,
            first_sequence,
            timestamp_ms,
            leaves: &leaves,
            heads: &self.heads,
        })?;
        Ok(BarePosition {
            first_sequence,
            head: self.head,
        })
    }
}

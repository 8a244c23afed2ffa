//! The log of the bare pipeline: one thread that chains and writes everything that has arrived meanwhile, with one
//! write and one sync for all of it.

use std::ops::Range;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use kedge_protocol::Hash;
use kedge_protocol::action::RequestHead;
use kedge_protocol::chain::{Leaf, next_head};
use kedge_protocol::signature::Signature;
use rocksdb::{DB, DBCompressionType, Options, WriteBatch, WriteOptions};
use tokio::sync::{mpsc, oneshot};

use crate::error::Result;

/// Most requests that wait for the thread.
const WAITING_MAX: usize = 4_096;
/// Bytes of rows in memory before they go to a file.
const MEMTABLE_BYTES: usize = 128 * 1024 * 1024;

/// A request with a valid signature.
pub(super) struct Entry {
    pub(super) body: Bytes,
    /// The ranges of each action's text in the body.
    pub(super) texts: Vec<Range<usize>>,
    pub(super) action_hashes: Vec<Hash>,
    pub(super) head: RequestHead,
    pub(super) salt_seed: Hash,
    pub(super) signature: Signature,
}

/// The position of a request in the log.
pub(super) struct Placed {
    pub(super) first_sequence: u64,
    pub(super) head: Hash,
}

type Waiting = (Entry, oneshot::Sender<Placed>);

/// The channel to the thread.
pub(super) struct Log {
    /// `None` makes the thread close the database and end; the process must not end before that.
    messages: mpsc::Sender<Option<Waiting>>,
}

impl Log {
    /// Opens an empty log and starts its thread.
    ///
    /// The thread ends after [`Self::end`].
    pub(super) fn open(path: &Path, head: Hash) -> Result<(Self, JoinHandle<()>)> {
        let mut options = Options::default();
        options.create_if_missing(true);
        options.set_error_if_exists(true);
        options.set_write_buffer_size(MEMTABLE_BYTES);
        options.set_max_write_buffer_number(4);
        options.set_compression_type(DBCompressionType::None);
        options.set_bytes_per_sync(1024 * 1024);
        let db = DB::open(&options, path)?;
        let (messages, waiting) = mpsc::channel(WAITING_MAX);
        let chain = Chain {
            db,
            head,
            sequence: 0,
        };
        let thread = std::thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || chain.write_all(waiting))?;
        Ok((Self { messages }, thread))
    }

    /// Makes the thread end after the requests that wait for it.
    pub(super) async fn end(&self) {
        // If the thread has ended, nothing needs to be sent.
        let _ended = self.messages.send(None).await;
    }

    /// Returns when the request is on the disk.
    pub(super) async fn append(&self, entry: Entry) -> Result<Placed> {
        let (reply, placed) = oneshot::channel();
        let ended = || "the log has ended: a write failed";
        self.messages
            .send(Some((entry, reply)))
            .await
            .map_err(|_| ended())?;
        Ok(placed.await.map_err(|_| ended())?)
    }
}

struct Chain {
    db: DB,
    head: Hash,
    sequence: u64,
}

impl Chain {
    /// Writes until it receives the end, or until the first write that fails.
    fn write_all(mut self, mut messages: mpsc::Receiver<Option<Waiting>>) {
        let mut durable = WriteOptions::default();
        durable.set_sync(true);
        let mut reported: Vec<Option<Waiting>> = Vec::with_capacity(WAITING_MAX);
        let mut group: Vec<Waiting> = Vec::with_capacity(WAITING_MAX);
        let mut placed: Vec<Placed> = Vec::with_capacity(WAITING_MAX);
        let mut goes_on = true;
        while goes_on && messages.blocking_recv_many(&mut reported, WAITING_MAX) > 0 {
            for message in reported.drain(..) {
                match message {
                    Some(waiting) => group.push(waiting),
                    None => goes_on = false,
                }
            }
            let mut batch = WriteBatch::default();
            placed.extend(group.iter().map(|(entry, _)| self.place(entry, &mut batch)));
            if let Err(error) = self.db.write_opt(batch, &durable) {
                eprintln!("kedge-bench: the bare log: {error}");
                return;
            }
            for ((_, reply), placed) in group.drain(..).zip(placed.drain(..)) {
                // The waiting task may be gone.
                let _gone = reply.send(placed);
            }
        }
    }

    fn place(&mut self, entry: &Entry, batch: &mut WriteBatch) -> Placed {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let timestamp_ms = since.map_or(0, |since| since.as_millis() as u64);
        let first_sequence = self.sequence + 1;
        let leaves: Vec<Leaf> = (first_sequence..)
            .zip(&entry.action_hashes)
            .map(|(sequence, action_hash)| Leaf {
                sequence,
                timestamp_ms,
                content: *action_hash,
                integrity: Hash::ZERO,
            })
            .collect();
        let leaves = Leaf::hash_each(&leaves);
        let mut row = Vec::new();
        for (text, leaf) in entry.texts.iter().zip(&leaves) {
            self.sequence += 1;
            self.head = next_head(&self.head, leaf);
            row.clear();
            row.extend_from_slice(&self.head.0);
            row.extend_from_slice(&timestamp_ms.to_be_bytes());
            if self.sequence == first_sequence {
                // With this and the texts anybody can check the signature again.
                row.extend_from_slice(&entry.signature.0);
                row.extend_from_slice(&entry.salt_seed.0);
                row.extend_from_slice(&entry.head.nonce.to_be_bytes());
                row.extend_from_slice(&entry.head.deadline_s.to_be_bytes());
            }
            row.extend_from_slice(&entry.body[text.clone()]);
            batch.put(self.sequence.to_be_bytes(), &row);
        }
        Placed {
            first_sequence,
            head: self.head,
        }
    }
}

//! Checks a directory of segments with nothing but the protocol: every checksum and digest, the chain of frames, every
//! request against its leaf, every batch against its root, heads, signature and the batch before it. Frames are checked by
//! all threads; what joins them is checked in order.

use kedge_protocol::batch::SignedBatch;
use kedge_protocol::chain::next_head;
use kedge_protocol::limits::BATCH_ACTIONS_MAX;
use kedge_protocol::log_tree::{self, Frontier};
use kedge_protocol::merkle::BatchTree;
use kedge_protocol::{Address, Hash, KeyOfBatch, SequencerKeys};
use rayon::prelude::*;

use crate::error::ReadError;
use crate::frame::{SectionKind, SideKeys, StoredFrame};
use crate::packed::PackedRequest;
use crate::reader::LogReader;

/// Bytes of frames that are checked at one go.
const WINDOW_BYTES: usize = 16 * 1024 * 1024;

/// How a log is checked.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The keys that are trusted to sign headers. Without them signatures are recovered and the signers reported.
    pub keys: Option<SequencerKeys>,
    /// Whether the signatures of requests are checked too.
    pub request_signatures: bool,
    /// Keys to open side entries with; without any these are checked by their digests alone.
    pub side_keys: Option<SideKeys>,
}

/// What was checked.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// Frames.
    pub frames: u64,
    /// Batches.
    pub batches: u64,
    /// Requests.
    pub requests: u64,
    /// Actions.
    pub actions: u64,
    /// Side entries that were opened.
    pub side_entries: u64,
    /// Who signed headers, each with the first batch.
    pub signers: Vec<(u64, Address)>,
    /// Whether the headers' histories were checked: only where the log begins with its first batch.
    pub histories: bool,
}

/// What does not hold, and where.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// The log cannot be read there.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A frame does not hold what it must.
    #[error("frame {frame}, sequence {sequence}: {what}")]
    Wrong {
        /// The frame.
        frame: u64,
        /// The first sequence that is wrong.
        sequence: u64,
        /// What is wrong there.
        what: String,
    },
}

/// A frame that was checked by itself.
struct Own {
    batches: Vec<(SignedBatch, Address)>,
    /// The first and the last time of its requests.
    times: Option<(u64, u64)>,
    requests: u64,
    side_entries: u64,
}

/// Checks every frame that the reader sees. `progress` is called with the last sequence that was checked.
///
/// # Errors
/// [`Fault`] names the first frame, in the order of the log, that does not hold.
pub fn verify(
    reader: &LogReader,
    plan: &Plan,
    mut progress: impl FnMut(u64),
) -> Result<Summary, Fault> {
    let mut walk = Walk::new(reader.identity());
    let mut frames = reader.frames(reader.first_frame());
    loop {
        let mut window = Vec::new();
        let mut bytes = 0;
        let mut unreadable = None;
        while bytes < WINDOW_BYTES {
            match frames.next() {
                None => break,
                Some(Ok(frame)) => {
                    bytes += frame.bytes().len();
                    window.push(frame);
                }
                Some(Err(error)) => {
                    unreadable = Some(error);
                    break;
                }
            }
        }
        let own: Vec<Result<Own, Fault>> = window
            .par_iter()
            .map(|frame| check_frame(frame, &reader.identity(), plan))
            .collect();
        for (frame, own) in window.iter().zip(own) {
            walk.join(frame, own?)?;
        }
        if let Some(error) = unreadable {
            return Err(error.into());
        }
        if window.is_empty() {
            return Ok(walk.summary);
        }
        progress(walk.sequence);
    }
}

fn fault(frame: &StoredFrame, sequence: u64, what: impl std::fmt::Display) -> Fault {
    Fault::Wrong {
        frame: frame.header().number,
        sequence,
        what: what.to_string(),
    }
}

fn check_frame(frame: &StoredFrame, identity: &Hash, plan: &Plan) -> Result<Own, Fault> {
    let header = frame.header();
    let first = header.first_sequence;
    let wrong = |error: &dyn ToString| fault(frame, first, error.to_string());
    frame.check_digests().map_err(|error| wrong(&error))?;
    let batches = frame.batches().map_err(|error| wrong(&error))?;
    let requests = frame.requests().map_err(|error| wrong(&error))?;
    let mut own = Own {
        batches: Vec::with_capacity(batches.len()),
        times: None,
        requests: requests.len() as u64,
        side_entries: 0,
    };
    let found: Vec<Found> = requests
        .into_par_iter()
        .map(|request| check_request(frame, request, identity, plan))
        .collect::<Result<_, _>>()?;
    let stored = match frame.section(SectionKind::Leaves) {
        Some(_) => frame.leaves().map_err(|error| wrong(&error))?,
        None => Vec::new(),
    };
    let leaves: Vec<Hash> = found
        .iter()
        .flat_map(|found| found.leaves.iter().copied())
        .collect();
    if !stored.is_empty()
        && let Some(at) = stored
            .iter()
            .zip(&leaves)
            .position(|(stored, leaf)| stored != leaf)
    {
        return Err(fault(
            frame,
            first + at as u64,
            "the stored action does not hash to its leaf",
        ));
    }
    let mut next = found.iter();
    let mut done = 0;
    for batch in batches {
        let end = done + batch.header.count as usize;
        let of_batch = leaves
            .get(done..end)
            .filter(|_| batch.header.first_sequence == first + done as u64);
        let of_batch = of_batch
            .ok_or_else(|| wrong(&"the batches and the requests are not of the same actions"))?;
        let mut inside = done;
        while inside < end {
            let Some(request) = next.next() else { break };
            placed_right(request, &batch, inside - done)
                .map_err(|what| fault(frame, first + inside as u64, what))?;
            inside += request.leaves.len();
        }
        if inside != end {
            return Err(wrong(&"a request lies over the edge of its batch"));
        }
        let signer = check_batch(&batch, of_batch, identity, plan);
        let signer = signer.map_err(|what| fault(frame, batch.header.first_sequence, what))?;
        own.batches.push((batch, signer));
        done = end;
    }
    for request in &found {
        let (begin, last) = own
            .times
            .unwrap_or((request.timestamp_ms, request.timestamp_ms));
        if request.timestamp_ms < last {
            return Err(wrong(&"a request's time falls"));
        }
        own.times = Some((begin, request.timestamp_ms));
    }
    if let Some(keys) = &plan.side_keys {
        let entries = frame.side(identity, keys).map_err(|error| wrong(&error))?;
        own.side_entries = entries.len() as u64;
    }
    Ok(own)
}

/// What is kept of a request that was checked.
struct Found {
    leaves: Vec<Hash>,
    batch_number: u64,
    first_leaf_index: u32,
    timestamp_ms: u64,
    deadline_s: u64,
}

fn check_request(
    frame: &StoredFrame,
    request: PackedRequest<'_>,
    identity: &Hash,
    plan: &Plan,
) -> Result<Found, Fault> {
    let sequence = request.head().first_sequence;
    let record = request
        .into_record()
        .map_err(|error| fault(frame, sequence, error))?;
    let hashes = record.hashes();
    if plan.request_signatures {
        record
            .verify_signature_over(identity, &hashes)
            .map_err(|error| fault(frame, sequence, error))?;
    }
    Ok(Found {
        leaves: record.leaves(&hashes),
        batch_number: record.batch_number,
        first_leaf_index: record.first_leaf_index,
        timestamp_ms: record.timestamp_ms,
        deadline_s: record.head.deadline_s,
    })
}

/// The request is where it says, within its batch's bounds and times.
fn placed_right(request: &Found, batch: &SignedBatch, place: usize) -> Result<(), &'static str> {
    let header = &batch.header;
    if request.batch_number != header.number || request.first_leaf_index as usize != place {
        return Err("the request names another place than its own");
    }
    if request.timestamp_ms > header.sealed_at_ms
        || request.timestamp_ms > request.deadline_s.saturating_mul(1000)
    {
        return Err("the request's time passes its batch or its deadline");
    }
    Ok(())
}

/// Checks a batch by itself; gives who signed it.
fn check_batch(
    batch: &SignedBatch,
    leaves: &[Hash],
    separator: &Hash,
    plan: &Plan,
) -> Result<Address, String> {
    let header = &batch.header;
    let holds = |holds: bool, what: &str| if holds { Ok(()) } else { Err(what.to_owned()) };
    holds(
        (1..=BATCH_ACTIONS_MAX).contains(&leaves.len()),
        "the batch's count is not 1 to 500",
    )?;
    holds(header.state == Hash::ZERO, "the header's state is not zero")?;
    let head = leaves
        .iter()
        .fold(header.previous_head, |head, leaf| next_head(&head, leaf));
    holds(
        head == header.head,
        "the leaves do not lead to the header's head",
    )?;
    let root = BatchTree::new(leaves).root();
    holds(
        root == header.root,
        "the leaves do not have the header's root",
    )?;
    let signer = batch.signature.recover(&header.digest(separator));
    let signer = signer.map_err(|error| format!("the header's signature: {error}"))?;
    match &plan.keys {
        Some(keys) if keys.key_of(header.number) != signer => Err(format!(
            "the header is signed by {signer}, not with the key of batch {}",
            header.number
        )),
        _ => Ok(signer),
    }
}

/// Joins what was checked by itself to what comes before it.
struct Walk {
    separator: Hash,
    last: Option<SignedBatch>,
    tree: Option<Frontier>,
    last_timestamp_ms: u64,
    sequence: u64,
    summary: Summary,
}

impl Walk {
    fn new(separator: Hash) -> Self {
        Self {
            separator,
            last: None,
            tree: Frontier::of_peaks(0, Vec::new()),
            last_timestamp_ms: 0,
            sequence: 0,
            summary: Summary {
                histories: true,
                ..Summary::default()
            },
        }
    }

    fn join(&mut self, frame: &StoredFrame, own: Own) -> Result<(), Fault> {
        let header = frame.header();
        let first = header.first_sequence;
        if let Some((begin, last)) = own.times {
            if begin < self.last_timestamp_ms {
                return Err(fault(frame, first, "the request's time falls"));
            }
            self.last_timestamp_ms = last;
        }
        for (batch, signer) in own.batches {
            self.batch(&batch)
                .map_err(|what| fault(frame, batch.header.first_sequence, what))?;
            if self
                .summary
                .signers
                .last()
                .is_none_or(|(_, last)| *last != signer)
            {
                self.summary.signers.push((batch.header.number, signer));
            }
            self.summary.batches += 1;
            self.last = Some(batch);
        }
        self.summary.frames += 1;
        self.summary.requests += own.requests;
        self.summary.actions += u64::from(header.actions);
        self.summary.side_entries += own.side_entries;
        self.sequence = header.next_sequence() - 1;
        Ok(())
    }

    fn batch(&mut self, batch: &SignedBatch) -> Result<(), &'static str> {
        let header = &batch.header;
        let holds = |holds, what| if holds { Ok(()) } else { Err(what) };
        match &self.last {
            Some(before) => {
                let before = &before.header;
                holds(
                    header.previous_head == before.head,
                    "the batch does not extend the head before it",
                )?;
                holds(
                    header.sealed_at_ms >= before.sealed_at_ms,
                    "the batch was sealed before the one before it",
                )?;
            }
            None if header.number == 0 => {
                holds(
                    header.previous_head == self.separator,
                    "the first batch does not extend the domain",
                )?;
            }
            None => {
                // The tree over older batches went with their segments.
                self.tree = None;
                self.summary.histories = false;
            }
        }
        if let Some(tree) = &mut self.tree {
            holds(
                header.history == tree.root(),
                "the header's history is not the root over the batches before it",
            )?;
            tree.append(log_tree::leaf(&header.hash()));
        }
        Ok(())
    }
}

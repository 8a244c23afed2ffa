//! Walks a whole store and checks everything that needs no rules: headers, signatures, hashes, trees, every resource's
//! chain, every index of the log. As many threads as there are cores check batches; what joins batches is checked in
//! order. A caller that knows the rules replays the requests on the way (`replay`) and compares the result with the
//! state tables ([`compare_state`]).

mod index;
mod keys;
mod pool;
mod resources;
mod standings;
mod state;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use kedge_protocol::chain::Leaf;
use kedge_protocol::eip712::Domain;
use kedge_protocol::log_tree;
use kedge_protocol::record::RequestRecord;
use kedge_protocol::{Hash, KeyOfBatch, SequencerKeys, possession};

use self::index::Indexes;
use self::resources::Resources;
pub use self::state::{Difference, compare_remade, compare_state, compare_tables};
use crate::check::own::Terms;
use crate::check::{Fault, Walk, ensure};
use crate::read::Page;
use crate::snapshot::{ReadError, Snapshot};
use crate::tables::Table;
use crate::tables::anchors::AnchorRow;

/// The progress of a walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Batches checked.
    pub batches: u64,
    /// Batches in total.
    pub batches_total: u64,
    /// The last sequence checked.
    pub sequence: u64,
}

/// What was checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// Batches.
    pub batches: u64,
    /// Requests.
    pub requests: u64,
    /// Actions.
    pub actions: u64,
    /// Keys that joined a wallet without their consent: possible in a log that is older than the rule.
    pub additions_without_consent: u64,
    /// Resources that actions acted on.
    pub resources: u64,
    /// Anchors.
    pub anchors: u64,
}

/// The options for checking a store.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The log that it must hold.
    pub domain: Domain,
    /// The keys that are trusted to sign its headers: all of them, or those up to some batch. Keys that the log names
    /// after these are believed once the log is found to name them.
    pub keys: SequencerKeys,
    /// Whether the signatures of requests are checked; those of headers always are.
    pub request_signatures: bool,
    /// Threads that check batches.
    pub threads: usize,
    /// Actions that are compared with the indexes at once: 24 bytes of memory each.
    pub window_actions: usize,
    /// The memory for how each resource stands, in bytes, and a directory for what does not fit into it: about 100 bytes a
    /// resource. It is the caller's to remove. `None` keeps all of it in memory.
    pub resources: Option<(usize, PathBuf)>,
}

/// A window of the log that is compared with the indexes: the bytes of an action.
const WINDOW_ACTION_BYTES: usize = 24;

impl Plan {
    /// Checks everything, as fast as this machine can. The memory grows with the log; see [`Plan::within`].
    pub fn new(domain: Domain, keys: impl Into<SequencerKeys>) -> Self {
        Self {
            domain,
            keys: keys.into(),
            request_signatures: true,
            threads: thread::available_parallelism().map_or(1, usize::from),
            window_actions: 16 * 1024 * 1024,
            resources: None,
        }
    }

    /// The same with about this much memory, whatever the length of the log. What does not fit into it goes to the
    /// directory `scratch`.
    #[must_use]
    pub fn within(self, memory_bytes: usize, scratch: &Path) -> Self {
        Self {
            // A long window saves walks through the indexes, so it has the larger part.
            window_actions: memory_bytes / 2 / WINDOW_ACTION_BYTES,
            resources: Some((memory_bytes / 2, scratch.to_owned())),
            ..self
        }
    }
}

/// Checks the whole store as the snapshot shows it. `progress` is called after each batch; `replay` with every request
/// in order and what the leaves of its actions are made of, and may refuse it. The fault returned is the first one in
/// the order of the log.
pub fn verify(
    snapshot: &Snapshot,
    plan: &Plan,
    mut progress: impl FnMut(Progress),
    mut replay: impl FnMut(&RequestRecord<'_>, &[Leaf]) -> Result<(), String>,
) -> Result<Summary, Fault> {
    let head = snapshot.head()?;
    let keys = Arc::new(keys::to_check_with(snapshot, &plan.keys)?);
    let terms = Terms {
        separator: plan.domain.separator(),
        keys: Arc::clone(&keys),
        request_signatures: plan.request_signatures,
    };
    let mut walk = Walk::begin(snapshot, &plan.domain, 0)?;
    let mut resources = Resources::new(plan.resources.as_ref());
    let (threads, window) = (plan.threads, plan.window_actions);
    let mut indexes = Indexes::new(snapshot, threads, window, head.sequence);
    let mut summary = Summary::default();
    let walked = pool::each_batch(snapshot, &terms, (head.batches, threads), |read| {
        walk.join(read, |record, leaves| {
            resources.extend(record, leaves)?;
            indexes.request(record, leaves);
            let counted = possession::check_record(&terms.separator, record);
            summary.additions_without_consent +=
                counted.map_err(|wrong| Fault::wrong(wrong.sequence, wrong.what))?;
            let first = record.first_sequence;
            replay(record, leaves).map_err(|what| Fault::wrong(first, what))?;
            summary.requests += 1;
            summary.actions += leaves.len() as u64;
            Ok(())
        })?;
        indexes.batch_ends()?;
        progress(Progress {
            batches: walk.head.batches,
            batches_total: head.batches,
            sequence: walk.head.sequence,
        });
        Ok(())
    });
    let indexed = indexes.finish();
    if let Err(fault) = walked {
        return Err(first_of(fault, indexed.err()));
    }
    let astray = indexed?;
    ensure(
        walk.head == head,
        walk.head.sequence,
        "the stored head is not where the last batch ends",
    )?;
    astray.map_or(Ok(()), Err)?;
    summary.batches = head.batches;
    summary.resources = resources.acted_on();
    check_counts(snapshot, &summary)?;
    keys::check(snapshot, &keys)?;
    summary.anchors = check_anchors(snapshot, &plan.domain, &keys)?;
    Ok(summary)
}

/// The fault that ended the walk, or one of an index before it.
fn first_of(walked: Fault, indexed: Option<Fault>) -> Fault {
    match (walked.sequence(), indexed) {
        (Some(walked), Some(indexed)) if indexed.sequence().is_some_and(|at| at < walked) => {
            indexed
        }
        _ => walked,
    }
}

/// Reads every table to its end that the walk has not read; those of the log hold no more rows than the log explains.
fn check_counts(snapshot: &Snapshot, summary: &Summary) -> Result<(), Fault> {
    for &table in Table::ALL {
        let expected = match table {
            Table::RequestsByOrganization => continue,
            Table::BatchIds => Some(summary.batches),
            // A tree of n leaves has n - (ones of n) complete inner nodes.
            Table::Tree => Some(2 * summary.batches - u64::from(summary.batches.count_ones())),
            _ => None,
        };
        let mut rows = snapshot.cursor(table);
        let mut count = 0u64;
        rows.seek_to_first();
        while rows.row()?.is_some() {
            count += 1;
            rows.advance();
        }
        if let Some(expected) = expected.filter(|expected| *expected != count) {
            return Err(Fault::Rows {
                table,
                what: format!("{count} rows, but the log accounts for {expected}"),
            });
        }
    }
    Ok(())
}

/// Checks that every anchor's checkpoint is this log's, signed.
fn check_anchors(snapshot: &Snapshot, domain: &Domain, keys: &SequencerKeys) -> Result<u64, Fault> {
    let separator = domain.separator();
    let mut page = Page {
        after: None,
        descending: false,
        limit: 100,
    };
    let mut count = 0;
    loop {
        let anchors = snapshot.anchors(page)?;
        for anchor in &anchors {
            if let Some(what) = anchor_fault(snapshot, anchor, &separator, keys)? {
                return Err(Fault::Rows {
                    table: Table::Anchors,
                    what: format!("anchor {}: {what}", anchor.number),
                });
            }
            count += 1;
        }
        match anchors.last() {
            Some(last) => page.after = Some(last.number),
            None => return Ok(count),
        }
    }
}

fn anchor_fault(
    snapshot: &Snapshot,
    anchor: &AnchorRow,
    separator: &Hash,
    keys: &SequencerKeys,
) -> Result<Option<&'static str>, ReadError> {
    let checkpoint = &anchor.checkpoint.checkpoint;
    let signer = anchor
        .checkpoint
        .signature
        .recover(&checkpoint.digest(separator));
    if signer != Ok(keys.key_of_checkpoint(checkpoint.batches)) {
        return Ok(Some(
            "its checkpoint is not signed with the sequencer's key of its last batch",
        ));
    }
    if anchor.id != checkpoint.anchor_id()
        || snapshot.anchor_number(anchor.id)? != Some(anchor.number)
    {
        return Ok(Some("its id is not its checkpoint's, or leads elsewhere"));
    }
    let Some(last) = anchor.last_batch() else {
        return Ok(Some("it anchors an empty log"));
    };
    let Some(batch) = snapshot.batch(last)? else {
        return Ok(Some("it anchors batches that the log does not hold"));
    };
    let same = batch.header.head == checkpoint.head
        && batch.header.last_sequence() == checkpoint.sequence
        && log_tree::root(snapshot, checkpoint.batches)? == checkpoint.history;
    Ok((!same).then_some("its checkpoint does not match the log"))
}

//! Verification of a whole store, of everything that needs no rules: headers, signatures, hashes, trees, every
//! resource's chain, every index of the log. As many threads as there are cores check batches; the joins between
//! batches are checked in order. A caller that knows the rules replays the requests meanwhile (`replay`) and compares
//! the result with the state tables ([`compare_state`]).

mod index;
mod keys;
mod pool;
mod resource_heads;
mod resources;
mod state;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use kedge_protocol::chain::LogLeaf;
use kedge_protocol::checkpoint::SignedCheckpoint;
use kedge_protocol::eip712::Domain;
use kedge_protocol::log_tree;
use kedge_protocol::record::RequestRecord;
use kedge_protocol::{BatchKeys, Hash, SequencerKeys, possession};

use self::index::IndexCheck;
use self::resources::ResourceCheck;
pub use self::state::{StoreDifference, compare_remade, compare_state, compare_tables};
use crate::check::own_batch::BatchTerms;
use crate::check::{BatchWalk, StoreFault, ensure};
use crate::read::RowPage;
use crate::snapshot::{StoreReadError, StoreSnapshot};
use crate::tables::Table;
use crate::tables::anchors::AnchorRow;

/// Progress of a verification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoreVerifyProgress {
    /// Checked batches.
    pub batches: u64,
    pub batches_total: u64,
    /// The last checked sequence.
    pub sequence: u64,
}

/// Numbers of checked items.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct StoreVerifySummary {
    pub batches: u64,
    pub requests: u64,
    pub actions: u64,
    /// Keys that joined a wallet without their consent: possible in a log that is older than the rule.
    pub additions_without_consent: u64,
    /// Resources with actions.
    pub resources: u64,
    pub anchors: u64,
    /// Kept checkpoints with a root of the state.
    pub checkpoints: u64,
}

/// Options of a verification.
#[derive(Clone, Debug)]
pub struct StoreVerifyPlan {
    /// The domain that the log must have.
    pub domain: Domain,
    /// Trusted keys of the headers: all of them, or those up to some batch. Later keys are believed once the log is
    /// found to name them.
    pub keys: SequencerKeys,
    /// Whether requests' signatures are checked; headers' always are.
    pub request_signatures: bool,
    pub threads: usize,
    /// Actions of a window that is compared with the indexes: 24 bytes of memory each.
    pub window_actions: usize,
    /// Memory for the resources' heads, in bytes, and a directory for the rest, about 100 bytes a resource, which the
    /// caller removes. `None` keeps everything in memory.
    pub resources: Option<(usize, PathBuf)>,
}

/// Memory of an action in a window that is compared with the indexes.
const WINDOW_ACTION_BYTES: usize = 24;

impl StoreVerifyPlan {
    /// Checks everything, as fast as this machine can. The memory grows with the log; see [`StoreVerifyPlan::within`].
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

    /// The same plan with about this much memory, whatever the length of the log. The rest goes to the directory
    /// `scratch`.
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

/// Checks the whole store of a snapshot. `progress` is called after each batch; `replay` gets every request in order
/// with the contents of its leaves, and may refuse it. The returned fault is the first one in the order of the log.
pub fn verify(
    snapshot: &StoreSnapshot,
    plan: &StoreVerifyPlan,
    mut progress: impl FnMut(StoreVerifyProgress),
    mut replay: impl FnMut(&RequestRecord<'_>, &[LogLeaf]) -> Result<(), String>,
) -> Result<StoreVerifySummary, StoreFault> {
    let head = snapshot.head()?;
    let keys = Arc::new(keys::to_check_with(snapshot, &plan.keys)?);
    let terms = BatchTerms {
        separator: plan.domain.separator(),
        keys: Arc::clone(&keys),
        request_signatures: plan.request_signatures,
    };
    let mut walk = BatchWalk::begin(snapshot, &plan.domain, 0)?;
    let mut resources = ResourceCheck::new(plan.resources.as_ref());
    let (threads, window) = (plan.threads, plan.window_actions);
    let mut indexes = IndexCheck::new(snapshot, threads, window, head.sequence);
    let mut summary = StoreVerifySummary::default();
    let walked = pool::each_batch(snapshot, &terms, (head.batches, threads), |read| {
        walk.join(read, |record, leaves| {
            resources.extend(record, leaves)?;
            indexes.request(record, leaves);
            let counted = possession::check_record(&terms.separator, record);
            summary.additions_without_consent +=
                counted.map_err(|wrong| StoreFault::wrong(wrong.sequence, wrong.what))?;
            let first = record.first_sequence;
            replay(record, leaves).map_err(|what| StoreFault::wrong(first, what))?;
            summary.requests += 1;
            summary.actions += leaves.len() as u64;
            Ok(())
        })?;
        indexes.batch_ends()?;
        progress(StoreVerifyProgress {
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
    summary.checkpoints = check_checkpoints(snapshot, &plan.domain, &keys)?;
    Ok(summary)
}

/// The fault that ended the walk, or an earlier one of an index.
fn first_of(walked: StoreFault, indexed: Option<StoreFault>) -> StoreFault {
    match (walked.sequence(), indexed) {
        (Some(walked), Some(indexed)) if indexed.sequence().is_some_and(|at| at < walked) => {
            indexed
        }
        _ => walked,
    }
}

/// Reads the tables that the walk has not read, to their ends; those of the log hold no more rows than the log
/// explains.
fn check_counts(snapshot: &StoreSnapshot, summary: &StoreVerifySummary) -> Result<(), StoreFault> {
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
            return Err(StoreFault::Rows {
                table,
                what: format!("{count} rows, but the log accounts for {expected}"),
            });
        }
    }
    Ok(())
}

/// Checks that every anchor's checkpoint is a signed one of this log.
fn check_anchors(
    snapshot: &StoreSnapshot,
    domain: &Domain,
    keys: &SequencerKeys,
) -> Result<u64, StoreFault> {
    let separator = domain.separator();
    let mut page = RowPage {
        after: None,
        descending: false,
        limit: 100,
    };
    let mut count = 0;
    loop {
        let anchors = snapshot.anchors(page)?;
        for anchor in &anchors {
            if let Some(what) = anchor_fault(snapshot, anchor, &separator, keys)? {
                return Err(StoreFault::Rows {
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

/// Checks that every kept checkpoint is a signed one of this log, and has a root.
fn check_checkpoints(
    snapshot: &StoreSnapshot,
    domain: &Domain,
    keys: &SequencerKeys,
) -> Result<u64, StoreFault> {
    let separator = domain.separator();
    let mut count = 0;
    for signed in snapshot.checkpoints_from(0) {
        let signed = signed?;
        let what = match checkpoint_fault(snapshot, &signed, &separator, keys)? {
            None if signed.checkpoint.state == Hash::ZERO => Some("it has no root of the state"),
            what => what,
        };
        if let Some(what) = what {
            return Err(StoreFault::Rows {
                table: Table::Checkpoints,
                what: format!(
                    "the checkpoint over {} batches: {what}",
                    signed.checkpoint.batches
                ),
            });
        }
        count += 1;
    }
    Ok(count)
}

fn anchor_fault(
    snapshot: &StoreSnapshot,
    anchor: &AnchorRow,
    separator: &Hash,
    keys: &SequencerKeys,
) -> Result<Option<&'static str>, StoreReadError> {
    let checkpoint = &anchor.checkpoint.checkpoint;
    if let Some(what) = checkpoint_fault(snapshot, &anchor.checkpoint, separator, keys)? {
        return Ok(Some(what));
    }
    let is_named = anchor.id == checkpoint.anchor_id()
        && snapshot.anchor_number(anchor.id)? == Some(anchor.number);
    Ok((!is_named).then_some("its id is not its checkpoint's, or leads elsewhere"))
}

/// Why a checkpoint is not a signed one of this log.
fn checkpoint_fault(
    snapshot: &StoreSnapshot,
    signed: &SignedCheckpoint,
    separator: &Hash,
    keys: &SequencerKeys,
) -> Result<Option<&'static str>, StoreReadError> {
    let checkpoint = &signed.checkpoint;
    let signer = signed.signature.recover(&checkpoint.digest(separator));
    if signer != Ok(keys.key_of_checkpoint(checkpoint.batches)) {
        return Ok(Some(
            "its checkpoint is not signed with the sequencer's key of its last batch",
        ));
    }
    let (head, sequence) = match checkpoint.batches.checked_sub(1) {
        None => (*separator, 0),
        Some(last) => match snapshot.batch(last)? {
            Some(batch) => (batch.header.head, batch.header.last_sequence()),
            None => return Ok(Some("it is over batches that the log does not hold")),
        },
    };
    let same = head == checkpoint.head
        && sequence == checkpoint.sequence
        && log_tree::root(snapshot, checkpoint.batches)? == checkpoint.history;
    Ok((!same).then_some("its checkpoint does not match the log"))
}

//! Walks a whole store and checks everything that needs no rules: headers, signatures, hashes,
//! trees, every resource's chain, every index of the log. Whoever knows the rules replays the
//! requests on the way (`replay`) and holds the result against the state tables
//! ([`compare_state`]).

use std::collections::HashMap;

use kedge_protocol::action::Kind;
use kedge_protocol::chain::next_integrity;
use kedge_protocol::eip712::Domain;
use kedge_protocol::log_tree;
use kedge_protocol::record::{ActionRecord, RequestRecord};
use kedge_protocol::{Address, Hash, Id, Prefix};

use crate::check::{Fault, Walk, ensure};
use crate::read::Page;
use crate::snapshot::{ReadError, Snapshot};
use crate::tables::Table;
use crate::tables::anchors::AnchorRow;

/// How far a walk has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Batches checked.
    pub batches: u64,
    /// Batches in all.
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
    /// Resources that actions acted on.
    pub resources: u64,
    /// Anchors.
    pub anchors: u64,
}

/// Where a resource stands after its last action.
#[derive(Clone, Copy)]
struct Standing {
    version: u64,
    integrity: Hash,
    sequence: u64,
}

/// Checks the whole store as the snapshot shows it. `progress` is called after each batch;
/// `replay` with every request in order and the contents of its actions, and may refuse it.
pub fn verify(
    snapshot: &Snapshot,
    domain: &Domain,
    sequencer: Address,
    mut progress: impl FnMut(Progress),
    mut replay: impl FnMut(&RequestRecord<'_>, &[Hash]) -> Result<(), String>,
) -> Result<Summary, Fault> {
    let head = snapshot.head()?;
    let mut walk = Walk::begin(snapshot, domain, sequencer, 0)?;
    let mut resources = Resources::default();
    let mut summary = Summary::default();
    while walk.head.batches < head.batches {
        walk.batch(|record, contents| {
            let first = record.first_sequence;
            resources.extend(record, contents)?;
            check_indexes(snapshot, record, contents)?;
            replay(record, contents).map_err(|what| Fault::wrong(first, what))?;
            summary.requests += 1;
            summary.actions += contents.len() as u64;
            Ok(())
        })?;
        progress(Progress {
            batches: walk.head.batches,
            batches_total: head.batches,
            sequence: walk.head.sequence,
        });
    }
    ensure(
        walk.head == head,
        walk.head.sequence,
        "the stored head is not where the last batch ends",
    )?;
    summary.batches = head.batches;
    summary.resources = resources.acted_on;
    check_counts(snapshot, &summary)?;
    summary.anchors = check_anchors(snapshot, domain, sequencer)?;
    Ok(summary)
}

/// Every resource's own chain.
#[derive(Default)]
struct Resources {
    standing: HashMap<Id, Standing>,
    /// Organizations that a registration may have made beside its wallet.
    beside: HashMap<Id, Standing>,
    acted_on: u64,
}

impl Resources {
    fn extend(&mut self, record: &RequestRecord<'_>, contents: &[Hash]) -> Result<(), Fault> {
        let sequences = record.first_sequence..;
        for ((action, content), sequence) in record.actions.iter().zip(contents).zip(sequences) {
            self.action(action, content, sequence)?;
        }
        Ok(())
    }

    fn action(
        &mut self,
        action: &ActionRecord<'_>,
        content: &Hash,
        sequence: u64,
    ) -> Result<(), Fault> {
        let before = self.before(action);
        let extends = action.version == before.version + 1
            && action.previous_integrity == before.integrity
            && action.previous_sequence == before.sequence;
        ensure(
            extends,
            sequence,
            &format!("the action does not extend {} as it stood", action.resource),
        )?;
        let now = Standing {
            version: action.version,
            integrity: next_integrity(&before.integrity, content),
            sequence,
        };
        if self.standing.insert(action.resource, now).is_none() {
            self.acted_on += 1;
        }
        if action.kind == Kind::WalletRegister {
            let organization = Id::made_by(Prefix::Organization, content, 1);
            let made = Standing {
                version: 1,
                integrity: next_integrity(&Hash::ZERO, content),
                sequence,
            };
            self.beside.insert(organization, made);
        }
        Ok(())
    }

    fn before(&self, action: &ActionRecord<'_>) -> Standing {
        let nothing = Standing {
            version: 0,
            integrity: Hash::ZERO,
            sequence: 0,
        };
        let known = self.standing.get(&action.resource);
        known
            .or_else(|| self.beside.get(&action.resource))
            .copied()
            .unwrap_or(nothing)
    }
}

/// The rows of other tables that lead to a request.
fn check_indexes(
    snapshot: &Snapshot,
    record: &RequestRecord<'_>,
    contents: &[Hash],
) -> Result<(), Fault> {
    for (sequence, content) in (record.first_sequence..).zip(contents) {
        ensure(
            snapshot.indexed_action(content.first_16())? == Some(sequence),
            sequence,
            "the action's id does not lead to its sequence",
        )?;
    }
    let first = record.first_sequence;
    let mut key = record.organization_id.bytes.to_vec();
    key.extend_from_slice(&first.to_be_bytes());
    let count = snapshot.get_number(Table::RequestsByOrganization, &key)?;
    ensure(
        count == Some(contents.len() as u64),
        first,
        "the request is not in its organization's list",
    )
}

/// Reads every table to its end; those of the log hold no more rows than the log explains.
fn check_counts(snapshot: &Snapshot, summary: &Summary) -> Result<(), Fault> {
    for &table in Table::ALL {
        let mut rows = 0u64;
        for row in snapshot.raw_rows(table) {
            row?;
            rows += 1;
        }
        if table == Table::Actions {
            rows += snapshot.actions_beside_the_table()?;
        }
        let expected = match table {
            Table::Log | Table::RequestsByOrganization => summary.requests,
            Table::Actions => summary.actions,
            Table::Batches | Table::BatchIds | Table::Leaves => summary.batches,
            // A tree of n leaves has n - (ones of n) complete inner nodes.
            Table::Tree => 2 * summary.batches - u64::from(summary.batches.count_ones()),
            _ => continue,
        };
        if rows != expected {
            return Err(Fault::Rows {
                table,
                what: format!("{rows} rows where the log explains {expected}"),
            });
        }
    }
    Ok(())
}

/// Every anchor's checkpoint is this log's, signed.
fn check_anchors(snapshot: &Snapshot, domain: &Domain, sequencer: Address) -> Result<u64, Fault> {
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
            if let Some(what) = anchor_fault(snapshot, anchor, &separator, sequencer)? {
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
    sequencer: Address,
) -> Result<Option<&'static str>, ReadError> {
    let checkpoint = &anchor.checkpoint.checkpoint;
    let signer = anchor
        .checkpoint
        .signature
        .recover(&checkpoint.digest(separator));
    if signer != Ok(sequencer) {
        return Ok(Some("its checkpoint is not signed by the sequencer"));
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
    Ok((!same).then_some("its checkpoint is not what the log says"))
}

/// Where two stores differ.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Difference {
    /// A row is in one only, or holds other bytes.
    #[error("table {}: the rows under key 0x{key} differ", .table.name())]
    Row {
        /// Where.
        table: Table,
        /// The first key that differs, hexadecimal.
        key: String,
    },
    /// One of them cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Holds the state tables of two stores against each other, byte by byte: those of a store, and
/// those that a replay of its log has made in an empty one.
pub fn compare_state(one: &Snapshot, other: &Snapshot) -> Result<(), Difference> {
    for &table in Table::STATE {
        let mut ours = one.raw_rows(table);
        let mut theirs = other.raw_rows(table);
        loop {
            let (our, their) = (ours.next().transpose()?, theirs.next().transpose()?);
            if our == their {
                if our.is_none() {
                    break;
                }
                continue;
            }
            let key = our.into_iter().chain(their).map(|(key, _)| key).min();
            return Err(Difference::Row {
                table,
                key: kedge_protocol::hash::to_hex(&key.unwrap_or_default())[2..].to_owned(),
            });
        }
    }
    Ok(())
}

//! Logs cut into pieces: applied from an empty store to the cut, and from there over what the store then holds, a log
//! yields the same rows as in one piece.

#![allow(clippy::unwrap_used, reason = "a test file: a panic is the failure")]
#![allow(dead_code, reason = "each test binary takes the parts that it needs")]

use std::ops::RangeInclusive;
use std::path::Path;

use kedge_protocol::batch::SignedBatch;
use kedge_protocol::chain::LogLeaf;
use kedge_protocol::eip712::Domain;
use kedge_protocol::record::RequestRecord;
use kedge_protocol::{Address, Hash};
use kedge_replay::apply::LogApplier;
use kedge_storage::verify::{StoreDifference, compare_tables};
use kedge_storage::{
    CommitError, SideWrite, Store, StoreOptions, StoreSnapshot, Table, WriteGroup,
};

/// A log with everything needed to apply it.
pub(crate) struct Log {
    domain: Domain,
    sequencer: Address,
    operators: Vec<Address>,
    requests: Vec<(RequestRecord<'static>, Vec<LogLeaf>)>,
    batches: Vec<(SignedBatch, Vec<Hash>)>,
}

/// A store in its own folder.
pub(crate) struct Made {
    store: Store,
    _folder: tempfile::TempDir,
}

impl Made {
    /// Writes a group and indexes its actions by their ids.
    fn write(&self, mut group: WriteGroup) -> Result<(), CommitError> {
        self.store.put_rows(&group)?;
        self.store.index(&group.take_action_ids());
        Ok(())
    }

    /// The store after flushing everything from memory.
    pub(crate) fn settled(&self) -> StoreSnapshot {
        self.store.write_index();
        self.store.snapshot()
    }
}

/// All tables that follow from the log, including the log's own.
pub(crate) fn explained() -> Vec<Table> {
    let all = Table::ALL.iter().copied();
    all.filter(|table| table.is_derived()).collect()
}

#[track_caller]
fn same(one: &StoreSnapshot, other: &StoreSnapshot, tables: &[Table], what: &str) {
    let compared: Result<(), StoreDifference> = compare_tables(one, other, tables);
    compared.unwrap_or_else(|difference| panic!("{what}: {difference}"));
    assert_eq!(one.head().unwrap(), other.head().unwrap(), "{what}");
}

/// A stopped server's store, and its log.
pub(crate) fn open(store: &Path, domain: Domain, sequencer: Address) -> (StoreSnapshot, Log) {
    let options = StoreOptions::of_store(store, domain, sequencer);
    let snapshot = Store::open_to_verify(options).unwrap().snapshot();
    let log = Log::read(&snapshot, domain);
    (snapshot, log)
}

impl Log {
    pub(crate) fn read(snapshot: &StoreSnapshot, domain: Domain) -> Self {
        let requests: Vec<_> = snapshot
            .requests_from(1)
            .map(|record| {
                let record = record.unwrap();
                let leaves = record.placed(&record.hashes());
                (record, leaves)
            })
            .collect();
        let leaves: Vec<Hash> = requests
            .iter()
            .flat_map(|(_, leaves)| leaves.iter().map(LogLeaf::hash))
            .collect();
        let batches = (0..snapshot.head().unwrap().batches)
            .map(|number| {
                let batch = snapshot.batch(number).unwrap().unwrap();
                let first = batch.header.first_sequence as usize - 1;
                let count = batch.header.count as usize;
                (batch, leaves[first..first + count].to_vec())
            })
            .collect();
        Self {
            domain,
            sequencer: snapshot.first_sequencer_key().unwrap(),
            operators: snapshot.operators().unwrap(),
            requests,
            batches,
        }
    }

    pub(crate) fn requests(&self) -> usize {
        self.requests.len()
    }

    /// The number of resources and names that an apply which has forgotten nothing holds in memory.
    pub(crate) fn remembered(&self) -> usize {
        let mut apply = LogApplier::from_nothing(self.operators.clone());
        self.apply(&mut apply, 1..=self.requests());
        apply.remembered()
    }

    fn store(&self) -> Made {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let options = StoreOptions::of_store(&path, self.domain, self.sequencer);
        let store = Store::scratch(options).unwrap();
        let mut operators = WriteGroup::of_rows();
        operators.put_side(SideWrite::Operators(self.operators.clone()));
        store.put_rows(&operators).unwrap();
        Made {
            store,
            _folder: folder,
        }
    }

    /// Applies requests by their numbers, from 1 on, each batch after its last request.
    fn apply(&self, apply: &mut LogApplier, places: RangeInclusive<usize>) {
        for place in places {
            let (record, leaves) = &self.requests[place - 1];
            apply.request(record, leaves).unwrap();
            let sealed = self.batches.get(record.batch_number as usize);
            if let Some((batch, leaves)) = sealed
                && batch.header.last_sequence() == record.last_sequence()
            {
                apply.batch(batch, leaves).unwrap();
            }
        }
    }

    /// The log in one piece, from an empty store.
    pub(crate) fn whole(&self) -> Made {
        let made = self.store();
        let mut apply = LogApplier::from_nothing(self.operators.clone());
        self.apply(&mut apply, 1..=self.requests());
        made.write(apply.take_rows().unwrap()).unwrap();
        made
    }

    /// The log in pieces that end at these requests. Each piece is applied by a new apply over the store that the
    /// earlier ones left.
    pub(crate) fn in_pieces(&self, cuts: &[usize]) -> Made {
        let made = self.store();
        let mut begun = 0;
        for &cut in cuts.iter().chain([&self.requests()]) {
            let mut apply = match begun {
                0 => LogApplier::from_nothing(self.operators.clone()),
                _ => LogApplier::over(made.store.snapshot()).unwrap(),
            };
            self.apply(&mut apply, begun + 1..=cut);
            made.write(apply.take_rows().unwrap()).unwrap();
            begun = cut;
        }
        made
    }

    /// The same with one apply, which forgets at the cuts and writes in small groups.
    pub(crate) fn with_one_that_forgets(&self, cuts: &[usize]) -> Made {
        let made = self.store();
        let mut apply = LogApplier::from_nothing(self.operators.clone());
        let mut begun = 0;
        for &cut in cuts.iter().chain([&self.requests()]) {
            self.apply(&mut apply, begun + 1..=cut);
            made.write(apply.take_formed()).unwrap();
            let finished: Result<(), Box<dyn std::error::Error>> =
                apply.finish(4_096, |group| Ok(made.write(group)?));
            finished.unwrap();
            apply.rest_on(made.store.snapshot());
            assert_eq!(apply.remembered(), 0);
            begun = cut;
        }
        made
    }

    /// Checks that the log yields the server's store, however it is cut: in one piece, at every request, and at each
    /// given set of cuts.
    #[track_caller]
    pub(crate) fn check(&self, live: &StoreSnapshot, cuts: &[Vec<usize>]) {
        let all = explained();
        let whole = self.whole().settled();
        same(live, &whole, &all, "from nothing");
        for cuts in cuts {
            let pieces = self.in_pieces(cuts).settled();
            same(&whole, &pieces, &all, &format!("in pieces at {cuts:?}"));
            let forgetting = self.with_one_that_forgets(cuts).settled();
            same(
                &whole,
                &forgetting,
                &all,
                &format!("forgetting at {cuts:?}"),
            );
        }
    }

    /// Every request as a separate piece.
    pub(crate) fn every_cut(&self) -> Vec<usize> {
        (1..self.requests()).collect()
    }

    /// Cuts picked by `below`, in order.
    pub(crate) fn some_cuts(&self, count: usize, mut below: impl FnMut(u64) -> u64) -> Vec<usize> {
        let mut cuts: Vec<usize> = (0..count)
            .map(|_| 1 + below(self.requests() as u64 - 1) as usize)
            .collect();
        cuts.sort_unstable();
        cuts.dedup();
        cuts
    }
}

//! Converts logged requests and sealed batches to rows of the store, from nothing or from any point of the log. A
//! start, a restore, a rebuild, verification, and the check of the live engine's writes all use this code, so their
//! results are comparable.
//!
//! An [`LogApplier`] keeps its reads and changes in memory until [`LogApplier::rest_on`] drops them. It writes an object that
//! changes often only once.

mod prior_state;
mod rows;

use std::collections::HashMap;

use kedge_protocol::batch::SignedBatch;
use kedge_protocol::chain::LogLeaf;
use kedge_protocol::log_tree::{self, TreeFrontier};
use kedge_protocol::record::RequestRecord;
use kedge_protocol::{Address, Hash, Id};
use kedge_rules::StateUnavailable;
use kedge_rules::fold::{FoldError, FoldState};
use kedge_storage::{
    CodecError, LogHead, SideEntry, StoreOpenError, StoreReadError, StoreSnapshot, WriteGroup,
};

use self::prior_state::PriorState;
use self::rows::ReplayRows;
use crate::log_bytes;

/// Why a record or a batch was not applied. The [`LogApplier`] is unusable afterwards.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The rules do not produce the record.
    #[error(transparent)]
    Fold(#[from] FoldError),
    /// The earlier state could not be read.
    #[error("the previous state could not be read: {0}")]
    Read(#[from] StoreReadError),
    /// A request or a batch is missing, or repeated.
    #[error("the log must continue with sequence {expected}, not {found}")]
    Order {
        /// Next sequence.
        expected: u64,
        /// First sequence of the given record or batch.
        found: u64,
    },
    /// A frame of the log cannot be read.
    #[error("{0}")]
    Frame(String),
    /// An earlier step has failed.
    #[error("an earlier record was not applied, so no later one can be")]
    Broken,
}

impl ApplyError {
    /// Converts to an error of opening a store.
    pub(crate) fn in_frame(&self, frame: u64) -> StoreOpenError {
        let what = self.to_string();
        StoreOpenError::Apply { frame, what }
    }
}

impl From<CodecError> for ApplyError {
    fn from(error: CodecError) -> Self {
        Self::Frame(error.to_string())
    }
}

impl From<kedge_storage::FrameError> for ApplyError {
    fn from(error: kedge_storage::FrameError) -> Self {
        Self::Frame(error.to_string())
    }
}

/// Approximate memory of a remembered resource, count or name, without the texts of resources.
const REMEMBERED_BYTES: usize = 768;

/// The tables whose rows are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ApplyExtent {
    /// Only tables that are [state](kedge_storage::Table::is_state).
    State,
    /// All tables, including references to the log and its own tables.
    Whole,
}

/// Applies requests and batches in the order of the log, and gathers the resulting rows.
pub struct LogApplier {
    state: FoldState<PriorState>,
    rows: ReplayRows,
    log_bytes: HashMap<Id, u64>,
    frontier: TreeFrontier,
    /// End of the log at the last batch; `None` before the first.
    head: Option<LogHead>,
    /// Last sequence of the last request; `None` if the first request decides where the log begins.
    sequence: Option<u64>,
    extent: ApplyExtent,
    is_broken: bool,
}

impl LogApplier {
    /// Begins with the log's first request. `operators` are the addresses that sign for the operator.
    pub fn from_nothing(operators: Vec<Address>) -> Self {
        let state = FoldState::over(PriorState::Nothing, operators, Vec::new());
        Self::of(state, TreeFrontier::default(), None, Some(0))
    }

    /// Continues after everything in a store.
    pub fn over(snapshot: StoreSnapshot) -> Result<Self, ApplyError> {
        let operators = snapshot.operators()?;
        let head = snapshot.head()?;
        let frontier = TreeFrontier::load(head.batches, &snapshot)?;
        let keys = snapshot.named_sequencer_keys()?;
        let state = FoldState::over(PriorState::stored(snapshot), operators, keys);
        Ok(Self::of(state, frontier, Some(head), None))
    }

    fn of(
        state: FoldState<PriorState>,
        frontier: TreeFrontier,
        head: Option<LogHead>,
        sequence: Option<u64>,
    ) -> Self {
        Self {
            state,
            rows: ReplayRows::default(),
            log_bytes: HashMap::new(),
            frontier,
            head,
            sequence,
            extent: ApplyExtent::Whole,
            is_broken: false,
        }
    }

    /// Makes only the rows of tables that are [state](kedge_storage::Table::is_state), for comparisons of these.
    #[must_use]
    pub fn state_alone(self) -> Self {
        Self {
            extent: ApplyExtent::State,
            ..self
        }
    }

    /// Applies the log's next request; `leaves` is the result of [`RequestRecord::placed`].
    pub fn request(
        &mut self,
        record: &RequestRecord<'_>,
        leaves: &[LogLeaf],
    ) -> Result<(), ApplyError> {
        self.guarded(|apply| apply.apply_request(record, leaves))
    }

    fn apply_request(
        &mut self,
        record: &RequestRecord<'_>,
        leaves: &[LogLeaf],
    ) -> Result<(), ApplyError> {
        let found = record.first_sequence;
        let expected = match (self.sequence, &self.head) {
            (Some(sequence), _) => sequence + 1,
            (None, Some(head)) => found.max(head.sequence + 1),
            (None, None) => found,
        };
        if found != expected {
            return Err(ApplyError::Order { expected, found });
        }
        let Self { state, rows, .. } = self;
        if self.extent == ApplyExtent::Whole {
            let contents: Vec<Hash> = leaves.iter().map(|leaf| leaf.content).collect();
            rows.group.put_request(record, &contents);
        }
        let mut added = log_bytes::of_request(record);
        let mut actions = record.actions.iter();
        let applied = state.apply_placed(record, leaves, |state, images| {
            let payload = actions.next().map_or("", |action| &*action.payload);
            added += rows.action(record, payload, state, images)?;
            Ok(())
        });
        applied.map_err(|error| match error {
            FoldError::Unavailable { sequence } => unread(state.source(), sequence),
            error => ApplyError::Fold(error),
        })?;
        let signer = record.head.signer;
        if let Some(window) = state.nonces.get(&signer) {
            rows.group.put_nonces(signer, window);
            rows.group.put_spent(signer, record.head.nonce, found);
        }
        self.count(record.organization_id, added)
            .map_err(|StateUnavailable| unread(self.state.source(), found))?;
        self.sequence = Some(record.last_sequence());
        Ok(())
    }

    fn count(&mut self, organization: Id, added: i64) -> Result<(), StateUnavailable> {
        let before = match self.log_bytes.get(&organization) {
            Some(bytes) => *bytes,
            None => self.state.source().log_bytes(organization)?,
        };
        let bytes = before.saturating_add_signed(added);
        self.log_bytes.insert(organization, bytes);
        self.rows.group.put_log_bytes(organization, bytes);
        Ok(())
    }

    /// Applies the log's next batch, which seals the requests so far; `leaves` are the hashes of its actions.
    pub fn batch(&mut self, batch: &SignedBatch, leaves: &[Hash]) -> Result<(), ApplyError> {
        self.guarded(|apply| apply.apply_batch(batch, leaves))
    }

    fn apply_batch(&mut self, batch: &SignedBatch, leaves: &[Hash]) -> Result<(), ApplyError> {
        let header = &batch.header;
        let expected = self.head.map_or(1, |head| head.sequence + 1);
        let batches = self.head.map_or(0, |head| head.batches);
        let is_next = header.first_sequence == expected
            && header.number == batches
            && leaves.len() == header.count as usize
            && self.sequence.is_none_or(|at| at == header.last_sequence());
        if !is_next {
            let found = header.first_sequence;
            return Err(ApplyError::Order { expected, found });
        }
        if self.extent == ApplyExtent::Whole {
            self.rows.group.put_batch(batch, leaves);
            for node in self.frontier.append(log_tree::leaf(&header.hash())) {
                self.rows.group.put_node(&node);
            }
        }
        let head = LogHead::after(header);
        self.head = Some(head);
        self.rows.group.put_head(&head);
        Ok(())
    }

    /// Sets the addresses that sign for the operator from here on.
    pub fn set_operators(&mut self, operators: Vec<Address>) {
        self.state.operators = operators;
    }

    /// Adds the rows of side entries of the log.
    pub fn side_entries(&mut self, entries: &[SideEntry]) -> Result<(), CodecError> {
        self.rows.group.put_side_entries(entries)
    }

    /// Bytes of the finished rows.
    pub fn len_bytes(&self) -> usize {
        self.rows.group.len_bytes()
    }

    /// Number of resources, counts and names in memory.
    pub fn remembered(&self) -> usize {
        self.state.remembered() + self.state.source().remembered() + self.log_bytes.len()
    }

    /// Approximate memory of the finished rows and of the remembered state.
    pub fn memory_bytes(&self) -> usize {
        self.len_bytes() + self.remembered() * REMEMBERED_BYTES + self.rows.texts_bytes
    }

    /// Takes the finished rows. Objects that change often are not among them; [`Self::take_rows`] adds them, so that
    /// the rows show one state of the log.
    pub fn take_formed(&mut self) -> WriteGroup {
        std::mem::replace(&mut self.rows.group, WriteGroup::of_rows())
    }

    /// Takes every row that differs from the store. Writing them brings the store to the state after the last request.
    pub fn take_rows(&mut self) -> Result<WriteGroup, ApplyError> {
        let mut all = WriteGroup::of_rows();
        self.finish(usize::MAX, |group| {
            all = group;
            Ok::<(), ApplyError>(())
        })?;
        Ok(all)
    }

    /// [`Self::take_rows`] in groups of at most about `bytes_max`: after the last group, the rows show one state.
    pub fn finish<E: From<ApplyError>>(
        &mut self,
        bytes_max: usize,
        mut write: impl FnMut(WriteGroup) -> Result<(), E>,
    ) -> Result<(), E> {
        if self.is_broken {
            return Err(ApplyError::Broken.into());
        }
        for (id, written) in self.rows.take_lagging() {
            self.rows.catch_up(&self.state, id, &written);
            if self.len_bytes() >= bytes_max {
                write(self.take_formed())?;
            }
        }
        write(self.take_formed())
    }

    /// Drops the memory: `snapshot` shows a store that holds all taken rows.
    ///
    /// # Panics
    /// Some rows were not taken.
    pub fn rest_on(&mut self, snapshot: StoreSnapshot) {
        assert!(self.rows.is_empty(), "rows that nobody took would be lost");
        self.state.forget(PriorState::stored(snapshot));
        self.log_bytes.clear();
        self.rows.texts_bytes = 0;
    }

    /// Runs a step, unless an earlier one has failed.
    fn guarded(
        &mut self,
        step: impl FnOnce(&mut Self) -> Result<(), ApplyError>,
    ) -> Result<(), ApplyError> {
        if self.is_broken {
            return Err(ApplyError::Broken);
        }
        let done = step(self);
        self.is_broken = done.is_err();
        done
    }
}

/// Why the state before a sequence could not be read.
fn unread(before: &PriorState, sequence: u64) -> ApplyError {
    match before.error() {
        Some(error) => ApplyError::Read(error),
        None => ApplyError::Fold(FoldError::Unavailable { sequence }),
    }
}

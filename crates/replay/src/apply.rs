//! One function from logged requests and sealed batches to rows of the store, from nothing or from any point of the
//! log. A start, a restore, a rebuild, verification, and the check of what the live engine writes all use it, so what
//! they compare is the same.
//!
//! An [`Apply`] keeps what it reads and changes in memory until [`Apply::rest_on`] lets go of it. It writes an object
//! that changes often only once.

mod before;
mod rows;

use std::collections::HashMap;

use kedge_protocol::batch::SignedBatch;
use kedge_protocol::chain::Leaf;
use kedge_protocol::log_tree::{self, Frontier};
use kedge_protocol::record::RequestRecord;
use kedge_protocol::{Address, Hash, Id};
use kedge_rules::Unavailable;
use kedge_rules::fold::{FoldError, State};
use kedge_storage::{CodecError, Group, LogHead, OpenError, ReadError, SideEntry, Snapshot};

use self::before::Before;
use self::rows::Rows;
use crate::counted;

/// Why a record or a batch was not applied. Nothing can be applied after that.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The rules do not make what the record says.
    #[error(transparent)]
    Fold(#[from] FoldError),
    /// What was before could not be read.
    #[error("the previous state could not be read: {0}")]
    Read(#[from] ReadError),
    /// A request or a batch is missing, or comes twice.
    #[error("the log must continue with sequence {expected}, not {found}")]
    Order {
        /// The sequence that comes next.
        expected: u64,
        /// The first sequence of what came.
        found: u64,
    },
    /// A frame of the log cannot be read.
    #[error("{0}")]
    Frame(String),
    /// Something was refused before.
    #[error("an earlier record was not applied, so no later one can be")]
    Broken,
}

impl ApplyError {
    /// The same, as what keeps a store from being opened.
    pub(crate) fn in_frame(&self, frame: u64) -> OpenError {
        let what = self.to_string();
        OpenError::Apply { frame, what }
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

/// About what a remembered resource, count or name takes, besides the texts of resources.
const REMEMBERED_BYTES: usize = 768;

/// Which rows are made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Extent {
    /// Those of the tables that are [state](kedge_storage::Table::is_state).
    State,
    /// Those that lead into the log too, and the log's own.
    Whole,
}

/// Applies requests and batches in the order of the log, and gathers the rows that they leave.
pub struct Apply {
    state: State<Before>,
    rows: Rows,
    log_bytes: HashMap<Id, u64>,
    frontier: Frontier,
    /// Where the log ends with the last batch; `None` before the first.
    head: Option<LogHead>,
    /// Where the last request ends; `None` where the first request says where the log is cut.
    sequence: Option<u64>,
    extent: Extent,
    is_broken: bool,
}

impl Apply {
    /// Begins with the log's first request. `operators` are the addresses that sign for the operator.
    pub fn from_nothing(operators: Vec<Address>) -> Self {
        let state = State::over(Before::Nothing, operators, Vec::new());
        Self::of(state, Frontier::default(), None, Some(0))
    }

    /// Continues after everything that a store holds.
    pub fn over(snapshot: Snapshot) -> Result<Self, ApplyError> {
        let operators = snapshot.operators()?;
        let head = snapshot.head()?;
        let frontier = Frontier::load(head.batches, &snapshot)?;
        let keys = snapshot.named_sequencer_keys()?;
        let state = State::over(Before::stored(snapshot), operators, keys);
        Ok(Self::of(state, frontier, Some(head), None))
    }

    fn of(
        state: State<Before>,
        frontier: Frontier,
        head: Option<LogHead>,
        sequence: Option<u64>,
    ) -> Self {
        Self {
            state,
            rows: Rows::default(),
            log_bytes: HashMap::new(),
            frontier,
            head,
            sequence,
            extent: Extent::Whole,
            is_broken: false,
        }
    }

    /// Makes the rows of the tables that are [state](kedge_storage::Table::is_state) alone, for who compares these.
    #[must_use]
    pub fn state_alone(self) -> Self {
        Self {
            extent: Extent::State,
            ..self
        }
    }

    /// Applies the log's next request; `leaves` are what [`RequestRecord::placed`] gives.
    pub fn request(
        &mut self,
        record: &RequestRecord<'_>,
        leaves: &[Leaf],
    ) -> Result<(), ApplyError> {
        self.guarded(|apply| apply.apply_request(record, leaves))
    }

    fn apply_request(
        &mut self,
        record: &RequestRecord<'_>,
        leaves: &[Leaf],
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
        if self.extent == Extent::Whole {
            let contents: Vec<Hash> = leaves.iter().map(|leaf| leaf.content).collect();
            rows.group.put_request(record, &contents);
        }
        let mut added = counted::of_request(record);
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
            .map_err(|Unavailable| unread(self.state.source(), found))?;
        self.sequence = Some(record.last_sequence());
        Ok(())
    }

    fn count(&mut self, organization: Id, added: i64) -> Result<(), Unavailable> {
        let before = match self.log_bytes.get(&organization) {
            Some(bytes) => *bytes,
            None => self.state.source().log_bytes(organization)?,
        };
        let bytes = before.saturating_add_signed(added);
        self.log_bytes.insert(organization, bytes);
        self.rows.group.put_log_bytes(organization, bytes);
        Ok(())
    }

    /// Seals the requests so far with the log's next batch; `leaves` are the hashes of its actions.
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
        if self.extent == Extent::Whole {
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

    /// From here on these addresses sign for the operator.
    pub fn set_operators(&mut self, operators: Vec<Address>) {
        self.state.operators = operators;
    }

    /// The rows of side entries of the log.
    pub fn side_entries(&mut self, entries: &[SideEntry]) -> Result<(), CodecError> {
        self.rows.group.put_side_entries(entries)
    }

    /// Bytes of the rows that are formed so far.
    pub fn len_bytes(&self) -> usize {
        self.rows.group.len_bytes()
    }

    /// How many resources, counts and names are in memory.
    pub fn remembered(&self) -> usize {
        self.state.remembered() + self.state.source().remembered() + self.log_bytes.len()
    }

    /// About how much memory is taken: by the rows that are formed, and by what is remembered.
    pub fn memory_bytes(&self) -> usize {
        self.len_bytes() + self.remembered() * REMEMBERED_BYTES + self.rows.texts_bytes
    }

    /// Takes the rows that are formed. Objects that change often are not among them: only with
    /// [`Self::take_rows`] do they come to one state of the log.
    pub fn take_formed(&mut self) -> Group {
        std::mem::replace(&mut self.rows.group, Group::of_rows())
    }

    /// Takes every row that differs from what was before. Who writes them has the state after the last
    /// request.
    pub fn take_rows(&mut self) -> Result<Group, ApplyError> {
        let mut all = Group::of_rows();
        self.finish(usize::MAX, |group| {
            all = group;
            Ok::<(), ApplyError>(())
        })?;
        Ok(all)
    }

    /// As [`Self::take_rows`], in groups of at most about `bytes_max`: with the last of them the rows
    /// are those of one state.
    pub fn finish<E: From<ApplyError>>(
        &mut self,
        bytes_max: usize,
        mut write: impl FnMut(Group) -> Result<(), E>,
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

    /// Forgets what is in memory: `snapshot` shows a store that holds all rows that were taken.
    ///
    /// # Panics
    /// Where there are rows that nobody has taken.
    pub fn rest_on(&mut self, snapshot: Snapshot) {
        assert!(self.rows.is_empty(), "rows that nobody took would be lost");
        self.state.forget(Before::stored(snapshot));
        self.log_bytes.clear();
        self.rows.texts_bytes = 0;
    }

    /// Does a step, unless one before it has failed.
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
fn unread(before: &Before, sequence: u64) -> ApplyError {
    match before.error() {
        Some(error) => ApplyError::Read(error),
        None => ApplyError::Fold(FoldError::Unavailable { sequence }),
    }
}

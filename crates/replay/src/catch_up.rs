//! Opens a store: applies all frames of the log after the last applied one, by the rules, before the store serves
//! anything.

use kedge_storage::{
    MissingMark, Store, StoreOpenError, StoreOpening, StoreOptions, StoredFrame, WriteGroup,
};

use crate::apply::{ApplyError, LogApplier};
use crate::frame_hashes::{self, HashedFrame};

/// Bytes of rows that are gathered before they are written.
const ROWS_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Default memory for state that is not written yet.
pub const MEMORY_BYTES: usize = 160 * 1024 * 1024;

/// Result of a catch-up.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CatchUpReport {
    /// Number of applied frames.
    pub frames: u64,
    /// Number of actions in them.
    pub actions: u64,
    /// Number of batches in the store.
    pub batches: u64,
    /// Last sequence in the store.
    pub sequence: u64,
}

/// Opens a store, or creates one in empty directories, and applies the frames that its rows lack.
///
/// # Errors
/// [`StoreOpenError`] if the log is damaged, the rules refuse a record, or the log's end is inconsistent.
pub fn open_store(options: StoreOptions) -> Result<Store, StoreOpenError> {
    open_store_where(options, MissingMark::ReadOnly)
}

/// [`open_store`] with a choice for a store without a record of released headers.
///
/// # Errors
/// The errors of [`open_store`].
pub fn open_store_where(
    options: StoreOptions,
    missing: MissingMark,
) -> Result<Store, StoreOpenError> {
    open_store_within(options, missing, MEMORY_BYTES, |_| {})
}

/// [`open_store_where`] with this much memory for state that is not written yet. `progress` is called after each frame.
///
/// # Errors
/// The errors of [`open_store`].
pub fn open_store_within(
    options: StoreOptions,
    missing: MissingMark,
    memory_bytes: usize,
    progress: impl FnMut(CatchUpReport),
) -> Result<Store, StoreOpenError> {
    let opening = Store::begin(options, missing)?;
    let done = catch_up(&opening, memory_bytes, progress)?;
    if done.frames > 0 {
        let CatchUpReport {
            frames,
            actions,
            sequence,
            ..
        } = done;
        tracing::info!(
            frames,
            actions,
            sequence,
            "the store caught up with the log's end"
        );
    }
    opening.finish()
}

/// Applies the frames that the rows lack, with this much memory for state that is not written yet. `progress` is called
/// after each frame.
///
/// # Errors
/// The errors of [`open_store`].
pub fn catch_up(
    opening: &StoreOpening,
    memory_bytes: usize,
    mut progress: impl FnMut(CatchUpReport),
) -> Result<CatchUpReport, StoreOpenError> {
    std::thread::scope(|scope| {
        let frames = frame_hashes::ahead(scope, opening.frames()?);
        let frames = frames.map_err(|error| StoreOpenError::Thread(error.to_string()))?;
        let mut done = CatchUpReport::default();
        let mut apply: Option<LogApplier> = None;
        let mut last: Option<HashedFrame> = None;
        for hashed in frames {
            let hashed = hashed?;
            let header = hashed.frame.header();
            let refused = |error: ApplyError| error.in_frame(header.number);
            let applying = match &mut apply {
                Some(apply) => apply,
                None => apply.insert(LogApplier::over(opening.snapshot()).map_err(refused)?),
            };
            let entries = opening.side(&hashed.frame)?;
            let operators = WriteGroup::operators_in(&entries);
            if let Some(operators) = operators.map_err(|error| refused(error.into()))? {
                applying.set_operators(operators);
            }
            applying.frame(&hashed).map_err(refused)?;
            applying
                .side_entries(&entries)
                .map_err(|error| refused(error.into()))?;
            done.frames += 1;
            done.actions += u64::from(header.actions);
            done.batches = header.next_batch();
            done.sequence = header.next_sequence() - 1;
            progress(done);
            let is_full = applying.memory_bytes() >= memory_bytes;
            if applying.len_bytes() >= ROWS_BYTES_MAX || is_full {
                write(opening, applying, &hashed.frame)?;
                last = None;
            } else {
                last = Some(hashed);
            }
        }
        if let (Some(mut apply), Some(last)) = (apply, last) {
            write(opening, &mut apply, &last.frame)?;
        }
        Ok(done)
    })
}

/// Writes everything that was applied, atomically: the rows show the state after one frame, even if the process ends.
fn write(
    opening: &StoreOpening,
    apply: &mut LogApplier,
    through: &StoredFrame,
) -> Result<(), StoreOpenError> {
    let number = through.header().number;
    let rows = apply.take_rows();
    let rows = rows.map_err(|error| error.in_frame(number))?;
    opening.apply(&rows, through)?;
    apply.rest_on(opening.snapshot());
    Ok(())
}

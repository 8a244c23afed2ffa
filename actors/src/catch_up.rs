//! Opening a store: what its log has more than its rows is applied by the rules, before anything is served.

use kedge_protocol::Hash;
use kedge_protocol::chain::Leaf;
use kedge_protocol::merkle::BatchTree;
use kedge_storage::{Group, MissingMark, OpenError, Opening, Options, Store, StoredFrame};

use crate::apply::{Apply, ApplyError};

/// Bytes of rows that are gathered before they are written.
const ROWS_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Resources that are kept in memory before they are written.
const REMEMBERED_MAX: usize = 200_000;

/// How far a store was brought up.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CaughtUp {
    /// Frames that were applied.
    pub frames: u64,
    /// Actions in them.
    pub actions: u64,
    /// How many batches the store holds.
    pub batches: u64,
    /// The last sequence.
    pub sequence: u64,
}

/// Opens a store and applies what its log has more than its rows, or makes one in empty directories.
///
/// # Errors
/// [`OpenError`] where the log is damaged, the rules refuse what stands in it, or the end of it does not hold.
pub fn open_store(options: Options) -> Result<Store, OpenError> {
    open_store_where(options, MissingMark::ReadOnly)
}

/// As [`open_store`], and says what is done where nothing says how far headers were released.
///
/// # Errors
/// As [`open_store`].
pub fn open_store_where(options: Options, missing: MissingMark) -> Result<Store, OpenError> {
    let opening = Store::begin(options, missing)?;
    let done = catch_up(&opening, |_| {})?;
    if done.frames > 0 {
        let CaughtUp {
            frames,
            actions,
            sequence,
            ..
        } = done;
        tracing::info!(
            frames,
            actions,
            sequence,
            "the store was brought up to the log's end"
        );
    }
    opening.finish()
}

/// Applies what the log has more than the rows. `progress` is called after each frame.
///
/// # Errors
/// As [`open_store`].
pub fn catch_up(
    opening: &Opening,
    mut progress: impl FnMut(CaughtUp),
) -> Result<CaughtUp, OpenError> {
    let mut done = CaughtUp::default();
    let mut apply: Option<Apply> = None;
    let mut last: Option<StoredFrame> = None;
    for frame in opening.frames()? {
        let frame = frame?;
        let number = frame.header().number;
        let refused = |error: ApplyError| OpenError::Apply {
            frame: number,
            what: error.to_string(),
        };
        let applying = match &mut apply {
            Some(apply) => apply,
            None => apply.insert(Apply::over(opening.snapshot()).map_err(refused)?),
        };
        let entries = opening.side(&frame)?;
        if let Some(operators) =
            Group::operators_in(&entries).map_err(|error| refused(error.into()))?
        {
            applying.set_operators(operators);
        }
        applying.frame(&frame).map_err(refused)?;
        applying
            .side_entries(&entries)
            .map_err(|error| refused(error.into()))?;
        done.frames += 1;
        done.actions += u64::from(frame.header().actions);
        done.batches = frame.header().next_batch();
        done.sequence = frame.header().next_sequence() - 1;
        progress(done);
        if applying.len_bytes() >= ROWS_BYTES_MAX || applying.remembered() >= REMEMBERED_MAX {
            write(opening, applying, &frame)?;
            last = None;
        } else {
            last = Some(frame);
        }
    }
    if let (Some(mut apply), Some(last)) = (apply, last) {
        write(opening, &mut apply, &last)?;
    }
    Ok(done)
}

/// Writes everything that was applied, in one piece: whatever moment the process ends at, the rows are those of one
/// frame.
fn write(opening: &Opening, apply: &mut Apply, through: &StoredFrame) -> Result<(), OpenError> {
    let refused = |error: ApplyError| OpenError::Apply {
        frame: through.header().number,
        what: error.to_string(),
    };
    let rows = apply.take_rows().map_err(refused)?;
    opening.apply(&rows, through)?;
    apply.rest_on(opening.snapshot());
    Ok(())
}

impl Apply {
    /// Applies the requests and batches of the log's next frame.
    ///
    /// # Errors
    /// [`ApplyError`] where the frame is damaged, or the rules do not make what it says.
    pub fn frame(&mut self, frame: &StoredFrame) -> Result<(), ApplyError> {
        let mut batches = frame.batches()?.into_iter();
        let mut batch = batches.next();
        let mut leaves: Vec<Hash> = Vec::new();
        for request in frame.requests()? {
            let record = request.into_record()?;
            let placed = record.placed(&record.hashes());
            self.request(&record, &placed)?;
            leaves.extend(placed.iter().map(Leaf::hash));
            let is_last =
                batch.is_some_and(|of| record.last_sequence() >= of.header.last_sequence());
            if let Some(sealed) = batch.filter(|_| is_last) {
                // What is applied is what the sequencer signed, and not only what stands beside the header.
                if BatchTree::new(&leaves).root() != sealed.header.root {
                    let number = sealed.header.number;
                    let what =
                        format!("the requests of batch {number} do not have its header's root");
                    return Err(ApplyError::Frame(what));
                }
                self.batch(&sealed, &leaves)?;
                leaves.clear();
                batch = batches.next();
            }
        }
        match batch {
            None if leaves.is_empty() => Ok(()),
            _ => Err(ApplyError::Frame(
                "its batches do not end where its requests do".to_owned(),
            )),
        }
    }
}

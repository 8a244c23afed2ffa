//! Thread pool that checks batches and returns them in order.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use crate::check::StoreFault;
use crate::check::own_batch::{BatchReader, BatchTerms, OwnBatch};
use crate::snapshot::{StoreReadError, StoreSnapshot};

/// Consecutive batches of a thread before it skips those of the others. As many wait for their turn, so that no thread
/// idles while another's are joined.
const RUN_BATCHES: u64 = 8;

type BatchRead = Result<OwnBatch, StoreReadError>;

/// Reads and checks the first `batches` batches of the log on `threads` threads. `join` gets them in order, on the
/// caller's thread; its first fault ends it.
pub(super) fn each_batch(
    snapshot: &StoreSnapshot,
    terms: &BatchTerms,
    (batches, threads): (u64, usize),
    mut join: impl FnMut(BatchRead) -> Result<(), StoreFault>,
) -> Result<(), StoreFault> {
    let runs = batches.div_ceil(RUN_BATCHES);
    let lanes = (threads.max(1) as u64).min(runs);
    thread::scope(|scope| {
        let receivers: Vec<_> = (0..lanes)
            .map(|lane| {
                let (sender, receiver) = sync_channel(RUN_BATCHES as usize);
                scope.spawn(move || check_lane(snapshot, terms, (lane, lanes, batches), &sender));
                receiver
            })
            .collect();
        for number in 0..batches {
            let lane = number / RUN_BATCHES % lanes;
            let read = receivers[lane as usize].recv();
            join(read.expect("a lane sends every batch of its runs, unless it panicked"))?;
        }
        Ok(())
    })
}

/// Checks every `lanes`-th run of [`RUN_BATCHES`] batches, beginning with the `lane`-th.
fn check_lane(
    snapshot: &StoreSnapshot,
    terms: &BatchTerms,
    (lane, lanes, batches): (u64, u64, u64),
    checked: &SyncSender<BatchRead>,
) {
    let mut reader = BatchReader::new(snapshot, terms.clone());
    let starts = (lane * RUN_BATCHES..batches).step_by((lanes * RUN_BATCHES) as usize);
    for start in starts {
        for number in start..batches.min(start + RUN_BATCHES) {
            // After the first fault the receiver is gone.
            if checked.send(reader.batch(number)).is_err() {
                return;
            }
        }
    }
}

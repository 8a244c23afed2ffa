//! The anchor actor's writes. It reads rows, decides, and writes them again. So it decides nothing while an earlier write
//! has not reached the rows: on a full disk a durable write can wait long for them.

use std::sync::Arc;

use kedge_chain::sender::StoreError;
use kedge_storage::{EventRow, SideWrite};
use parking_lot::Mutex;
use tokio::sync::oneshot::{self, error::TryRecvError};

use super::rows::store_error;
use crate::api::SubmissionError;
use crate::engine::{Engine, SideOutcome};

pub(crate) struct OrderedWrites {
    engine: Engine,
    /// Resolves with the last write, if its caller has given up.
    open: Mutex<Option<oneshot::Receiver<()>>>,
}

impl OrderedWrites {
    pub(super) fn new(engine: &Engine) -> Arc<Self> {
        Arc::new(Self {
            engine: engine.clone(),
            open: Mutex::default(),
        })
    }

    /// Whether the published rows hold every write, so that rows that are read from now on are right.
    pub(super) fn are_settled(&self) -> bool {
        let mut open = self.open.lock();
        let waits = |write: &mut oneshot::Receiver<()>| {
            matches!(write.try_recv(), Err(TryRecvError::Empty))
        };
        let is_open = open.as_mut().is_some_and(waits);
        if !is_open {
            *open = None;
        }
        !is_open
    }

    /// Stores rows with their events in one commit.
    ///
    /// # Errors
    /// Also if an earlier write was open when [`Self::are_settled`] was last asked, or has been left open since.
    pub(super) async fn write(
        &self,
        writes: Vec<SideWrite>,
        events: Vec<EventRow>,
    ) -> Result<(), StoreError> {
        if self.open.lock().is_some() {
            return Err(store_error(SubmissionError::Unavailable));
        }
        match self.engine.begin_side_writes(writes, events).await {
            Ok(SideOutcome::Done) => Ok(()),
            Ok(SideOutcome::Open(write)) => {
                *self.open.lock() = Some(write);
                Err(store_error(SubmissionError::Unknown))
            }
            Err(error) => Err(store_error(error)),
        }
    }
}

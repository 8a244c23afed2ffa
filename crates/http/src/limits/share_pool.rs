//! Slots for downloads and event streams. `kedge_actors::slots` decides who gets one and who gives one up.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kedge_actors::fair::QueueFull;
use metrics::counter;

use super::{ClientAddress, ShareHolder, ShareKind};
use crate::error::ApiResult;
use crate::metric_definitions::PLACES_REASSIGNED;

pub struct SharePool {
    of: ShareKind,
    places: Arc<kedge_actors::slots::SlotPool<ShareHolder, ClientAddress>>,
}

/// A slot, until it is dropped or reassigned.
pub type ShareSlot = kedge_actors::slots::PoolSlot<ShareHolder, ClientAddress>;

impl SharePool {
    /// `all` slots, at most `share` of them for each holder while others wait. A holder with no more than others keeps
    /// its slot for at least `patience`.
    pub fn new(of: ShareKind, all: usize, share: usize, patience: Duration) -> Self {
        let places = kedge_actors::slots::SlotPool::new(all, share, patience);
        Self { of, places }
    }

    /// Takes a slot; if all are taken, one of a holder with more.
    ///
    /// # Errors
    /// 429 if the holder has its share, 503 if all slots are taken and none can be reassigned.
    pub fn take(&self, holder: ShareHolder, address: ClientAddress) -> ApiResult<ShareSlot> {
        let taken = self.places.try_take(holder, address, Instant::now());
        let place = taken.map_err(|full| match full {
            QueueFull::Share => self.of.refused(self.places.share()),
            QueueFull::All => self.of.all_taken(),
        })?;
        if place.is_reassigned {
            counter!(PLACES_REASSIGNED, "share" => self.of.name()).increment(1);
        }
        Ok(place)
    }
}

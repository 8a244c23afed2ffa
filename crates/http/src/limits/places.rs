//! Places for downloads and event streams. Who gets one, and who gives one up, is decided in `kedge_actors::places`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kedge_actors::fair::Full;
use metrics::counter;

use super::{ClientAddress, Holder, Share};
use crate::error::ApiError;
use crate::metric_definitions::PLACES_REASSIGNED;

/// A limited number of places.
pub struct Places {
    of: Share,
    places: Arc<kedge_actors::places::Places<Holder, ClientAddress>>,
}

/// A place, until it is dropped or lost to another caller.
pub type Place = kedge_actors::places::Place<Holder, ClientAddress>;

impl Places {
    /// `all` places, at most `share` of them for each holder while there are others. One that is held by somebody who
    /// holds no more than others is kept for `patience` at least.
    pub fn new(of: Share, all: usize, share: usize, patience: Duration) -> Self {
        let places = kedge_actors::places::Places::new(all, share, patience);
        Self { of, places }
    }

    /// Takes a place; if all are taken, one of somebody who holds more.
    ///
    /// # Errors
    /// 429 if the holder has its share, 503 if all places are taken and nobody has to give one up.
    pub fn take(&self, holder: Holder, address: ClientAddress) -> Result<Place, ApiError> {
        let taken = self.places.try_take(holder, address, Instant::now());
        let place = taken.map_err(|full| match full {
            Full::Share => self.of.refused(self.places.share()),
            Full::All => self.of.all_taken(),
        })?;
        if place.is_reassigned {
            counter!(PLACES_REASSIGNED, "share" => self.of.name()).increment(1);
        }
        Ok(place)
    }
}

//! Room for requests in flight. ractor's mailboxes are unbounded, so there are permits for requests and for their
//! actions, and each organization has a share of them, so that nobody's requests leave no room for those of others. The
//! permits travel with the unit and come back when it ends. Without one a request is refused with 503 before anything
//! else is done for it. The permits are the one account: the metrics are read from them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kedge_env::Env;
use kedge_protocol::Id;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::api::{Asker, Submission, SubmitError};
use crate::metric_definitions as metric;

/// How often the age of the oldest request is measured.
const INTERVAL: Duration = Duration::from_secs(1);

/// All places, and who uses them.
pub(crate) struct Room {
    env: Arc<dyn Env>,
    requests: Arc<Semaphore>,
    requests_max: usize,
    actions: Arc<Semaphore>,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    next: u64,
    /// When each request in flight entered; numbers rise with time.
    begun: BTreeMap<u64, Instant>,
    /// Requests in flight, by holder.
    shares: HashMap<Holder, usize>,
}

/// A holder of a share: an organization, or all registrations together.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Holder {
    Organization(Id),
    Registrations,
}

/// A request's place: permits and its part of a share, given back when it is dropped.
pub(crate) struct Place {
    room: Arc<Room>,
    number: u64,
    holder: Option<Holder>,
    permits: Option<[OwnedSemaphorePermit; 2]>,
}

/// Whose share a request counts towards; the operator's own count towards none.
fn holder_of(asker: &Asker) -> Option<Holder> {
    match *asker {
        Asker::Operator { .. } => None,
        Asker::Registration => Some(Holder::Registrations),
        Asker::Wallet {
            organization_id, ..
        }
        | Asker::Organization { organization_id } => Some(Holder::Organization(organization_id)),
    }
}

impl Room {
    pub(crate) fn new(requests_max: usize, actions_max: usize, env: Arc<dyn Env>) -> Self {
        Self {
            env,
            requests: Arc::new(Semaphore::new(requests_max)),
            requests_max,
            actions: Arc::new(Semaphore::new(actions_max)),
            taken: Mutex::default(),
        }
    }

    /// The permits for requests.
    pub(crate) fn requests(&self) -> Arc<Semaphore> {
        Arc::clone(&self.requests)
    }

    /// Requests in flight.
    pub(crate) fn in_flight(&self) -> usize {
        self.requests_max
            .saturating_sub(self.requests.available_permits())
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock()
    }

    /// Takes a place for a request, if there is one and the organization has fewer than `share_max`. Never waits.
    pub(crate) fn enter(
        self: &Arc<Self>,
        submission: &Submission,
        share_max: usize,
    ) -> Result<Place, SubmitError> {
        let count = submission.actions.len() as u32;
        let holder = holder_of(&submission.asker);
        let number = {
            let mut taken = self.taken();
            if let Some(holder) = holder {
                let held = taken.shares.entry(holder).or_default();
                if *held >= share_max {
                    return Err(SubmitError::Share { limit: share_max });
                }
                *held += 1;
            }
            taken.next += 1;
            let number = taken.next;
            taken.begun.insert(number, self.env.now());
            number
        };
        // From here on, dropping the place gives everything back.
        let mut place = Place {
            room: Arc::clone(self),
            number,
            holder,
            permits: None,
        };
        let overloaded = |_| SubmitError::Overloaded;
        place.permits = Some([
            Arc::clone(&self.requests)
                .try_acquire_owned()
                .map_err(overloaded)?,
            Arc::clone(&self.actions)
                .try_acquire_many_owned(count)
                .map_err(overloaded)?,
        ]);
        self.show();
        Ok(place)
    }

    fn show(&self) {
        metrics::gauge!(metric::REQUESTS_UNDER_WAY).set(self.in_flight() as f64);
    }

    /// How long the oldest request in flight has been there.
    fn oldest(&self, now: Instant) -> Duration {
        let taken = self.taken();
        let oldest = taken.begun.first_key_value();
        oldest.map_or(Duration::ZERO, |(_, begun)| {
            now.saturating_duration_since(*begun)
        })
    }

    /// Measures as long as the room is in use.
    pub(crate) fn watch(self: &Arc<Self>) {
        let room = Arc::downgrade(self);
        tokio::spawn(async move {
            while let Some(room) = room.upgrade() {
                room.show();
                let oldest = room.oldest(room.env.now());
                metrics::gauge!(metric::REQUEST_OLDEST_SECONDS).set(oldest.as_secs_f64());
                drop(room);
                tokio::time::sleep(INTERVAL).await;
            }
        });
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.room.taken();
        taken.begun.remove(&self.number);
        if let Some(holder) = self.holder
            && let Some(held) = taken.shares.get_mut(&holder)
        {
            *held -= 1;
            if *held == 0 {
                taken.shares.remove(&holder);
            }
        }
        drop(taken);
        drop(self.permits.take());
        self.room.show();
    }
}

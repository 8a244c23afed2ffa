//! Admission of signed requests to the engine. ractor's mailboxes are unbounded, so there are permits for requests and
//! for their actions. The number of permits follows the requests' latency (`admission.rs`), and each organization has a
//! share of it, so that one organization's requests leave room for others. The permits travel with the proposal and
//! come back when it ends. Without one a request is refused with 503 before any other work. The permits are the one
//! account: the metrics are read from them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kedge_protocol::Id;
use kedge_runtime::env::Env;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::admission::{AdmissionBounds, AdmissionLimit};
use super::decision_memory::{DecisionMemory, MemoryReservation};
use crate::api::{Principal, Submission, SubmissionError};
use crate::fair::share;
use crate::metric_definitions as metric;

/// Time between measurements of the oldest request.
const INTERVAL: Duration = Duration::from_secs(1);

/// Pool of admission permits.
pub(crate) struct AdmissionPool {
    env: Arc<dyn Env>,
    admission: AdmissionLimit,
    requests: Arc<Semaphore>,
    requests_max: usize,
    /// Largest part of the requests in flight that one organization may have, percent.
    share_percent: u8,
    actions: Arc<Semaphore>,
    decided: Arc<DecisionMemory<AdmissionHolder>>,
    taken: Mutex<AdmissionUsage>,
}

#[derive(Default)]
struct AdmissionUsage {
    next: u64,
    /// Start of each request in flight; numbers rise with time.
    begun: BTreeMap<u64, Instant>,
    /// Requests in flight, by holder.
    shares: HashMap<AdmissionHolder, usize>,
}

/// Holder of a share: an organization, or all registrations together.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum AdmissionHolder {
    Organization(Id),
    Registrations,
}

/// Admission of a request: permits and part of a share, returned on drop.
pub(crate) struct AdmissionPermit {
    room: Arc<AdmissionPool>,
    number: u64,
    begun: Instant,
    holder: Option<AdmissionHolder>,
    permits: Option<[OwnedSemaphorePermit; 2]>,
    decided: Arc<MemoryReservation<AdmissionHolder>>,
}

/// The holder whose share a request counts towards; none for the operator's.
fn holder_of(asker: &Principal) -> Option<AdmissionHolder> {
    match *asker {
        Principal::Operator { .. } => None,
        Principal::Registration => Some(AdmissionHolder::Registrations),
        Principal::Wallet {
            organization_id, ..
        }
        | Principal::Organization { organization_id } => {
            Some(AdmissionHolder::Organization(organization_id))
        }
    }
}

pub(crate) fn overloaded() -> SubmissionError {
    metrics::counter!(metric::OVERLOADED).increment(1);
    SubmissionError::Overloaded
}

impl AdmissionPool {
    pub(crate) fn new(
        bounds: AdmissionBounds,
        share_percent: u8,
        (actions_max, decided_bytes_max): (usize, usize),
        env: Arc<dyn Env>,
    ) -> Self {
        Self {
            admission: AdmissionLimit::new(bounds, env.now()),
            env,
            requests: Arc::new(Semaphore::new(bounds.requests_max)),
            requests_max: bounds.requests_max,
            share_percent,
            actions: Arc::new(Semaphore::new(actions_max)),
            decided: DecisionMemory::new(decided_bytes_max),
            taken: Mutex::default(),
        }
    }

    pub(crate) fn requests(&self) -> Arc<Semaphore> {
        Arc::clone(&self.requests)
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.requests_max
            .saturating_sub(self.requests.available_permits())
    }

    fn taken(&self) -> MutexGuard<'_, AdmissionUsage> {
        self.taken.lock()
    }

    /// Refuses if too many requests are in flight. Called before any other work for a request, so that a refusal is as
    /// cheap as possible.
    pub(crate) fn check(&self) -> Result<(), SubmissionError> {
        if self.in_flight() < self.admission.limit() {
            Ok(())
        } else {
            Err(overloaded())
        }
    }

    /// Admits a request if there is a permit and its organization has less than its share. Never waits.
    pub(crate) fn enter(
        self: &Arc<Self>,
        submission: &Submission,
    ) -> Result<AdmissionPermit, SubmissionError> {
        self.check()?;
        let count = submission.actions.len() as u32;
        let holder = holder_of(&submission.asker);
        let limit = self.admission.limit();
        let share_max = share(limit, self.share_percent);
        let begun = self.env.now();
        let number = {
            let mut taken = self.taken();
            // Others may have entered since the check. An organization that may have every permit must not be refused
            // because of its share.
            if taken.begun.len() >= limit {
                return Err(overloaded());
            }
            if let Some(holder) = holder {
                let held = taken.shares.entry(holder).or_default();
                if *held >= share_max {
                    return Err(SubmissionError::Share { limit: share_max });
                }
                *held += 1;
            }
            taken.next += 1;
            let number = taken.next;
            taken.begun.insert(number, begun);
            number
        };
        // From here on, dropping the permit returns everything.
        let mut place = AdmissionPermit {
            room: Arc::clone(self),
            number,
            begun,
            holder,
            permits: None,
            decided: Arc::new(self.decided.hold(holder)),
        };
        let request = Arc::clone(&self.requests).try_acquire_owned();
        let actions = Arc::clone(&self.actions).try_acquire_many_owned(count);
        place.permits = Some([
            request.map_err(|_| overloaded())?,
            actions.map_err(|_| overloaded())?,
        ]);
        self.show();
        Ok(place)
    }

    fn show(&self) {
        metrics::gauge!(metric::REQUESTS_UNDER_WAY).set(self.in_flight() as f64);
    }

    /// Age of the oldest request in flight.
    fn oldest(&self, now: Instant) -> Duration {
        let taken = self.taken();
        let oldest = taken.begun.first_key_value();
        oldest.map_or(Duration::ZERO, |(_, begun)| {
            now.saturating_duration_since(*begun)
        })
    }

    /// Measures as long as the pool is in use.
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

impl AdmissionPermit {
    /// The memory reservation of its decisions.
    pub(crate) fn decided(&self) -> Arc<MemoryReservation<AdmissionHolder>> {
        Arc::clone(&self.decided)
    }
}

impl Drop for AdmissionPermit {
    fn drop(&mut self) {
        self.decided.clear();
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
        if let Some(permits) = self.permits.take() {
            drop(permits);
            let now = self.room.env.now();
            let elapsed = now.saturating_duration_since(self.begun);
            self.room.admission.answered(now, elapsed);
        }
        self.room.show();
    }
}

//! Fair queue for work that occupies a core for long, such as hashing a password: a bounded number runs concurrently,
//! and waiting addresses take turns, however many requests each has.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use crate::error::{ApiError, ApiResult};
use crate::limits::{ClientAddress, budget};

/// Longest wait.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Waiting requests of one address; more are refused.
const OF_ADDRESS_MAX: usize = 16;
/// Waiting requests of all addresses.
const ALL_MAX: usize = 1_024;

#[derive(Clone)]
pub(super) struct HashingQueue(Arc<HashingScheduler>);

struct HashingScheduler {
    at_once: usize,
    timeout: Duration,
    state: Mutex<HashingState>,
}

#[derive(Default)]
struct HashingState {
    running: usize,
    waiting: usize,
    /// One queue for each waiting address, the next one first.
    queues: VecDeque<AddressQueue>,
}

struct AddressQueue {
    address: ClientAddress,
    waiting: VecDeque<oneshot::Sender<HashingPermit>>,
}

/// A permit, released on drop.
pub(super) struct HashingPermit(Option<Arc<HashingScheduler>>);

impl Drop for HashingPermit {
    fn drop(&mut self) {
        if let Some(queues) = self.0.take() {
            queues.pass_on();
        }
    }
}

/// Result of asking for a permit.
enum HashingAdmission {
    Now,
    Later(oneshot::Receiver<HashingPermit>),
}

impl HashingState {
    /// Removes the first request of the first address, and moves that address to the end.
    fn next(&mut self) -> Option<oneshot::Sender<HashingPermit>> {
        let mut queue = self.queues.pop_front()?;
        let next = queue.waiting.pop_front();
        if !queue.waiting.is_empty() {
            self.queues.push_back(queue);
        }
        self.waiting -= usize::from(next.is_some());
        next
    }

    /// Removes an address's requests whose callers are gone.
    fn forget_gone(&mut self, index: usize) {
        let waiting = &mut self.queues[index].waiting;
        let before = waiting.len();
        waiting.retain(|place| !place.is_closed());
        self.waiting -= before - waiting.len();
    }

    /// Makes room for one more request: by dropping gone ones, or the last of the address with the most, if that has
    /// more than this one would have. So many addresses can fill the queue, but not shut others out.
    fn make_room(&mut self, known: Option<usize>) -> ApiResult<()> {
        for index in 0..self.queues.len() {
            self.forget_gone(index);
        }
        if self.waiting < ALL_MAX {
            return Ok(());
        }
        let own = known.map_or(0, |index| self.queues[index].waiting.len());
        let longest = self
            .queues
            .iter_mut()
            .max_by_key(|queue| queue.waiting.len());
        match longest {
            Some(longest) if longest.waiting.len() > own + 1 => {
                longest.waiting.pop_back();
                self.waiting -= 1;
                Ok(())
            }
            _ => Err(ApiError::overloaded()),
        }
    }

    fn enter(&mut self, address: ClientAddress, at_once: usize) -> ApiResult<HashingAdmission> {
        if self.running < at_once {
            self.running += 1;
            return Ok(HashingAdmission::Now);
        }
        let mut queues = self.queues.iter();
        let known = queues.position(|queue| queue.address == address);
        if let Some(index) = known {
            self.forget_gone(index);
            if self.queues[index].waiting.len() >= OF_ADDRESS_MAX {
                let message = format!(
                    "{OF_ADDRESS_MAX} passwords from your address are waiting to be checked; try again shortly"
                );
                return Err(budget::refuse(budget::PASSWORD_CHECKS, message));
            }
        }
        if self.waiting >= ALL_MAX {
            self.make_room(known)?;
        }
        let (sender, receiver) = oneshot::channel();
        self.waiting += 1;
        match known {
            Some(index) => self.queues[index].waiting.push_back(sender),
            None => self.queues.push_back(AddressQueue {
                address,
                waiting: VecDeque::from([sender]),
            }),
        }
        Ok(HashingAdmission::Later(receiver))
    }
}

impl HashingScheduler {
    fn state(&self) -> MutexGuard<'_, HashingState> {
        self.state.lock()
    }

    /// Passes a released permit to the next waiting request.
    fn pass_on(self: Arc<Self>) {
        loop {
            let next = {
                let mut state = self.state();
                let next = state.next();
                if next.is_none() && state.queues.is_empty() {
                    state.running -= 1;
                    return;
                }
                next
            };
            let Some(next) = next else {
                continue;
            };
            match next.send(HashingPermit(Some(Arc::clone(&self)))) {
                Ok(()) => return,
                // That request is gone, so the permit stays here.
                Err(mut turn) => turn.0 = None,
            }
        }
    }
}

impl HashingQueue {
    pub(super) fn new(at_once: usize) -> Self {
        Self::with_timeout(at_once, TIMEOUT)
    }

    fn with_timeout(at_once: usize, timeout: Duration) -> Self {
        Self(Arc::new(HashingScheduler {
            at_once,
            timeout,
            state: Mutex::default(),
        }))
    }

    /// Waits for a permit.
    pub(super) async fn turn(&self, address: ClientAddress) -> ApiResult<HashingPermit> {
        let place = self.0.state().enter(address, self.0.at_once)?;
        match place {
            HashingAdmission::Now => Ok(HashingPermit(Some(Arc::clone(&self.0)))),
            HashingAdmission::Later(receiver) => tokio::time::timeout(self.0.timeout, receiver)
                .await
                .ok()
                .and_then(Result::ok)
                .ok_or_else(ApiError::overloaded),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use kedge_protocol::Code;

    use super::*;

    fn address(number: u8) -> ClientAddress {
        IpAddr::from([192, 0, 2, number]).into()
    }

    /// Numbers of running and waiting requests.
    fn counts(turns: &HashingQueue) -> (usize, usize) {
        let state = turns.0.state();
        (state.running, state.waiting)
    }

    /// Lets tasks run until they wait.
    async fn settle() {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }

    // Holds invariant 117.
    #[tokio::test]
    async fn addresses_get_their_turns_one_after_the_other() {
        let turns = HashingQueue::new(1);
        let first = turns.turn(address(1)).await.unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = tokio::task::JoinSet::new();
        for number in [1, 1, 1, 1, 2, 3, 2] {
            let (turns, order) = (turns.clone(), Arc::clone(&order));
            tasks.spawn(async move {
                let _turn = turns.turn(address(number)).await.unwrap();
                order.lock().push(number);
            });
            settle().await;
        }
        drop(first);
        tasks.join_all().await;
        assert_eq!(*order.lock(), [1, 2, 3, 1, 2, 1, 1]);
        // The last permit was returned.
        assert_eq!(counts(&turns), (0, 0));
    }

    // Holds invariant 249.
    #[tokio::test]
    async fn many_addresses_keep_nobody_out() {
        let turns = HashingQueue::with_timeout(1, Duration::from_mins(1));
        let held = turns.turn(address(0)).await.unwrap();
        let mut waiting = tokio::task::JoinSet::new();
        for number in 1..=128 {
            for _ in 0..ALL_MAX / 128 {
                let turns = turns.clone();
                waiting.spawn(async move { turns.turn(address(number)).await.is_ok() });
            }
        }
        while counts(&turns).1 < ALL_MAX {
            settle().await;
        }
        // The place of an address with several requests goes to one without any.
        let own = turns.clone();
        let own = tokio::spawn(async move { own.turn(address(200)).await.is_ok() });
        settle().await;
        assert_eq!(counts(&turns), (1, ALL_MAX));
        drop(held);
        assert!(own.await.unwrap());
        let got = waiting.join_all().await;
        assert_eq!(got.iter().filter(|got| !**got).count(), 1);
    }

    // Holds invariant 117.
    #[tokio::test]
    async fn an_address_waits_a_bounded_number_of_times_and_not_for_ever() {
        let turns = HashingQueue::with_timeout(1, Duration::from_secs(1));
        let held = turns.turn(address(1)).await.unwrap();
        let mut waiting = tokio::task::JoinSet::new();
        for _ in 0..OF_ADDRESS_MAX {
            let turns = turns.clone();
            waiting.spawn(async move { turns.turn(address(1)).await.err().unwrap().code });
        }
        settle().await;
        let refused = turns.turn(address(1)).await.err().unwrap();
        assert_eq!(refused.code, Code::RateLimited);
        // Another address still finds a place; none of the callers gets a permit here.
        let other = turns.turn(address(2)).await.err().unwrap();
        assert_eq!(other.code, Code::Unavailable);
        for code in waiting.join_all().await {
            assert_eq!(code, Code::Unavailable);
        }
        // A caller that left keeps no place and gets no permit.
        drop(held);
        assert_eq!(counts(&turns), (0, 0));
        assert!(turns.turn(address(1)).await.is_ok());
    }
}

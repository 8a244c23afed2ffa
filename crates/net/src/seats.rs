//! Seats for connections. When none is left, the address with the most connections gives up the one that has waited
//! longest for a request, so a few addresses cannot keep others out with idle connections.
//!
//! Requests do no bookkeeping here: how long a connection has waited is read only when a seat is needed. A connection
//! found at work is set aside until it waits again, so each look is paid for by a request or a connection.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::addresses::ClientAddress;
use crate::connection::ConnectionState;
use crate::flood::AddressFrames;
use crate::room::ConnectionRoom;

/// Limit of connections that have given up their seats and are still open.
const LEAVING_MAX: usize = 64;
/// Seats given up for one new connection, so that a crowd grown by lingering connections shrinks.
const GIVEN_UP_FOR_ONE: usize = 2;

pub(crate) struct ConnectionSeat {
    room: Weak<ConnectionRoom>,
    pub(crate) number: u64,
    pub(crate) is_reserve: bool,
    made_at: Instant,
    line: OnceLock<Weak<ConnectionState>>,
    /// Found at work; not examined until it waits again.
    is_aside: AtomicBool,
    /// The seat has gone, or is about to go, to another connection.
    is_given_up: AtomicBool,
    is_asked: AtomicBool,
    asked: Notify,
}

impl ConnectionSeat {
    pub(crate) fn new(room: Weak<ConnectionRoom>, number: u64, is_reserve: bool) -> Arc<Self> {
        Arc::new(Self {
            room,
            number,
            is_reserve,
            made_at: Instant::now(),
            line: OnceLock::new(),
            is_aside: AtomicBool::new(false),
            is_given_up: AtomicBool::new(false),
            is_asked: AtomicBool::new(false),
            asked: Notify::new(),
        })
    }

    /// Attaches the connection.
    pub(crate) fn is_taken_by(&self, line: &Arc<ConnectionState>) {
        // A seat has one connection.
        let _first = self.line.set(Arc::downgrade(line));
        self.waits_again();
    }

    /// Since when its connection has waited for a request, if it does. The wait for the first byte counts too.
    fn waits_since(&self) -> Option<Instant> {
        let Some(line) = self.line.get() else {
            return Some(self.made_at);
        };
        line.upgrade()?.waits_since()
    }

    pub(crate) fn is_aside(&self) -> bool {
        self.is_aside.load(Ordering::SeqCst)
    }

    /// Makes the seat available to others.
    pub(crate) fn waits_again(&self) {
        if let Some(room) = self.room.upgrade() {
            room.waits(self);
        }
    }

    /// Notes that a request begins. A connection that was just asked to leave stays until the answer is out.
    pub(crate) fn begins(&self) {
        if self.is_given_up.load(Ordering::SeqCst)
            && let Some(room) = self.room.upgrade()
        {
            room.stays(self);
        }
    }

    /// Resolves when its connection has to leave.
    pub(crate) async fn asked(&self) {
        let asked = self.asked.notified();
        tokio::pin!(asked);
        asked.as_mut().enable();
        if !self.is_asked.load(Ordering::SeqCst) {
            asked.await;
        }
    }

    fn tell(&self) {
        self.is_asked.store(true, Ordering::SeqCst);
        self.asked.notify_waiters();
    }
}

/// Connections of one address.
#[derive(Default)]
struct AddressSeats {
    /// Connections with a seat.
    count: usize,
    /// All open connections.
    open: usize,
    /// State shared by them.
    shared: AddressFrames,
    /// Connections that may wait for a request: since when at least, and their numbers.
    waiting: BTreeSet<(Instant, u64)>,
    /// Key of the address in `ranks`.
    rank: Option<SeatRank>,
}

/// Order of addresses: number of connections, then the longest wait.
type SeatRank = (usize, Reverse<Instant>, ClientAddress);

/// An open connection.
struct SeatHolder {
    seat: Arc<ConnectionSeat>,
    address: ClientAddress,
    /// Its key among the connections that may wait.
    since: Option<Instant>,
    /// Its seat belongs to another connection.
    is_leaving: bool,
}

/// Seats of one class, usual or reserve.
pub(crate) struct SeatTable {
    most: usize,
    of_address_max: usize,
    /// Connections by which an address must exceed the one that gets one of its seats, counting that seat.
    margin: usize,
    taken: usize,
    leaving: usize,
    parties: HashMap<ClientAddress, AddressSeats>,
    /// Addresses with connections that may wait.
    ranks: BTreeSet<SeatRank>,
    sitting: HashMap<u64, SeatHolder>,
}

impl SeatTable {
    pub(crate) fn new(most: usize, of_address_max: usize, margin: usize) -> Self {
        Self {
            most,
            of_address_max,
            margin,
            taken: 0,
            leaving: 0,
            parties: HashMap::new(),
            ranks: BTreeSet::new(),
            sitting: HashMap::new(),
        }
    }

    #[cfg(test)]
    pub(crate) fn taken(&self) -> usize {
        self.taken
    }

    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        let rest = (self.parties.len(), self.ranks.len(), self.sitting.len());
        (self.taken, self.leaving) == (0, 0) && rest == (0, 0, 0)
    }

    /// Connections of an address; proxies' are not counted.
    fn count(&self, address: Option<ClientAddress>) -> usize {
        let party = address.and_then(|address| self.parties.get(&address));
        party.map_or(0, |party| party.count)
    }

    /// Whether the address has reached its limit.
    pub(crate) fn is_full_for(&self, address: Option<ClientAddress>) -> bool {
        self.count(address) >= self.of_address_max
    }

    /// Whether an address without connections could get a seat.
    pub(crate) fn has_one(&mut self) -> bool {
        self.taken < self.most
            || (self.leaving < LEAVING_MAX && self.longest_waiting(1 + self.margin).is_some())
    }

    /// Frees a seat for a connection of this address if that is fair; false if not.
    pub(crate) fn make_room(&mut self, address: Option<ClientAddress>) -> bool {
        let least = self.count(address) + 1 + self.margin;
        for _ in 0..GIVEN_UP_FOR_ONE {
            if self.taken < self.most || !self.give_up_one(least) {
                break;
            }
        }
        self.taken < self.most
    }

    /// Takes a free seat. Connections of proxies share nothing and are never asked to leave.
    pub(crate) fn take(
        &mut self,
        of: Option<(ClientAddress, Arc<ConnectionSeat>)>,
    ) -> Option<AddressFrames> {
        self.taken += 1;
        let (address, seat) = of?;
        let party = self.parties.entry(address).or_default();
        party.count += 1;
        party.open += 1;
        let shared = party.shared.clone().of(Arc::clone(&seat));
        let sitting = SeatHolder {
            seat,
            address,
            since: None,
            is_leaving: false,
        };
        self.sitting.insert(sitting.seat.number, sitting);
        self.rank(address);
        Some(shared)
    }

    /// Notes that a connection has ended.
    pub(crate) fn leave(&mut self, number: Option<u64>) {
        let Some(number) = number else {
            self.taken -= 1;
            return;
        };
        self.queue(number, None);
        let Some(sitting) = self.sitting.remove(&number) else {
            return;
        };
        let has_seat = usize::from(!sitting.is_leaving);
        self.taken -= has_seat;
        self.leaving -= 1 - has_seat;
        if let Some(party) = self.parties.get_mut(&sitting.address) {
            party.count -= has_seat;
            party.open -= 1;
        }
        self.rank(sitting.address);
        if (self.parties.get(&sitting.address)).is_some_and(|party| party.open == 0) {
            self.parties.remove(&sitting.address);
        }
    }

    /// Notes that a connection may wait for a request.
    pub(crate) fn waits(&mut self, seat: &ConnectionSeat) {
        seat.is_aside.store(false, Ordering::SeqCst);
        match seat.waits_since() {
            Some(since) => self.queue(seat.number, Some(since)),
            None => self.set_aside(seat),
        }
    }

    /// Notes that a connection asked to leave stays.
    pub(crate) fn stays(&mut self, seat: &ConnectionSeat) {
        let Some(sitting) = self.sitting.get_mut(&seat.number) else {
            return;
        };
        if !std::mem::take(&mut sitting.is_leaving) {
            return;
        }
        let address = sitting.address;
        self.leaving -= 1;
        self.taken += 1;
        if let Some(party) = self.parties.get_mut(&address) {
            party.count += 1;
        }
        self.rank(address);
    }

    /// Updates the order of an address.
    fn rank(&mut self, address: ClientAddress) {
        let Some(party) = self.parties.get_mut(&address) else {
            return;
        };
        if let Some(rank) = party.rank.take() {
            self.ranks.remove(&rank);
        }
        if let Some((since, _)) = party.waiting.first() {
            let rank = (party.count, Reverse(*since), address);
            party.rank = Some(rank);
            self.ranks.insert(rank);
        }
    }

    /// Sets since when a connection may have waited; `None` if it does not wait.
    fn queue(&mut self, number: u64, since: Option<Instant>) {
        let Some(sitting) = self.sitting.get_mut(&number) else {
            return;
        };
        // A leaving connection has nothing left to give up.
        let since = since.filter(|_| !sitting.seat.is_given_up.load(Ordering::SeqCst));
        let before = std::mem::replace(&mut sitting.since, since);
        let address = sitting.address;
        if let Some(party) = self.parties.get_mut(&address) {
            if let Some(before) = before {
                party.waiting.remove(&(before, number));
            }
            if let Some(since) = since {
                party.waiting.insert((since, number));
            }
        }
        self.rank(address);
    }

    /// Ignores a connection until it waits again.
    fn set_aside(&mut self, seat: &ConnectionSeat) {
        self.queue(seat.number, None);
        seat.is_aside.store(true, Ordering::SeqCst);
        // It may have begun to wait before `is_aside` was visible to it.
        if let Some(since) = seat.waits_since() {
            seat.is_aside.store(false, Ordering::SeqCst);
            self.queue(seat.number, Some(since));
        }
    }

    /// The longest-waiting connection of the address that has the most, if that has at least `least`.
    fn longest_waiting(&mut self, least: usize) -> Option<Arc<ConnectionSeat>> {
        loop {
            let &(count, _, address) = self.ranks.last()?;
            if count < least {
                return None;
            }
            let &(since, number) = self.parties.get(&address)?.waiting.first()?;
            let seat = Arc::clone(&self.sitting.get(&number)?.seat);
            match seat.waits_since() {
                Some(now) if now <= since => return Some(seat),
                Some(now) => self.queue(number, Some(now)),
                None => self.set_aside(&seat),
            }
        }
    }

    /// Has a connection of an address with at least `least` connections give up its seat; false if there is none.
    fn give_up_one(&mut self, least: usize) -> bool {
        while self.leaving < LEAVING_MAX {
            let Some(seat) = self.longest_waiting(least) else {
                return false;
            };
            seat.is_given_up.store(true, Ordering::SeqCst);
            // A request that begins now is either served here or seen by `stays`.
            if seat.waits_since().is_none() {
                seat.is_given_up.store(false, Ordering::SeqCst);
                self.set_aside(&seat);
                continue;
            }
            self.queue(seat.number, None);
            if let Some(sitting) = self.sitting.get_mut(&seat.number) {
                sitting.is_leaving = true;
                let address = sitting.address;
                if let Some(party) = self.parties.get_mut(&address) {
                    party.count -= 1;
                }
                self.rank(address);
            }
            self.leaving += 1;
            self.taken -= 1;
            seat.tell();
            return true;
        }
        false
    }
}

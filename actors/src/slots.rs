//! Slots for long transfers: downloads and event streams. Fair permits (`fair.rs`) come back within milliseconds; a
//! slot is kept as long as its caller likes.
//!
//! A share for each organization does not protect such slots: organizations are free, so a few of them could hold
//! every slot with their shares and lock all others out. A bound for each address does not protect them either:
//! callers of one network share an address, and some callers have many. A smaller share, or a faster lowest pace, would
//! only hurt callers who need many slots while there are plenty.
//!
//! So a caller may have its share as long as slots are free, and once all are taken, a newcomer takes over a slot
//! from a larger holder:
//!
//! 1. from the address that holds the most, if that is at least two more than the newcomer's. All organizations that
//!    one address signs up count as one.
//! 2. otherwise from the organization that holds the most, by the same rule. This rule works where an untrusted proxy
//!    hides all addresses.
//! 3. otherwise from the slowest of all, if that has had its slot for a while and moves little. Otherwise many
//!    addresses with one organization each could hold all slots by reading nearly nothing.
//!
//! Among the candidates the slowest loses its slot, and of equally slow ones the oldest. The first two rules only ever
//! make the numbers more equal, so no slot moves back and forth. Callers can continue where they were: an event stream
//! resumes after its last event, a download with a range, an export with `from`.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::fair::QueueFull;

/// Pace below which a caller moves little: far below any network on which a download makes sense.
const SLOW_BYTES_PER_S: u64 = 32 * 1024;

/// Limited number of slots for holders (organizations) at addresses.
pub struct SlotPool<H: Eq + Hash + Copy, A: Eq + Hash + Copy> {
    all: usize,
    share: usize,
    /// How long a caller that holds no more than others keeps its slot at least.
    patience: Duration,
    taken: Mutex<SlotUsage<H, A>>,
}

struct SlotUsage<H, A> {
    next: u64,
    /// By number; numbers rise with time.
    occupants: BTreeMap<u64, Arc<SlotOccupant<H, A>>>,
    holders: HashMap<H, Arc<AtomicUsize>>,
    addresses: HashMap<A, Arc<AtomicUsize>>,
}

/// Holder of a slot.
struct SlotOccupant<H, A> {
    holder: H,
    address: A,
    /// How many slots the same holder and the same address have.
    of_holder: Arc<AtomicUsize>,
    of_address: Arc<AtomicUsize>,
    since: Instant,
    bytes: AtomicU64,
    lost: Notify,
}

/// Slot, held until it is dropped or lost to another caller.
pub struct PoolSlot<H: Eq + Hash + Copy, A: Eq + Hash + Copy> {
    places: Arc<SlotPool<H, A>>,
    number: u64,
    occupant: Arc<SlotOccupant<H, A>>,
    /// Whether another caller lost it to this one.
    pub is_reassigned: bool,
}

impl<H, A> SlotOccupant<H, A> {
    /// Bytes a second moved so far.
    fn pace(&self, now: Instant) -> u64 {
        let age_ms = now.saturating_duration_since(self.since).as_millis();
        let age_ms = u64::try_from(age_ms).unwrap_or(u64::MAX).max(1);
        self.bytes.load(Ordering::Relaxed).saturating_mul(1_000) / age_ms
    }
}

impl<H: Eq + Hash + Copy, A: Eq + Hash + Copy> SlotPool<H, A> {
    /// `all` slots, at most `share` of them for each holder. A caller that holds no more than others keeps its slot
    /// for `patience` at least.
    pub fn new(all: usize, share: usize, patience: Duration) -> Arc<Self> {
        Arc::new(Self {
            all,
            share,
            patience,
            taken: Mutex::new(SlotUsage {
                next: 0,
                occupants: BTreeMap::new(),
                holders: HashMap::new(),
                addresses: HashMap::new(),
            }),
        })
    }

    /// How many slots one holder may have.
    pub fn share(&self) -> usize {
        self.share
    }

    /// Takes a free slot or, if there is none, one of a larger holder.
    ///
    /// # Errors
    /// [`QueueFull::Share`] if the holder has its share, [`QueueFull::All`] if all slots are taken and no holder must
    /// give one up.
    pub fn try_take(
        self: &Arc<Self>,
        holder: H,
        address: A,
        now: Instant,
    ) -> Result<PoolSlot<H, A>, QueueFull> {
        let mut taken = self.taken.lock();
        let is_full = taken.occupants.len() >= self.all;
        if taken.of_holder(&holder) >= self.share {
            // A holder that may have every slot, and has them, leaves none for others.
            return Err(if is_full {
                QueueFull::All
            } else {
                QueueFull::Share
            });
        }
        if is_full {
            let loser = taken.loser((holder, address), now, self.patience);
            let loser = loser.and_then(|number| taken.remove(number));
            loser.ok_or(QueueFull::All)?.lost.notify_one();
        }
        let (number, occupant) = taken.add(holder, address, now);
        Ok(PoolSlot {
            places: Arc::clone(self),
            number,
            occupant,
            is_reassigned: is_full,
        })
    }
}

impl<H: Eq + Hash + Copy, A: Eq + Hash + Copy> SlotUsage<H, A> {
    fn of_holder(&self, holder: &H) -> usize {
        let count = self.holders.get(holder);
        count.map_or(0, |count| count.load(Ordering::Relaxed))
    }

    fn of_address(&self, address: &A) -> usize {
        let count = self.addresses.get(address);
        count.map_or(0, |count| count.load(Ordering::Relaxed))
    }

    /// Number of the slot that a newcomer takes over; none if the newcomer holds as much as every other caller.
    fn loser(&self, (holder, address): (H, A), now: Instant, patience: Duration) -> Option<u64> {
        let (of_holder, of_address) = (self.of_holder(&holder), self.of_address(&address));
        let most = |of: fn(&SlotOccupant<H, A>) -> &AtomicUsize| {
            let counts = self.occupants.values();
            let counts = counts.map(|occupant| of(occupant).load(Ordering::Relaxed));
            counts.max().unwrap_or_default()
        };
        let most_of_address = most(|occupant| &occupant.of_address);
        if most_of_address > of_address + 1 {
            // The address's organization with the most slots: the others may be well-behaved.
            let of_most = |occupant: &SlotOccupant<H, A>| {
                occupant.of_address.load(Ordering::Relaxed) == most_of_address
            };
            let counts = self
                .occupants
                .values()
                .filter(|occupant| of_most(occupant))
                .map(|occupant| occupant.of_holder.load(Ordering::Relaxed));
            let most = counts.max().unwrap_or_default();
            return self.slowest(now, |occupant| {
                of_most(occupant) && occupant.of_holder.load(Ordering::Relaxed) == most
            });
        }
        let most_of_holder = most(|occupant| &occupant.of_holder);
        if most_of_holder > of_holder + 1 {
            return self.slowest(now, |occupant| {
                occupant.of_holder.load(Ordering::Relaxed) == most_of_holder
            });
        }
        self.slowest(now, |occupant| {
            now.saturating_duration_since(occupant.since) >= patience
                && occupant.pace(now) < SLOW_BYTES_PER_S
        })
    }

    fn slowest(
        &self,
        now: Instant,
        comes_into_question: impl Fn(&SlotOccupant<H, A>) -> bool,
    ) -> Option<u64> {
        let occupants = self.occupants.iter();
        let candidates = occupants.filter(|(_, occupant)| comes_into_question(occupant));
        let slowest = candidates.min_by_key(|(number, occupant)| (occupant.pace(now), **number));
        slowest.map(|(number, _)| *number)
    }

    fn add(&mut self, holder: H, address: A, now: Instant) -> (u64, Arc<SlotOccupant<H, A>>) {
        let of_holder = Arc::clone(self.holders.entry(holder).or_default());
        let of_address = Arc::clone(self.addresses.entry(address).or_default());
        of_holder.fetch_add(1, Ordering::Relaxed);
        of_address.fetch_add(1, Ordering::Relaxed);
        let occupant = Arc::new(SlotOccupant {
            holder,
            address,
            of_holder,
            of_address,
            since: now,
            bytes: AtomicU64::new(0),
            lost: Notify::new(),
        });
        let number = self.next;
        self.next += 1;
        self.occupants.insert(number, Arc::clone(&occupant));
        (number, occupant)
    }

    fn remove(&mut self, number: u64) -> Option<Arc<SlotOccupant<H, A>>> {
        let occupant = self.occupants.remove(&number)?;
        if occupant.of_holder.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.holders.remove(&occupant.holder);
        }
        if occupant.of_address.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.addresses.remove(&occupant.address);
        }
        Some(occupant)
    }
}

impl<H: Eq + Hash + Copy, A: Eq + Hash + Copy> PoolSlot<H, A> {
    /// Counts the bytes that its caller has taken.
    pub fn moved(&self, bytes: usize) {
        self.occupant
            .bytes
            .fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Resolves when another caller has taken the slot over.
    pub async fn lost(&self) {
        self.occupant.lost.notified().await;
    }
}

impl<H: Eq + Hash + Copy, A: Eq + Hash + Copy> Drop for PoolSlot<H, A> {
    fn drop(&mut self) {
        // A lost slot has another occupant by now, under another number.
        self.places.taken.lock().remove(self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Waker};

    use super::*;

    const PATIENCE: Duration = Duration::from_mins(1);

    fn places(all: usize, share: usize) -> Arc<SlotPool<u8, u8>> {
        SlotPool::new(all, share, PATIENCE)
    }

    fn is_lost(place: &PoolSlot<u8, u8>) -> bool {
        let lost = pin!(place.lost());
        let mut context = Context::from_waker(Waker::noop());
        lost.poll(&mut context).is_ready()
    }

    // Holds invariant 213.
    #[test]
    fn organizations_of_one_address_leave_places_for_others() {
        let (places, now) = (places(8, 2), Instant::now());
        let take = |of, from| places.try_take(of, from, now);
        let held: Vec<PoolSlot<u8, u8>> = (0..8).map(|of| take(of, 1).unwrap()).collect();
        // The oldest of equally slow ones gives its slot up.
        let _ann = take(100, 2).unwrap();
        assert!(is_lost(&held[0]) && !held[1..].iter().any(is_lost));
        let _ben = take(101, 3).unwrap();
        assert!(is_lost(&held[1]));
        assert_eq!(
            take(102, 1).err(),
            Some(QueueFull::All),
            "that address holds six"
        );
        drop(held);
        assert_eq!(places.taken.lock().occupants.len(), 2);
    }

    // Holds invariant 213.
    #[test]
    fn of_an_address_the_organization_with_the_most_gives_a_place_up() {
        let (places, now) = (places(4, 3), Instant::now());
        let take = |of, from| places.try_take(of, from, now);
        let well_behaved = take(1, 1).unwrap();
        let greedy = [
            take(2, 1).unwrap(),
            take(2, 1).unwrap(),
            take(2, 1).unwrap(),
        ];
        let _newcomer = take(3, 2).unwrap();
        assert!(!is_lost(&well_behaved));
        assert!(is_lost(&greedy[0]) && !is_lost(&greedy[1]));
    }

    // Holds invariant 213.
    #[test]
    fn behind_one_address_organizations_are_levelled_and_keep_what_is_level() {
        let (places, now) = (places(4, 2), Instant::now());
        let take = |of| places.try_take(of, 1, now);
        let one = [take(1).unwrap(), take(1).unwrap()];
        let two = [take(2).unwrap(), take(2).unwrap()];
        one[0].moved(1_000);
        let three = take(3).unwrap();
        assert!(is_lost(&one[1]), "the slowest of those who hold the most");
        let four = take(4).unwrap();
        assert!(is_lost(&two[0]));
        assert_eq!(take(5).err(), Some(QueueFull::All), "all hold one");
        assert_eq!(take(3).err(), Some(QueueFull::All));
        assert!(![&one[0], &two[1], &three, &four].into_iter().any(is_lost));
    }

    // Holds invariant 213.
    #[test]
    fn who_moves_little_for_long_gives_its_place_up_and_who_moves_does_not() {
        let (places, begun) = (places(3, 1), Instant::now());
        let take = |of, now| places.try_take(of, of, now);
        let slow = take(1, begun).unwrap();
        let fast = take(2, begun).unwrap();
        let (nearly, late) = (begun + Duration::from_secs(59), begun + PATIENCE);
        let young = take(3, nearly).unwrap();
        fast.moved(60 * 1024 * 1024);
        slow.moved(60 * 1024);
        assert_eq!(take(4, nearly).err(), Some(QueueFull::All));
        let newcomer = take(4, late).unwrap();
        assert!(is_lost(&slow) && !is_lost(&fast) && !is_lost(&young));
        assert_eq!(take(5, late).err(), Some(QueueFull::All));
        drop(newcomer);
        take(5, late).unwrap();
    }

    #[test]
    fn nothing_is_remembered_of_who_has_left() {
        let (places, now) = (places(2, 1), Instant::now());
        let place = places.try_take(1, 1, now).unwrap();
        let again = places.try_take(1, 1, now);
        assert_eq!(again.err(), Some(QueueFull::Share));
        drop(place);
        let taken = places.taken.lock();
        assert!(taken.occupants.is_empty());
        assert!(taken.holders.is_empty() && taken.addresses.is_empty());
    }
}

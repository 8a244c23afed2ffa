//! Memory for bodies without credentials. Callers can have many addresses, so per-address shares do not suffice: when
//! the memory is full, the oldest body of the address that holds the most gives way to a body of an address that holds
//! less. Complete bodies hold none of it: the permits for requests bound those.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::error::{ApiError, ApiResult};
use crate::limits::{ShareHolder, budget};

/// Shared memory.
pub(super) struct PublicBodyPool {
    all_max: usize,
    each_max: usize,
    state: Mutex<PublicBodyState>,
}

#[derive(Default)]
struct PublicBodyState {
    held: usize,
    begun: u64,
    callers: HashMap<ShareHolder, PublicBodyCaller>,
    /// Callers by amount held, then by number.
    by_amount: BTreeMap<(usize, u64), ShareHolder>,
}

struct PublicBodyCaller {
    /// Number of its first body.
    number: u64,
    held: usize,
    /// Amount and notification of each body, oldest first.
    bodies: BTreeMap<u64, (usize, Arc<Notify>)>,
}

/// Memory of one body, until it is dropped or gives way.
pub(super) struct PublicBodyShare {
    of: Arc<PublicBodyPool>,
    holder: ShareHolder,
    number: u64,
    held: usize,
    gives_way: Arc<Notify>,
}

impl PublicBodyState {
    /// Sets a body's amount; zero removes it.
    fn set(&mut self, holder: ShareHolder, number: u64, amount: usize, gives_way: &Arc<Notify>) {
        let caller = self
            .callers
            .entry(holder)
            .or_insert_with(|| PublicBodyCaller {
                number,
                held: 0,
                bodies: BTreeMap::new(),
            });
        let before = match amount {
            0 => caller.bodies.remove(&number),
            _ => (caller.bodies).insert(number, (amount, Arc::clone(gives_way))),
        };
        let before = before.map_or(0, |(held, _)| held);
        self.by_amount.remove(&(caller.held, caller.number));
        caller.held = caller.held + amount - before;
        self.held = self.held + amount - before;
        if caller.held > 0 {
            (self.by_amount).insert((caller.held, caller.number), holder);
        } else {
            self.callers.remove(&holder);
        }
    }

    /// Evicts the oldest body of the caller that holds the most, if that is more than `own`.
    fn make_room(&mut self, own: usize) -> ApiResult<()> {
        let most = self.by_amount.last_key_value();
        let most = most.filter(|((held, _), _)| *held > own);
        let holder = most.map(|(_, holder)| *holder);
        let caller = holder.and_then(|holder| Some((holder, self.callers.get(&holder)?)));
        let oldest = caller.and_then(|(holder, caller)| {
            let (number, (_, gives_way)) = caller.bodies.first_key_value()?;
            Some((holder, *number, Arc::clone(gives_way)))
        });
        let (holder, number, gives_way) = oldest.ok_or_else(ApiError::overloaded)?;
        self.set(holder, number, 0, &gives_way);
        gives_way.notify_one();
        Ok(())
    }
}

impl PublicBodyPool {
    /// One caller holds at most `each_max` of `all_max` bytes.
    pub(super) fn new(all_max: usize, each_max: usize) -> Arc<Self> {
        Arc::new(Self {
            all_max,
            each_max,
            state: Mutex::default(),
        })
    }

    /// Registers a body, which holds nothing yet.
    pub(super) fn part(self: &Arc<Self>, holder: ShareHolder) -> PublicBodyShare {
        let mut state = self.state.lock();
        state.begun += 1;
        PublicBodyShare {
            of: Arc::clone(self),
            holder,
            number: state.begun,
            held: 0,
            gives_way: Arc::default(),
        }
    }
}

impl PublicBodyShare {
    /// Notified once the body has been evicted.
    pub(super) fn gives_way(&self) -> Arc<Notify> {
        Arc::clone(&self.gives_way)
    }

    /// Raises the amount; without room it stays as it was.
    pub(super) fn grow_to(&mut self, amount: usize) -> ApiResult<()> {
        let mut state = self.of.state.lock();
        let caller = state.callers.get(&self.holder);
        let is_known = caller.is_some_and(|caller| caller.bodies.contains_key(&self.number));
        if self.held > 0 && !is_known {
            return Err(ApiError::overloaded());
        }
        let more = amount.saturating_sub(self.held);
        let own = caller.map_or(0, |caller| caller.held) + more;
        if own > self.of.each_max {
            return Err(budget::no_room(budget::BODY_BYTES, self.of.each_max));
        }
        while state.held + more > self.of.all_max {
            state.make_room(own)?;
        }
        self.held += more;
        state.set(self.holder, self.number, self.held, &self.gives_way);
        Ok(())
    }
}

impl Drop for PublicBodyShare {
    fn drop(&mut self) {
        let mut state = self.of.state.lock();
        state.set(self.holder, self.number, 0, &self.gives_way);
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use kedge_protocol::Code;

    use super::*;

    const KIB: usize = 1024;

    fn address(number: u32) -> ShareHolder {
        ShareHolder::Address(IpAddr::from(number.to_be_bytes()).into())
    }

    fn held(public: &PublicBodyPool) -> (usize, usize, usize) {
        let state = public.state.lock();
        (state.held, state.callers.len(), state.by_amount.len())
    }

    async fn gave_way(part: &PublicBodyShare) -> bool {
        let notified = part.gives_way.notified();
        tokio::time::timeout(std::time::Duration::ZERO, notified)
            .await
            .is_ok()
    }

    // Holds invariant 115.
    #[tokio::test]
    async fn many_addresses_keep_nobody_out() {
        let public = PublicBodyPool::new(1_024 * KIB, 128 * KIB);
        // Announced bodies hold nothing, however many there are.
        let mut parts: Vec<PublicBodyShare> = (0..5_000).map(|n| public.part(address(n))).collect();
        assert_eq!(held(&public), (0, 0, 0));
        // Some send all that they may.
        let mut got = parts.iter_mut().map(|part| part.grow_to(16 * KIB));
        let refused = got.find_map(Result::err).unwrap();
        assert_eq!(refused.code, Code::Unavailable);
        assert_eq!(held(&public), (1_024 * KIB, 64, 64));
        // They give way one at a time, to callers that hold less: the oldest of the largest holder first.
        let mut own = public.part(address(9_999));
        for size in [KIB / 2, KIB, 2 * KIB, 15 * KIB] {
            own.grow_to(size).unwrap();
        }
        let mut gone = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            if gave_way(part).await {
                gone.push(number);
            }
        }
        assert_eq!(gone.len(), 1);
        assert!(!gave_way(&own).await);
        assert!(parts[gone[0]].grow_to(16 * KIB).is_err(), "it has ended");
        // Others with short bodies find room in between.
        let short: Vec<PublicBodyShare> = (0..4_000)
            .map(|number| {
                let mut part = public.part(address(20_000 + number));
                part.grow_to(100).unwrap();
                part
            })
            .collect();
        assert!(held(&public).0 <= 1_024 * KIB);
        drop((parts, own, short));
        assert_eq!(held(&public), (0, 0, 0));
    }

    // Holds invariant 115.
    #[tokio::test]
    async fn of_one_address_the_oldest_body_gives_way() {
        let public = PublicBodyPool::new(8 * KIB, 6 * KIB);
        let mut parts: Vec<PublicBodyShare> = (0..6).map(|_| public.part(address(1))).collect();
        for part in parts.iter_mut().rev() {
            part.grow_to(KIB).unwrap();
        }
        let refused = parts[5].grow_to(2 * KIB).unwrap_err();
        assert_eq!(refused.code, Code::RateLimited);
        let mut other = public.part(address(2));
        other.grow_to(3 * KIB).unwrap();
        assert!(gave_way(&parts[0]).await && !gave_way(&parts[1]).await);
        assert_eq!(held(&public), (8 * KIB, 2, 2));
        // A body never gives way to a caller that would hold as much.
        assert!(other.grow_to(5 * KIB).is_err());
        assert_eq!(held(&public), (8 * KIB, 2, 2));
    }
}

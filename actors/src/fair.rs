//! Fair queue for a scarce resource, with a share for each key. A key at its share waits only for its own permits, or
//! is refused. The next free permit goes to the waiting key with the fewest permits; ties go to the longest wait.
//! However many permits one key or a few keys want, every other key waits no longer than before.
//!
//! The queue serves requests at the edge, sends of event streams, long reads, pages of lists, claims, webhook attempts
//! and name look-ups: each ends by itself after a bounded time. Downloads and event streams do not, so another rule
//! allots their slots (`slots.rs`). Signed requests in flight have the same shares in
//! `pipeline/admission_pool.rs`.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// `percent` of `all`, at least one.
pub fn share(all: usize, percent: u8) -> usize {
    (all * usize::from(percent) / 100).max(1)
}

/// Reason why no permit is available.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueFull {
    /// All permits are in use.
    All,
    /// The caller's key has its full share.
    Share,
}

/// Fair queue over a limited number of permits.
pub struct FairQueue<K: Eq + Hash + Clone> {
    all: usize,
    share: usize,
    line_max: usize,
    leaves_room: bool,
    lines: Mutex<FairQueueState<K>>,
}

/// Permits in use and waiters, by key.
struct FairQueueState<K: Eq + Hash + Clone> {
    of: HashMap<K, FairShare<K>>,
    in_use: usize,
    waiting: usize,
    /// Number of the next waiter.
    next: u64,
}

/// Permits and waiters of one key.
struct FairShare<K: Eq + Hash + Clone> {
    in_use: usize,
    /// By number; numbers rise with time.
    waiting: BTreeMap<u64, oneshot::Sender<FairPermit<K>>>,
}

/// Permit, returned on drop.
pub struct FairPermit<K: Eq + Hash + Clone> {
    turns: Arc<FairQueue<K>>,
    key: K,
}

/// Waiter for a permit; leaves the queue on drop.
struct FairWait<'a, K: Eq + Hash + Clone> {
    turns: &'a FairQueue<K>,
    key: K,
    number: u64,
}

impl<K: Eq + Hash + Clone> std::fmt::Debug for FairPermit<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Turn")
    }
}

impl<K: Eq + Hash + Clone> Drop for FairPermit<K> {
    fn drop(&mut self) {
        let mut lines = self.turns.lines.lock();
        lines.in_use -= 1;
        lines.change(&self.key, |line| line.in_use -= 1);
        drop(lines);
        self.turns.pass_on();
    }
}

impl<K: Eq + Hash + Clone> Drop for FairWait<'_, K> {
    fn drop(&mut self) {
        let mut lines = self.turns.lines.lock();
        let number = self.number;
        let was_waiting = lines.change(&self.key, |line| line.waiting.remove(&number).is_some());
        lines.waiting -= usize::from(was_waiting.unwrap_or_default());
    }
}

impl<K: Eq + Hash + Clone> FairQueue<K> {
    /// A queue with `all` permits, at most `share` of them for each key; a key may have `line_max` in use and waiting.
    pub fn new(all: usize, share: usize, line_max: usize) -> Arc<Self> {
        Self::with(all, share, line_max, false)
    }

    /// A queue for permits that may be held for long: a key that has some gets no more than are free, so a few keys
    /// never hold all.
    pub fn leaving_room(all: usize, share: usize, line_max: usize) -> Arc<Self> {
        Self::with(all, share, line_max, true)
    }

    fn with(all: usize, share: usize, line_max: usize, leaves_room: bool) -> Arc<Self> {
        Arc::new(Self {
            all,
            share,
            line_max,
            leaves_room,
            lines: Mutex::new(FairQueueState {
                of: HashMap::new(),
                in_use: 0,
                waiting: 0,
                next: 0,
            }),
        })
    }

    /// How many permits each key may have in use.
    pub fn share(&self) -> usize {
        self.share
    }

    /// How many permits each key may have in use and wait for.
    pub fn line_max(&self) -> usize {
        self.line_max
    }

    /// True if all permits are in use.
    pub fn is_full(&self) -> bool {
        self.lines.lock().in_use >= self.all
    }

    /// Takes a permit if one is free now.
    pub fn try_take(self: &Arc<Self>, key: K) -> Result<FairPermit<K>, QueueFull> {
        self.try_take_in(&mut self.lines.lock(), key)
    }

    /// Waiters are all at their share, so a free permit cannot be theirs.
    fn try_take_in(
        self: &Arc<Self>,
        lines: &mut FairQueueState<K>,
        key: K,
    ) -> Result<FairPermit<K>, QueueFull> {
        let line = lines.of.get(&key);
        if line.map_or(0, FairShare::length) >= self.line_max {
            return Err(QueueFull::Share);
        }
        // Checked before the share: a key that may have every permit, and has them, leaves none for others.
        if lines.in_use >= self.all {
            return Err(QueueFull::All);
        }
        if !self.allows(line.map_or(0, |line| line.in_use), lines.in_use) {
            return Err(QueueFull::Share);
        }
        lines.in_use += 1;
        lines.line(&key).in_use += 1;
        let turns = Arc::clone(self);
        Ok(FairPermit { turns, key })
    }

    /// Waits for a permit; fails immediately if too many requests of the same key wait already.
    pub async fn take(self: &Arc<Self>, key: K) -> Result<FairPermit<K>, QueueFull> {
        let (sender, turn) = oneshot::channel();
        let waiting = {
            let mut lines = self.lines.lock();
            let length = lines.of.get(&key).map_or(0, FairShare::length);
            if length >= self.line_max {
                return Err(QueueFull::Share);
            }
            if let Ok(turn) = self.try_take_in(&mut lines, key.clone()) {
                return Ok(turn);
            }
            let number = lines.next;
            lines.next += 1;
            lines.waiting += 1;
            lines.line(&key).waiting.insert(number, sender);
            FairWait {
                turns: self,
                key,
                number,
            }
        };
        let turn = turn.await;
        drop(waiting);
        // Only a waiter that leaves drops its sender.
        turn.map_err(|_| QueueFull::All)
    }

    /// Whether a key with `own` of the `in_use` permits may have one more.
    fn allows(&self, own: usize, in_use: usize) -> bool {
        let has_room = own == 0 || !self.leaves_room || own < self.all - in_use;
        own < self.share && has_room
    }

    fn pass_on(self: &Arc<Self>) {
        let mut lines = self.lines.lock();
        if lines.waiting == 0 || lines.in_use >= self.all {
            return;
        }
        let next = lines
            .of
            .iter()
            .filter(|(_, line)| self.allows(line.in_use, lines.in_use))
            .filter_map(|(key, line)| {
                let (first, _) = line.waiting.first_key_value()?;
                Some(((line.in_use, *first), key))
            })
            .min_by_key(|(order, _)| *order);
        let Some(key) = next.map(|(_, key)| key.clone()) else {
            return;
        };
        let first = lines.change(&key, |line| {
            line.in_use += 1;
            line.waiting.pop_first()
        });
        lines.in_use += 1;
        lines.waiting -= 1;
        drop(lines);
        let turns = Arc::clone(self);
        if let Some((_, sender)) = first.flatten() {
            // If the waiter has left, the permit is dropped here and so passed on.
            let _ = sender.send(FairPermit { turns, key });
        }
    }
}

impl<K: Eq + Hash + Clone> FairShare<K> {
    fn length(&self) -> usize {
        self.in_use + self.waiting.len()
    }
}

impl<K: Eq + Hash + Clone> FairQueueState<K> {
    fn line(&mut self, key: &K) -> &mut FairShare<K> {
        self.of.entry(key.clone()).or_insert_with(|| FairShare {
            in_use: 0,
            waiting: BTreeMap::new(),
        })
    }

    /// Changes a key's entry, and removes it once it is empty.
    fn change<T>(&mut self, key: &K, change: impl FnOnce(&mut FairShare<K>) -> T) -> Option<T> {
        let line = self.of.get_mut(key)?;
        let changed = change(line);
        if line.length() == 0 {
            self.of.remove(key);
        }
        Some(changed)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    // Holds invariant 126.
    #[tokio::test]
    async fn who_has_its_share_keeps_nobody_else_from_theirs() {
        let turns = FairQueue::new(4, 2, 3);
        let held = [
            turns.try_take("ann").unwrap(),
            turns.take("ann").await.unwrap(),
        ];
        assert_eq!(turns.try_take("ann").err(), Some(QueueFull::Share));
        let waits = tokio::time::timeout(Duration::from_millis(20), turns.take("ann"));
        assert!(waits.await.is_err(), "it waits for its own");
        let bob = [
            turns.try_take("bob").unwrap(),
            turns.take("bob").await.unwrap(),
        ];
        assert_eq!(turns.try_take("eve").err(), Some(QueueFull::All));
        drop(bob);
        let _eve = turns.take("eve").await.unwrap();
        drop(held);
        turns.try_take("ann").unwrap();
    }

    // Holds invariant 126.
    #[tokio::test]
    async fn only_so_many_wait_and_nothing_is_remembered_of_who_has_none() {
        let turns = FairQueue::new(1, 1, 2);
        let held = turns.take("ann").await.unwrap();
        let line = Arc::clone(&turns);
        let waiting = tokio::spawn(async move { line.take("ann").await.is_ok() });
        tokio::task::yield_now().await;
        assert_eq!(turns.take("ann").await.err(), Some(QueueFull::Share));
        drop(held);
        assert!(waiting.await.unwrap());
        assert!(turns.lines.lock().of.is_empty());
    }

    // Holds invariant 126.
    #[tokio::test]
    async fn of_those_that_wait_whoever_has_the_fewest_turns_is_next() {
        let turns = FairQueue::new(4, 3, 100);
        let mut held = Vec::new();
        for key in ["ann", "bob", "ann", "bob"] {
            held.push(turns.try_take(key).unwrap());
        }
        let (order, mut next) = tokio::sync::mpsc::unbounded_channel();
        for key in ["ann", "bob", "ann", "bob", "eve", "gus"] {
            let (turns, order) = (Arc::clone(&turns), order.clone());
            tokio::spawn(async move { order.send((key, turns.take(key).await.unwrap())) });
            tokio::task::yield_now().await;
        }
        let mut given = Vec::new();
        for _ in 0..4 {
            drop(held.remove(0));
            let (key, turn) = next.recv().await.unwrap();
            given.push(key);
            // Each permit is kept, so that it counts.
            held.push(turn);
        }
        assert_eq!(given, ["eve", "gus", "ann", "bob"]);
    }

    // Holds invariant 126.
    #[tokio::test]
    async fn who_no_longer_waits_holds_nobody_up() {
        let turns = FairQueue::new(1, 1, 10);
        let held = turns.take("ann").await.unwrap();
        let mut gone = Box::pin(turns.take("bob"));
        let soon = tokio::time::timeout(Duration::from_millis(20), &mut gone);
        assert!(soon.await.is_err());
        let line = Arc::clone(&turns);
        let waiting = tokio::spawn(async move { line.take("eve").await.is_ok() });
        tokio::task::yield_now().await;
        drop(gone);
        drop(held);
        assert!(waiting.await.unwrap());
        // Also a waiter that got its permit and left before seeing it.
        let held = turns.take("ann").await.unwrap();
        let mut gone = Box::pin(turns.take("bob"));
        let soon = tokio::time::timeout(Duration::from_millis(20), &mut gone);
        assert!(soon.await.is_err());
        drop(held);
        drop(gone);
        turns.try_take("eve").unwrap();
        assert!(turns.lines.lock().of.is_empty());
    }

    #[tokio::test]
    async fn a_few_keys_never_have_all_turns_that_may_last_long() {
        let turns = FairQueue::leaving_room(64, 16, 100);
        let mut held = Vec::new();
        for key in 0..6 {
            while let Ok(turn) = turns.try_take(key) {
                held.push(turn);
            }
        }
        // 16, 16, 16, 8, 4 and 2.
        assert_eq!(held.len(), 62);
        held.push(turns.try_take(7).unwrap());
        assert_eq!(turns.try_take(7).unwrap_err(), QueueFull::Share);
        let waiting = Arc::clone(&turns);
        let waiting = tokio::spawn(async move { waiting.take(7).await });
        tokio::task::yield_now().await;
        held.drain(..4);
        assert!(
            waiting.await.unwrap().is_ok(),
            "what is free again is passed on"
        );
    }
}

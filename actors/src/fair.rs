//! Turns at something scarce, with a share for each holder. A holder that has its share waits only for its own turns to
//! end or is refused, so however many one wants, the others' next turn is as near as before.
//!
//! Requests at the edge, event streams, downloads, long reads, pages of lists, claims, attempts at webhooks and
//! look-ups of names take their turns here. Signed requests in flight have the same in `pipeline/room.rs`.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// `percent` of `all`, at least one.
pub fn share(all: usize, percent: u8) -> usize {
    (all * usize::from(percent) / 100).max(1)
}

/// Why there is no turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Full {
    /// All turns are in use.
    All,
    /// The caller's key has its full share.
    Share,
}

/// Turns, a limited number at a time.
pub struct Turns<K: Eq + Hash> {
    all: Arc<Semaphore>,
    share: usize,
    line_max: usize,
    lines: Mutex<HashMap<K, Line>>,
}

/// The turns of one key.
struct Line {
    turns: Arc<Semaphore>,
    /// Turns in use and waited for.
    length: usize,
}

/// A place in the queue for a turn, kept while the turn lasts.
struct Place<K: Eq + Hash> {
    turns: Arc<Turns<K>>,
    key: K,
}

/// A turn: it ends when this is dropped.
pub struct Turn<K: Eq + Hash> {
    _place: Place<K>,
    _permits: [OwnedSemaphorePermit; 2],
}

impl<K: Eq + Hash> std::fmt::Debug for Turn<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Turn")
    }
}

impl<K: Eq + Hash> Drop for Place<K> {
    fn drop(&mut self) {
        let mut lines = self.turns.lines();
        if let Some(line) = lines.get_mut(&self.key) {
            line.length -= 1;
            if line.length == 0 {
                lines.remove(&self.key);
            }
        }
    }
}

impl<K: Eq + Hash + Clone> Turns<K> {
    /// `all` at one time, at most `share` of them for each key; each may have `line_max` in use and waited for.
    pub fn new(all: usize, share: usize, line_max: usize) -> Arc<Self> {
        Arc::new(Self {
            all: Arc::new(Semaphore::new(all)),
            share,
            line_max,
            lines: Mutex::default(),
        })
    }

    /// How many each key may have at one time.
    pub fn share(&self) -> usize {
        self.share
    }

    /// How many each key may have in use and wait for.
    pub fn line_max(&self) -> usize {
        self.line_max
    }

    /// True if all turns are in use.
    pub fn is_full(&self) -> bool {
        self.all.available_permits() == 0
    }

    /// Takes a turn if one is free now.
    pub fn try_take(self: &Arc<Self>, key: K) -> Result<Turn<K>, Full> {
        let (place, own) = self.line_up(key).ok_or(Full::Share)?;
        let own = own.try_acquire_owned().map_err(|_| {
            // A key that may have all turns, and has them, leaves none for others.
            if self.is_full() {
                Full::All
            } else {
                Full::Share
            }
        })?;
        let any = Arc::clone(&self.all).try_acquire_owned();
        Ok(Turn {
            _place: place,
            _permits: [own, any.map_err(|_| Full::All)?],
        })
    }

    /// Waits for a turn; fails at once if too many of the same key are waiting already.
    pub async fn take(self: &Arc<Self>, key: K) -> Result<Turn<K>, Full> {
        let (place, own) = self.line_up(key).ok_or(Full::Share)?;
        // Neither semaphore is ever closed.
        let own = own.acquire_owned().await.map_err(|_| Full::Share)?;
        let any = Arc::clone(&self.all).acquire_owned().await;
        Ok(Turn {
            _place: place,
            _permits: [own, any.map_err(|_| Full::All)?],
        })
    }

    fn line_up(self: &Arc<Self>, key: K) -> Option<(Place<K>, Arc<Semaphore>)> {
        let mut lines = self.lines();
        let line = lines.entry(key.clone()).or_insert_with(|| Line {
            turns: Arc::new(Semaphore::new(self.share)),
            length: 0,
        });
        if line.length >= self.line_max {
            return None;
        }
        line.length += 1;
        let turns = Arc::clone(self);
        Some((Place { turns, key }, Arc::clone(&line.turns)))
    }
}

impl<K: Eq + Hash> Turns<K> {
    fn lines(&self) -> MutexGuard<'_, HashMap<K, Line>> {
        self.lines.lock()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn who_has_its_share_keeps_nobody_else_from_theirs() {
        let turns = Turns::new(4, 2, 3);
        let held = [
            turns.try_take("ann").unwrap(),
            turns.take("ann").await.unwrap(),
        ];
        assert_eq!(turns.try_take("ann").err(), Some(Full::Share));
        let waits = tokio::time::timeout(Duration::from_millis(20), turns.take("ann"));
        assert!(waits.await.is_err(), "it waits for its own");
        let bob = [
            turns.try_take("bob").unwrap(),
            turns.take("bob").await.unwrap(),
        ];
        assert_eq!(turns.try_take("eve").err(), Some(Full::All));
        drop(bob);
        let _eve = turns.take("eve").await.unwrap();
        drop(held);
        turns.try_take("ann").unwrap();
    }

    #[tokio::test]
    async fn only_so_many_wait_and_nothing_is_remembered_of_who_has_none() {
        let turns = Turns::new(1, 1, 2);
        let held = turns.take("ann").await.unwrap();
        let line = Arc::clone(&turns);
        let waiting = tokio::spawn(async move { line.take("ann").await.is_ok() });
        tokio::task::yield_now().await;
        assert_eq!(turns.take("ann").await.err(), Some(Full::Share));
        drop(held);
        assert!(waiting.await.unwrap());
        assert!(turns.lines().is_empty());
    }
}

//! Nonce counter of a signing key, shared by all its requests.

use std::sync::atomic::{AtomicU64, Ordering};

use kedge_protocol::limits::NONCE_JUMP_MAX;

#[derive(Debug, Default)]
pub(crate) struct NonceCounter {
    /// Next nonce; 0 while the highest spent one is unknown.
    next: AtomicU64,
}

impl NonceCounter {
    /// Takes the next nonce; `None` while the server's highest is unknown.
    pub(crate) fn take(&self) -> Option<u64> {
        self.next
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| {
                (next > 0).then(|| next.saturating_add(1))
            })
            .ok()
    }

    /// Takes over the server's highest nonce; other clients may sign with the same key.
    pub(crate) fn learn(&self, highest: u64) {
        self.next
            .fetch_max(highest.saturating_add(1), Ordering::Relaxed);
    }

    /// Adjusts the counter after the server refused `refused` and stated `highest`. May go back, because many failed
    /// requests can put the counter too far ahead.
    pub(crate) fn resynchronise(&self, refused: u64, highest: u64) {
        if refused > highest.saturating_add(NONCE_JUMP_MAX) {
            self.next
                .store(highest.saturating_add(1), Ordering::Relaxed);
        } else {
            self.learn(highest);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Arc;

    use super::*;

    #[test]
    fn no_nonce_twice_from_many_threads() {
        let counter = Arc::new(NonceCounter::default());
        assert_eq!(counter.take(), None);
        counter.learn(0);
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let counter = Arc::clone(&counter);
                std::thread::spawn(move || {
                    (0..1000)
                        .map(|_| counter.take().unwrap())
                        .collect::<Vec<u64>>()
                })
            })
            .collect();
        let taken: HashSet<u64> = threads
            .into_iter()
            .flat_map(|t| t.join().unwrap())
            .collect();
        assert_eq!(taken.len(), 4000);
        assert_eq!(counter.take(), Some(4001));
    }

    #[test]
    fn follows_the_server_up_and_back_from_too_far() {
        let counter = NonceCounter::default();
        counter.learn(10);
        counter.learn(4);
        assert_eq!(counter.take(), Some(11));
        counter.resynchronise(11, 50);
        assert_eq!(counter.take(), Some(51));
        counter.learn(50 + 2 * NONCE_JUMP_MAX);
        counter.resynchronise(51 + 2 * NONCE_JUMP_MAX, 51);
        assert_eq!(counter.take(), Some(52));
    }
}

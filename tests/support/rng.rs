//! Randomness with a printed seed.

use std::time::{SystemTime, UNIX_EPOCH};

use kedge_protocol::signature::SigningKey;

/// Pseudo-random numbers from a seed (splitmix64).
#[derive(Clone, Copy)]
pub(crate) struct Rng(u64);

impl Rng {
    /// The seed from `KEDGE_TEST_SEED`, or one from the clock; printed, so that a failure can be
    /// reproduced.
    pub(crate) fn seeded(test: &str) -> Self {
        Self::from_variable(test, "KEDGE_TEST_SEED")
    }

    /// The seed from an environment variable, or one from the clock.
    pub(crate) fn from_variable(test: &str, variable: &str) -> Self {
        let clock = || {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
            u64::try_from(since.as_millis()).unwrap()
        };
        let given = std::env::var(variable).ok();
        let seed = given.map_or_else(clock, |text| text.parse().unwrap());
        eprintln!("{test}: {variable}={seed}");
        Self(seed)
    }

    /// The numbers of a seed that is not printed.
    pub(crate) fn of(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(crate) fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).unwrap()].clone()
    }

    /// Another stream of numbers, derived from this one.
    pub(crate) fn fork(&mut self) -> Self {
        Self(self.next())
    }

    pub(crate) fn key(&mut self) -> SigningKey {
        let mut bytes = [0x11; 32];
        bytes[..8].copy_from_slice(&self.next().to_be_bytes());
        SigningKey::from_bytes(&bytes).unwrap()
    }
}

//! Random source: every choice of a run follows from its seed.

/// A generator of numbers (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct SimulationRandom(u64);

impl SimulationRandom {
    /// A separate generator for each seed and purpose, so that more draws for one purpose do not change another's.
    pub(crate) fn new(seed: u64, purpose: u64) -> Self {
        let mut random = Self(seed ^ purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        random.next();
        Self(random.next())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// True with a probability of `of_10_000` out of ten thousand.
    pub(crate) fn chance(&mut self, of_10_000: u64) -> bool {
        self.below(10_000) < of_10_000
    }

    /// Rate of an event in a run, out of ten thousand: zero in half of all runs, otherwise up to `max`.
    pub(crate) fn rate(&mut self, max: u64) -> u64 {
        let (is_on, rate) = (self.below(2) == 0, 1 + self.below(max));
        if is_on { rate } else { 0 }
    }

    /// A random element; `None` if there is none.
    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let index = self.below(from.len().max(1) as u64);
        from.get(index as usize)
    }
}

/// Hash of a run's steps (FNV-1a): runs with the same hash took the same steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RunTrace(u64);

impl Default for RunTrace {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl RunTrace {
    /// Adds a step and its numbers.
    pub(crate) fn note(&mut self, what: &str, numbers: &[u64]) {
        let numbers = numbers.iter().flat_map(|number| number.to_be_bytes());
        for byte in what.bytes().chain(numbers) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// The hash so far.
    pub fn hash(self) -> u64 {
        self.0
    }
}

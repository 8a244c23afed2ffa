//! The one source of chance: every choice of a run follows from its seed.

/// A generator of numbers (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// A generator of its own for each seed and purpose, so that one purpose that draws more often does not change what
    /// another one draws.
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

    /// True in `of_10_000` of ten thousand cases.
    pub(crate) fn chance(&mut self, of_10_000: u64) -> bool {
        self.below(10_000) < of_10_000
    }

    /// How often something happens in a run, of ten thousand cases: never in half of all runs, otherwise up to `max`.
    pub(crate) fn rate(&mut self, max: u64) -> u64 {
        let (is_on, rate) = (self.below(2) == 0, 1 + self.below(max));
        if is_on { rate } else { 0 }
    }

    /// One of these; `None` if there is none.
    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let index = self.below(from.len().max(1) as u64);
        from.get(index as usize)
    }
}

/// What a run did, as one number: two runs with the same one took the same steps (FNV-1a).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trace(u64);

impl Default for Trace {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Trace {
    /// Notes what was done, and with which numbers.
    pub(crate) fn note(&mut self, what: &str, numbers: &[u64]) {
        let numbers = numbers.iter().flat_map(|number| number.to_be_bytes());
        for byte in what.bytes().chain(numbers) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// The number.
    pub fn hash(self) -> u64 {
        self.0
    }
}

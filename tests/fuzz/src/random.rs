//! Pseudo-random numbers from a seed (SplitMix64), the same on every machine.

/// A generator of pseudo-random numbers.
#[derive(Clone, Copy, Debug)]
pub struct FuzzRandom(u64);

impl FuzzRandom {
    /// A generator with this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Numbers that follow from an input, for targets that need more choices than bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(super::hash(bytes))
    }

    /// Any number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % end as u64) as usize
    }

    /// A random element.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

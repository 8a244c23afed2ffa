//! Hash tables keyed by identifiers. A client influences its identifiers, so it can search for thousands that begin or
//! end alike. A secret seed of the process decides which of them collide in a table.

use core::hash::BuildHasher;
use std::sync::OnceLock;

use foldhash::SharedSeed;
use foldhash::fast::FoldHasher;

static SEED: OnceLock<IdHashSeed> = OnceLock::new();
/// The seed of a process that sets none.
static KNOWN: IdHashSeed = IdHashSeed::of(1);

#[derive(Debug)]
struct IdHashSeed {
    start: u64,
    shared: SharedSeed,
}

impl IdHashSeed {
    const fn of(seed: u64) -> Self {
        Self {
            start: seed,
            shared: SharedSeed::from_u64(seed),
        }
    }
}

/// A table keyed by identifiers, or by other hash bytes.
pub type IdMap<K, V> = std::collections::HashMap<K, V, IdHashing>;

/// Sets the seed of each [`IdMap`] created from now on. A server calls this with a random number before it reads or
/// accepts anything; without it, every process has the same seed. Only the first call counts.
pub fn seed_maps(seed: u64) {
    let _ = SEED.set(IdHashSeed::of(seed));
}

/// The seeded hash function of [`IdMap`].
#[derive(Clone, Debug)]
pub struct IdHashing(&'static IdHashSeed);

impl Default for IdHashing {
    fn default() -> Self {
        Self(SEED.get().unwrap_or(&KNOWN))
    }
}

impl BuildHasher for IdHashing {
    type Hasher = FoldHasher<'static>;

    fn build_hasher(&self) -> Self::Hasher {
        FoldHasher::with_seed(self.0.start, &self.0.shared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Hash, Id, Prefix};

    // Holds invariant 209.
    #[test]
    fn identifiers_that_share_a_place_share_none_under_another_seed() {
        static SEEDS: [IdHashSeed; 2] = [IdHashSeed::of(1), IdHashSeed::of(2)];
        const PLACES: u64 = 1_024;
        let [known, secret] = SEEDS.each_ref().map(IdHashing);
        let ids = (0..100_000).map(|index| Id::made_by(Prefix::Object, &Hash::ZERO, index));
        let alike: Vec<Id> = ids.filter(|id| known.hash_one(id) % PLACES == 0).collect();
        assert!(alike.len() > 50, "{}", alike.len());
        let places: std::collections::HashSet<u64> = alike
            .iter()
            .map(|id| secret.hash_one(id) % PLACES)
            .collect();
        assert!(places.len() > alike.len() / 2, "{}", places.len());
    }
}

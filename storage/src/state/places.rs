//! Places of the state's trie that proofs went through, in memory.

use std::sync::Arc;

use kedge_protocol::Hash;
use kedge_protocol::state::trie::{NodePath, ProvenPlace, ProvenPlaces};
use quick_cache::Weighter;
use quick_cache::sync::Cache;

/// Bytes of remembered places: the upper four levels of a state with millions of entries.
const PLACES_BYTES: u64 = 16 << 20;
/// Bytes of a place, about, which size the table of places.
const PLACE_BYTES: u64 = 1 << 11;

type PlaceKey = (NodePath, Hash);

#[derive(Clone)]
struct PlaceWeighter;

impl Weighter<PlaceKey, Arc<ProvenPlace>> for PlaceWeighter {
    fn weight(&self, _: &PlaceKey, place: &Arc<ProvenPlace>) -> u64 {
        place.byte_len() as u64
    }
}

/// Places that proofs went through, bounded by their bytes. Most proofs share the upper ones, from one checkpoint to the
/// next too.
pub(crate) struct PlaceCache(Cache<PlaceKey, Arc<ProvenPlace>, PlaceWeighter>);

impl Default for PlaceCache {
    fn default() -> Self {
        let count = (PLACES_BYTES / PLACE_BYTES) as usize;
        Self(Cache::with_weighter(count, PLACES_BYTES, PlaceWeighter))
    }
}

impl ProvenPlaces for PlaceCache {
    fn find(&self, path: &NodePath, hash: &Hash) -> Option<Arc<ProvenPlace>> {
        self.0.get(&(*path, *hash))
    }

    fn keep(&self, path: &NodePath, hash: &Hash, place: &Arc<ProvenPlace>) {
        self.0.insert((*path, *hash), Arc::clone(place));
    }
}

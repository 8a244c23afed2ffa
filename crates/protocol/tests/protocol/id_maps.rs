//! The seed of id tables. It is set once per process, so no other test of this program sets it.

use std::hash::BuildHasher;

use kedge_protocol::ids::{IdHashing, seed_maps};
use kedge_protocol::{Hash, Id, Prefix};

#[test]
fn the_first_seed_of_a_process_decides_the_places() {
    let id = Id::of_hash(Prefix::Object, &Hash([7; 32]));
    let place = || IdHashing::default().hash_one(id);
    let known = place();
    assert_eq!(place(), known);
    seed_maps(12_345);
    let secret = place();
    assert_ne!(secret, known);
    seed_maps(67_890);
    assert_eq!(place(), secret, "only the first call counts");
}

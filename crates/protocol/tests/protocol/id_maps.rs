//! The seed of id tables; in a separate test program, because it is set once per process.

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

//! The state: the entry of each resource, and the branches of the trie over them, by version. A version is the number of
//! batches after which it holds, so that a checkpoint's proofs can be made while the state has moved on. Nothing of it is
//! in the log: every node makes its own from the rows ([`Store::make_state`]), and a root that differs from the leader's
//! is a fault.
//!
//! - [`batch`]: entries in one buffer;
//! - [`changes`]: which entries may have changed since the last root;
//! - [`entries`]: the entry of a resource, from its rows;
//! - [`making`]: the next root;
//! - [`near`]: a cursor for rising keys;
//! - [`neighbors`]: leaves around those that changed;
//! - [`places`]: places that proofs went through;
//! - [`proofs`]: proofs for a version;
//! - [`pruning`]: which versions stay;
//! - [`serials`]: the serials of all objects, in the order of their ids;
//! - [`versions`]: reads of one version.
//!
//! [`Store::make_state`]: crate::Store::make_state

mod batch;
pub(crate) mod changes;
mod entries;
mod making;
mod near;
mod neighbors;
pub(crate) mod places;
mod proofs;
pub(crate) mod pruning;
mod serials;
mod versions;

pub use entries::ResourceEntries;
pub use making::{StateError, StateRoot};

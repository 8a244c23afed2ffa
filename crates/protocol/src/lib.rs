//! The Kedge protocol, layers 1 to 3, claim files of layer 4, and the evidence of faults of layer 5: everything that a
//! client, the server and a verifier must agree on to the last bit. `docs/PROTOCOL.md` specifies it in prose.
//!
//! Pure: no I/O, no clock, no randomness, no threads. A verifier can be built from it anywhere.

#![warn(missing_docs)]

pub mod address;
pub mod claim;
mod code;
pub mod eip712;
pub mod event;
mod event_type;
pub mod evidence;
pub mod export;
pub mod hash;
pub mod history;
pub mod ids;
pub mod json;
pub mod known_signer;
pub mod lanes;
pub mod limits;
mod log;
mod multiples;
pub mod percent;
pub mod proof;
pub mod receipt;
pub mod registry;
mod request;
pub mod resource;
#[cfg(feature = "schema")]
pub mod schema;
pub mod signature;
pub mod state;
pub mod time;
pub mod tlog;

pub use address::Address;
pub use code::Code;
pub use hash::Hash;
pub use ids::{Id, Prefix};
pub use log::{batch, chain, checkpoint, key_proof, log_tree, merkle, sequencer_keys};
pub use request::{action, nonce, payload, possession, record};
pub use sequencer_keys::{BatchKeys, KeyActivation, SequencerKeys};

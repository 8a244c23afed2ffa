//! What each endpoint does: handlers of what is not signed; of signed requests what they need before they are submitted,
//! and their answers. Reads use the published snapshot and wait for no actor. Pages of lists and pieces of
//! exports are read and written on threads of their own, never on the runtime's workers.

pub mod actions;
pub mod anchors;
pub mod batches;
pub mod bus;
pub mod disputes;
pub mod events;
pub mod export;
pub mod files;
pub mod keys;
mod made;
pub mod members;
pub mod object_list;
pub mod objects;
pub mod organizations;
pub mod past;
pub mod preview;
pub mod reference;
pub mod search;
pub mod sequencer_keys;
pub mod service;
pub mod templates;
pub mod wallets;
pub mod webhooks;

/// Caching of answers that are for one caller only.
const PRIVATE: &str = "private, no-cache";
/// Caching of public answers that may still change.
const PUBLIC: &str = "public, no-cache";
/// Caching of public answers that never change.
const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// Why a download breaks off whose place went to another caller.
const PLACE_LOST: &str = "all downloads are in use, and a caller with fewer got this one's place";

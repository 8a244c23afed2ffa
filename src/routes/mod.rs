//! Handlers of the endpoints: whole handlers of unsigned requests; preparation and answers of signed ones. Reads use
//! the published snapshot and wait for no actor. List pages and pieces of exports are read and encoded on separate
//! threads, never on the runtime's workers.

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

/// Caching of answers for one caller.
const PRIVATE: &str = "private, no-cache";
/// Caching of public answers that may change.
const PUBLIC: &str = "public, no-cache";
/// Caching of public answers that never change.
const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// Reason for breaking off a download whose place was reassigned.
const PLACE_LOST: &str = "all downloads are in use, and a caller with fewer got this one's place";

//! Events: what happens to an organization's things, in the one order in which it became true.
//!
//! Whatever is in the log tells itself: [`read`] makes those events from the log's records, for any
//! span, ascending or descending, and nothing is stored for them. What is not in the log (actions
//! that were refused, anchors getting on) is written down by the committer in the same commit as
//! what it speaks of, and placed behind everything told so far. Both are read through one snapshot,
//! in one order of positions; a reader that remembers the last position it saw goes on from there
//! without a gap and without seeing anything twice, after a crash too.
//!
//! [`Listener`] tells when there may be something new; it carries no events and can lose none.

mod anchors;
mod beside;
mod listeners;
mod read;

pub(crate) use anchors::anchor_events;
pub(crate) use beside::Beside;
pub use listeners::Listener;
pub(crate) use listeners::Listeners;
pub use read::{Filter, Piece, Span, read};

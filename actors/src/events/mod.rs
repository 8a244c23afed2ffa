//! Events: what happens to an organization's things, in the one order in which it became true.
//!
//! Events of what is in the log are not stored: [`kedge_replay::events::read`] makes them from the log's records, for any span, ascending or
//! descending. What is not in the log (refused actions, the progress of anchors) is written by the committer in the
//! same commit as what it reports, and placed after every earlier event. Both are read through one snapshot, in one
//! order of positions. A position is a sequence and an index; a list and a stream (`GET /ebus/events`,
//! `/ebus/events/stream`) read the same order, and Last-Event-ID is a position. A reader that remembers the last
//! position it saw continues from there without a gap and without a repeat, after a crash too.
//!
//! [`Listener`] signals that there may be something new; it carries no events and can lose none.

mod listeners;
mod side;

pub use listeners::Listener;
pub(crate) use listeners::Listeners;
pub(crate) use side::SideEvents;

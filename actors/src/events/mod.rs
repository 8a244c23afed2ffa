//! Events: changes of an organization's resources, in the one order in which they became true.
//!
//! Events that follow from the log are not stored: [`kedge_replay::events::read`] makes them from the log's records, for any
//! span, ascending or descending. The committer stores the others (refused actions, progress of anchors) in the same
//! commit as the fact that they report, and places them after every earlier event. Both are read through one snapshot,
//! in one order of positions. A position is a sequence and an index; a list and a stream (`GET /ebus/events`,
//! `/ebus/events/stream`) read the same order, and Last-Event-ID is a position. A reader that remembers its last
//! position continues from there without a gap and without a repeat, even after a crash.
//!
//! [`EventListener`] signals that there may be new events; it carries none and can lose none.

mod listeners;
mod side_events;

pub use listeners::EventListener;
pub(crate) use listeners::EventListeners;
pub(crate) use side_events::SideEvents;

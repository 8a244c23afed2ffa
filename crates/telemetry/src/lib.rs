//! What a server shows of itself: its log (`logging`), its metrics (`scrape`), and distributed traces, which are
//! the rest of this crate (docs/adr/0022-tracing.md): which requests are sampled, the spans of what happens to them, and
//! their way to a collector by OTLP over HTTP. Off unless a collector is named; then no thread, no connection and no
//! header comes of it.
//!
//! - `context`: the headers of W3C Trace Context. `sampling`: who decides that a request is traced.
//! - `tracer`: the way in. `request`: a sampled request at the edge. `observer`: what the engine noted of it, commit
//!   groups and anchors. `delivery`: attempts at webhooks. `recent`: which request an action came with.
//! - `span`: the library's form of a span. `exporter`: the queue and the thread that empties it. `collector`: the POST.
//! - `exemplars`: sampled requests in histograms. `openmetrics`: metrics with exemplars, as `scrape` serves them.
//!
//! Spans are made after the fact, from times that were noted on the way. So an unsampled request costs no more than
//! reading its header, and a sampled one no more than noting times, until it has been answered.

mod collector;
mod context;
mod delivery;
mod exemplars;
mod exporter;
pub mod logging;
pub mod metric_definitions;
mod observer;
mod openmetrics;
mod recent;
mod request;
mod sampling;
pub mod scrape;
mod settings;
mod span;
mod tracer;

pub use delivery::Delivery;
pub use request::{Answered, Traced};
pub use settings::TracingError;
pub use tracer::Tracer;

//! Observability of a server: its log (`logging`), its metrics (`scrape`), and distributed traces
//! (docs/adr/0022-tracing.md), sent to a collector by OTLP over HTTP. Tracing is off unless a collector is configured;
//! then it has no threads, connections or headers.
//!
//! - `context`: headers of W3C Trace Context. `sampling`: the choice of traced requests.
//! - `tracer`: the entry point. `request`: a sampled request at the edge. `observer`: reports of the engine, commit
//!   groups and anchors. `delivery`: attempts at webhooks. `recent`: from an action to its request.
//! - `span`: spans in the library's form. `exporter`: the queue and its thread. `collector`: the POST.
//! - `exemplars`: sampled requests in histograms. `openmetrics`: metrics with exemplars, as `scrape` serves them.
//!
//! Spans are made after the answer, from times noted meanwhile. So an unsampled request only has its header read, and a
//! sampled one only notes times.

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

pub use delivery::TracedDelivery;
pub use request::{AnswerSummary, RequestTrace};
pub use settings::TracingError;
pub use tracer::Tracer;

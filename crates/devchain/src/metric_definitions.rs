//! The names and meanings of this crate's metrics, in one place.

use metrics::{describe_counter, describe_gauge};

/// Height of the embedded chain.
pub const EMBEDDED_BLOCK_NUMBER: &str = "kedge_embedded_chain_block_number";
/// Requests that the embedded chain answered.
pub const EMBEDDED_REQUESTS_TOTAL: &str = "kedge_embedded_chain_requests_total";

/// Describes the metrics to the recorder.
pub fn describe() {
    describe_gauge!(EMBEDDED_BLOCK_NUMBER, "Height of the embedded chain");
    describe_counter!(
        EMBEDDED_REQUESTS_TOTAL,
        "Requests that the embedded chain answered"
    );
}

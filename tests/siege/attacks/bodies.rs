//! Bodies that do not arrive: announced and not sent, sent slightly faster than the slowest accepted rate, and sent to
//! requests that read none.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;

use crate::besieged::Siege;
use crate::field::{Field, read_to_end, swarm};
use crate::frames::{self, DATA};

const CONNECTIONS: usize = 2_000;
/// The largest body that the server accepts.
const BODY_BYTES: usize = 16 << 20;
/// Bytes that are sent of it immediately.
const SENT_BYTES: usize = 24 << 10;

/// Half of them with the attacker's token, half without credentials.
fn announcing(field: &Field, number: usize, bytes: usize) -> String {
    let more = format!("content-type: application/json\r\ncontent-length: {bytes}\r\n");
    if number.is_multiple_of(2) {
        field.head("POST", "/objects/search", &more)
    } else {
        format!("POST /wallets/login HTTP/1.1\r\nhost: a\r\n{more}\r\n")
    }
}

async fn announced(field: Arc<Field>, number: usize) {
    let Some(mut stream) = field.connect(number).await else {
        return;
    };
    // Without a token a longer body is refused.
    let bytes = if number.is_multiple_of(2) {
        BODY_BYTES
    } else {
        16_000
    };
    let mut begun = announcing(&field, number, bytes).into_bytes();
    begun.resize(begun.len() + SENT_BYTES.min(bytes - 1), b' ');
    if stream.write_all(&begun).await.is_ok() {
        field.did();
        read_to_end(&mut stream).await;
    }
}

async fn slow(field: Arc<Field>, number: usize) {
    const EVERY: Duration = Duration::from_millis(500);
    let Some(mut stream) = field.connect(number).await else {
        return;
    };
    let begun = announcing(&field, number, 16_000);
    field.did();
    let (mut reads, mut writes) = stream.split();
    let sending = async {
        if writes.write_all(begun.as_bytes()).await.is_err() {
            return;
        }
        // A little more than `body_bytes_per_s_min`, or far less.
        let piece = vec![b' '; if number % 4 < 2 { 600 } else { 1 }];
        while writes.write_all(&piece).await.is_ok() {
            tokio::time::sleep(EVERY).await;
        }
    };
    tokio::select! {
        () = sending => {}
        () = read_to_end(&mut reads) => {}
    }
}

/// Fills the windows of requests that do not wait for their bodies: 1 MiB a stream, 4 MiB a connection.
async fn unwanted(field: Arc<Field>, number: usize) {
    const STREAMS: u32 = 4;
    const PIECES: usize = 63;
    let Some(mut stream) = field.connect(number).await else {
        return;
    };
    if frames::begin(&mut stream, 65_535).await.is_none()
        || frames::acknowledge(&mut stream).await.is_none()
    {
        return;
    }
    let block = frames::block("GET", "/batches?min_sequence=1000000000", &field.bearer());
    let piece = vec![0; 16 << 10];
    let mut bytes = Vec::new();
    for number in 0..STREAMS {
        frames::request(&mut bytes, 2 * number + 1, 0, &block);
        for _ in 0..PIECES {
            frames::frame(&mut bytes, DATA, 0, 2 * number + 1, &piece);
        }
    }
    let (mut reads, mut writes) = stream.split();
    let sending = async {
        if writes.write_all(&bytes).await.is_ok() {
            field.did();
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = sending => {}
        () = read_to_end(&mut reads) => {}
    }
}

#[test]
#[ignore = "a siege: make siege"]
fn bodies_that_are_announced() {
    Siege::new("2,000 bodies announced with 16 MiB, 24 KiB sent", 320)
        .run(async |field| swarm(&field, CONNECTIONS, announced).await);
}

#[test]
#[ignore = "a siege: make siege"]
fn bodies_that_come_slowly() {
    Siege::new("2,000 bodies at 1.2 KB/s and at 2 B/s", 192)
        .run(async |field| swarm(&field, CONNECTIONS, slow).await);
}

// Holds invariant 115.
#[test]
#[ignore = "a siege: make siege"]
fn bodies_that_nobody_wants() {
    Siege::new(
        "HTTP/2: bodies of 1 MiB to 512 requests that wait and take none",
        192,
    )
    .run(async |field| swarm(&field, 128, unwanted).await);
}

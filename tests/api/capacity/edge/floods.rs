//! Endless HTTP/2 frames that serve no request: the server soon closes such a connection, and an address that opens one
//! after the other costs little.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;

use super::connect_from;
use crate::harness::Server;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
/// A request that waits for the rest of its body: `POST /batches`, in plain HPACK.
const PATH: &[u8] = b"/batches";

fn frame(kind: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0, 0, payload.len() as u8, kind, 0, 0, 0, 0, stream];
    frame.extend_from_slice(payload);
    frame
}

/// The number of frames that were sent until the server closed the connection.
async fn flood(server: &Server, host: u8, again: &[u8]) -> usize {
    let mut stream = connect_from(server, host).await;
    let mut headers = vec![0x83, 0x86, 0x04, PATH.len() as u8];
    headers.extend_from_slice(PATH);
    headers.extend_from_slice(b"\x01\x01k");
    let mut headers = frame(1, 1, &headers);
    // END_HEADERS, and a body that never ends.
    headers[4] = 4;
    let begun = [PREFACE, SETTINGS, &headers].concat();
    stream.write_all(&begun).await.unwrap();
    let (mut from, mut to) = stream.split();
    let mut sent = 0;
    let sending = async {
        while to.write_all(&again.repeat(64)).await.is_ok() {
            sent += 64;
            // Lets the server close.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let reading = async {
        let mut rest = Vec::new();
        let _however = from.read_to_end(&mut rest).await;
    };
    let ended = async {
        tokio::select! {
            () = sending => {}
            () = reading => {}
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(20), ended).await;
    ended.expect("the server closes the connection");
    sent
}

// Holds invariant 225.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_sends_only_frames_of_control_is_closed() {
    let server = Server::start().await;
    for (name, again) in [
        ("PING", frame(6, 0, &[7; 8])),
        ("SETTINGS", frame(4, 0, &[0, 4, 0, 0, 0xff, 0xff])),
        ("PRIORITY", frame(2, 1, &[0, 0, 0, 3, 16])),
        ("WINDOW_UPDATE", frame(8, 1, &[0, 0, 0, 1])),
        ("empty DATA", frame(0, 1, &[])),
        ("an unknown kind", frame(0xfa, 1, &[1])),
    ] {
        let sent = flood(&server, 1, &again).await;
        assert!(sent < 20_000, "{name}: {sent} frames");
    }
}

// Holds invariant 225.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_that_floods_on_many_connections_costs_little() {
    const TIME: Duration = Duration::from_secs(4);
    let server = Arc::new(Server::start().await);
    let before = server.processor_time();
    let begun = Instant::now();
    let ping = frame(6, 0, &[7; 8]);
    let mut flooding = JoinSet::new();
    for _ in 0..8 {
        let (server, ping) = (Arc::clone(&server), ping.clone());
        flooding.spawn(async move {
            let mut sent = 0;
            while begun.elapsed() < TIME {
                sent += flood(&server, 1, &ping).await;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            sent
        });
    }
    let sent: usize = flooding.join_all().await.iter().sum();
    let used = server.processor_time().saturating_sub(before);
    eprintln!("{sent} frames cost {used:?} in {:?}", begun.elapsed());
    assert!(used < begun.elapsed().mul_f32(0.25), "{used:?}");
}

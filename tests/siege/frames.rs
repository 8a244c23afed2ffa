//! Hand-written HTTP/2 frames, in any order (RFC 9113). Without TLS the server speaks HTTP/2 to clients that begin with
//! the preface.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The client's preface.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

const ACK: u8 = 1;
pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

/// SETTINGS_INITIAL_WINDOW_SIZE.
const INITIAL_WINDOW_SIZE: u16 = 4;
const CANCEL: u32 = 8;

pub(crate) fn frame(to: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    to.extend_from_slice(&length[1..]);
    to.extend_from_slice(&[kind, flags]);
    to.extend_from_slice(&stream.to_be_bytes());
    to.extend_from_slice(payload);
}

pub(crate) fn reset(to: &mut Vec<u8>, stream: u32) {
    frame(to, RST_STREAM, 0, stream, &CANCEL.to_be_bytes());
}

/// Appends a request in one HEADERS frame.
pub(crate) fn request(to: &mut Vec<u8>, stream: u32, flags: u8, block: &[u8]) {
    frame(to, HEADERS, flags | END_HEADERS, stream, block);
}

/// An uncompressed string of HPACK (RFC 7541, 5.2).
fn text(block: &mut Vec<u8>, text: &str) {
    const MOST: usize = 127;
    if text.len() < MOST {
        block.push(text.len() as u8);
    } else {
        block.push(MOST as u8);
        let mut rest = text.len() - MOST;
        while rest >= 128 {
            block.push((rest % 128) as u8 | 128);
            rest /= 128;
        }
        block.push(rest as u8);
    }
    block.extend_from_slice(text.as_bytes());
}

/// Appends a header field without indexing.
pub(crate) fn field(block: &mut Vec<u8>, name: &str, value: &str) {
    block.push(0);
    text(block, name);
    text(block, value);
}

/// Appends a header field with indexing in the decoder's table.
pub(crate) fn indexed(block: &mut Vec<u8>, name: &str, value: &str) {
    block.push(0x40);
    text(block, name);
    text(block, value);
}

/// The header block of a request.
pub(crate) fn block(method: &str, path: &str, bearer: &str) -> Vec<u8> {
    let mut block = Vec::new();
    field(&mut block, ":method", method);
    field(&mut block, ":scheme", "http");
    field(&mut block, ":authority", "a");
    field(&mut block, ":path", path);
    field(&mut block, "authorization", bearer);
    block
}

/// Waits for the server's settings and acknowledges them: only then do its windows count.
pub(crate) async fn acknowledge(stream: &mut TcpStream) -> Option<()> {
    let mut head = [0; 9];
    stream.read_exact(&mut head).await.ok()?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
    stream.read_exact(&mut vec![0; length]).await.ok()?;
    let mut bytes = Vec::new();
    frame(&mut bytes, SETTINGS, ACK, 0, &[]);
    stream.write_all(&bytes).await.ok()
}

/// Opens a connection, with this initial window for the server's answers.
pub(crate) async fn begin(stream: &mut TcpStream, window: u32) -> Option<()> {
    let mut bytes = PREFACE.to_vec();
    let mut settings = INITIAL_WINDOW_SIZE.to_be_bytes().to_vec();
    settings.extend_from_slice(&window.to_be_bytes());
    frame(&mut bytes, SETTINGS, 0, 0, &settings);
    stream.write_all(&bytes).await.ok()
}

//! Ports for servers that tests start.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

/// Below the ports that the system uses for outgoing connections: any of those could take a port that was found free
/// before its server listens.
const FIRST: u16 = 10_000;
/// Test programs that run at the same time begin far apart.
const APART: u16 = 100;
const PROGRAMS: u32 = 220;

/// A port on the loopback interface on which nobody listens, returned only once.
pub(crate) fn free_port() -> u16 {
    static GIVEN: AtomicU16 = AtomicU16::new(0);
    let first = FIRST + (std::process::id() % PROGRAMS) as u16 * APART;
    loop {
        let port = first + GIVEN.fetch_add(1, Ordering::Relaxed);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

//! Ports for servers that tests start.

use std::net::TcpListener;
use std::sync::Mutex;

/// Below the ports that the system uses for outgoing connections, any of which could take a port that was found free
/// before its server listens.
const FIRST: u16 = 10_000;
/// Ports that a test program reserves in one block. It listens on the first of them, and so keeps the others to itself:
/// two programs that look for free ports at the same time could find the same one.
const AT_ONCE: u16 = 100;
const PARTS: u16 = 220;

struct Taken {
    guards: Vec<TcpListener>,
    next: u16,
    end: u16,
}

/// Reserves ports that no other program has.
fn take(taken: &mut Taken) {
    let own = (std::process::id() % u32::from(PARTS)) as u16;
    let found = (0..PARTS).find_map(|offset| {
        let first = FIRST + (own + offset) % PARTS * AT_ONCE;
        let guard = TcpListener::bind(("127.0.0.1", first)).ok()?;
        Some((first, guard))
    });
    let (first, guard) = found.expect("ports that no other program has taken");
    taken.guards.push(guard);
    (taken.next, taken.end) = (first + 1, first + AT_ONCE);
}

/// A free port on the loopback interface, returned only once.
pub(crate) fn free_port() -> u16 {
    static TAKEN: Mutex<Taken> = Mutex::new(Taken {
        guards: Vec::new(),
        next: 0,
        end: 0,
    });
    let mut taken = TAKEN
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    loop {
        if taken.next == taken.end {
            take(&mut taken);
        }
        let port = taken.next;
        taken.next += 1;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

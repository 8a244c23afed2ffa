//! Departure from a server that still answers but has lost the others, so that messages through it reach no stream. A
//! node notices that its own reports are not stored, and connects to another server.

use std::time::Duration;

use async_nats::{ReconnectToServer, Server, ServerAddr, ServerInfo};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::connection::Cluster;

/// Time without a stored report after which the node moves. It reports every second, and each attempt takes up to one
/// request's time-out.
const WAIT_MIN: Duration = Duration::from_millis(2_500);
/// The time doubles after each futile move, up to this: there may be no quorum anywhere.
const WAIT_MAX: Duration = Duration::from_secs(20);

/// State of the connected server.
pub(crate) struct ReconnectBackoff(Mutex<BackoffState>);

struct BackoffState {
    /// Time of the last stored report or move.
    since: Instant,
    wait: Duration,
}

impl Default for ReconnectBackoff {
    fn default() -> Self {
        Self(Mutex::new(BackoffState {
            since: Instant::now(),
            wait: WAIT_MIN,
        }))
    }
}

impl ReconnectBackoff {
    /// Records whether a report was stored. True if the node should move.
    fn note(&self, is_stored: bool) -> bool {
        let mut known = self.0.lock();
        if is_stored {
            known.since = Instant::now();
            known.wait = WAIT_MIN;
            return false;
        }
        let moves = known.since.elapsed() >= known.wait;
        if moves {
            known.since = Instant::now();
            known.wait = (known.wait * 2).min(WAIT_MAX);
        }
        moves
    }
}

/// Chooses the server of each reconnection: never the one of the previous attempt, if there is another. The client's
/// random choice might stay at a separated server.
#[derive(Default)]
pub(crate) struct Chooser(Mutex<Option<ServerAddr>>);

impl Chooser {
    /// The next server of the client's pool; `None` for the client's own choice.
    pub(crate) fn choose(&self, pool: &[Server], before: &ServerInfo) -> Option<ReconnectToServer> {
        // At the first connection the client tries all servers.
        if before.server_id.is_empty() {
            return None;
        }
        let mut last = self.0.lock();
        let left = match &*last {
            Some(addr) => pool.iter().position(|server| server.addr == *addr),
            None => pool.iter().position(|server| server.did_connect),
        };
        let first = left.map_or(0, |left| left + 1);
        let others = (0..pool.len()).map(|step| (first + step) % pool.len());
        let others = others.filter(|index| Some(*index) != left || pool.len() == 1);
        let chosen = others.min_by_key(|index| pool[*index].failed_attempts)?;
        let addr = pool[chosen].addr.clone();
        *last = Some(addr.clone());
        Some(ReconnectToServer { addr, delay: None })
    }
}

impl Cluster {
    /// Records whether the servers stored a report, and moves to another server after a while without.
    pub(crate) async fn note_stored(&self, is_stored: bool) {
        let inner = &self.0;
        if !inner.roaming.note(is_stored) || !inner.servers.is_connected() {
            return;
        }
        tracing::warn!(
            "the connected NATS server stores nothing that the others know: connecting to another one"
        );
        inner.servers.reconnect().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds invariant 189.
    #[test]
    fn each_attempt_is_for_another_server_than_the_one_before() {
        let server = |name: &str, failed_attempts, did_connect| Server {
            addr: format!("nats://{name}:4222").parse().unwrap(),
            failed_attempts,
            did_connect,
            is_discovered: false,
            last_error: None,
        };
        let chooser = Chooser::default();
        let name = |pool: &[Server], before: &ServerInfo| {
            let chosen = chooser.choose(pool, before)?;
            Some(chosen.addr.host().to_owned())
        };
        let pool = [
            server("a", 0, false),
            server("b", 0, true),
            server("c", 0, false),
        ];
        assert_eq!(
            name(&pool, &ServerInfo::default()),
            None,
            "the first connection"
        );
        let known = ServerInfo {
            server_id: "N".to_owned(),
            ..ServerInfo::default()
        };
        // The second server was connected.
        let chosen: Vec<_> = (0..4).map(|_| name(&pool, &known).unwrap()).collect();
        assert_eq!(chosen, ["c", "a", "b", "c"]);
        // A failed server is tried after the others.
        let pool = [
            server("a", 3, true),
            server("b", 0, true),
            server("c", 0, true),
        ];
        let chosen: Vec<_> = (0..3).map(|_| name(&pool, &known).unwrap()).collect();
        assert_eq!(chosen, ["b", "c", "b"]);
        assert_eq!(name(&pool[..1], &known).unwrap(), "a");
    }

    // Holds invariant 189.
    #[test]
    fn a_node_moves_after_a_while_without_success_and_then_less_often() {
        let roaming = ReconnectBackoff::default();
        let past = |by: Duration| roaming.0.lock().since -= by;
        assert!(!roaming.note(false));
        past(WAIT_MIN);
        assert!(roaming.note(false));
        assert!(!roaming.note(false), "it has just moved");
        past(WAIT_MIN);
        assert!(!roaming.note(false), "the second time it waits for longer");
        past(WAIT_MIN);
        assert!(roaming.note(false));
        roaming.note(true);
        past(WAIT_MIN);
        assert!(roaming.note(false), "a success is where it begins again");
    }
}

//! Idle connections to receivers, kept for the next message: a handshake costs two to three round trips, and both sides
//! more time than the message itself.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::SendRequest;
use kedge_protocol::Id;
use parking_lot::Mutex;
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::bounded_connection::ReceiverAllowance;

/// Idle timeout. Many servers close theirs after five seconds.
const IDLE_MAX: Duration = Duration::from_secs(4);
/// Age limit, after which a receiver that moved to another address is found there.
const AGE_MAX: Duration = Duration::from_mins(1);
/// Kept connections in all, and to one receiver of an organization.
const KEPT_MAX: usize = 256;
const KEPT_OF_ONE_MAX: usize = 8;

/// A connection, closed on drop.
pub(super) struct ReceiverConnection {
    pub(super) sender: SendRequest<Full<Bytes>>,
    driver: AbortHandle,
    /// Bytes that the receiver may send for a message.
    pub(super) allowance: ReceiverAllowance,
    begun: Instant,
}

impl ReceiverConnection {
    pub(super) fn new(
        sender: SendRequest<Full<Bytes>>,
        driver: AbortHandle,
        allowance: ReceiverAllowance,
    ) -> Self {
        Self {
            sender,
            driver,
            allowance,
            begun: Instant::now(),
        }
    }

    fn is_usable(&self) -> bool {
        self.begun.elapsed() < AGE_MAX && !self.sender.is_closed()
    }
}

impl Drop for ReceiverConnection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// Key of a connection: connections are never shared between organizations.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct ReceiverRoute {
    pub(super) organization: Id,
    pub(super) is_https: bool,
    /// Name and port.
    pub(super) authority: String,
}

struct IdleConnection {
    since: Instant,
    connection: ReceiverConnection,
}

impl IdleConnection {
    fn is_usable(&self) -> bool {
        self.since.elapsed() < IDLE_MAX && self.connection.is_usable()
    }
}

#[derive(Default)]
struct IdlePoolState {
    by_route: HashMap<ReceiverRoute, Vec<IdleConnection>>,
    count: usize,
    /// Task that closes old connections; it ends with its runtime.
    watcher: Option<AbortHandle>,
}

impl IdlePoolState {
    /// Closes connections that were kept for too long; true if any is left.
    fn close_old(&mut self) -> bool {
        self.by_route.retain(|_, kept| {
            kept.retain(IdleConnection::is_usable);
            !kept.is_empty()
        });
        self.count = self.by_route.values().map(Vec::len).sum();
        self.count > 0
    }
}

/// Pool of idle connections.
#[derive(Clone, Default)]
pub(super) struct IdleConnections(Arc<Mutex<IdlePoolState>>);

impl IdleConnections {
    /// Takes the most recently used connection to this receiver.
    pub(super) fn take(&self, route: &ReceiverRoute) -> Option<ReceiverConnection> {
        let mut state = self.0.lock();
        loop {
            let kept = state.by_route.get_mut(route)?.pop()?;
            state.count -= 1;
            if kept.is_usable() {
                return Some(kept.connection);
            }
        }
    }

    /// Keeps a connection that is ready for another message, if there is room.
    pub(super) fn keep(&self, route: ReceiverRoute, connection: ReceiverConnection) {
        let mut state = self.0.lock();
        if state.count >= KEPT_MAX || !connection.is_usable() {
            return;
        }
        let kept = state.by_route.entry(route).or_default();
        if kept.len() >= KEPT_OF_ONE_MAX {
            return;
        }
        kept.push(IdleConnection {
            since: Instant::now(),
            connection,
        });
        state.count += 1;
        if state.watcher.as_ref().is_none_or(AbortHandle::is_finished) {
            state.watcher = Some(tokio::spawn(self.clone().watch()).abort_handle());
        }
    }

    /// Closes old connections until none is left.
    async fn watch(self) {
        loop {
            tokio::time::sleep(IDLE_MAX).await;
            let mut state = self.0.lock();
            if !state.close_old() {
                state.watcher = None;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use hyper::client::conn::http1;
    use hyper_util::rt::TokioIo;
    use kedge_protocol::{Hash, Prefix};
    use tokio::io::{AsyncReadExt as _, DuplexStream};

    use super::*;

    async fn connection() -> (ReceiverConnection, DuplexStream) {
        let (ours, theirs) = tokio::io::duplex(1_024);
        let (sender, driver) = http1::handshake(TokioIo::new(ours)).await.unwrap();
        let driver = tokio::spawn(async {
            let _ended = driver.await;
        });
        let one = ReceiverConnection::new(sender, driver.abort_handle(), ReceiverAllowance::new());
        (one, theirs)
    }

    fn route(authority: usize) -> ReceiverRoute {
        ReceiverRoute {
            organization: Id::of_hash(Prefix::Organization, &Hash::ZERO),
            is_https: true,
            authority: format!("receiver-{authority}.example.com"),
        }
    }

    /// The peer sees the end of the connection.
    async fn is_closed(mut theirs: DuplexStream) {
        assert_eq!(theirs.read(&mut [0; 8]).await.unwrap(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_kept_for_its_route_and_not_for_long() {
        let idle = IdleConnections::default();
        let (one, theirs) = connection().await;
        idle.keep(route(1), one);
        assert!(idle.take(&route(2)).is_none());
        let one = idle.take(&route(1)).unwrap();
        assert!(idle.take(&route(1)).is_none());
        idle.keep(route(1), one);
        tokio::time::sleep(IDLE_MAX / 2).await;
        let one = idle.take(&route(1)).unwrap();
        idle.keep(route(1), one);
        // The connection is not asked for again.
        tokio::time::sleep(2 * IDLE_MAX).await;
        is_closed(theirs).await;
        let state = idle.0.lock();
        assert!(state.by_route.is_empty() && state.count == 0 && state.watcher.is_none());
    }

    #[test]
    fn connections_are_closed_in_time_after_the_end_of_an_earlier_runtime() {
        let idle = IdleConnections::default();
        for term in 0..2 {
            let mut builder = tokio::runtime::Builder::new_current_thread();
            let runtime = builder.enable_all().start_paused(true).build().unwrap();
            runtime.block_on(async {
                let (one, theirs) = connection().await;
                idle.keep(route(term), one);
                if term == 1 {
                    tokio::time::sleep(2 * IDLE_MAX).await;
                    is_closed(theirs).await;
                }
            });
        }
        assert_eq!(idle.0.lock().count, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_busy_connection_is_not_used_for_ever() {
        let idle = IdleConnections::default();
        let (mut one, theirs) = connection().await;
        let begun = Instant::now();
        while begun.elapsed() < AGE_MAX {
            idle.keep(route(1), one);
            one = idle.take(&route(1)).unwrap();
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        idle.keep(route(1), one);
        assert!(idle.take(&route(1)).is_none());
        is_closed(theirs).await;
    }

    #[tokio::test(start_paused = true)]
    async fn few_are_kept_of_one_receiver_and_a_bounded_number_of_all() {
        let idle = IdleConnections::default();
        let mut others = Vec::new();
        for _ in 0..=KEPT_OF_ONE_MAX {
            let (one, theirs) = connection().await;
            idle.keep(route(0), one);
            others.push(theirs);
        }
        is_closed(others.pop().unwrap()).await;
        assert_eq!(idle.0.lock().count, KEPT_OF_ONE_MAX);
        for authority in 1..=KEPT_MAX {
            let (one, theirs) = connection().await;
            idle.keep(route(authority), one);
            others.push(theirs);
        }
        assert_eq!(idle.0.lock().count, KEPT_MAX);
        is_closed(others.pop().unwrap()).await;
    }

    #[tokio::test]
    async fn a_connection_that_the_receiver_closed_is_not_used() {
        let idle = IdleConnections::default();
        let (mut one, theirs) = connection().await;
        one.sender.ready().await.unwrap();
        idle.keep(route(1), one);
        drop(theirs);
        while !idle.0.lock().by_route[&route(1)][0]
            .connection
            .sender
            .is_closed()
        {
            tokio::task::yield_now().await;
        }
        assert!(idle.take(&route(1)).is_none());
    }
}

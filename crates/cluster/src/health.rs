//! State of the connection to the servers.

use async_nats::Event;
use tokio::sync::watch;
use tokio::time::Instant;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClusterHealth {
    pub connected: bool,
    /// Time of the last change of `connected`.
    pub since: Instant,
    /// The last error reported by a server or by the connection.
    pub last_error: Option<String>,
}

pub(crate) fn channel() -> (watch::Sender<ClusterHealth>, watch::Receiver<ClusterHealth>) {
    watch::channel(ClusterHealth {
        connected: false,
        since: Instant::now(),
        last_error: None,
    })
}

pub(crate) fn note(health: &watch::Sender<ClusterHealth>, event: &Event) {
    let connected = match event {
        Event::Connected => Some(true),
        Event::Disconnected | Event::Closed => Some(false),
        _ => None,
    };
    health.send_modify(|health| match connected {
        Some(connected) => {
            if health.connected != connected {
                health.connected = connected;
                health.since = Instant::now();
            }
        }
        None => health.last_error = Some(event.to_string()),
    });
    match event {
        Event::Connected => tracing::info!("connected to the NATS servers"),
        event => tracing::warn!(event = %event, "the connection to the NATS servers"),
    }
}

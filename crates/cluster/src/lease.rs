//! The lease: a value that says which node leads or should try to. The lease provides liveness (some node leads); the
//! stream provides safety (at most one does). Nodes never compare clocks: a lease expires when an observer has seen no
//! change for a time by its own clock. The servers' storage time only helps a node to detect errors of its clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::connection::Cluster;
use crate::error::StreamError;
use crate::nats::unreachable;
use crate::options::LEASE_KEY;

/// Holder of the lease.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LeaseHolder {
    /// The node's name; empty after a release.
    pub node: String,
    /// The node's URL for clients.
    pub url: String,
    /// The node's term.
    pub term: u64,
    /// The node to lead next, after a release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successor: Option<String>,
}

/// The lease as last read by this node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeaseObservation {
    /// `None` before the first holder.
    pub holder: Option<LeaseHolder>,
    /// Revision of the value; 0 before the first.
    pub revision: u64,
    /// When this node first saw the revision.
    pub seen: Instant,
    /// Storage time by the servers' clock, Unix milliseconds; 0 before the first.
    pub stored_ms: u64,
}

impl LeaseObservation {
    /// Whether a node may try to take the lease: it has no holder, was released to the node, or was not renewed for
    /// `lease`.
    pub fn may_be_taken_by(&self, node: &str, lease: Duration) -> bool {
        let Some(holder) = &self.holder else {
            return true;
        };
        let is_free = match &holder.successor {
            Some(successor) => successor == node,
            None => holder.node.is_empty() || holder.node == node,
        };
        is_free || self.seen.elapsed() >= lease
    }
}

fn unix_ms(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Access to the log's lease.
#[derive(Clone)]
pub struct Lease(Cluster);

impl Cluster {
    /// Access to the log's lease.
    pub fn lease(&self) -> Lease {
        Lease(self.clone())
    }
}

impl Lease {
    /// Reads the lease.
    ///
    /// # Errors
    /// [`StreamError::Unreachable`] if no server answers.
    pub async fn read(&self) -> Result<LeaseObservation, StreamError> {
        let entry = self.0.0.servers.entry(LEASE_KEY).await?;
        let seen = Instant::now();
        Ok(match entry {
            None => LeaseObservation {
                holder: None,
                revision: 0,
                seen,
                stored_ms: 0,
            },
            Some(entry) => LeaseObservation {
                holder: entry
                    .value
                    .and_then(|value| serde_json::from_slice(&value).ok()),
                revision: entry.revision,
                seen,
                stored_ms: unix_ms(entry.created),
            },
        })
    }

    /// Follows the lease; `None` until the first reading. Ends with the last receiver.
    pub fn watch(&self) -> watch::Receiver<Option<LeaseObservation>> {
        let (sender, receiver) = watch::channel(None);
        let lease = self.clone();
        let runtime = self.0.0.runtime.clone();
        runtime.spawn(async move { lease.follow(&sender).await });
        receiver
    }

    async fn follow(&self, sender: &watch::Sender<Option<LeaseObservation>>) {
        let options = &self.0.0.options;
        // Polled, because a subscription would have to notice the loss of its server. Changes are also announced on a
        // subject, so observers need not wait for the next poll.
        let interval =
            (options.lease / 6).clamp(Duration::from_millis(25), Duration::from_millis(300));
        let servers = &self.0.0.servers;
        let mut changes = servers.hear(options.lease_subject()).await.ok();
        loop {
            if let Ok(read) = self.read().await {
                sender.send_if_modified(|known| match known {
                    Some(known) if known.revision >= read.revision => false,
                    _ => {
                        *known = Some(read);
                        true
                    }
                });
            }
            let wait = async {
                let next = async {
                    match &mut changes {
                        Some(changes) => changes.next().await.is_some(),
                        None => false,
                    }
                };
                if !next.await {
                    std::future::pending::<()>().await;
                }
            };
            tokio::select! {
                biased;
                () = sender.closed() => return,
                _ = tokio::time::timeout(interval, wait) => {}
            }
        }
    }

    /// Takes or renews the lease, if it still has `last_revision`. Returns the new revision, or `None` if another node
    /// was faster.
    ///
    /// # Errors
    /// [`StreamError::Unreachable`] leaves the result unknown; the next reading shows it.
    pub async fn take(
        &self,
        last_revision: u64,
        holder: &LeaseHolder,
    ) -> Result<Option<u64>, StreamError> {
        let value = serde_json::to_vec(holder).map_err(unreachable)?;
        let servers = &self.0.0.servers;
        let updated = servers
            .update(LEASE_KEY, value.into(), last_revision)
            .await?;
        if updated.is_some() {
            self.tell().await;
        }
        Ok(updated)
    }

    /// Whether the lease still has the revision returned by [`Lease::take`]. Servers compare the expected revision with
    /// what they have applied, before they agree on the new one. So two nodes that take the lease simultaneously may
    /// both succeed; then the later one has it. A positive answer proves nothing, because the answering server may lag.
    ///
    /// # Errors
    /// [`StreamError::Unreachable`] if no server answers.
    pub async fn is_at(&self, revision: u64) -> Result<bool, StreamError> {
        // A lagging server shows an older revision.
        Ok(self.read().await?.revision <= revision)
    }

    /// Releases the lease, optionally to a successor. Other nodes take it only after it has expired.
    ///
    /// # Errors
    /// Those of [`Lease::take`].
    pub async fn release(
        &self,
        revision: u64,
        term: u64,
        successor: Option<String>,
    ) -> Result<Option<u64>, StreamError> {
        let nobody = LeaseHolder {
            term,
            successor,
            ..LeaseHolder::default()
        };
        self.take(revision, &nobody).await
    }

    async fn tell(&self) {
        let inner = &self.0.0;
        let subject = inner.options.lease_subject();
        // Best effort: the others poll soon.
        let _ = inner.servers.say(subject, bytes::Bytes::new()).await;
    }
}

//! The lease: a value that says which node leads, or should try to. It makes that somebody leads; that only one does is
//! ensured by the stream. No node's clock is compared with another's: a lease runs out when an observer has seen no
//! change of it for a time by its own clock. The servers' clock, at which it was stored, only helps a node to doubt its own
//! clock for other purposes.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::connection::Cluster;
use crate::error::StreamError;

const KEY: &str = "leader";

/// Who leads.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Holder {
    /// The node; empty if it has been released.
    pub node: String,
    /// Where clients reach it.
    pub url: String,
    /// Its term.
    pub term: u64,
    /// The node that is to lead next, after a release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successor: Option<String>,
}

/// The lease, as this node has seen it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeaseSeen {
    /// Who holds it; `None` if nobody ever did.
    pub holder: Option<Holder>,
    /// The value's revision, 0 before the first.
    pub revision: u64,
    /// When this revision was first seen here.
    pub seen: Instant,
    /// When the servers stored it, Unix milliseconds by their clock; 0 before the first.
    pub stored_ms: u64,
}

impl LeaseSeen {
    /// Whether a node may try to take it: nobody holds it, it was released to the node, or it was not renewed for
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

/// The lease of a log.
#[derive(Clone)]
pub struct Lease(Cluster);

impl Cluster {
    /// The lease of the log.
    pub fn lease(&self) -> Lease {
        Lease(self.clone())
    }
}

impl Lease {
    /// Reads it.
    ///
    /// # Errors
    /// [`StreamError::Unreachable`] if no server answers.
    pub async fn read(&self) -> Result<LeaseSeen, StreamError> {
        let entry = self.0.0.servers.entry(KEY).await?;
        let seen = Instant::now();
        Ok(match entry {
            None => LeaseSeen {
                holder: None,
                revision: 0,
                seen,
                stored_ms: 0,
            },
            Some(entry) => LeaseSeen {
                holder: entry
                    .value
                    .and_then(|value| serde_json::from_slice(&value).ok()),
                revision: entry.revision,
                seen,
                stored_ms: unix_ms(entry.created),
            },
        })
    }

    /// Follows it; `None` until it was read once. Ends with the last receiver.
    pub fn watch(&self) -> watch::Receiver<Option<LeaseSeen>> {
        let (sender, receiver) = watch::channel(None);
        let lease = self.clone();
        let runtime = self.0.0.runtime.clone();
        runtime.spawn(async move { lease.follow(&sender).await });
        receiver
    }

    async fn follow(&self, sender: &watch::Sender<Option<LeaseSeen>>) {
        let options = &self.0.0.options;
        // It is read again and again: a subscription would have to notice that its server is gone. Changes are announced on
        // a subject too, so that nobody waits for the next reading.
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

    /// Takes it, if it is still at the revision that was seen. Returns the new revision, or `None` if somebody else was
    /// faster.
    ///
    /// # Errors
    /// [`StreamError::Unreachable`]: then it is unknown whether it was taken; the next reading shows it.
    pub async fn take(
        &self,
        last_revision: u64,
        holder: &Holder,
    ) -> Result<Option<u64>, StreamError> {
        let text = |error: &dyn std::fmt::Display| StreamError::Unreachable(error.to_string());
        let value = serde_json::to_vec(holder).map_err(|error| text(&error))?;
        let servers = &self.0.0.servers;
        let updated = servers.update(KEY, value.into(), last_revision).await?;
        if updated.is_some() {
            self.tell().await;
        }
        Ok(updated)
    }

    /// Whether it is still at the revision that this node got from [`Lease::take`]. Servers compare the expected revision
    /// with what they have applied, before they agree on the new one, so two nodes that take it at the same time may both
    /// be answered that they did; then the later one has it. No answer of this is a reason to believe in the lease: the
    /// server that answers may not have the later revision yet.
    ///
    /// # Errors
    /// [`StreamError::Unreachable`] if no server answers.
    pub async fn is_at(&self, revision: u64) -> Result<bool, StreamError> {
        // A server that lags shows an older one.
        Ok(self.read().await?.revision <= revision)
    }

    /// Renews it. Returns the new revision, or `None` if somebody else has taken it.
    ///
    /// # Errors
    /// As [`Lease::take`].
    pub async fn renew(&self, revision: u64, holder: &Holder) -> Result<Option<u64>, StreamError> {
        self.take(revision, holder).await
    }

    /// Gives it up, to a successor if one is named. Others than the successor take it only after the lease has run out.
    ///
    /// # Errors
    /// As [`Lease::take`].
    pub async fn release(
        &self,
        revision: u64,
        term: u64,
        successor: Option<String>,
    ) -> Result<Option<u64>, StreamError> {
        let nobody = Holder {
            term,
            successor,
            ..Holder::default()
        };
        self.take(revision, &nobody).await
    }

    async fn tell(&self) {
        let inner = &self.0.0;
        let subject = inner.options.lease_subject();
        // The others read it soon in any case.
        let _ = inner.servers.say(subject, bytes::Bytes::new()).await;
    }
}

//! Each node's synced position, reported on the node's subject and repeated, since such messages may get lost.
//!
//! A number alone does not prove that a node holds a frame: if the servers returned with an older stream, a frame of
//! another history may have that number. So a report also names the frame's hash, which covers all earlier frames, and
//! the leader counts only hashes of frames in its log.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use kedge_log::LogPosition;
use kedge_protocol::Hash;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::connection::Cluster;
use crate::error::StreamError;
use crate::options::ClusterOptions;
use crate::servers::ClusterServers;

/// Interval of repetition.
const REPEAT: Duration = Duration::from_millis(250);

/// The last frame that a node has synced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SyncedPosition {
    pub frame: u64,
    pub hash: Hash,
}

impl SyncedPosition {
    /// The end of a log.
    pub(crate) fn to(end: &LogPosition) -> Self {
        Self {
            frame: end.frame,
            hash: end.hash,
        }
    }

    /// Parses a report. A number alone, as reported by earlier versions, proves no frame and is ignored.
    fn read(payload: &[u8]) -> Option<Self> {
        let (frame, hash) = std::str::from_utf8(payload).ok()?.split_once(' ')?;
        Some(Self {
            frame: frame.parse().ok()?,
            hash: hash.parse().ok()?,
        })
    }
}

/// The format of reports.
impl fmt::Display for SyncedPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.frame, self.hash)
    }
}

impl Cluster {
    /// Reports that this node has synced its log up to `end`, whose frame the stream holds. Repeated until the next
    /// report.
    pub fn report_synced(&self, end: &LogPosition) {
        self.0.reported.send_replace(Some(SyncedPosition::to(end)));
    }

    /// Withdraws the report, when the stream may not continue this node's log.
    pub fn report_nothing(&self) {
        self.0.reported.send_replace(None);
    }

    /// The other nodes' synced positions, as reported.
    pub fn synced(&self) -> watch::Receiver<BTreeMap<String, SyncedPosition>> {
        self.0.synced.clone()
    }

    /// Waits until the required number of other nodes has synced a frame that counts.
    pub(crate) async fn wait_synced(&self, counts: impl Fn(&SyncedPosition) -> bool) {
        let needed = self.0.options.replicas_synced;
        let enough = |synced: &BTreeMap<String, SyncedPosition>| {
            synced.values().filter(|last| counts(last)).count() >= needed
        };
        let mut synced = self.synced();
        if synced.wait_for(enough).await.is_err() {
            // The listening task ends only with the runtime.
            std::future::pending::<()>().await;
        }
    }
}

pub(crate) fn spawn_reporting(
    tasks: &mut JoinSet<()>,
    servers: &Arc<dyn ClusterServers>,
    options: &ClusterOptions,
    mut reported: watch::Receiver<Option<SyncedPosition>>,
) {
    let servers = Arc::clone(servers);
    let subject = options.synced_subject(&options.node);
    tasks.spawn(async move {
        loop {
            if let Ok(Err(_)) = tokio::time::timeout(REPEAT, reported.changed()).await {
                return;
            }
            let synced = *reported.borrow_and_update();
            let Some(synced) = synced.filter(|_| servers.is_connected()) else {
                continue;
            };
            // A leader of an earlier version reads only the number alone. Without it, a leader that is upgraded last
            // would answer no write in the meantime.
            for text in [synced.frame.to_string(), synced.to_string()] {
                let sent = servers.say(subject.clone(), text.into()).await;
                if let Err(error) = sent {
                    tracing::debug!(%error, "how far this node has synced was not sent");
                }
            }
        }
    });
}

pub(crate) async fn spawn_hearing(
    tasks: &mut JoinSet<()>,
    servers: &Arc<dyn ClusterServers>,
    options: &ClusterOptions,
) -> Result<watch::Receiver<BTreeMap<String, SyncedPosition>>, StreamError> {
    let mut messages = servers.hear(options.synced_subject("*")).await?;
    let own = options.node.clone();
    let (synced, heard) = watch::channel(BTreeMap::new());
    tasks.spawn(async move {
        while let Some(message) = messages.next().await {
            let node = message.subject.rsplit('.').next().unwrap_or_default();
            let last = SyncedPosition::read(&message.payload);
            let Some(last) = last.filter(|_| node != own) else {
                continue;
            };
            // The newest report counts instead of the highest: a node may have lost its disk.
            synced.send_if_modified(|synced: &mut BTreeMap<String, SyncedPosition>| {
                synced.insert(node.to_owned(), last) != Some(last)
            });
        }
    });
    Ok(heard)
}

#[cfg(test)]
mod tests {
    use super::*;

    // Holds invariant 251.
    #[test]
    fn a_report_names_the_frame_and_its_hash_and_a_number_alone_is_none() {
        let synced = SyncedPosition {
            frame: 173,
            hash: Hash([7; 32]),
        };
        assert_eq!(
            SyncedPosition::read(synced.to_string().as_bytes()),
            Some(synced)
        );
        let other = format!("173 {}", Hash([8; 32]));
        assert_ne!(SyncedPosition::read(other.as_bytes()), Some(synced));
        for payload in ["173", "", " ", "173 ", "173 0x07", "x 0x07", "-1 0x07"] {
            assert_eq!(
                SyncedPosition::read(payload.as_bytes()),
                None,
                "{payload:?}"
            );
        }
        assert_eq!(SyncedPosition::read(&[0xff]), None);
    }
}

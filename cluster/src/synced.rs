//! How far each node has synced: reported on a subject of the node's own, and repeated, since such messages may get lost.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::connection::Cluster;
use crate::error::StreamError;
use crate::options::ClusterOptions;
use crate::servers::Servers;

/// How often it is repeated.
const REPEAT: Duration = Duration::from_millis(250);

impl Cluster {
    /// Reports to the other nodes that this node has synced its log up to a frame. It is repeated until a later one is
    /// reported.
    pub fn report_synced(&self, frame: u64) {
        self.0.reported.send_replace(Some(frame));
    }

    /// How far each other node has synced, as far as it has reported.
    pub fn synced(&self) -> watch::Receiver<BTreeMap<String, u64>> {
        self.0.synced.clone()
    }

    /// Waits until as many other nodes as the options require have synced a frame.
    pub(crate) async fn wait_synced(&self, frame: u64) {
        let needed = self.0.options.replicas_synced;
        let enough = |synced: &BTreeMap<String, u64>| {
            synced.values().filter(|last| **last >= frame).count() >= needed
        };
        let mut synced = self.synced();
        if synced.wait_for(enough).await.is_err() {
            // The task that listens ends only with the runtime.
            std::future::pending::<()>().await;
        }
    }
}

pub(crate) fn spawn_reporting(
    tasks: &mut JoinSet<()>,
    servers: &Arc<dyn Servers>,
    options: &ClusterOptions,
    mut reported: watch::Receiver<Option<u64>>,
) {
    let servers = Arc::clone(servers);
    let subject = options.synced_subject(&options.node);
    tasks.spawn(async move {
        loop {
            if let Ok(Err(_)) = tokio::time::timeout(REPEAT, reported.changed()).await {
                return;
            }
            let frame = *reported.borrow_and_update();
            let Some(frame) = frame.filter(|_| servers.is_connected()) else {
                continue;
            };
            let sent = servers.say(subject.clone(), frame.to_string().into()).await;
            if let Err(error) = sent {
                tracing::debug!(%error, "how far this node has synced was not sent");
            }
        }
    });
}

pub(crate) async fn spawn_hearing(
    tasks: &mut JoinSet<()>,
    servers: &Arc<dyn Servers>,
    options: &ClusterOptions,
) -> Result<watch::Receiver<BTreeMap<String, u64>>, StreamError> {
    let mut messages = servers.hear(options.synced_subject("*")).await?;
    let own = options.node.clone();
    let (synced, heard) = watch::channel(BTreeMap::new());
    tasks.spawn(async move {
        while let Some(message) = messages.next().await {
            let node = message.subject.rsplit('.').next().unwrap_or_default();
            let frame = std::str::from_utf8(&message.payload).ok();
            let frame = frame.and_then(|text| text.parse::<u64>().ok());
            let Some(frame) = frame.filter(|_| node != own) else {
                continue;
            };
            // The newest counts, not the highest: a node may have lost its disk.
            synced.send_if_modified(|synced: &mut BTreeMap<String, u64>| {
                synced.insert(node.to_owned(), frame) != Some(frame)
            });
        }
    });
    Ok(heard)
}

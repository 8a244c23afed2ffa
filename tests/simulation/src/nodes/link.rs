//! A node's link to the servers: each request is a message in transit, and is given up after a while.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, poll_fn};
use kedge_cluster::{
    Acknowledgement, BucketEntry, ClusterReply, ConsumerMessages, CoreMessage, LogStreamEnds,
    LogStreamMessage, OutboundMessage, StreamError,
};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::servers::{ServersRequestKind, SimulatedServers};

pub(super) struct ServersLink {
    servers: Arc<Mutex<SimulatedServers>>,
    node: usize,
    /// Time limit for an answer.
    patience: Duration,
}

/// Waits for an answer; a lost one never arrives.
async fn answered<T>(answer: oneshot::Receiver<T>, patience: Duration) -> Option<T> {
    let answer = async {
        match answer.await {
            Ok(answer) => answer,
            Err(_) => std::future::pending().await,
        }
    };
    tokio::time::timeout(patience, answer).await.ok()
}

impl ServersLink {
    pub(super) fn new(
        servers: &Arc<Mutex<SimulatedServers>>,
        node: usize,
        patience: Duration,
    ) -> Self {
        Self {
            servers: Arc::clone(servers),
            node,
            patience,
        }
    }

    fn ask<T: Send + 'static>(
        &self,
        kind: ServersRequestKind,
        work: impl FnOnce(&mut SimulatedServers) -> T + Send + 'static,
    ) -> ClusterReply<'_, T> {
        let (servers, about, patience) = (&self.servers, (self.node, kind), self.patience);
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            servers.lock().ask(about, reply, work);
            let answer = answered(answer, patience).await;
            answer.ok_or_else(|| StreamError::Unreachable("no answer".to_owned()))
        })
    }
}

impl kedge_cluster::ClusterServers for ServersLink {
    fn ends(&self) -> ClusterReply<'_, LogStreamEnds> {
        let node = self.node;
        self.ask(ServersRequestKind::Read, move |servers| servers.ends(node))
    }

    fn stored(&self, place: u64) -> ClusterReply<'_, Option<LogStreamMessage>> {
        let node = self.node;
        self.ask(ServersRequestKind::Read, move |servers| {
            servers.stored(node, place)
        })
    }

    fn publish(&self, message: OutboundMessage) -> BoxFuture<'_, Option<Acknowledgement>> {
        let about = (self.node, ServersRequestKind::Publish);
        let expected_last = message.expected_last;
        let message = LogStreamMessage {
            payload: message.payload,
            candidate: message.candidate,
        };
        let (reply, answer) = oneshot::channel();
        {
            let mut servers = self.servers.lock();
            if servers.repeats() {
                let again = message.clone();
                let (unheard, _) = oneshot::channel();
                servers.ask(about, unheard, move |servers| {
                    servers.publish(&again, expected_last)
                });
            }
            servers.ask(about, reply, move |servers| {
                servers.publish(&message, expected_last)
            });
        }
        let patience = self.patience;
        let acknowledged: Acknowledgement = Box::pin(async move {
            let answer = answered(answer, patience).await;
            answer.unwrap_or_else(|| Err("no acknowledgement in time".to_owned()))
        });
        // Never pending: the node waits for it with its log locked.
        Box::pin(std::future::ready(Some(acknowledged)))
    }

    fn consume(&self, from: u64, _bytes_max: usize) -> ClusterReply<'_, ConsumerMessages> {
        let node = self.node;
        let asked = self.ask(ServersRequestKind::Read, move |servers| {
            servers.consume(node, from)
        });
        Box::pin(async move {
            let mut messages = asked.await?;
            Ok(Box::pin(poll_fn(move |context| messages.poll_recv(context))) as ConsumerMessages)
        })
    }

    fn entry(&self, key: &'static str) -> ClusterReply<'_, Option<BucketEntry>> {
        let node = self.node;
        self.ask(ServersRequestKind::ReadBucket, move |servers| {
            servers.entry(node, key)
        })
    }

    fn entries(&self, prefix: &'static str) -> ClusterReply<'_, Vec<BucketEntry>> {
        let node = self.node;
        self.ask(ServersRequestKind::ReadBucket, move |servers| {
            servers.entries(node, prefix)
        })
    }

    fn update(
        &self,
        key: &'static str,
        value: Bytes,
        revision: u64,
    ) -> ClusterReply<'_, Option<u64>> {
        self.ask(ServersRequestKind::WriteBucket, move |servers| {
            servers.update(key, value, revision)
        })
    }

    fn put(&self, key: String, value: Bytes) -> ClusterReply<'_, ()> {
        self.ask(ServersRequestKind::WriteBucket, move |servers| {
            servers.put(key, value);
        })
    }

    fn say(&self, subject: String, payload: Bytes) -> ClusterReply<'_, ()> {
        let (unheard, _) = oneshot::channel();
        let mut servers = self.servers.lock();
        servers.ask(
            (self.node, ServersRequestKind::Say),
            unheard,
            move |servers| {
                servers.said(&subject, &payload);
            },
        );
        Box::pin(std::future::ready(Ok(())))
    }

    fn hear(&self, subject: String) -> ClusterReply<'_, BoxStream<'static, CoreMessage>> {
        let mut heard = self.servers.lock().hear(self.node, subject);
        let heard = poll_fn(move |context| heard.poll_recv(context)).boxed();
        Box::pin(std::future::ready(Ok(heard)))
    }

    fn new_mark(&self) -> String {
        format!("mark-{}", self.servers.lock().mark())
    }

    fn is_connected(&self) -> bool {
        self.servers.lock().reaches(self.node)
    }

    fn reconnect(&self) -> BoxFuture<'_, ()> {
        self.servers.lock().reconnect(self.node);
        Box::pin(std::future::ready(()))
    }
}

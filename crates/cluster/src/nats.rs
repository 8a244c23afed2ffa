//! NATS JetStream as the log's servers.

use std::error::Error;
use std::time::{Duration, SystemTime};

use async_nats::Client;
use async_nats::HeaderValue;
use async_nats::connection::State;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::jetstream::context::traits::Publisher as _;
use async_nats::jetstream::kv::{self, Operation, UpdateError, UpdateErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{self, LastRawMessageErrorKind};
use async_nats::jetstream::{self, Context, ErrorCode, Message};
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;

use crate::error::StreamError;
use crate::options::ClusterOptions;
use crate::servers::{
    Acknowledgement, BucketEntry, ClusterReply, ClusterServers, ConsumerMessage, ConsumerMessages,
    CoreMessage, LogStreamEnds, LogStreamMessage, OutboundMessage,
};

/// A consumer silent for twice this time is replaced.
const HEARTBEAT: Duration = Duration::from_millis(500);
/// Lifetime of one request for messages.
const EXPIRES: Duration = Duration::from_secs(10);
/// Time after which the servers remove a consumer without a reader.
const ABANDONED: Duration = Duration::from_secs(30);
const BATCH_MESSAGES: usize = 512;

/// Header that names the publisher of a term's opening frame, because candidates for one term publish the same bytes.
const CANDIDATE: &str = "Kedge-Candidate";

pub(crate) struct Nats {
    pub(crate) options: ClusterOptions,
    pub(crate) client: Client,
    pub(crate) context: Context,
    pub(crate) stream: stream::Stream<()>,
    pub(crate) bucket: kv::Store,
}

pub(crate) fn unreachable(error: impl std::fmt::Display) -> StreamError {
    StreamError::Unreachable(error.to_string())
}

fn entry(found: kv::Entry) -> BucketEntry {
    BucketEntry {
        value: (found.operation == Operation::Put).then_some(found.value),
        revision: found.revision,
        created: SystemTime::from(found.created),
    }
}

/// Whether an error has JetStream's answer with this code among its causes.
fn is_answer(error: &(dyn Error + 'static), code: ErrorCode) -> bool {
    let mut cause = Some(error);
    while let Some(found) = cause {
        if let Some(refused) = found.downcast_ref::<jetstream::Error>()
            && refused.error_code() == code
        {
            return true;
        }
        cause = found.source();
    }
    false
}

/// Whether an update was refused because another one was faster. Since 2.12, a server that is still agreeing on the
/// other update answers with a code unknown to the client.
fn is_outdated(error: &UpdateError) -> bool {
    is_answer(error, ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT)
        || error.kind() == UpdateErrorKind::WrongLastRevision
}

fn arrived(message: &Message) -> ConsumerMessage {
    ConsumerMessage {
        place: message.info().map_or(0, |info| info.stream_sequence),
        payload: message.payload.clone(),
    }
}

impl Nats {
    async fn send(&self, message: OutboundMessage) -> Option<Acknowledgement> {
        let place = message.expected_last + 1;
        let mut publish = PublishMessage::build()
            .payload(message.payload)
            .expected_stream(self.options.stream())
            .expected_last_sequence(message.expected_last);
        if place == 1 {
            // Older servers ignore an expected sequence of 0, but not this header.
            publish = publish.expected_last_subject_sequence(0);
        }
        if let Some(candidate) = &message.candidate {
            publish = publish.header(CANDIDATE, candidate.as_str());
        }
        let publish = publish.outbound_message(self.options.frames_subject());
        match self.context.publish_message(publish).await {
            Ok(acknowledgement) => Some(Box::pin(async move {
                let acknowledged = acknowledgement.await;
                acknowledged
                    .map(|acknowledged| acknowledged.sequence)
                    .map_err(|error| error.to_string())
            })),
            Err(error) => {
                tracing::debug!(place, %error, "a frame was not sent");
                None
            }
        }
    }

    async fn consumer(&self, from: u64, bytes_max: usize) -> Result<ConsumerMessages, StreamError> {
        let consumer = self.stream.create_consumer(pull::Config {
            deliver_policy: DeliverPolicy::ByStartSequence {
                start_sequence: from,
            },
            ack_policy: AckPolicy::None,
            inactive_threshold: ABANDONED,
            num_replicas: 1,
            memory_storage: true,
            ..pull::Config::default()
        });
        let consumer = consumer.await.map_err(unreachable)?;
        let messages = consumer
            .stream()
            .max_messages_per_batch(BATCH_MESSAGES)
            .max_bytes_per_batch(bytes_max)
            .heartbeat(HEARTBEAT)
            .expires(EXPIRES)
            .messages();
        let messages = messages.await.map_err(unreachable)?;
        let arriving = messages.map(|next| match next {
            Ok(message) => Ok(arrived(&message)),
            Err(error) => Err(error.to_string()),
        });
        Ok(Box::pin(arriving))
    }

    async fn list(&self, prefix: &str) -> Result<Vec<BucketEntry>, StreamError> {
        let bucket = &self.bucket;
        // The bucket's keys are not listed: that needs a consumer, and a user who may create one can have the servers
        // publish anywhere, even into the log.
        let filter = format!("{}{prefix}>", bucket.prefix);
        let listed = bucket.stream.info_with_subjects(filter).await;
        let mut subjects = listed.map_err(unreachable)?;
        let mut entries = Vec::new();
        while let Some(subject) = subjects.next().await {
            let (subject, _) = subject.map_err(unreachable)?;
            let Some(key) = subject.strip_prefix(&bucket.prefix) else {
                continue;
            };
            let found = bucket.entry(key).await;
            entries.extend(found.map_err(unreachable)?.map(entry));
        }
        Ok(entries)
    }
}

impl ClusterServers for Nats {
    fn ends(&self) -> ClusterReply<'_, LogStreamEnds> {
        Box::pin(async {
            let info = self.stream.get_info().await;
            let info = info.map_err(|error| {
                if is_answer(&error, ErrorCode::STREAM_NOT_FOUND) {
                    let stream = self.options.stream();
                    StreamError::Gone { stream }
                } else {
                    unreachable(error)
                }
            })?;
            // Without a leader any server with a copy answers, and its copy may end early.
            if info.cluster.is_some_and(|cluster| cluster.leader.is_none()) {
                return Err(unreachable("the stream has no leader"));
            }
            let state = info.state;
            Ok(LogStreamEnds {
                first: state.first_sequence,
                last: state.last_sequence,
                messages: state.messages,
            })
        })
    }

    fn stored(&self, place: u64) -> ClusterReply<'_, Option<LogStreamMessage>> {
        Box::pin(async move {
            match self.stream.get_raw_message(place).await {
                Ok(message) => {
                    let candidate = message.headers.get(CANDIDATE).map(HeaderValue::as_str);
                    Ok(Some(LogStreamMessage {
                        candidate: candidate.map(str::to_owned),
                        payload: message.payload,
                    }))
                }
                Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
                Err(error) => Err(unreachable(error)),
            }
        })
    }

    fn publish(&self, message: OutboundMessage) -> BoxFuture<'_, Option<Acknowledgement>> {
        Box::pin(self.send(message))
    }

    fn consume(&self, from: u64, bytes_max: usize) -> ClusterReply<'_, ConsumerMessages> {
        Box::pin(self.consumer(from, bytes_max))
    }

    fn entry(&self, key: &'static str) -> ClusterReply<'_, Option<BucketEntry>> {
        Box::pin(async move {
            let found = self.bucket.entry(key).await;
            Ok(found.map_err(unreachable)?.map(entry))
        })
    }

    fn entries(&self, prefix: &'static str) -> ClusterReply<'_, Vec<BucketEntry>> {
        Box::pin(self.list(prefix))
    }

    fn update(
        &self,
        key: &'static str,
        value: Bytes,
        revision: u64,
    ) -> ClusterReply<'_, Option<u64>> {
        Box::pin(async move {
            match self.bucket.update(key, value, revision).await {
                Ok(revision) => Ok(Some(revision)),
                Err(error) if is_outdated(&error) => Ok(None),
                Err(error) => Err(unreachable(error)),
            }
        })
    }

    fn put(&self, key: String, value: Bytes) -> ClusterReply<'_, ()> {
        Box::pin(async move {
            let put = self.bucket.put(key, value).await;
            put.map(|_| ()).map_err(unreachable)
        })
    }

    fn say(&self, subject: String, payload: Bytes) -> ClusterReply<'_, ()> {
        Box::pin(async move {
            let sent = self.client.publish(subject, payload).await;
            sent.map_err(unreachable)
        })
    }

    fn hear(&self, subject: String) -> ClusterReply<'_, BoxStream<'static, CoreMessage>> {
        Box::pin(async move {
            let messages = self.client.subscribe(subject).await;
            let messages = messages.map_err(unreachable)?;
            let heard = messages.map(|message| CoreMessage {
                subject: message.subject.to_string(),
                payload: message.payload,
            });
            Ok(heard.boxed())
        })
    }

    fn new_mark(&self) -> String {
        self.client.new_inbox()
    }

    fn is_connected(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    fn reconnect(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            // Fails only after the client has ended.
            let _ = self.client.force_reconnect().await;
        })
    }
}

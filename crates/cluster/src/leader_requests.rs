//! Requests to the leader over the servers, on a subject of one term. Only that term's leader listens to it, so a
//! replaced leader that has not noticed receives none. The subject ends with the requester's name, so server
//! permissions can confine each user to its own name.

use std::time::Duration;

use async_nats::client::RequestErrorKind;
use async_nats::{Client, Request, Subject, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt as _;

use crate::connection::Cluster;
use crate::error::StreamError;
use crate::nats::unreachable;

/// Why a request got no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeaderRequestError {
    /// No node leads in that term, so nothing was done.
    #[error("no node listens as the leader of term {0}")]
    Nobody(u64),
    /// The request may have been carried out, but the answer got lost.
    #[error("the leader did not answer: {0}")]
    Unanswered(String),
}

/// Requests that reach this node while it leads.
pub struct LeaderRequests {
    messages: Subscriber,
    client: Client,
    term: u64,
}

pub struct LeaderRequest {
    /// Content of the request.
    pub payload: Bytes,
    /// The requester's name, taken from the subject.
    pub from: String,
    /// Term of the addressed leader.
    pub term: u64,
    reply: Option<Subject>,
    client: Client,
}

impl Cluster {
    /// Sends a request about `what` to a term's leader, and waits up to `patience` for the answer.
    ///
    /// # Errors
    /// [`LeaderRequestError`].
    pub async fn ask(
        &self,
        what: &str,
        term: u64,
        question: Bytes,
        patience: Duration,
    ) -> Result<Bytes, LeaderRequestError> {
        let options = &self.0.options;
        let subject = options.question_subject(what, term, &options.node);
        let request = Request::new().payload(question).timeout(Some(patience));
        // Without a connection the client would wait for room in its own queue.
        let nats = self.0.nats();
        let nats = nats.map_err(|error| LeaderRequestError::Unanswered(error.to_string()))?;
        let asking = nats.client.send_request(subject, request);
        match tokio::time::timeout(patience, asking).await {
            Ok(Ok(answer)) => Ok(answer.payload),
            Ok(Err(error)) if error.kind() == RequestErrorKind::NoResponders => {
                Err(LeaderRequestError::Nobody(term))
            }
            Ok(Err(error)) => Err(LeaderRequestError::Unanswered(error.to_string())),
            Err(_) => Err(LeaderRequestError::Unanswered(
                "it took too long".to_owned(),
            )),
        }
    }

    /// Listens to requests about `what` as a term's leader, until this is dropped.
    ///
    /// # Errors
    /// [`StreamError::Unreachable`] if the servers do not answer.
    pub async fn questions(&self, what: &str, term: u64) -> Result<LeaderRequests, StreamError> {
        let client = self.0.nats()?.client.clone();
        let subject = self.0.options.question_subject(what, term, "*");
        let subscribed = client.subscribe(subject).await;
        let messages = subscribed.map_err(unreachable)?;
        Ok(LeaderRequests {
            messages,
            client,
            term,
        })
    }
}

impl LeaderRequests {
    /// The next request; `None` after the connection has ended.
    pub async fn next(&mut self) -> Option<LeaderRequest> {
        let message = self.messages.next().await?;
        let from = message.subject.rsplit('.').next().unwrap_or_default();
        Some(LeaderRequest {
            from: from.to_owned(),
            term: self.term,
            payload: message.payload,
            reply: message.reply,
            client: self.client.clone(),
        })
    }
}

impl LeaderRequest {
    /// Sends the answer.
    pub async fn answer(self, answer: Bytes) {
        if let Some(reply) = self.reply
            && let Err(error) = self.client.publish(reply, answer).await
        {
            tracing::debug!(%error, "an answer to another node was not sent");
        }
    }
}

//! Questions to the leader: request and reply, on a subject of one term. Only the node that leads in that term listens to
//! it, so a leader that was replaced and has not noticed answers nobody. The subject ends with the name of who asks, so
//! the servers can be set to let each user ask by its own name alone.

use std::time::Duration;

use async_nats::client::RequestErrorKind;
use async_nats::{Client, Request, Subject, Subscriber};
use bytes::Bytes;
use futures_util::StreamExt as _;

use crate::connection::Cluster;
use crate::error::StreamError;

/// Why a question got no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// Nobody leads in that term, and nothing was done.
    #[error("no node listens as the leader of term {0}")]
    Nobody(u64),
    /// It may have been answered, and the answer got lost.
    #[error("the leader did not answer: {0}")]
    Unanswered(String),
}

/// The questions that reach this node while it leads.
pub struct Questions {
    messages: Subscriber,
    client: Client,
    term: u64,
}

/// A question.
pub struct Question {
    /// What is asked.
    pub payload: Bytes,
    /// Who asks: the name in the subject.
    pub from: String,
    /// The term whose leader is asked.
    pub term: u64,
    reply: Option<Subject>,
    client: Client,
}

impl Cluster {
    /// Asks the leader of a term about `what`, and waits for the answer for as long as `patience`.
    ///
    /// # Errors
    /// [`AskError`].
    pub async fn ask(
        &self,
        what: &str,
        term: u64,
        question: Bytes,
        patience: Duration,
    ) -> Result<Bytes, AskError> {
        let options = &self.0.options;
        let subject = options.question_subject(what, term, &options.node);
        let request = Request::new().payload(question).timeout(Some(patience));
        // Without a connection the client would wait for room in its own queue.
        let nats = self.0.nats();
        let nats = nats.map_err(|error| AskError::Unanswered(error.to_string()))?;
        let asking = nats.client.send_request(subject, request);
        match tokio::time::timeout(patience, asking).await {
            Ok(Ok(answer)) => Ok(answer.payload),
            Ok(Err(error)) if error.kind() == RequestErrorKind::NoResponders => {
                Err(AskError::Nobody(term))
            }
            Ok(Err(error)) => Err(AskError::Unanswered(error.to_string())),
            Err(_) => Err(AskError::Unanswered("it took too long".to_owned())),
        }
    }

    /// Listens to the questions about `what` as the leader of a term, until this is dropped.
    ///
    /// # Errors
    /// [`StreamError::Unreachable`] if the servers do not answer.
    pub async fn questions(&self, what: &str, term: u64) -> Result<Questions, StreamError> {
        let client = self.0.nats()?.client.clone();
        let subject = self.0.options.question_subject(what, term, "*");
        let subscribed = client.subscribe(subject).await;
        let messages = subscribed.map_err(|error| StreamError::Unreachable(error.to_string()))?;
        Ok(Questions {
            messages,
            client,
            term,
        })
    }
}

impl Questions {
    /// The next one; `None` once the connection has ended.
    pub async fn next(&mut self) -> Option<Question> {
        let message = self.messages.next().await?;
        let from = message.subject.rsplit('.').next().unwrap_or_default();
        Some(Question {
            from: from.to_owned(),
            term: self.term,
            payload: message.payload,
            reply: message.reply,
            client: self.client.clone(),
        })
    }
}

impl Question {
    /// Answers it.
    pub async fn answer(self, answer: Bytes) {
        if let Some(reply) = self.reply
            && let Err(error) = self.client.publish(reply, answer).await
        {
            tracing::debug!(%error, "an answer to another node was not sent");
        }
    }
}

//! The edges that were caught vouching for a wrong signature: a value in the bucket that the nodes share, so that trust
//! which has ended stays ended when another node leads, and after a restart. Edges only read that bucket.

use std::collections::BTreeMap;

use async_nats::jetstream::stream::LastRawMessageErrorKind;
use kedge_protocol::Hash;
use serde::{Deserialize, Serialize};

use crate::connection::Cluster;
use crate::error::StreamError;

const KEY: &str = "distrusted";

/// How an edge was caught.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Caught {
    /// When, Unix milliseconds by the clock of the node that caught it.
    pub at_ms: u64,
    /// The digest whose signature was wrong.
    pub digest: Hash,
    /// The node that caught it.
    pub by: String,
}

/// The edges that no node trusts, by name.
pub type DistrustedEdges = BTreeMap<String, Caught>;

impl Cluster {
    /// The edges that no node trusts, and the revision of that list, 0 before the first. The server that leads the bucket
    /// answers: another one may lag.
    ///
    /// # Errors
    /// [`StreamError::Unreachable`] if that server does not answer, or the list cannot be read.
    pub async fn distrusted_edges(&self) -> Result<(DistrustedEdges, u64), StreamError> {
        let text = |error: &dyn std::fmt::Display| StreamError::Unreachable(error.to_string());
        let bucket = &self.0.nats()?.bucket;
        let subject = format!("{}{KEY}", bucket.prefix);
        let read = bucket.stream.get_last_raw_message_by_subject(&subject);
        match read.await {
            Ok(message) => {
                let list = serde_json::from_slice(&message.payload);
                Ok((list.map_err(|error| text(&error))?, message.sequence))
            }
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => {
                Ok((DistrustedEdges::new(), 0))
            }
            Err(error) => Err(text(&error)),
        }
    }

    /// Replaces the list, if it is still at the revision that was read; false if it is not.
    ///
    /// # Errors
    /// [`StreamError::Unreachable`]: then it is unknown whether it was replaced; the next reading shows it.
    pub async fn put_distrusted_edges(
        &self,
        revision: u64,
        edges: &DistrustedEdges,
    ) -> Result<bool, StreamError> {
        let text = |error: &dyn std::fmt::Display| StreamError::Unreachable(error.to_string());
        let value = serde_json::to_vec(edges).map_err(|error| text(&error))?;
        let updated = self.0.servers.update(KEY, value.into(), revision).await?;
        Ok(updated.is_some())
    }
}

//! Health probes: they neither connect to a log nor verify one.

use serde::Deserialize;

use crate::error::Result;
use crate::transport::{Call, Transport};

/// Question of a probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Probe {
    /// `/healthz`: the process answers.
    Alive,
    /// `/readyz`: the server accepts changes.
    Ready,
}

/// A node's part in a cluster that shares a log.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct NodePart {
    /// `leader` or `follower`.
    pub role: String,
    /// Newest term known to the node.
    pub term: u64,
    /// Name of the leading node, as far as the node knows.
    pub leader: Option<String>,
}

#[derive(Deserialize)]
struct Part {
    cluster: Option<NodePart>,
}

/// Reads the part of the node at `base_url`, with one request; `None` for a single node. Fails if there is no usable
/// answer within `timeout_ms` milliseconds.
pub async fn node_part(base_url: &str, timeout_ms: u64) -> Result<Option<NodePart>> {
    let transport = Transport::new(base_url, timeout_ms)?;
    let answer = transport.exchange(&Call::get("/readyz"), &[]).await?;
    // A node that is not ready states its part too.
    match serde_json::from_slice::<Part>(&answer.body) {
        Ok(part) => Ok(part.cluster),
        Err(_) => Err(answer.refusal()),
    }
}

#[derive(Deserialize)]
struct Unready {
    reason: String,
}

/// Probes the server at `base_url`, with one request. Returns `None` for yes, otherwise the server's reason. Fails if
/// there is no usable answer within `timeout_ms` milliseconds.
pub async fn probe(base_url: &str, probe: Probe, timeout_ms: u64) -> Result<Option<String>> {
    let transport = Transport::new(base_url, timeout_ms)?;
    let path = match probe {
        Probe::Alive => "/healthz",
        Probe::Ready => "/readyz",
    };
    let answer = transport.exchange(&Call::get(path), &[]).await?;
    if answer.is_success() {
        return Ok(None);
    }
    match serde_json::from_slice::<Unready>(&answer.body) {
        Ok(unready) => Ok(Some(unready.reason)),
        Err(_) => Err(answer.refusal()),
    }
}

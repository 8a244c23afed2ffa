//! Probes: whether a server answers, and whether it accepts changes. They neither connect to a log nor verify one.

use serde::Deserialize;

use crate::error::Result;
use crate::transport::{Call, Transport};

/// What a probe asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Probe {
    /// `/healthz`: the process answers.
    Alive,
    /// `/readyz`: the server accepts changes.
    Ready,
}

/// A node's part among several that share a log.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
pub struct NodePart {
    /// `leader` or `follower`.
    pub role: String,
    /// The newest term that it knows.
    pub term: u64,
    /// The name of the node that leads, as far as it knows.
    pub leader: Option<String>,
}

#[derive(Deserialize)]
struct Part {
    cluster: Option<NodePart>,
}

/// Asks the server at `base_url` once for its part among several nodes. Returns `None` if it is a single node. It is an
/// error if nothing usable is answered within `timeout_ms` milliseconds.
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

/// Asks the server at `base_url` once. Returns `None` if its answer is yes, otherwise the reason that it gives. It is an
/// error if nothing usable is answered within `timeout_ms` milliseconds.
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
